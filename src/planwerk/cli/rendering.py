"""How an answer is shown while it comes: drawn as Markdown on a terminal, streamed as text, or whole at the end."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final, Protocol, Self

from planwerk.cli.output import console

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.live import Live

    from planwerk.cli.turns import Turn

FRAMES_A_SECOND: Final = 12
LINES_KEPT_FREE: Final = 4


class Screen(Protocol):
    """Shows one turn; a `Watcher` that is entered before the turn and told its end."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...

    def text(self, text: str) -> None: ...

    def activity(self, label: str) -> None: ...

    def end(self, turn: Turn) -> None: ...


def screen_for(*, plain: bool) -> Screen:
    """The screen for standard output as it is."""
    if not sys.stdout.isatty():
        return WholeAnswer()
    return StreamedText() if plain else DrawnMarkdown(console())


class WholeAnswer:
    """Prints the answer once it is complete: what a pipe wants."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        sys.stdout.flush()

    def text(self, text: str) -> None:
        """Nothing yet."""

    def activity(self, label: str) -> None:
        """Nothing: steps are for people who watch."""

    def end(self, turn: Turn) -> None:
        if turn.text:
            print(turn.text)


class StreamedText:
    """Prints the text as it comes; what has to begin anew begins on a new line."""

    def __init__(self) -> None:
        self._printed = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        sys.stdout.flush()

    def text(self, text: str) -> None:
        if not text.startswith(self._printed):
            sys.stdout.write("\n\n")
            self._printed = ""
        sys.stdout.write(text[len(self._printed) :])
        sys.stdout.flush()
        self._printed = text

    def activity(self, label: str) -> None:
        """Nothing: the text itself shows that something happens."""

    def end(self, turn: Turn) -> None:
        if turn.text:
            self.text(turn.text)
        if self._printed:
            sys.stdout.write("\n")


class DrawnMarkdown:
    """Draws the answer as Markdown while it comes, with what works now in one dim line below."""

    def __init__(self, out: Console) -> None:
        self._out = out
        self._text, self._activity = "", ""
        self._live: Live | None = None

    def __enter__(self) -> Self:
        from rich.live import Live

        self._live = Live(
            console=self._out, refresh_per_second=FRAMES_A_SECOND, transient=True, get_renderable=self._drawn
        )
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def text(self, text: str) -> None:
        self._text = text

    def activity(self, label: str) -> None:
        self._activity = label

    def end(self, turn: Turn) -> None:
        self.__exit__()
        if turn.text:
            self._out.print(_markdown(turn.text), soft_wrap=False)

    def _drawn(self) -> RenderableType:
        from rich.console import Group
        from rich.text import Text

        status = Text(f"· {self._activity} …" if self._activity else "· …", style="dim")
        if not self._text:
            return status
        lines = self._text.splitlines()[-max(1, self._out.height - LINES_KEPT_FREE) :]
        return Group(_markdown("\n".join(lines)), status)


def _markdown(text: str) -> RenderableType:
    from rich.markdown import Markdown

    return Markdown(text)
