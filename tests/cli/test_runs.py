"""`planwerk runs` beside a server and without one, and `planwerk worker` (S1.7, S7, E7.8)."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from planwerk.cli.exit_codes import ExitCode
from planwerk.cli.runs import settings_by_flags
from planwerk.workflow.ids import new_id
from tests.cli.world import Shell, end, one_line


def ran(shell: Shell, question: str = "Explain swifts") -> str:
    """The id of a run that has ended."""
    return shell.json("run", "assistant", question)["run_id"]


def entries(shell: Shell, run: str) -> list[Any]:
    return shell.json("runs", "show", run)["entries"]


def finished(shell: Shell, run: str, step: str) -> int:
    """The position at which a step had ended."""
    steps: dict[str, str] = {}
    for entry in entries(shell, run):
        if entry["type"] == "execution_due":
            steps[entry["data"]["execution"]] = entry["data"]["step"]
        if entry["type"] == "execution_finished" and steps[entry["data"]["execution"]] == step:
            return int(entry["position"])
    raise AssertionError(step)


def test_runs_are_listed_filtered_and_paged(served: Shell) -> None:
    first, second = ran(served, "Explain one"), ran(served, "Explain two")

    page = served.json("runs", "list", "--limit", "1")
    rest = served.json("runs", "list", "--cursor", page["next"], "--limit", "1")
    table = served.run("runs", "list", "--status", "completed", "--profile", "assistant")

    assert [run["id"] for run in page["items"] + rest["items"]] == [second, first]
    assert [run["title"] for run in page["items"]] == ["Explain two"]
    lines = table.stdout.splitlines()
    assert lines[0].split() == ["RUN", "STATUS", "PROFILE", "STARTED", "WHAT"]
    assert lines[1].startswith(second)
    assert served.run("runs", "list", "--status", "failed").stdout == "There are no such runs.\n"
    wrong = served.run("runs", "list", "--status", "odd")
    assert wrong.exit_code == ExitCode.USAGE


def test_a_run_is_shown_entry_by_entry_and_followed_to_its_end(served: Shell) -> None:
    run = ran(served)

    shown = served.run("runs", "show", run).stdout
    followed = served.run("runs", "tail", run, "--after", "30").stdout

    count = len(entries(served, run))
    assert f"{run}: completed, Assistant, version 1" in shown
    assert f"\n{count} " in shown
    assert followed.splitlines()[0].split()[0] == "31"
    assert followed.splitlines()[-1].endswith("run_ended")
    assert len(served.run("runs", "tail", run, "--json").stdout.splitlines()) == count


def test_a_run_that_does_not_exist_is_no_run_to_do_anything_with(served: Shell) -> None:
    for command in (("show",), ("stop",), ("replay",), ("test",), ("tail",)):
        result = served.run("runs", *command, new_id())
        assert (result.exit_code, result.stdout) == (ExitCode.NOT_FOUND, "")
        one_line(result.stderr)


def test_a_replay_says_that_all_was_decided_as_recorded(served: Shell) -> None:
    run = ran(served)

    result = served.run("runs", "replay", run)

    assert result.exit_code == 0
    assert result.stdout == f"No divergence in {len(entries(served, run))} entries: 9 executions are due as recorded.\n"


def test_a_run_is_printed_as_a_test(served: Shell) -> None:
    run = ran(served)

    printed = served.run("runs", "test", run)

    assert printed.exit_code == 0
    assert f"Plays run {run} again" in printed.stdout
    compile(printed.stdout, "test_run.py", "exec")
    assert served.json("runs", "test", run)["source"] == printed.stdout


CHANGED = '''
from planwerk import step
from planwerk.blueprints.llm_wrapping_agent import LLMWrappingAgent as Parent
from planwerk.capabilities import Conversation
from planwerk import Planwerk, UserMessageEvent, LLMEvent, StepWarningEvent


class LLMWrappingAgent(Parent):
    """Says the same, with one step more."""

    @step()
    async def look(self, message: UserMessageEvent) -> None:
        """Looks at the message."""
'''


def test_a_replay_with_changed_blueprints_names_the_first_difference(served: Shell) -> None:
    run, before = ran(served), served.json("profiles", "list")
    Path("changed.py").write_text(CHANGED.replace(", StepWarningEvent", ""), "utf-8")

    result = served.run("runs", "replay", run, "--app", "changed.py", "--json")

    assert result.exit_code == ExitCode.PROBLEM, result.output
    divergence = json.loads(result.stdout)["divergence"]
    assert divergence["expected"] == "look due with No. 2"
    assert served.json("profiles", "list") == before
    both = served.run("runs", "replay", run, "--app", "changed.py", "--server", "http://127.0.0.1:1")
    assert both.exit_code == ExitCode.USAGE


def test_a_fork_goes_on_with_other_settings_and_leaves_the_chat_alone(served: Shell) -> None:
    run = ran(served)
    at = finished(served, run, "Conversation.gate")

    told = served.run("runs", "fork", run, "--from", str(at), "--yes", "--set", "config.system_prompt=Be brief.")
    listed = served.json("runs", "list")["items"]

    assert told.exit_code == 0, told.output
    lines = told.stdout.splitlines()
    assert f"goes on from No. {at}; first: Conversation.suggest_title, Conversation.derive" in lines[0]
    assert "  answer" in lines
    assert "  Conversation.gate" not in lines
    assert lines[-1].startswith("Completed after ")
    fork = listed[0]
    assert (fork["forked_from"], fork["forked_at"], fork["thread"], fork["status"]) == (run, at, None, "completed")
    assert fork["workspace"] == listed[1]["workspace"]
    assert served.json("runs", "replay", fork["id"])["divergence"] is None
    opened = entries(served, fork["id"])[0]["data"]
    assert opened["forked_changes"] == ["system_prompt"]
    prompts = [entry["data"] for entry in entries(served, fork["id"]) if entry["type"] == "PromptComposedEvent"]
    assert "Be brief." in json.dumps(prompts)


def test_a_fork_says_that_it_calls_models_and_asks_first(served: Shell) -> None:
    run = ran(served)
    before = len(served.json("runs", "list")["items"])

    result = served.run("runs", "fork", run, "--from", "6")

    assert result.exit_code == ExitCode.USAGE
    said = one_line(result.stderr)
    assert "calls models (demo:planwerk)" in said
    assert "--yes" in said
    assert len(served.json("runs", "list")["items"]) == before


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--from", "999"), "its journal has"),
        (("--from", "1"), "Take a position from 2 to"),
        (("--from", "6", "--set", "config.odd=1"), "odd: Extra inputs are not permitted"),
        (("--from", "6", "--set", "name=1"), "Use --set config.FIELD=VALUE"),
    ],
)
def test_a_fork_that_cannot_be_is_refused_with_what_to_do(served: Shell, options: tuple[str, ...], said: str) -> None:
    result = served.run("runs", "fork", ran(served), *options, "--yes")

    assert result.exit_code == ExitCode.USAGE
    assert said in one_line(result.stderr)


def test_without_a_server_a_fork_is_driven_here_to_its_end(shell: Shell) -> None:
    run = ran(shell)

    made = shell.json("runs", "fork", run, "--from", "6", "--yes")

    assert (made["status"], made["forked_from"], made["position"]) == ("completed", run, 6)
    assert shell.json("runs", "replay", made["run_id"])["divergence"] is None


def test_settings_are_read_as_json_where_they_can_be() -> None:
    patch = settings_by_flags(["config.a=1", "config.b.c=null", "config.b.d=x y", "config.e=[1]"])

    assert patch == {"a": 1, "b": {"c": None, "d": "x y"}, "e": [1]}


def test_a_worker_drives_what_a_server_that_drives_nothing_has_accepted(shell: Shell) -> None:
    server = shell.serve(PLANWERK_MAX_RUNS="0")
    worker = shell.start("worker")
    assert worker.stdout is not None
    lines = [worker.stdout.readline().rstrip("\n") for _ in range(4)]

    run = ran(shell)
    taken = [entry["data"]["worker"] for entry in entries(shell, run) if entry["type"] == "ownership_taken"]

    assert len(taken) == 1
    assert taken[0] in lines[0]
    assert lines[0].endswith("on at most 1000 runs at once")
    assert lines[1] == "Runs of   LLMWrappingAgent; those of other blueprints are left to the server"
    assert end(worker, signal.SIGINT) == 0
    assert end(server) == 0


def test_a_worker_on_memory_is_refused(shell: Shell) -> None:
    result = shell.run("worker", "--storage", "memory")

    assert result.exit_code == ExitCode.USAGE
    assert "there is nothing that a second process could work on" in one_line(result.stderr)
