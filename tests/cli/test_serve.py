"""`serve` as a real process: what it prints works, what it refuses it says, and it ends in order (S1, S6.4)."""

from __future__ import annotations

import json
import re
import signal
import socket
import stat
from pathlib import Path

import httpx2
import pytest

from planwerk.cli.exit_codes import ExitCode
from planwerk.server.data_lock import holder_of
from tests.cli.test_check_and_graph import readme_blueprint
from tests.cli.world import Shell, end, eventually, one_line


def get(shell: Shell, path: str, key: str | None = None) -> httpx2.Response:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    return httpx2.get(f"{shell.server['url']}{path}", headers=headers, trust_env=False)


def test_what_is_printed_lets_a_person_in_and_a_program_too(served: Shell) -> None:
    server = served.server

    assert get(served, "/health/live").json()["status"] == "ok"
    assert get(served, "/api/session", server["api_key"]).json()["account"]["login"] == "owner"
    with httpx2.Client(trust_env=False) as browser:
        first = browser.get(server["sign_in_url"])
        assert (first.status_code, first.headers["location"]) == (303, "/")
        assert browser.get(f"{server['url']}/api/session").status_code == 200
    assert get(served, server["sign_in_url"].removeprefix(server["url"])).headers["location"] == "/?signin=expired"


def test_the_announcement_says_that_the_demo_model_answers(served: Shell) -> None:
    assert served.server["demo_model"] is True
    assert served.server["model"] == "demo:planwerk"


def test_people_read_address_key_model_and_how_to_stop(shell: Shell) -> None:
    process = shell.start("serve", "--port", "0")
    assert process.stdout is not None

    lines = [process.stdout.readline().rstrip("\n") for _ in range(4)]

    assert re.fullmatch(r"Open     http://127\.0\.0\.1:\d+/signin\?token=[\w-]{43}", lines[0])
    assert re.fullmatch(r"API key  pw_local_[\w-]{43}", lines[1])
    assert lines[2].startswith("Model    demo:planwerk  the built-in demo model answers")
    assert lines[3] == "Stop     Ctrl-C"
    assert end(process, signal.SIGINT) == 0
    assert process.stdout.read() == ""


def test_the_lock_names_its_holder_and_is_not_for_others(served: Shell) -> None:
    holder = holder_of(served.data)

    assert holder is not None
    assert (holder.url, holder.pid) == (served.server["url"], served.server["pid"])
    assert stat.S_IMODE((served.data / "server.lock").stat().st_mode) == 0o600
    assert stat.S_IMODE(served.data.stat().st_mode) == 0o700


def test_a_second_server_says_who_holds_the_folder(served: Shell) -> None:
    done = served.spawn("serve", "--port", "0")

    told = one_line(done.stderr)
    assert f"{served.server['url']} (process {served.server['pid']})" in told
    assert "--data DIR" in told
    assert done.returncode == ExitCode.UNREACHABLE
    assert get(served, "/health/live").status_code == 200


def test_a_taken_port_is_named(shell: Shell) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        done = shell.spawn("serve", "--port", str(port))

    assert f"Port {port} on 127.0.0.1 is taken" in one_line(done.stderr)
    assert "--port" in done.stderr
    assert done.returncode == ExitCode.UNREACHABLE


def test_others_are_let_to_the_door_only_once_somebody_has_a_password(shell: Shell) -> None:
    refused = shell.spawn("serve", "--host", "0.0.0.0", "--port", "0")

    assert "nobody has a password yet (S1.3)" in one_line(refused.stderr)
    assert refused.returncode == ExitCode.PROBLEM
    shell.spawn("accounts", "set-password", "owner", stdin="correct horse\n")
    guessable = shell.spawn("serve", "--host", "0.0.0.0", "--port", "0", "--api-key", "short")
    assert "can be guessed" in one_line(guessable.stderr)
    process = shell.serve("--host", "0.0.0.0")
    assert shell.server["url"].startswith("http://127.0.0.1:")
    assert end(process) == 0


def test_an_address_of_another_machine_cannot_be_listened_on(shell: Shell) -> None:
    for host in ("192.0.2.1", "no such host"):
        done = shell.spawn("serve", "--host", host, "--port", "0")

        assert "--host" in one_line(done.stderr)
        assert done.returncode == ExitCode.PROBLEM


def test_a_fixed_key_is_the_key(shell: Shell) -> None:
    process = shell.serve("--api-key", "my-own-key")

    assert shell.server["api_key"] == "my-own-key"
    assert get(shell, "/api/session", "my-own-key").status_code == 200
    assert get(shell, "/api/session", "another").status_code == 401
    end(process)


def test_a_signal_ends_the_server_in_order_and_gives_the_folder_free(shell: Shell) -> None:
    process = shell.serve()
    key = shell.server["api_key"]
    workspace = get(shell, "/api/session", key).json()["private_workspace"]
    url = f"{shell.server['url']}/api/workspaces/{workspace}/stream"

    with httpx2.stream("GET", url, headers={"Authorization": f"Bearer {key}"}, trust_env=False, timeout=30) as stream:
        lines = stream.iter_lines()
        while next(lines) != "event: hello":
            pass
        process.terminate()
        rest = list(lines)

    assert 'data: {"reason":"shutdown"}' in rest
    assert process.wait(30) == 0
    assert holder_of(shell.data) is None


def test_a_killed_server_leaves_a_folder_that_can_be_used_again(shell: Shell) -> None:
    process = shell.serve()
    process.kill()
    process.wait()

    assert holder_of(shell.data) is None
    assert end(shell.serve()) == 0


def test_settings_change_the_largest_message(shell: Shell) -> None:
    process = shell.serve(PLANWERK_LIMITS__MESSAGE_BYTES="2048")

    assert get(shell, "/api/server").json()["limits"]["message_bytes"] == 2048
    small, large = (shell.spawn("run", "assistant", "x" * size) for size in (1000, 3000))
    assert (small.returncode, large.returncode == 0) == (0, False)
    assert "2048" in one_line(large.stderr)
    end(process)


def test_a_host_name_of_a_proxy_has_to_be_named(shell: Shell) -> None:
    process = shell.serve(PLANWERK_HOSTS="chat.example.org")

    def status(host: str) -> int:
        return httpx2.get(f"{shell.server['url']}/api/server", headers={"Host": host}, trust_env=False).status_code

    assert (status("chat.example.org"), status("evil.example.org")) == (200, 421)
    end(process)


MODULE = '''
from planwerk import Agent, StartEvent, StopEvent, step
from planwerk.blueprints import LLMWrappingAgent


class {name}(LLMWrappingAgent):
    """Served from a file."""
'''


def test_the_blueprints_of_a_module_come_first_and_alone_if_wanted(shell: Shell) -> None:
    Path("mine.py").write_text(MODULE.format(name="MineFromFile"), "utf-8")

    process = shell.serve("mine.py")
    both = [profile["blueprint"] for profile in shell.json("profiles", "list")["items"]]
    end(process)
    process = shell.serve("mine.py", "--only")
    alone = [profile["blueprint"] for profile in shell.json("profiles", "list")["items"]]
    end(process)

    assert both == ["MineFromFile", "LLMWrappingAgent"]
    assert alone == ["MineFromFile"]


def test_the_blueprint_of_the_readme_is_served_and_works(shell: Shell) -> None:
    Path("two_sides.py").write_text(readme_blueprint(), "utf-8")
    process = shell.serve("two_sides.py")

    first = shell.json("profiles", "list")["items"][0]
    told = shell.json("run", first["id"], "Shall we move to the country?")

    assert (first["id"], first["name"]) == ("two-sides", "Two Sides")
    assert told["status"] == "completed"
    assert told["text"]
    end(process)


def test_a_changed_file_starts_the_server_anew_with_the_same_key(shell: Shell) -> None:
    Path("mine.py").write_text(MODULE.format(name="BeforeTheChange"), "utf-8")
    process = shell.serve("mine.py", "--reload")
    before = shell.server
    assert process.stdout is not None

    Path("mine.py").write_text(MODULE.format(name="AfterTheChange"), "utf-8")
    after = json.loads(process.stdout.readline())

    assert after["api_key"] == before["api_key"]
    assert after["pid"] != before["pid"]
    assert shell.json("profiles", "list")["items"][0]["blueprint"] == "AfterTheChange"
    assert end(process) == 0
    eventually(lambda: holder_of(shell.data) is None)


@pytest.mark.parametrize(("form", "is_json"), [("json", True), ("pretty", False)])
def test_the_log_goes_to_standard_error_in_the_form_wanted(shell: Shell, form: str, is_json: bool) -> None:
    process = shell.serve(PLANWERK_LOG__FORMAT=form, PLANWERK_LOG__LEVEL="debug")
    token = shell.server["sign_in_url"].partition("token=")[2]
    httpx2.get(shell.server["sign_in_url"], trust_env=False)

    process.terminate()
    out, err = process.communicate(timeout=30)

    assert out == ""
    assert token not in err
    lines = err.splitlines()
    assert lines
    assert all(line.startswith("{") for line in lines) == is_json
