"""What holds for every test: nothing leaves this machine, nothing is skipped in CI, property tests have no deadline."""

from __future__ import annotations

import os
import socket
from collections.abc import Generator
from ipaddress import ip_address
from typing import Any, Final, cast

import pytest
from hypothesis import HealthCheck, settings

IN_CI: Final = bool(os.environ.get("CI"))
SOAKING: Final = bool(os.environ.get("PLANWERK_SOAK"))

settings.register_profile("local", deadline=None, max_examples=50)
settings.register_profile("ci", deadline=None, max_examples=100, derandomize=True, print_blob=True)
settings.register_profile(
    "soak", deadline=None, max_examples=5_000, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("soak" if SOAKING else "ci" if IN_CI else "local")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the soak tests to `make soak`, unless they are asked for by name or by mark."""
    if SOAKING or config.option.markexpr or any("::" in str(argument) for argument in config.args):
        return
    soak = [item for item in items if item.get_closest_marker("soak")]
    if soak:
        config.hook.pytest_deselected(items=soak)
        items[:] = [item for item in items if item not in soak]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """In CI a skipped test is a failed test: it would have shown nothing (style.md §6)."""
    report = yield
    if IN_CI and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped, and in CI nothing may be: {report.longrepr}"
    return report


class LeftTheMachine(AssertionError):
    """A test tried to reach another machine."""

    def __init__(self, address: object) -> None:
        super().__init__(f"a test tried to reach {address}; tests talk to the loopback only: start a server for it.")


def is_on_this_machine(address: Any) -> bool:
    """Whether a socket address is a path, or a host that is the loopback."""
    if not isinstance(address, tuple):
        return True
    host = str(cast("tuple[object, ...]", address)[0])
    if host in {"", "localhost"}:
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


@pytest.fixture(autouse=True)
def stay_on_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse connections to other machines, and lookups of their names."""
    connect, connect_ex, look_up = socket.socket.connect, socket.socket.connect_ex, socket.getaddrinfo

    def checked_connect(self: socket.socket, address: Any) -> None:
        if not is_on_this_machine(address):
            raise LeftTheMachine(address)
        connect(self, address)

    def checked_connect_ex(self: socket.socket, address: Any) -> int:
        if not is_on_this_machine(address):
            raise LeftTheMachine(address)
        return connect_ex(self, address)

    def checked_look_up(host: Any, *arguments: Any, **options: Any) -> Any:
        if host is not None and not is_on_this_machine((host if isinstance(host, str) else host.decode(),)):
            raise LeftTheMachine(host)
        return look_up(host, *arguments, **options)

    monkeypatch.setattr(socket.socket, "connect", checked_connect)
    monkeypatch.setattr(socket.socket, "connect_ex", checked_connect_ex)
    monkeypatch.setattr(socket, "getaddrinfo", checked_look_up)
