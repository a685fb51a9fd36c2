"""A help desk that answers from the notes its admins keep: `planwerk serve examples/helpdesk.py`."""

from planwerk import Agent, AgentConfig, ControlAndDisplayEvent, LLMEvent, LocaleString, UserMessageEvent, step
from planwerk.capabilities import Block, Conversation, ConversationFields
from planwerk.models import Answering


class HelpdeskNotesFoundEvent(
    ControlAndDisplayEvent, label=LocaleString(en="Notes found", de="Notizen gefunden"), icon="note", kind="RETRIEVER"
):
    """What the notes say about a question."""

    notes: tuple[str, ...]


class HelpdeskConfig(ConversationFields, AgentConfig):
    """The profile's form: the fields of the conversation, then the help desk's own."""

    notes: tuple[str, ...] = (
        "The office is open Monday to Friday from 8:00 to 17:00.",
        "A new laptop is ordered with form IT-7, which the team lead signs.",
        "A forgotten password is set anew at the service desk on the ground floor.",
    )


class Helpdesk(Agent):
    """Answers employees' questions from the notes of the help desk."""

    config = HelpdeskConfig

    @step()
    async def begin(self, message: UserMessageEvent) -> Conversation.ContextualizeRequest:
        return Conversation.contextualize(history=message.messages, message=message)

    @step()
    async def look_up(self, turn: Conversation.Contextualized, config: HelpdeskConfig) -> HelpdeskNotesFoundEvent:
        words = {word.strip("?!.,").lower() for word in turn.query.split() if len(word) > 3}
        found = (note for note in config.notes if any(word in note.lower() for word in words))
        return HelpdeskNotesFoundEvent(notes=tuple(found))

    @step()
    async def assemble(
        self, turn: Conversation.Contextualized, found: HelpdeskNotesFoundEvent
    ) -> Conversation.ComposeRequest:
        notes = Block.data(
            "\n".join(found.notes), title="Notes", note="Answer from the notes; say so if they do not help."
        )
        return Conversation.compose(turn.history, blocks=[notes])

    @step()
    async def answer(self, prompt: Conversation.Composed, answering: Answering) -> LLMEvent:
        return await answering.answer(prompt.history)

    @step()
    async def finish(self, answer: LLMEvent) -> Conversation.CompleteRequest:
        return Conversation.complete(answer)
