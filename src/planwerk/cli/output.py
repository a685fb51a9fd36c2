"""What commands print: text for people, JSON for programs, colour only where it is wanted."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console


def console(*, to_stderr: bool = False) -> Console:
    """A console on the stream as it is now; rich keeps to `NO_COLOR` and to what a pipe can show."""
    from rich.console import Console

    return Console(stderr=to_stderr, highlight=False, soft_wrap=True)


def print_json(data: Any) -> None:
    """One line of JSON on standard output."""
    print(json.dumps(data, ensure_ascii=False, default=str), flush=True)


def print_table(headings: Sequence[str], rows: Iterable[Sequence[str]], *, empty: str) -> None:
    """Rows under headings, columns aligned; `empty` if there are none."""
    from rich.cells import cell_len

    listed = list(rows)
    if not listed:
        print(empty)
        return
    widths = [max(map(cell_len, column)) for column in zip(headings, *listed, strict=True)]
    out = console()
    for number, row in enumerate([headings, *listed]):
        cells = [cell + " " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True)]
        out.print("   ".join(cells).rstrip(), style="dim" if number == 0 else None, markup=False)


def count(number: int, thing: str) -> str:
    """`1 problem`, `2 problems`."""
    return f"{number} {thing}{'' if number == 1 else 's'}"
