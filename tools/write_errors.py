"""Write docs/errors.md from the error classes.

python tools/write_errors.py            write the file
python tools/write_errors.py --check    fail if it is out of date
"""

from __future__ import annotations

import importlib
import pkgutil
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import planwerk
from planwerk.workflow.errors import PlanwerkError

TARGET: Final = Path(__file__).resolve().parents[1] / "docs/errors.md"

HEAD: Final = """\
# Errors

Each error has a stable `code`, says what happened, and what to do now. The code is the same on every way in:

- **REST** answers with problem details (RFC 9457, `application/problem+json`):
  `{"type", "title", "status", "detail", "code", "what_to_do", "request_id"}`, with `errors` where fields are wrong and
  `details` where a command on shared work is rejected. `request_id` is also in the header `X-Request-Id` and in each
  line of the log about the request.
- **`/v1`** answers as its clients expect: `{"error": {"message", "type", "param", "code"}}`.
- **A run that fails** ends with the code in its journal, in the log (`run_ended`) and on its reply, which keeps
  what was said before.
- **Commands** print one line with the message and the next step; with `--json` the code is in it.

The status is the one of HTTP, where the error gets there.
"""

ROOMS: Final = {
    "access": "Signing in and access",
    "server": "The server",
    "workspace": "Shared work",
    "runtime": "Profiles and runs",
    "workflow": "Workflows",
    "models": "Models",
    "documents": "Documents",
    "capabilities": "Capabilities",
    "messages": "Messages",
    "storage": "Storage",
    "settings": "Settings",
    "module_loading": "Modules that are served",
    "app": "Starting",
    "cli": "Commands",
    "testing": "Testing blueprints",
}
WITHOUT_CLASS: Final = {
    "server": {
        "bad_request": (400, "The request cannot be understood."),
        "client_tools_not_allowed": (400, "A request on `/v1` brings tools of its own."),
        "foreign_origin": (403, "A page of another site sent a write to a server on loopback."),
        "http_error": (400, "Any other refusal of HTTP."),
        "internal_error": (500, "Something went wrong in the server; its log has the request id."),
        "malformed_json": (400, "The body is not JSON."),
        "method_not_allowed": (405, "The address does not take this method."),
        "not_acceptable": (406, "The answer cannot be given in the form that is asked for."),
        "not_found": (404, "There is nothing at this address."),
        "too_large": (413, "The body is larger than the server reads; it was not read to the end."),
        "unsupported_media_type": (415, "The body is not in a form that the address takes."),
        "validation_failed": (422, "Fields are missing or wrong; `errors` names each."),
        "wrong_host": (421, "A server on loopback was asked for under a foreign name."),
    },
    "capabilities": {
        "ingestion_failed": (
            500,
            "A document could not be read for a reason that is none of its own; its row says so.",
        ),
        "original_missing": (404, "The file of a document is not there any more; its row says so."),
        "rerank_failed": (502, "A warning: passages found stay in the order of the search, as a reranker failed."),
    },
    "runtime": {
        "cancelled": (409, "A step was cancelled with its run."),
        "run_stopped": (409, "Somebody stopped the run."),
        "step_failed": (500, "A step raised an error that is none of ours."),
    },
}
"""Codes of errors that are no classes."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A code as the page shows it."""

    room: str
    code: str
    status: int
    meaning: str


def entries() -> list[Entry]:
    """Every code in its room; where classes share one, the meaning of the first defined."""
    found: dict[tuple[str, str], Entry] = {}
    for cls in sorted(_classes(PlanwerkError), key=lambda cls: (len(cls.__mro__), cls.__module__, cls.__name__)):
        room = cls.__module__.split(".")[1]
        meaning = (cls.__doc__ or "").strip().partition("\n")[0]
        found.setdefault((room, cls.code), Entry(room, cls.code, cls.http_status, meaning))
    for room, codes in WITHOUT_CLASS.items():
        for code, (status, meaning) in codes.items():
            found.setdefault((room, code), Entry(room, code, status, meaning))
    return sorted(found.values(), key=lambda entry: (list(ROOMS).index(entry.room), entry.code))


def _classes(base: type[PlanwerkError]) -> set[type[PlanwerkError]]:
    """All classes of ours below one, in modules that are imported for it."""
    for module in pkgutil.walk_packages(planwerk.__path__, "planwerk."):
        if not re.search(r"\.migrations\b|\.__main__$", module.name):
            importlib.import_module(module.name)
    below: set[type[PlanwerkError]] = set()
    waiting = [base]
    while waiting:
        for cls in waiting.pop().__subclasses__():
            if cls.__module__.startswith("planwerk.") and cls not in below:
                below.add(cls)
                waiting.append(cls)
    return below


def page() -> str:
    """The whole page."""
    return "\n".join([HEAD, *_tables()])


def _tables() -> Iterator[str]:
    known = entries()
    for room, title in ROOMS.items():
        rows = [entry for entry in known if entry.room == room]
        if rows:
            yield f"## {title}\n"
            yield "| code | status | what it says |"
            yield "| --- | --- | --- |"
            for entry in rows:
                yield f"| `{entry.code}` | {entry.status} | {entry.meaning} |"
            yield ""


def main(arguments: list[str]) -> int:
    """Write or compare; the exit code."""
    text = page()
    if "--check" in arguments:
        if not TARGET.exists() or TARGET.read_text(encoding="utf-8") != text:
            print("docs/errors.md is out of date: run python tools/write_errors.py", file=sys.stderr)
            return 1
        return 0
    TARGET.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
