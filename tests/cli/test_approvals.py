"""`approvals`, and what `run` and `chat` do when a run asks a person (E8.1, S7)."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from planwerk.cli.asking import answer_in_terminal
from planwerk.cli.client import Api
from planwerk.cli.errors import Answered
from planwerk.cli.exit_codes import ExitCode
from tests.cli.world import COMMAND, PATIENCE_SECONDS, Shell, eventually, one_line

MODULE = '''
from planwerk import Agent, HumanInTheLoop, StopEvent, UserMessageEvent, step
from planwerk.messages.prompts import first_user_prompt


class CliAskStop(StopEvent):
    text: str


class CliAskSize(HumanInTheLoop.Input):
    """Which size."""


class CliAskSure(HumanInTheLoop.Confirmation):
    """Whether to order it."""


class CliAskWhy(HumanInTheLoop.Chat):
    """Why."""


class CliAsker(Agent):
    """Asks as the message says."""

    @step()
    async def ask(self, message: UserMessageEvent) -> CliAskSize | CliAskSure | CliAskWhy:
        how = first_user_prompt(message.messages[-1:])
        if how == "sure":
            return CliAskSure(question="Order it?", subject="A desk for 500", timeout_seconds=86_400)
        if how == "why":
            return CliAskWhy(question="Why?")
        return CliAskSize(question="Which size?", choices=("small", "large"))

    @step()
    async def done(self, answer: CliAskSize.Answered | CliAskWhy.Answered) -> CliAskStop:
        return CliAskStop(text=f"You said {answer.text}.")

    @step()
    async def decided(self, answer: CliAskSure.Answered) -> CliAskStop:
        return CliAskStop(text="Ordered." if answer.confirmed else f"Not ordered: {answer.reason}.")

    @step()
    async def late(self, late: CliAskSure.TimedOut) -> CliAskStop:
        return CliAskStop(text="Too late.")
'''


@pytest.fixture(scope="module")
def asking(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """A shell beside a server of an agent that asks."""
    folder = tmp_path_factory.mktemp("asking")
    (folder / "asker.py").write_text(MODULE, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith("PLANWERK_") or name.endswith(("_API_KEY", "_BASE_URL")):
                patch.delenv(name)
        patch.chdir(folder)
        patch.setenv("PLANWERK_DATA", str(folder / "data"))
        patch.setenv("PLANWERK_MODEL", "demo")
        with Shell(data=folder / "data") as made:
            made.serve("asker.py", "--only")
            yield made


def waiting(shell: Shell, how: str) -> dict[str, Any]:
    """What a run asks that nobody was there to answer."""
    done = shell.run("run", "cli-asker", how, "--json")
    assert done.exit_code == ExitCode.RUN_WAITING
    told = json.loads(done.stdout)
    assert told["status"] == "waiting"
    return told["requests"][0]


def test_what_waits_is_listed_and_answered(asking: Shell) -> None:
    request = waiting(asking, "size")

    listed = asking.run("approvals", "list").stdout
    of_nobody = asking.json("approvals", "list", "--profile", "nobody")["items"]
    done = asking.json("approvals", "answer", request["id"], "2")
    after = asking.json("approvals", "list")["items"]

    assert request["id"] in listed
    assert "Which size?" in listed
    assert of_nobody == []
    assert done["run_id"] == request["run"]
    assert request["id"] not in [each["id"] for each in after]


def test_what_was_answered_is_listed_with_who_said_what(asking: Shell) -> None:
    request = waiting(asking, "sure")
    asking.run("approvals", "answer", request["id"], "--no", "--reason", "too dear")

    eventually(lambda: request["id"] in [each["id"] for each in asking.json("approvals", "answered")["items"]])
    newest = asking.json("approvals", "answered", "--limit", "1")["items"]
    line = next(line for line in asking.run("approvals", "answered").stdout.splitlines() if request["run"] in line)

    assert [each["id"] for each in newest] == [request["id"]]
    assert newest[0]["answered_by"]["name"] in line
    assert "no too dear" in line
    assert "Order it? A desk for 500" in line


def test_a_confirmation_is_answered_by_yes_or_no(asking: Shell) -> None:
    request = waiting(asking, "sure")

    wrong = asking.run("approvals", "answer", request["id"], "sure")
    done = asking.run("approvals", "answer", request["id"], "--no", "--reason", "too dear")
    again = asking.run("approvals", "answer", request["id"], "--yes")

    assert "--yes or --no" in one_line(wrong.stderr)
    assert wrong.exit_code == ExitCode.USAGE
    assert done.stdout == f"Answered; run {request['run']} takes it up.\n"
    assert "answered before" in one_line(again.stderr)
    assert again.exit_code == ExitCode.PROBLEM


def test_what_does_not_fit_is_told_and_what_is_unknown_is_not_found(asking: Shell) -> None:
    request = waiting(asking, "size")

    misfit = asking.run("approvals", "answer", request["id"], "medium")
    unknown = asking.run("approvals", "answer", "01890000-0000-7000-8000-000000000000", "x")
    for_a_text = asking.run("approvals", "answer", request["id"], "--yes")
    piped = asking.run("approvals", "answer", request["id"], stdin="large\n")

    assert "'small', 'large'" in one_line(misfit.stderr)
    assert unknown.exit_code == ExitCode.NOT_FOUND
    assert for_a_text.exit_code == ExitCode.USAGE
    assert piped.exit_code == 0


def test_run_says_where_to_answer_what_nobody_is_there_to_answer(asking: Shell) -> None:
    done = asking.spawn("run", "cli-asker", "size")

    assert done.returncode == ExitCode.RUN_WAITING
    assert "Which size? Answer it: planwerk approvals answer" in one_line(done.stderr)


def test_in_a_piped_chat_the_next_line_is_the_answer(asking: Shell) -> None:
    done = asking.spawn("chat", "cli-asker", stdin="size\nmedium\n1\nwhy\nBecause\nsure\nn\nno need\n")

    assert done.returncode == 0
    assert done.stdout.splitlines() == ["You said small.", "You said Because.", "Not ordered: no need."]
    assert "none of 'small', 'large'" in done.stderr


def test_a_chat_that_ends_with_a_question_open_says_so(asking: Shell) -> None:
    done = asking.spawn("chat", "cli-asker", stdin="sure\n")

    assert done.returncode == ExitCode.RUN_WAITING
    assert "planwerk approvals answer" in done.stderr


def test_in_a_terminal_run_asks_and_goes_on(asking: Shell) -> None:
    code, seen = in_a_terminal(["run", "cli-asker", "sure", "--plain"], [("[y/n] >", "y\n")])

    assert code == 0
    assert "Order it?" in seen
    assert "A desk for 500" in seen
    assert "Ordered." in seen


def test_an_answer_where_no_server_runs_is_taken_up_by_the_next(shell: Shell) -> None:
    Path("asker.py").write_text(MODULE, encoding="utf-8")
    asked = json.loads(shell.run("run", "cli-asker", "size", "--app", "asker.py", "--json").stdout)

    shell.run("approvals", "answer", asked["requests"][0]["id"], "large")
    shell.serve("asker.py", "--only")

    eventually(lambda: shell.json("approvals", "list")["items"] == [])


class AskingApi(Api):
    """Takes answers, or refuses them as told."""

    def __init__(self, *refusals: Answered | None) -> None:
        self._refusals = list(refusals)
        self.answers: list[Any] = []

    async def post(self, path: str, body: Any = None) -> Any:
        self.answers.append(body["answer"])
        refusal = self._refusals.pop(0) if self._refusals else None
        if refusal is not None:
            raise refusal
        return {}


def lines(*typed: str | None) -> Callable[[str], Awaitable[str | None]]:
    left = list(typed)

    async def read(prompt: str) -> str | None:
        return left.pop(0) if left else None

    return read


def asks(kind: str, **more: Any) -> dict[str, Any]:
    blank: dict[str, Any] = {"subject": "", "details": "", "choices": [], "expires": None, "default": None}
    return {"id": "r", "kind": kind, "question": "?", **blank, **more}


CHOICES = [{"value": "s", "label": "Small"}, {"value": "l", "label": "Large"}]


@pytest.mark.parametrize(
    ("request_", "typed", "answer"),
    [
        (asks("input"), ["free text"], {"text": "free text"}),
        (asks("input", choices=CHOICES), ["2"], {"text": "l"}),
        (asks("input", choices=CHOICES), ["small"], {"text": "s"}),
        (asks("input", default="x"), [""], {"text": ""}),  # what a blank stands for is the server's to say
        (asks("confirmation"), ["Ja"], {"confirmed": True}),
        (asks("confirmation"), ["", "perhaps", "n", ""], {"confirmed": False, "reason": ""}),
        (asks("confirmation", default=True), [""], {"confirmed": True}),
        (asks("confirmation", default=False), ["", "not now"], {"confirmed": False, "reason": "not now"}),
    ],
)
async def test_what_is_typed_becomes_an_answer(request_: dict[str, Any], typed: list[str], answer: Any) -> None:
    api = AskingApi()

    assert await answer_in_terminal(api, request_, lines(*typed))
    assert api.answers == [answer]


async def test_who_leaves_the_question_leaves_it_open() -> None:
    api = AskingApi()

    assert not await answer_in_terminal(api, asks("input"), lines(None))
    assert not await answer_in_terminal(api, asks("confirmation"), lines("what", None))
    assert api.answers == []


async def test_a_misfit_is_asked_for_again_and_what_others_answered_is_done(capsys: pytest.CaptureFixture[str]) -> None:
    misfit = Answered(422, "answer_invalid", "it does not fit.", "Correct it.")
    taken = Answered(409, "request_answered", "it was answered before.", "Look.")
    api = AskingApi(misfit, taken)

    assert await answer_in_terminal(api, asks("input"), lines("a", "b"))

    assert api.answers == [{"text": "a"}, {"text": "b"}]
    assert "it does not fit" in capsys.readouterr().err.casefold()


def in_a_terminal(arguments: list[str], typed: list[tuple[str, str]]) -> tuple[int, str]:
    """Run a command in a terminal, typing each text once its prompt was seen."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen([COMMAND, *arguments], stdin=theirs, stdout=theirs, stderr=theirs, close_fds=True)
    os.close(theirs)
    seen = ""
    try:
        while True:
            try:
                seen += os.read(ours, 4096).decode("utf-8", "replace")
            except OSError:  # the terminal is closed: the command has ended
                break
            if typed and typed[0][0] in seen:
                os.write(ours, typed.pop(0)[1].encode())
        return process.wait(PATIENCE_SECONDS), seen
    finally:
        process.kill()
        os.close(ours)
