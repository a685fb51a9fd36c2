"""Tasks that can be held up, or vanish, at every await (E10.2).

The tasks of an *owner* (a simulated worker process) are driven through `Watched`: before each of them goes on after an
await, the owner is asked what happens there: nothing, a pause, or the end of the whole process. Steps, the driver, the
worker and every port call are held up alike, and nothing in them knows.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Generator
from contextvars import ContextVar
from types import TracebackType
from typing import Any, Protocol


class Owner(Protocol):
    """A simulated process."""

    tasks: dict[asyncio.Task[Any], None]
    """Its tasks that have not ended, in the order they were made."""

    def at_await(self) -> Coroutine[Any, Any, None] | None:
        """What happens before a task of it goes on: something to wait for first, or nothing."""
        ...


OWNER: ContextVar[Owner | None] = ContextVar("OWNER", default=None)
"""The process the running task belongs to; tasks inherit it from the task that makes them."""


class Watched(Coroutine[Any, Any, Any]):
    """A coroutine that asks its owner before each of its steps."""

    __slots__ = ("_inner", "_owner", "_pause", "_value")

    def __init__(self, owner: Owner, inner: Coroutine[Any, Any, Any]) -> None:
        self._owner = owner
        self._inner = inner
        self._pause: Coroutine[Any, Any, None] | None = None
        self._value: Any = None

    def __repr__(self) -> str:
        return f"<watched {getattr(self._inner, '__qualname__', self._inner)}>"

    def send(self, value: Any, /) -> Any:
        if self._pause is None:
            self._pause = self._owner.at_await()
            if self._pause is None:
                return self._inner.send(value)
            self._value, value = value, None
        try:
            return self._pause.send(value)
        except StopIteration:
            self._pause = None
        except BaseException as error:
            self._pause = None
            return self._inner.throw(error)
        value, self._value = self._value, None
        return self._inner.send(value)

    def throw(
        self,
        typ: type[BaseException] | BaseException,
        val: BaseException | object = None,
        tb: TracebackType | None = None,
        /,
    ) -> Any:
        if self._pause is not None:
            self._pause.close()
            self._pause = None
        error = typ if isinstance(typ, BaseException) else val if isinstance(val, BaseException) else typ()
        return self._inner.throw(error)

    def close(self) -> None:
        if self._pause is not None:
            self._pause.close()
        self._inner.close()

    def __await__(self) -> Generator[Any, Any, Any]:
        raise TypeError("a watched coroutine is run by its task and awaited by nobody")


def task_factory(
    loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, Any] | Generator[Any, None, Any], **options: Any
) -> asyncio.Task[Any]:
    """Makes the tasks of a loop: those of an owner are watched."""
    context = options.get("context")
    owner = OWNER.get() if context is None else context.get(OWNER)
    if owner is None or not isinstance(work, Coroutine):
        return asyncio.Task(work, loop=loop, **options)
    task: asyncio.Task[Any] = asyncio.Task(Watched(owner, work), loop=loop, **options)
    owner.tasks[task] = None
    task.add_done_callback(lambda ended: owner.tasks.pop(ended, None))
    return task
