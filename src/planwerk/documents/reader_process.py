"""The process that reads hostile files: `python -m planwerk.documents.reader_process MEMORY_BYTES`.

One request a line on standard input, one answer a line on standard output, both JSON. It reads what it is told and
gives text back; it has no settings, no keys and no database, and whoever started it may kill it at any time.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from pathlib import Path
from typing import Any

from planwerk.documents.errors import DocumentError, DocumentTooHard
from planwerk.documents.limits import ParseLimits
from planwerk.documents.reading import read_document


def main(arguments: list[str]) -> int:
    """Answer requests until standard input ends."""
    _bound(int(arguments[0]))
    # A parser that prints must not write among the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    for line in sys.stdin:
        answers.write(json.dumps(_answer(json.loads(line))) + "\n")
        answers.flush()
    return 0


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    try:
        parsed = read_document(Path(request["path"]), request["name"], ParseLimits(**request["limits"]))
    except DocumentError as error:
        return {"error": {"code": error.code, "message": error.message}}
    except MemoryError:
        return {"error": {"code": DocumentTooHard.code, "message": "Reading it takes more memory than is allowed."}}
    return {"document": parsed.to_json()}


def _bound(memory_bytes: int) -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if memory_bytes:
        # Not every system bounds address space; the time is bounded in any case.
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
