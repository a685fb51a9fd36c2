"""One REST conversation of a command, from its options to the answer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from planwerk.cli.client import Api

T = TypeVar("T")


def call(
    server: str | None,
    key: str | None,
    data: Path | None,
    work: Callable[[Api], Awaitable[T]],
    *,
    beside: bool = False,
    **flags: Any,
) -> T:
    """Connect as the options say and do the work; nothing is driven here, only read and written.

    Args:
        beside: Do it in this process, also where a server uses the data folder; nothing new is made there.
    """
    from planwerk.cli.client import Target, connect

    async def main() -> T:
        async with connect(Target(server, key, {"data": data, **flags}, beside=beside)) as api:
            return await work(api)

    return asyncio.run(main())
