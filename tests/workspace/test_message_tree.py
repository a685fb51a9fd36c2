"""Laws of a thread's tree: whatever is posted, answered and retracted in whatever order (A1.6, UI-07)."""

from __future__ import annotations

import asyncio
from typing import Final

from hypothesis import given
from hypothesis import strategies as st

from planwerk.storage.in_memory.workspace import InMemoryWorkspaceStorage
from planwerk.workflow.ids import MessageId, RunId
from tests.workspace.world import World, texts_of

ACTIONS: Final = st.lists(
    st.tuples(
        st.sampled_from(["post", "post", "branch", "instead", "finish", "finish", "again", "retract", "stop"]),
        st.integers(0, 30),
    ),
    max_size=25,
)


class Model:
    """The tree as a plain reading of the rules has it."""

    def __init__(self) -> None:
        self.parents: dict[MessageId, MessageId | None] = {}
        self.texts: dict[MessageId, str] = {}
        self.answered: dict[RunId, MessageId] = {}

    def path(self, message: MessageId) -> list[MessageId]:
        path: list[MessageId] = []
        at: MessageId | None = message
        while at is not None:
            if at in self.parents:
                path.append(at)
                at = self.parents[at]
            else:
                at = self.answered[RunId(at)]
        return path[::-1]

    def drop(self, root: MessageId) -> set[MessageId]:
        gone = {message for message in self.parents if root in self.path(message)}
        for message in gone:
            del self.parents[message]
        return gone


class Play:
    """Does to a world and to the model what the actions say."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.model = Model()
        self.pending: list[RunId] = []
        self.dropped: set[RunId] = set()

    async def do(self, action: str, choice: int) -> None:
        messages = list(self.model.parents)
        match action:
            case "post" | "instead":
                await self._post(None, instead=action == "instead")
            case "branch" if messages:
                await self._post(messages[choice % len(messages)], instead=False)
            case "finish" if self.pending:
                await self._finish(self.pending[0])
            case "again":
                questions = [m for m in messages if RunId(m) not in self.model.answered]
                if questions:
                    question = questions[choice % len(questions)]
                    run = await self.world.answer_again(question)
                    self._queued(run, question)
            case "retract" if messages:
                await self._retract(messages[choice % len(messages)])
            case "stop" if self.pending:
                await self.world.stop(self.pending[choice % len(self.pending)])
            case _:
                pass

    async def _post(self, parent: MessageId | None, *, instead: bool) -> None:
        text = f"m{len(self.model.texts)}"
        when = "instead" if instead else "next"
        if parent is None:
            message, run = await self.world.post(text, when=when)
        else:
            message, run = await self.world.post(text, parent=parent, when=when)
        stored = next(m for m in (await self.world.alice.thread(self.world.thread)).messages if m.id == message)
        assert parent is None or stored.parent_id == parent
        self.model.parents[message], self.model.texts[message] = stored.parent_id, text
        self._queued(run, message, instead=instead)

    def _queued(self, run: RunId, message: MessageId, *, instead: bool = False) -> None:
        self.model.answered[run] = message
        self.pending.insert(min(1, len(self.pending)) if instead else len(self.pending), run)

    async def _finish(self, run: RunId) -> None:
        await self.world.finish(run, f"r{run}")
        self.pending.remove(run)
        if run not in self.dropped:
            self.model.parents[MessageId(run)] = self.model.answered[run]
            self.model.texts[MessageId(run)] = f"r{run}"

    async def _retract(self, message: MessageId) -> None:
        await self.world.retract(message)
        gone = self.model.drop(message)
        self.dropped |= {run for run in self.pending if self.model.answered[run] in gone}

    async def check(self) -> None:
        thread = await self.world.alice.thread(self.world.thread)
        parents = {message.id: message.parent_id for message in thread.messages}
        assert parents == self.model.parents
        pending = [run for run in (thread.active_run, *thread.queued) if run is not None]
        assert pending == self.pending
        for message in parents:
            expected = [self.model.texts[at] for at in self.model.path(message)]
            assert texts_of(await self.world.alice.history(message)) == expected
        numbers = [envelope.seq for envelope in await self.world.log()]
        assert numbers == list(range(1, len(numbers) + 1))


@given(actions=ACTIONS)
def test_every_message_keeps_its_path_whatever_happens_elsewhere(actions: list[tuple[str, int]]) -> None:
    async def play() -> None:
        play = Play(await World.begin(InMemoryWorkspaceStorage()))
        for action, choice in actions:
            await play.do(action, choice)
            await play.check()

    asyncio.run(play())
