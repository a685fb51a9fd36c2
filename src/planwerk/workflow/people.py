"""Asking people: input, confirmation, chat (E8.1).

A step returns the request and ends; the run waits, in storage and not in memory, and goes on with the answer. What is
asked is content of the event; who was asked when, and who answered, stands in the journal around it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Literal, Self, TypeAlias, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from planwerk.workflow.errors import WorkflowError
from planwerk.workflow.events import ControlAndDisplayEvent, Event
from planwerk.workflow.locale_string import LocaleString, localized
from planwerk.workflow.requests import OutsideRequest

Text: TypeAlias = str | LocaleString
"""A text per language, or one for all."""
RequestKind: TypeAlias = Literal["input", "confirmation", "chat"]
MAX_ANSWER_CHARACTERS: Final = 100_000
LONGEST_TIMEOUT_SECONDS: Final = 3650 * 86_400


class AnswerInvalid(WorkflowError):
    """An answer does not fit the request it is given for; nothing was changed.

    Attributes:
        errors: What is wrong, in the form of Pydantic's errors: `loc`, `msg`, `type`.
    """

    code = "answer_invalid"
    http_status = 422

    def __init__(self, errors: Sequence[Mapping[str, Any]]) -> None:
        said = "; ".join(f"{'.'.join(map(str, error['loc'])) or 'answer'}: {error['msg']}" for error in errors)
        super().__init__(
            f"the answer does not fit the request (E8.1): {said}.",
            what_to_do="Correct what is named and send it again; the request stays open.",
        )
        self.errors = [{"loc": list(error["loc"]), "msg": error["msg"], "type": error["type"]} for error in errors]

    @classmethod
    def of_field(cls, field: str, message: str, type_: str = "value_error") -> AnswerInvalid:
        """An error of one field."""
        return cls([{"loc": [field], "msg": message, "type": type_}])


class AskPersonEvent(OutsideRequest):
    """A question to a person, of one of the kinds below.

    Attributes:
        question: What the person is asked.
        details: More to know before answering, as Markdown.
        timeout_seconds: After this long unanswered, the request is answered by its `TimedOut`, which a step then has
            to take; None waits for ever.
        recipients: Ids of the accounts that may answer, of those with access to the thread; empty is all of them.
    """

    kind: ClassVar[RequestKind]

    question: Text
    details: Text = ""
    timeout_seconds: Annotated[float, Field(gt=0, le=LONGEST_TIMEOUT_SECONDS, allow_inf_nan=False)] | None = None
    recipients: tuple[str, ...] = ()

    def due_microseconds(self, asked: int) -> int | None:
        return None if self.timeout_seconds is None else asked + round(self.timeout_seconds * 1e6)

    def overdue_answer(self) -> Event:
        return self.responses["TimedOut"]()

    def read_answer(self, given: Any) -> Event:
        """The event of an answer given from outside.

        Args:
            given: The fields of `Answered`, the event itself, or what it holds alone: a text, a yes or no.

        Raises:
            AnswerInvalid: It does not fit what was asked.
        """
        answered = self.responses["Answered"]
        if isinstance(given, Event):
            if type(given) not in self.answered_by:
                names = " or ".join(cls.__name__ for cls in self.answered_by)
                raise AnswerInvalid.of_field("type", f"{type(given).__name__} does not answer it, but {names}")
            if type(given) is not answered:
                return given
            given = given.model_dump(mode="json")
        fields = self._fields_of(given)
        named = fields.pop("type", answered.event_type)
        fields.pop("family", None)
        if named != answered.event_type:
            raise AnswerInvalid.of_field("type", f"{named} does not answer it, but {answered.event_type}")
        try:
            event = answered.model_validate(fields)
        except ValidationError as error:
            raise AnswerInvalid([dict(item) for item in error.errors(include_url=False)]) from error
        return self._checked(event)

    def response_schema(self, locale: str | None = None) -> dict[str, Any]:
        """JSON Schema of an answer's fields; labels in this language."""
        schema = self.responses["Answered"].model_json_schema()
        schema.pop("description", None)
        schema["title"] = self.responses["Answered"].event_type
        return self._narrowed(schema, locale)

    def _fields_of(self, given: Any) -> dict[str, Any]:
        if isinstance(given, Mapping):
            return dict(cast("Mapping[str, Any]", given))
        return {self._main_field: given}

    _main_field: ClassVar[str] = "text"

    def _checked(self, event: Event) -> Event:
        return event

    def _narrowed(self, schema: dict[str, Any], locale: str | None) -> dict[str, Any]:
        return schema


class Choice(BaseModel):
    """One of the answers offered: `value` is what the step gets, `label` what people read."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    value: str
    label: Text = ""

    def text(self, locale: str | None = None) -> str:
        """What people read, in this language."""
        return localized(self.label).text(locale) or self.value


class InputAnsweredEvent(
    ControlAndDisplayEvent, label=LocaleString(en="Answered", de="Beantwortet", fr="Répondu", it="Risposto")
):
    """A person's answer to an input.

    Attributes:
        text: What was written, or the value of the choice.
    """

    text: Annotated[str, Field(max_length=MAX_ANSWER_CHARACTERS)]


class InputTimedOutEvent(
    ControlAndDisplayEvent,
    label=LocaleString(en="Not answered in time", de="Nicht rechtzeitig beantwortet", fr="Sans réponse", it="Scaduta"),
    icon="clock",
):
    """Nobody answered an input in time."""


class AskInputEvent(
    AskPersonEvent, label=LocaleString(en="Question", de="Frage", fr="Question", it="Domanda"), icon="question"
):
    """Asks a person for a text, or to choose among some.

    Attributes:
        choices: The answers offered; a plain text is value and label.
        only_choices: Whether nothing else is accepted, where there are choices.
        default: What a blank answer stands for; the form begins with it.
    """

    kind: ClassVar[RequestKind] = "input"

    if TYPE_CHECKING:
        Answered = InputAnsweredEvent
        TimedOut = InputTimedOutEvent

    choices: tuple[Choice | str, ...] = ()
    only_choices: bool = True
    default: str | None = None

    @model_validator(mode="after")
    def _default_is_a_choice(self) -> Self:
        if self.choices and self.only_choices and self.default is not None and self.default not in self.values():
            raise ValueError(f"default {self.default!r} is none of the choices")
        return self

    def offered(self) -> tuple[Choice, ...]:
        """The choices, those given as plain texts too."""
        return tuple(Choice(value=choice) if isinstance(choice, str) else choice for choice in self.choices)

    def values(self) -> tuple[str, ...]:
        """The values of the choices."""
        return tuple(choice.value for choice in self.offered())

    def _checked(self, event: Event) -> Event:
        assert isinstance(event, InputAnsweredEvent)
        if not event.text.strip():
            if self.default is None:
                raise AnswerInvalid.of_field("text", "it is blank", "blank")
            return event.model_copy(update={"text": self.default})
        if self.choices and self.only_choices and event.text not in self.values():
            raise AnswerInvalid.of_field("text", f"it is none of {', '.join(map(repr, self.values()))}", "enum")
        return event

    def _narrowed(self, schema: dict[str, Any], locale: str | None) -> dict[str, Any]:
        text = schema["properties"]["text"]
        if self.choices and self.only_choices:
            text["oneOf"] = [{"const": choice.value, "title": choice.text(locale)} for choice in self.offered()]
        if self.default is not None:
            text["default"] = self.default
        return schema


class ConfirmationAnsweredEvent(
    ControlAndDisplayEvent, label=LocaleString(en="Decided", de="Entschieden", fr="Décidé", it="Deciso")
):
    """A person's yes or no.

    Attributes:
        confirmed: Whether the person said yes.
        reason: What the person said with it.
    """

    confirmed: bool
    reason: Annotated[str, Field(max_length=MAX_ANSWER_CHARACTERS)] = ""


class ConfirmationTimedOutEvent(
    ControlAndDisplayEvent,
    label=LocaleString(en="Not decided in time", de="Nicht rechtzeitig entschieden", fr="Sans décision", it="Scaduta"),
    icon="clock",
):
    """Nobody decided in time."""


class AskConfirmationEvent(
    AskPersonEvent,
    label=LocaleString(en="Confirmation", de="Bestätigung", fr="Confirmation", it="Conferma"),
    icon="confirm",
):
    """Asks a person for a yes or no.

    Attributes:
        subject: What is to be confirmed, shown apart from the question: the mail, the order.
        confirm_label: What the yes says, in place of our own text.
        decline_label: What the no says.
        default: Which of both is offered first.
    """

    kind: ClassVar[RequestKind] = "confirmation"
    _main_field: ClassVar[str] = "confirmed"

    if TYPE_CHECKING:
        Answered = ConfirmationAnsweredEvent
        TimedOut = ConfirmationTimedOutEvent

    subject: Text = ""
    confirm_label: Text | None = None
    decline_label: Text | None = None
    default: bool | None = None


class ChatAnsweredEvent(
    ControlAndDisplayEvent, label=LocaleString(en="Answered", de="Beantwortet", fr="Répondu", it="Risposto")
):
    """A person's next message.

    Attributes:
        text: The message.
        message_id: Its id in the thread; None where it was given otherwise.
    """

    text: Annotated[str, Field(max_length=MAX_ANSWER_CHARACTERS)]
    message_id: str | None = None


class ChatTimedOutEvent(
    ControlAndDisplayEvent,
    label=LocaleString(en="No message in time", de="Keine Nachricht", fr="Aucun message", it="Nessun messaggio"),
    icon="clock",
):
    """The person wrote nothing in time."""


class AskChatEvent(
    AskPersonEvent, label=LocaleString(en="Asks back", de="Rückfrage", fr="Demande", it="Chiede"), icon="chat"
):
    """Asks in the conversation: the question is a message of the thread, and the person's next message answers it."""

    kind: ClassVar[RequestKind] = "chat"

    if TYPE_CHECKING:
        Answered = ChatAnsweredEvent
        TimedOut = ChatTimedOutEvent

    def _checked(self, event: Event) -> Event:
        assert isinstance(event, ChatAnsweredEvent)
        if not event.text.strip():
            raise AnswerInvalid.of_field("text", "it is blank", "blank")
        return event


AskInputEvent.answer_with({"Answered": InputAnsweredEvent, "TimedOut": InputTimedOutEvent})
AskConfirmationEvent.answer_with({"Answered": ConfirmationAnsweredEvent, "TimedOut": ConfirmationTimedOutEvent})
AskChatEvent.answer_with({"Answered": ChatAnsweredEvent, "TimedOut": ChatTimedOutEvent})


class HumanInTheLoop:
    """What a step returns to ask a person: `Input`, `Confirmation` or `Chat`.

    A distinct interaction is a subclass in one line; its answers are its own classes:

        class AskBudget(HumanInTheLoop.Input):
            \"\"\"Asks what may be spent.\"\"\"

        @step()
        async def ask(self, start: UserMessageEvent) -> AskBudget:
            return AskBudget(question="What may it cost?", timeout_seconds=3600)

        @step()
        async def go_on(self, answer: AskBudget.Answered) -> ...: ...

        @step()
        async def give_up(self, late: AskBudget.TimedOut) -> ...: ...
    """

    Input = AskInputEvent
    Confirmation = AskConfirmationEvent
    Chat = AskChatEvent
