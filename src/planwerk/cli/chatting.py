"""What happens between prompt and answer in `planwerk chat`: messages, `/commands`, stopping."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

from planwerk.cli.asking import Reader, answer_in_terminal, show, terminal_reader
from planwerk.cli.client import Api
from planwerk.cli.errors import report, tell
from planwerk.cli.exit_codes import ExitCode
from planwerk.cli.interrupts import Interrupts
from planwerk.cli.output import console, print_json, print_table
from planwerk.cli.rendering import Screen, WholeAnswer, screen_for
from planwerk.cli.turns import Talk, Turn
from planwerk.workflow.errors import PlanwerkError

Command: TypeAlias = Callable[["Chat", str], Awaitable[None]]

PROMPT: Final = "› "
ENDS: Final[Mapping[str, ExitCode]] = {
    "completed": ExitCode.DONE,
    "stopped": ExitCode.RUN_STOPPED,
    "waiting": ExitCode.RUN_WAITING,
}


def tell_waiting(turn: Turn, *, in_chat: bool) -> None:
    """Where what the run asks is answered later; in a chat, a question in the conversation by the next line."""
    for request in turn.requests.values():
        if not (in_chat and request["kind"] == "chat"):
            message = f"The run waits for an answer: {request['question']}"
            tell("run_waiting", message, f"Answer it: planwerk approvals answer {request['id']}.", as_json=False)


async def converse(api: Api, talk: Talk, interrupts: Interrupts, *, plain: bool, as_json: bool) -> ExitCode:
    """Read and answer until the end of input or /quit; the exit code is that of the last turn where input is piped."""
    chat = Chat(api, talk, interrupts, plain=plain, as_json=as_json)
    read = _terminal_reader() if sys.stdin.isatty() else _read_piped
    chat.reader = terminal_reader() if sys.stdin.isatty() else _piped_reader(read)
    if sys.stdin.isatty():
        console().print(f"{talk.profile}: /help lists commands, Ctrl-D leaves.", style="dim", markup=False)
    while not chat.ended:
        line = await read()
        if line is None:
            break
        if line.strip():
            await chat.take(line.strip())
    return chat.code if not sys.stdin.isatty() else ExitCode.DONE


class Chat:
    """A conversation and what its commands work on."""

    def __init__(self, api: Api, talk: Talk, interrupts: Interrupts, *, plain: bool, as_json: bool) -> None:
        self.api, self.talk = api, talk
        self._interrupts, self._plain, self._as_json = interrupts, plain, as_json
        self.ended = False
        self.code = ExitCode.DONE
        self.reader: Reader | None = None
        """Where answers to what a run asks are read from."""

    async def take(self, line: str) -> None:
        """Do what a line says; what goes wrong is told, and the conversation goes on."""
        try:
            if line.startswith("/"):
                await self._command(line)
            else:
                await self._ask(line)
        except PlanwerkError as error:
            self.code = report(error, as_json=self._as_json, with_trace=False)

    async def _ask(self, text: str) -> None:
        await self._turn(lambda screen: self.talk.ask(text, screen))
        while self.talk.has_next:
            await self._turn(self.talk.next_turn)

    async def _turn(self, follow: Callable[[Screen], Awaitable[Turn]]) -> None:
        screen = WholeAnswer() if self._as_json else screen_for(plain=self._plain)
        with screen, self._interrupts.stopping(self.talk.stop):
            async with self._listening():
                turn = await follow(screen)
        while turn.status == "waiting" and await self._answered(turn):
            screen = WholeAnswer() if self._as_json else screen_for(plain=self._plain)
            with screen, self._interrupts.stopping(self.talk.stop):
                turn = await self.talk.go_on(screen)
        if self._as_json:
            print_json(turn.to_json())
        else:
            screen.end(turn)
            self._tell_end(turn)
        self.code = ENDS.get(turn.status, ExitCode.RUN_FAILED)

    @asynccontextmanager
    async def _listening(self) -> AsyncGenerator[None]:
        """While an answer is written, a line that is typed in the terminal is said into it."""
        if not sys.stdin.isatty() or self._as_json:
            yield
            return
        saying: set[asyncio.Task[None]] = set()
        loop = asyncio.get_running_loop()

        def typed() -> None:
            line = sys.stdin.readline()
            if not line:
                loop.remove_reader(sys.stdin.fileno())
            elif line.strip():
                saying.add(loop.create_task(self._say(line.strip())))

        loop.add_reader(sys.stdin.fileno(), typed)
        try:
            yield
        finally:
            loop.remove_reader(sys.stdin.fileno())
            await asyncio.gather(*saying)

    async def _say(self, text: str) -> None:
        try:
            heard = await self.talk.say(text)
        except PlanwerkError as error:
            report(error, as_json=False, with_trace=False)
            return
        note = "Said to the run that works." if heard else "Waits until this answer is done."
        console(to_stderr=True).print(note, style="dim")

    async def _answered(self, turn: Turn) -> bool:
        """Ask what the run asks; False if it is left open. A question in the conversation waits for the next line."""
        for request in list(turn.requests.values()):
            if request["kind"] == "chat":
                if not self._as_json:
                    show(request)
                return False
            if self.reader is None or not await answer_in_terminal(self.api, request, self.reader):
                return False
        return True

    def _tell_end(self, turn: Turn) -> None:
        if turn.status == "waiting":
            tell_waiting(turn, in_chat=True)
        elif turn.status == "stopped":
            console(to_stderr=True).print("Stopped.", style="dim")
        elif turn.status != "completed":
            error = turn.error or {}
            message = str(error.get("message") or "the run failed.")
            tell(str(error.get("code", "")), message, str(error.get("what_to_do") or ""), as_json=False)
        if turn.follow_ups and sys.stdout.isatty():
            for question in turn.follow_ups:
                console().print(f"  → {question}", style="dim", markup=False)

    async def _command(self, line: str) -> None:
        name, _, rest = line.partition(" ")
        entry = COMMANDS.get(name)
        if entry is None:
            tell("usage", f"there is no command {name}.", "/help lists them; put a space before a text.", as_json=False)
            return
        await entry.do(self, rest.strip())


async def _show_run(chat: Chat, _: str) -> None:
    turn = chat.talk.current
    if turn is None:
        print("Nothing has been asked yet.")
        return
    timeline = await chat.api.get(f"/api/runs/{turn.run}/timeline")
    steps = list(_steps_of(timeline["items"]))
    print_table(("STEP", "ENDED", "SECONDS"), steps, empty="The run has no steps yet.")
    used = ", ".join(f"{value} {name.replace('_', ' ')}" for name, value in turn.usage.items())
    print(f"Run {turn.run}: {turn.status}{f'; {used}' if used else ''}")


def _steps_of(entries: list[Mapping[str, Any]]) -> list[tuple[str, str, str]]:
    """Label, outcome and duration of each execution, in the order in which they became due."""
    from datetime import datetime

    due: dict[str, Mapping[str, Any]] = {}
    ended: dict[str, tuple[str, str]] = {}
    for entry in entries:
        execution = entry["data"].get("execution")
        if entry["type"] == "execution_due":
            due[execution] = entry
        elif entry["type"] in {"execution_finished", "execution_failed"} and execution in due:
            begun = datetime.fromisoformat(due[execution]["time"])
            seconds = (datetime.fromisoformat(entry["time"]) - begun).total_seconds()
            ended[execution] = ("failed" if entry["type"] == "execution_failed" else "done", f"{seconds:.2f}")
    return [(str(entry["data"]["label"]), *ended.get(execution, ("", ""))) for execution, entry in due.items()]


async def _export(chat: Chat, target: str) -> None:
    if chat.talk.current is None:
        print("Nothing has been said yet.")
        return
    thread = await chat.api.get(f"/api/threads/{chat.talk.thread}")
    text = exported(thread)
    if not target:
        print(text, end="")
        return
    try:
        path = await asyncio.to_thread(_written, target, text)
    except OSError as error:
        tell("not_written", f"{target} cannot be written: {error.strerror}.", "Take another file.", as_json=False)
        return
    print(f"Wrote {path}.")


def _written(target: str, text: str) -> Path:
    path = Path(target).expanduser()
    path.write_text(text, encoding="utf-8")
    return path


def exported(thread: Mapping[str, Any]) -> str:
    """A thread as Markdown."""
    lines = [f"# {thread.get('title') or 'Chat'}", ""]
    messages: list[dict[str, Any]] = thread["messages"]
    for message in messages:
        run: dict[str, Any] = message.get("run") or {}
        who = "You" if message["role"] == "user" else str(run.get("profile_name") or "Assistant")
        lines += [f"## {who}", "", message["content"], ""]
        if message.get("incomplete"):
            lines += ["*This answer is incomplete.*", ""]
    return "\n".join(lines)


async def _begin_anew(chat: Chat, profile: str) -> None:
    chat.talk = await Talk.begin(chat.api, profile or chat.talk.profile)
    print(f"A new chat with {chat.talk.profile}.")


async def _help(_: Chat, __: str) -> None:
    for name, entry in COMMANDS.items():
        print(f"  {name} {entry.takes}".ljust(22) + entry.help)


async def _quit(chat: Chat, _: str) -> None:
    chat.ended = True


@dataclass(frozen=True, slots=True)
class Entry:
    """A command of the chat."""

    do: Command
    help: str
    takes: str = ""


COMMANDS: Final[Mapping[str, Entry]] = {
    "/run": Entry(_show_run, "the steps of the last answer, and what it used"),
    "/export": Entry(_export, "the conversation as Markdown, to a file or here", "[FILE]"),
    "/new": Entry(_begin_anew, "begin a new conversation", "[PROFILE]"),
    "/help": Entry(_help, "this list"),
    "/quit": Entry(_quit, "leave; Ctrl-D does the same"),
}


def _terminal_reader() -> Callable[[], Awaitable[str | None]]:
    """Reads from the terminal with history and editing; Ctrl-C drops what is typed, on an empty line it leaves."""
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import WordCompleter

    session: PromptSession[str] = PromptSession(
        completer=WordCompleter(list(COMMANDS), sentence=True), complete_while_typing=False
    )

    async def read() -> str | None:
        dropped = False
        while True:
            try:
                return await session.prompt_async(PROMPT)
            except KeyboardInterrupt:
                if dropped:
                    return None
                dropped = True
            except EOFError:
                return None

    return read


def _piped_reader(read: Callable[[], Awaitable[str | None]]) -> Reader:
    """The next line of standard input is the answer."""

    async def answer(_: str) -> str | None:
        return await read()

    return answer


async def _read_piped() -> str | None:
    """The next line of standard input, None at its end; reading it must not hold up what streams meanwhile."""
    with suppress(UnicodeDecodeError):
        line = await asyncio.to_thread(sys.stdin.readline)
        return line if line else None
    return ""
