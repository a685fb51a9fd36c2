"""Asking other agents: a run of its own whose end is the answer (E8.2), and runs nobody waits for (E8.4).

A step returns the request and ends; the run waits, in storage and not in memory, until the run it asked for has ended:

    class AskResearcher(AgentInTheLoop):
        \"\"\"Lets the researcher find the sources.\"\"\"

    @step()
    async def ask(self, question: UserMessageEvent) -> AskResearcher:
        return AskResearcher(profile="researcher", message="Which sources say so?", timeout_seconds=600)

    @step()
    async def go_on(self, found: AskResearcher.Ended) -> LLMStopEvent: ...

    @step()
    async def without(self, failed: AskResearcher.Failed | AskResearcher.TimedOut) -> LLMStopEvent: ...
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Final, Literal, Self, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainSerializer, WithJsonSchema, model_validator

from planwerk.workflow.any_event import AnyEvent
from planwerk.workflow.blueprint import Agent
from planwerk.workflow.events import ControlAndDisplayEvent, Event, ExceptionEvent, StartEvent, UnknownEvent
from planwerk.workflow.locale_string import LocaleString
from planwerk.workflow.people import LONGEST_TIMEOUT_SECONDS, MAX_ANSWER_CHARACTERS
from planwerk.workflow.requests import OutsideRequest

MAX_KEY_CHARACTERS: Final = 500


def _name_of(value: str | type[Agent] | None) -> str | None:
    return value if value is None or isinstance(value, str) else value.__name__


BlueprintName = Annotated[
    str | type[Agent] | None,
    AfterValidator(_name_of),
    PlainSerializer(_name_of),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "null"}]}),
]
"""A blueprint's class name; the class itself may be given for it."""


class _Asked(BaseModel):
    """Which agent is meant and what its run begins with: fields of `AgentInTheLoop` and `Detached`."""

    profile: Annotated[str, Field(min_length=1)] | None = None
    blueprint: BlueprintName = None
    start: AnyEvent | None = None
    message: Annotated[str, Field(max_length=MAX_ANSWER_CHARACTERS)] | None = None

    @model_validator(mode="after")
    def _is_complete(self) -> Self:
        if (self.profile is None) == (self.blueprint is None):
            raise ValueError("give either profile, by its id, or blueprint")
        if (self.start is None) == (self.message is None):
            raise ValueError("give either start, an event, or message, a text")
        if self.start is not None and not isinstance(self.start, StartEvent | UnknownEvent):
            raise ValueError(f"{type(self.start).__name__} is no StartEvent")
        return self

    @property
    def agent(self) -> str:
        """The profile's id, or the blueprint's class name."""
        return self.profile or str(_name_of(self.blueprint))


class AgentUsage(BaseModel):
    """What a run and the runs below it have used.

    Attributes:
        usage: Tokens by kind.
        cost: In USD, as text; None when no price is known.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    model_calls: int = 0
    usage: dict[str, int] = Field(default_factory=dict[str, int])
    cost: str | None = None


class AgentEndedEvent(
    ControlAndDisplayEvent,
    label=LocaleString(en="Agent answered", de="Agent hat geantwortet", fr="Agent a répondu", it="Agente ha risposto"),
    icon="agent",
    kind="AGENT",
):
    """The run that was asked for ended with a stop.

    Attributes:
        run: Its id.
        stop: Its stop, of whatever class.
        used: What it used, runs below it included; counted for this run too.
    """

    run: str = ""
    stop: AnyEvent
    used: AgentUsage = AgentUsage()

    @property
    def text(self) -> str:
        """What it answered, where its stop has a text; else empty."""
        answer = getattr(self.stop, "answer", None)
        return str(getattr(answer, "text", None) or getattr(self.stop, "text", None) or "")


class AgentFailedEvent(
    ControlAndDisplayEvent,
    label=LocaleString(
        en="Agent failed", de="Agent ist gescheitert", fr="Échec de l’agent", it="L’agente non è riuscito"
    ),
    icon="failed",
):
    """The run that was asked for failed, was stopped, or could not be started.

    Attributes:
        run: Its id; None where there is none, as when it was refused.
        code: Code of the error; `run_stopped` where somebody stopped it.
        message: What happened, for people.
        used: What it used, runs below it included; counted for this run too.
    """

    run: str | None = None
    code: str
    message: str
    what_to_do: str = ""
    http_status: int = 500
    used: AgentUsage = AgentUsage()

    @classmethod
    def of_stop(cls, run: str, stop: ExceptionEvent, used: AgentUsage) -> AgentFailedEvent:
        """Of a run that ended with this error."""
        return cls(
            run=run,
            code=stop.code,
            message=stop.message,
            what_to_do=stop.what_to_do,
            http_status=stop.http_status,
            used=used,
        )


class AgentTimedOutEvent(
    ControlAndDisplayEvent,
    label=LocaleString(
        en="Agent took too long", de="Agent brauchte zu lange", fr="Agent trop lent", it="Agente troppo lento"
    ),
    icon="clock",
):
    """The run that was asked for had not ended in time; it is stopped."""


class AgentInTheLoop(
    _Asked,
    OutsideRequest,
    label=LocaleString(en="Asks an agent", de="Fragt einen Agenten", fr="Interroge un agent", it="Chiede a un agente"),
    icon="agent",
):
    """Asks another agent: a run of its own, which this run waits for (E8.2).

    A distinct use is a subclass in one line, taken as `AskResearcher.Ended`, `.Failed` and `.TimedOut`.

    Attributes:
        profile: Id of the profile that is asked. The person whose run asks must have the right to use it.
        blueprint: Or a blueprint that is served, with its default settings.
        start: What its run begins with.
        message: Or a text, which it gets as a person's message.
        thread: `new`: it has a thread context of its own. `same`: it shares that of this run.
        timeout_seconds: After this long the request is answered by its `TimedOut`, which a step then has to take,
            and the run is stopped; None waits for ever.
    """

    if TYPE_CHECKING:
        Ended = AgentEndedEvent
        Failed = AgentFailedEvent
        TimedOut = AgentTimedOutEvent

    thread: Literal["new", "same"] = "new"
    timeout_seconds: Annotated[float, Field(gt=0, le=LONGEST_TIMEOUT_SECONDS, allow_inf_nan=False)] | None = None

    def due_microseconds(self, asked: int) -> int | None:
        return None if self.timeout_seconds is None else asked + round(self.timeout_seconds * 1e6)

    def overdue_answer(self) -> Event:
        return self.responses["TimedOut"]()


AgentInTheLoop.answer_with(
    {"Ended": AgentEndedEvent, "Failed": AgentFailedEvent, "TimedOut": AgentTimedOutEvent},
)


class Detached(
    _Asked,
    ControlAndDisplayEvent,
    label=LocaleString(en="Starts a run", de="Startet einen Lauf", fr="Lance une exécution", it="Avvia un’esecuzione"),
    icon="agent",
):
    """Starts a run that nobody waits for: after the answer, at its own pace, once (E8.4).

    It is accepted in the append that publishes it, also beside a stop, and is not stopped with the run that asked. It
    runs under a system actor with the rights of who asked.

    Attributes:
        key: Of several with one key, the first is run and the others are not; None runs it for certain.
        order_key: Those with one order key run one after another, in the order in which they were accepted.
        retries: How often a failed run is tried again, each time as a run of its own.
        backoff_seconds: Before the first of these; each later one waits twice as long.
    """

    leaves_run: ClassVar[bool] = True

    key: Annotated[str, Field(min_length=1, max_length=MAX_KEY_CHARACTERS)] | None = None
    order_key: Annotated[str, Field(min_length=1, max_length=MAX_KEY_CHARACTERS)] | None = None
    retries: Annotated[int, Field(ge=0, le=100)] = 3
    backoff_seconds: Annotated[float, Field(ge=0, le=86_400, allow_inf_nan=False)] = 10.0


Asked: TypeAlias = AgentInTheLoop | Detached
