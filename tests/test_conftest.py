"""What conftest.py promises every test."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from tests.conftest import LeftTheMachine

pytest_plugins = ["pytester"]

CONFTEST = Path(__file__).with_name("conftest.py")
INI = "[pytest]\nasyncio_default_fixture_loop_scope = function\nmarkers = soak: the long form"
ELSEWHERE = ("192.0.2.1", 80)  # RFC 5737: an address for documentation, never anybody's


def test_a_connection_to_another_machine_is_refused() -> None:
    with socket.socket() as connection:
        with pytest.raises(LeftTheMachine, match=r"192\.0\.2\.1"):
            connection.connect(ELSEWHERE)
        with pytest.raises(LeftTheMachine):
            connection.connect_ex(ELSEWHERE)


def test_looking_up_another_machines_name_is_refused() -> None:
    with pytest.raises(LeftTheMachine, match=r"planwerk\.invalid"):
        socket.getaddrinfo("planwerk.invalid", 80)


def test_the_loopback_can_be_reached() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as connection:
        assert connection.getpeername() == server.getsockname()


@pytest.mark.parametrize(("in_ci", "outcome"), [("1", {"errors": 1}), ("", {"skipped": 1})])
def test_a_skipped_test_fails_in_ci(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, in_ci: str, outcome: dict[str, int]
) -> None:
    monkeypatch.setenv("CI", in_ci)
    pytester.makeconftest(CONFTEST.read_text(encoding="utf-8"))
    pytester.makeini(INI)
    pytester.makepyfile("import pytest\n\n@pytest.mark.skip(reason='no browser')\ndef test_it() -> None: ...\n")

    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")

    result.assert_outcomes(**outcome)


def test_soak_tests_wait_for_make_soak(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PLANWERK_SOAK", raising=False)
    pytester.makeconftest(CONFTEST.read_text(encoding="utf-8"))
    pytester.makeini(INI)
    pytester.makepyfile(
        "import pytest\n\n@pytest.mark.soak\ndef test_long() -> None: ...\n\ndef test_short() -> None: ...\n"
    )

    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=1, deselected=1)
    monkeypatch.setenv("PLANWERK_SOAK", "1")
    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=2)
