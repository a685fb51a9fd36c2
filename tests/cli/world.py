"""A shell for tests: commands in this process, and real processes that do not outlive the test."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from typer.testing import CliRunner, Result

from planwerk.cli.root import app

COMMAND: Final = Path(sys.executable).with_name("planwerk")
PATIENCE_SECONDS: Final = 60


class Shell:
    """Runs commands; what it started ends with it."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self._processes: list[subprocess.Popen[str]] = []
        self.server: Mapping[str, Any] = {}
        """What the last server that was started announced."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self._processes:
            if process.poll() is None:
                process.kill()
            process.communicate()

    def run(self, *arguments: str, stdin: str = "") -> Result:
        """Run a command in this process."""
        return CliRunner().invoke(app, list(arguments), input=stdin, catch_exceptions=False)

    def json(self, *arguments: str, stdin: str = "") -> Any:
        """What a command prints with --json; it has to succeed."""
        result = self.run(*arguments, "--json", stdin=stdin)
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        """Start a command as a process of its own."""
        process = subprocess.Popen(
            [COMMAND, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment},
        )
        self._processes.append(process)
        return process

    def spawn(self, *arguments: str, stdin: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
        """Run a command as a process of its own, to its end."""
        process = self.start(*arguments, **environment)
        out, err = process.communicate(stdin, timeout=PATIENCE_SECONDS)
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)

    def serve(self, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        """Start a server on a free port and return once it takes requests."""
        process = self.start("serve", "--port", "0", "--json", *arguments, **environment)
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, process.communicate()[1]
        self.server = json.loads(line)
        return process


def end(process: subprocess.Popen[str], number: int = signal.SIGTERM) -> int:
    """Send a signal and wait for the end; the exit code."""
    process.send_signal(number)
    return process.wait(PATIENCE_SECONDS)


def eventually(is_so: Callable[[], bool]) -> None:
    """Wait until something another process does has happened; nothing here can be told of it."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not is_so():
        assert time.monotonic() < deadline, "it did not happen"
        os.sched_yield()
        time.sleep(0.02)


def one_line(text: str) -> str:
    """The text, which has to be one line of an error of ours."""
    lines = text.splitlines()
    assert len(lines) == 1, text
    assert lines[0].startswith("planwerk: "), text
    return lines[0]
