"""`run` and `chat`: over a running server, and in this process where none runs (S7)."""

from __future__ import annotations

import json
import signal
import socket
import time
from pathlib import Path

import pytest

from planwerk.cli.exit_codes import ExitCode
from tests.cli.world import Shell, end, one_line

GREETING = "Hello! I am the demo model."


def test_an_answer_is_printed_where_no_server_runs(shell: Shell) -> None:
    done = shell.spawn("run", "assistant", "Hello")

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(GREETING)


def test_a_server_that_runs_answers(served: Shell) -> None:
    told = served.json("run", "assistant", "Hello")

    assert told["text"].startswith(GREETING)
    assert told["status"] == "completed"
    thread = json.loads(served.spawn("run", "assistant", "Hello", "--json").stdout)["thread_id"]
    assert thread != told["thread_id"]


def test_a_server_elsewhere_is_reached_by_its_address_and_key(served: Shell, tmp_path: Path) -> None:
    server = served.server
    elsewhere = ("--data", str(tmp_path), "--server", server["url"])

    by_flag = served.run("run", "assistant", "Hello", *elsewhere, "--key", server["api_key"])
    by_variable = served.spawn("run", "assistant", "Hello", *elsewhere, PLANWERK_API_KEY=server["api_key"])

    assert by_flag.stdout.startswith(GREETING)
    assert by_variable.stdout.startswith(GREETING)


def test_what_is_piped_in_is_attached(served: Shell) -> None:
    both = served.run("run", "assistant", "Summarise this", stdin="the quarterly figures\n")
    alone = served.run("run", "assistant", stdin="Hello\n")

    assert "Summarise this the quarterly figures" in both.stdout
    assert alone.stdout.startswith(GREETING)


def test_without_a_message_there_is_nothing_to_run(served: Shell) -> None:
    result = served.run("run", "assistant", stdin=" \n")

    assert "there is no message" in one_line(result.stderr).lower()
    assert result.exit_code == ExitCode.USAGE


def test_an_unknown_profile_is_told_with_those_there_are(served: Shell) -> None:
    for command in (["run", "nobody", "Hello"], ["chat", "nobody"]):
        result = served.run(*command, stdin="")

        assert "Use one of: assistant." in one_line(result.stderr)
        assert result.exit_code == ExitCode.NOT_FOUND


def test_a_wrong_key_is_refused_with_a_next_step(served: Shell) -> None:
    result = served.run("run", "assistant", "Hello", "--server", served.server["url"], "--key", "pw_no_key")

    assert "'planwerk keys create'" in one_line(result.stderr)
    assert result.exit_code == ExitCode.REFUSED


def test_a_server_without_a_key_asks_for_one(served: Shell) -> None:
    result = served.run("run", "assistant", "Hello", "--server", served.server["url"])

    assert "--key KEY" in one_line(result.stderr)
    assert result.exit_code == ExitCode.USAGE


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "127.0.0.1:1"])
def test_a_server_that_does_not_answer_is_named(shell: Shell, url: str) -> None:
    result = shell.run("run", "assistant", "Hello", "--server", url, "--key", "k")

    assert "127.0.0.1:1 does not answer" in one_line(result.stderr)
    assert result.exit_code == ExitCode.UNREACHABLE


@pytest.mark.parametrize(("flag", "told"), [("--model", "chooses the model"), ("--app", "has its own blueprints")])
def test_what_a_server_decides_is_not_chosen_by_a_client(served: Shell, flag: str, told: str) -> None:
    result = served.run("run", "assistant", "Hello", flag, "demo")

    assert told in one_line(result.stderr)
    assert result.exit_code == ExitCode.USAGE


def test_a_model_that_cannot_be_reached_fails_the_run(shell: Shell) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # bound and not listening: whoever connects is refused
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"

        done = shell.spawn("run", "assistant", "Hello", "--model", "mine:m", PLANWERK_PROVIDER__MINE__BASE_URL=url)

    assert "mine:m" in done.stderr
    assert done.returncode == ExitCode.RUN_FAILED
    assert one_line(done.stderr)


def test_a_failed_run_is_json_where_json_is_wanted(shell: Shell) -> None:
    done = shell.spawn(
        "run",
        "assistant",
        "Hello",
        "--json",
        "--model",
        "mine:m",
        PLANWERK_PROVIDER__MINE__BASE_URL="http://127.0.0.1:1/v1",
    )

    told = json.loads(done.stdout)
    assert (told["status"], told["error"]["code"]) == ("failed", "model_unreachable")
    assert done.returncode == ExitCode.RUN_FAILED


def test_a_model_that_is_none_is_told(shell: Shell) -> None:
    done = shell.spawn("run", "assistant", "Hello", "--model", "nonsense")

    assert "nonsense" in one_line(done.stderr)
    assert done.returncode == ExitCode.USAGE


def test_ctrl_c_stops_the_run_and_keeps_what_was_said(shell: Shell) -> None:
    server = shell.serve(PLANWERK_DEMO__PACE_SECONDS="0.5")
    process = shell.start("run", "assistant", "Explain leases to me", "--json")
    assert process.stdin is not None
    process.stdin.close()
    process.stdin = None
    run = wait_for_answer(shell)

    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=30)

    told = json.loads(out)
    assert (told["status"], told["run_id"], told["incomplete"]) == ("stopped", run, True)
    assert told["text"]
    assert process.returncode == ExitCode.RUN_STOPPED
    assert end(server) == 0


def wait_for_answer(shell: Shell) -> str:
    """The run that is answering, once it has said something."""
    import httpx2

    key = {"Authorization": f"Bearer {shell.server['api_key']}"}
    with httpx2.Client(base_url=shell.server["url"], headers=key, trust_env=False, timeout=30) as client:
        workspace = client.get("/api/session").json()["private_workspace"]
        while True:
            items = client.get(f"/api/workspaces/{workspace}/threads").json()["items"]
            if items and items[0]["active_run"]:
                break
            time.sleep(0.05)
        params = {"after": 0, "threads": items[0]["id"]}
        with client.stream("GET", f"/api/workspaces/{workspace}/stream", params=params) as stream:
            for line in stream.iter_lines():
                if line.startswith("data: ") and '"text_delta"' in line:
                    return str(json.loads(line.removeprefix("data: "))["run"])
    raise AssertionError("nothing was said")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_turn_survives_the_restart_of_its_server(shell: Shell, number: signal.Signals) -> None:
    first = shell.serve(PLANWERK_DEMO__PACE_SECONDS="0.2", PLANWERK_SHUTDOWN_SECONDS="0.5")
    port = shell.server["url"].rpartition(":")[2]
    process = shell.start("run", "assistant", "Explain leases to me", "--json")
    assert process.stdin is not None
    process.stdin.close()
    process.stdin = None
    wait_for_answer(shell)

    assert end(first, number) == (0 if number == signal.SIGTERM else -number)
    key = shell.server["api_key"]
    second = shell.start("serve", "--port", port, "--api-key", key, "--json")
    out, err = process.communicate(timeout=60)

    assert process.returncode == 0, err
    told = json.loads(out)
    assert (told["status"], told["incomplete"]) == ("completed", False)
    assert "leases" in told["text"].lower()
    assert end(second) == 0


def test_a_chat_works_over_pipes(served: Shell) -> None:
    result = served.run("chat", stdin="Hello\n\n/run\n/export out.md\n/nonsense\n/help\n/quit\nnever read\n")

    assert result.exit_code == 0
    assert result.stdout.startswith(GREETING)
    assert "Answer " in result.stdout
    assert "completed" in result.stdout
    assert "/export [FILE]" in result.stdout
    assert "There is no command /nonsense." in result.stderr
    exported = Path("out.md").read_text("utf-8")
    assert exported.startswith("# ")
    assert "## You\n\nHello\n" in exported
    assert f"## Assistant\n\n{GREETING}" in exported


def test_a_chat_gives_one_line_of_json_a_turn_where_json_is_wanted(served: Shell) -> None:
    result = served.run("chat", "--json", stdin="Hello\nHello\n")

    turns = [json.loads(line) for line in result.stdout.splitlines()]
    assert [turn["status"] for turn in turns] == ["completed", "completed"]
    assert len({turn["thread_id"] for turn in turns}) == 1


def test_a_chat_remembers_what_was_said(served: Shell) -> None:
    served.run("chat", "assistant", stdin="My cat is called Mia\nHello\n/export both.md\n/new\nHello\n/export one.md\n")

    assert Path("both.md").read_text("utf-8").count("## You") == 2
    assert Path("one.md").read_text("utf-8").count("## You") == 1


def test_a_chat_whose_turn_fails_goes_on_and_ends_with_its_code(shell: Shell) -> None:
    done = shell.spawn(
        "chat",
        stdin="Hello\n/run\n",
        PLANWERK_MODEL="mine:m",
        PLANWERK_PROVIDER__MINE__BASE_URL="http://127.0.0.1:1/v1",
    )

    assert "mine:m" in done.stderr
    assert "failed" in done.stdout
    assert done.returncode == ExitCode.RUN_FAILED
