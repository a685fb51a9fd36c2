"""Ctrl-C: once asks the run to stop, twice leaves (S7)."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextlib import contextmanager
from typing import Any, TypeVar

import typer

from planwerk.cli.exit_codes import ExitCode

T = TypeVar("T")


class Interrupts:
    """What SIGINT does while a command works."""

    def __init__(self, task: asyncio.Task[Any]) -> None:
        self._task = task
        self._stop: Callable[[], Awaitable[None]] | None = None
        self._stopping: asyncio.Task[None] | None = None
        self.left = False

    @contextmanager
    def stopping(self, stop: Callable[[], Awaitable[None]]) -> Generator[None]:
        """While this is entered, the first Ctrl-C calls `stop`, and the second leaves."""
        self._stop, self._stopping = stop, None
        self.listen()  # an editor for the prompt takes the signal for itself and gives it back to nobody
        try:
            yield
        finally:
            self._stop = None

    def listen(self) -> None:
        """Take SIGINT from now on."""
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, self.handle)

    def handle(self) -> None:
        """Ctrl-C came."""
        if self._stop is not None and self._stopping is None:
            self._stopping = asyncio.ensure_future(_quietly(self._stop))
            return
        self.left = True
        self._task.cancel()


async def _quietly(stop: Callable[[], Awaitable[None]]) -> None:
    """What goes wrong while stopping shows in how the turn ends."""
    await asyncio.gather(stop(), return_exceptions=True)


def run_interruptibly(main: Callable[[Interrupts], Coroutine[Any, Any, T]]) -> T:
    """Run a command's coroutine; leaving by Ctrl-C ends with the exit code for it."""

    async def whole() -> T:
        task = asyncio.current_task()
        assert task is not None
        interrupts = Interrupts(task)
        interrupts.listen()
        try:
            return await main(interrupts)
        except asyncio.CancelledError:
            if interrupts.left:
                raise typer.Exit(ExitCode.LEFT) from None
            raise
        finally:
            asyncio.get_running_loop().remove_signal_handler(signal.SIGINT)

    return asyncio.run(whole())
