"""Files to text in bounded processes: a file that crashes, hangs or swells its reader costs only that (C3.1).

A reader is kept for the next file as long as it answers: starting one takes longer than most files. It is killed with
all it has when a file takes too long, and one that dies is a file that failed.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from planwerk.documents.errors import DocumentTooHard, document_error
from planwerk.documents.limits import DEFAULT_LIMITS, ParseLimits
from planwerk.documents.parsed import ParsedDocument

MODULE: Final = "planwerk.documents.reader_process"
FILES_PER_PROCESS: Final = 100
"""Then a fresh one: parsers do not give back all the memory they took."""
ANSWER_BYTES: Final = 256 * 1_048_576
INHERITED: Final = ("PATH", "LANG", "LC_ALL", "PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "SYSTEMROOT", "TMPDIR")
"""Of the environment; keys and addresses stay outside of what reads foreign files."""


class Parser:
    """Reads files, one after the other in each process, at most `at_once` together.

    Args:
        python: The interpreter that reads; ours if missing.
    """

    def __init__(self, limits: ParseLimits = DEFAULT_LIMITS, *, at_once: int = 2, python: str = sys.executable) -> None:
        self.limits = limits
        self._free: list[_Reader] = []
        self._places = asyncio.Semaphore(at_once)
        self._python = python

    async def parse(self, path: Path, name: str) -> ParsedDocument:
        """The text of a file.

        Args:
            path: Where it lies.
            name: What people call it.

        Raises:
            DocumentError: It gives none; the message says why in words for people.
        """
        async with self._places:
            reader = self._free.pop() if self._free else await _Reader.start(self._python, self.limits)
            try:
                answer = await reader.read(path, name, self.limits)
            except BaseException:
                await reader.end()
                raise
            if reader.files < FILES_PER_PROCESS:
                self._free.append(reader)
            else:
                await reader.end()
        if "error" in answer:
            raise document_error(answer["error"]["code"], answer["error"]["message"])
        return ParsedDocument.from_json(answer["document"])

    async def close(self) -> None:
        """End the readers."""
        while self._free:
            await self._free.pop().end()


class _Reader:
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.files = 0

    @classmethod
    async def start(cls, python: str, limits: ParseLimits) -> _Reader:
        environment = {name: os.environ[name] for name in INHERITED if name in os.environ}
        process = await asyncio.create_subprocess_exec(
            python,
            *("-m", MODULE, str(limits.memory_bytes)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            limit=ANSWER_BYTES,
            env={**environment, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        )
        return cls(process)

    async def read(self, path: Path, name: str, limits: ParseLimits) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self.files += 1
        request = {"path": str(path), "name": name, "limits": asdict(limits)}
        try:
            async with asyncio.timeout(limits.seconds):
                self._process.stdin.write(json.dumps(request).encode() + b"\n")
                await self._process.stdin.drain()
                line = await self._process.stdout.readline()
        except TimeoutError as error:
            raise DocumentTooHard(f"Reading it took longer than {limits.seconds:g} s and was stopped.") from error
        except (ConnectionError, ValueError) as error:
            raise DocumentTooHard("Reading it ended the process that did it.") from error
        if not line.endswith(b"\n"):
            raise DocumentTooHard("Reading it took more memory than is allowed, or ended the process that did it.")
        answer: dict[str, Any] = json.loads(line)
        return answer

    async def end(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        if self._process.stdin is not None:
            self._process.stdin.close()
        await self._process.wait()
