"""A model whose answers the test writes while they stream: nothing arrives before the test says so."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncGenerator, Iterable, Mapping
from typing import Final

from planwerk.models.played import Piece, PlayedRequest, Thought, Words
from planwerk.testing.scripted_model import ScriptedModel, TaskItem

END: Final = object()
PATIENCE_SECONDS: Final = 20
"""How long a test waits for a question that never comes before it fails."""


class LiveAnswer:
    """One answer, as far as the test has written it."""

    def __init__(self, request: PlayedRequest) -> None:
        self.request = request
        self.closed = asyncio.Event()
        """Set once nobody reads the answer any more: it ended, or its run was stopped."""
        self._pieces: asyncio.Queue[object] = asyncio.Queue()

    @property
    def question(self) -> str:
        """The newest words of the person."""
        return self.request.prompts()[-1]

    def says(self, *texts: str) -> None:
        """Stream these texts, each as a piece of its own."""
        for text in texts:
            self._pieces.put_nowait(Words(text))

    def thinks(self, text: str) -> None:
        """Stream a piece of thinking."""
        self._pieces.put_nowait(Thought(text))

    def ends(self) -> None:
        """Let the answer be whole."""
        self._pieces.put_nowait(END)

    def breaks_off(self, error: Exception) -> None:
        """Let the model fail here."""
        self._pieces.put_nowait(error)

    async def pieces(self) -> AsyncGenerator[Piece, None]:
        """What the test writes, as it writes it."""
        try:
            while (piece := await self._pieces.get()) is not END:
                if isinstance(piece, Exception):
                    raise piece
                assert isinstance(piece, Words | Thought)
                yield piece
        finally:
            self.closed.set()


class LiveModel(ScriptedModel):
    """Hands each question to the test, which answers it piece by piece; small tasks are answered by themselves.

    Args:
        tasks: Answers to small tasks, by purpose; the demo model's rules answer the others.
        held: Tasks that wait until the test lets them go on, see `next_task`.
    """

    def __init__(self, tasks: Mapping[str, TaskItem] | None = None, *, held: Iterable[str] = ()) -> None:
        super().__init__(tasks=tasks)
        self._held = frozenset(held)
        self._waiting: asyncio.Queue[LiveAnswer] = asyncio.Queue()
        self._tasks_asked: defaultdict[str, asyncio.Queue[asyncio.Event]] = defaultdict(asyncio.Queue)
        self.asked_times = 0
        """How often an answer was asked for, tasks not counted."""

    async def next_answer(self) -> LiveAnswer:
        """Wait until the model is asked, and take the answer that it shall give."""
        return await asyncio.wait_for(self._waiting.get(), PATIENCE_SECONDS)

    async def answer(self, *texts: str) -> LiveAnswer:
        """Give the next answer whole."""
        answer = await self.next_answer()
        answer.says(*texts)
        answer.ends()
        return answer

    async def next_task(self, purpose: str) -> asyncio.Event:
        """Wait until this held task is asked; it goes on once what is returned is set."""
        return await asyncio.wait_for(self._tasks_asked[purpose].get(), PATIENCE_SECONDS)

    async def play(self, request: PlayedRequest) -> AsyncGenerator[Piece, None]:
        if request.purpose is None:
            self.asked_times += 1
            answer = LiveAnswer(request)
            self._waiting.put_nowait(answer)
            async for piece in answer.pieces():
                yield piece
            return
        if request.purpose in self._held:
            go_on = asyncio.Event()
            self._tasks_asked[request.purpose].put_nowait(go_on)
            await go_on.wait()
        async for piece in super().play(request):
            yield piece
