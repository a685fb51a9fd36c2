"""Fresh processes: for what is measured from a process's start, or ends with its death.

    python -m bench.processes MODULE FUNCTION ARGUMENTS

runs an async function of a contestant with arguments given as a JSON object, and prints what it returns as JSON.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[1]


class ProcessFailed(Exception):
    """A fresh process did not end as it should have."""

    def __init__(self, what: str, code: int, said: str) -> None:
        super().__init__(f"{what} ended with {code} in a process of its own; it said:\n{said[-2000:]}")


async def in_fresh_process(module: str, function: str, **arguments: Any) -> Any:
    """What an async function returns, called in a process that has only imported its module.

    Raises:
        ProcessFailed: The process ended with an error.
    """
    code, printed, said = await _run(module, function, arguments)
    if code != 0:
        raise ProcessFailed(f"{module}.{function}", code, said)
    return json.loads(printed.splitlines()[-1])


async def killed_in_fresh_process(module: str, function: str, **arguments: Any) -> None:
    """Call an async function that kills its own process.

    Raises:
        ProcessFailed: The process ended in another way.
    """
    code, printed, said = await _run(module, function, arguments)
    if code != -signal.SIGKILL:
        raise ProcessFailed(f"{module}.{function}", code, printed + said)


async def _run(module: str, function: str, arguments: dict[str, Any]) -> tuple[int, str, str]:
    command = (sys.executable, "-m", "bench.processes", module, function, json.dumps(arguments))
    process = await asyncio.create_subprocess_exec(
        *command, cwd=ROOT, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    printed, said = await process.communicate()
    assert process.returncode is not None
    return process.returncode, printed.decode(), said.decode()


def kill_this_process() -> None:
    """End at once, as `kill -9` does."""
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    _, _module, _function, _arguments = sys.argv
    _called = getattr(importlib.import_module(_module), _function)
    print(json.dumps(asyncio.run(_called(**json.loads(_arguments)))))
