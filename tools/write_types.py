"""Write what the web client knows of the server: ui/src/api/openapi.ts from routes, ui/src/api/events.ts from events.

python tools/write_types.py            write both files
python tools/write_types.py --check    fail if one of them is out of date
"""

from __future__ import annotations

import importlib
import json
import pkgutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from planwerk.server.openapi import document as openapi_document
from planwerk.workflow.events import Event, known_event_classes
from planwerk.workspace.rules.events import LogEvent

ROOT: Final = Path(__file__).resolve().parents[1]
UI: Final = ROOT / "ui"
API: Final = UI / "src/api"
ROOMS_WITH_EVENTS: Final = ("workflow", "messages", "capabilities", "blueprints")
FAMILIES: Final = frozenset(("Event", "ControlEvent", "DisplayEvent", "ControlAndDisplayEvent", "UnknownEvent"))


def events_document() -> dict[str, Any]:
    """Every event of ours as it travels: a run's events by wire type, and the facts of a workspace's log."""
    import_rooms()
    events = [cls for name, cls in known_event_classes().items() if is_ours(cls) and name not in FAMILIES]
    facts = sorted((cls for cls in LogEvent.__subclasses__() if is_ours(cls)), key=lambda cls: cls.__name__)
    models: list[type[BaseModel]] = [*events, *facts]
    _, schema = models_json_schema(
        [(model, "serialization") for model in models], ref_template="#/components/schemas/{model}"
    )
    schemas: dict[str, Any] = schema["$defs"]
    for cls in events:
        add_wire_fields(schemas[cls.__name__], cls)
    schemas["RunEvent"] = {"oneOf": [{"$ref": f"#/components/schemas/{cls.__name__}"} for cls in events]}
    info = {"title": "Events", "version": "1"}
    return {"openapi": "3.1.0", "info": info, "paths": {}, "components": {"schemas": dict(sorted(schemas.items()))}}


def is_ours(cls: type) -> bool:
    return cls.__module__.startswith("planwerk.")


def import_rooms() -> None:
    """An event is known once the module that defines it was imported."""
    for room in ROOMS_WITH_EVENTS:
        package = importlib.import_module(f"planwerk.{room}")
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)


def add_wire_fields(schema: dict[str, Any], cls: type[Event]) -> None:
    """On the wire an event says its class and its family (E1.1)."""
    schema["properties"] = {
        "type": {"const": cls.event_type, "type": "string"},
        "family": {"const": cls.family, "type": "string"},
        **schema.get("properties", {}),
    }
    schema["required"] = ["type", "family", *schema.get("required", [])]


FILES: Final[dict[str, Callable[[], dict[str, Any]]]] = {
    "openapi.ts": openapi_document,
    "events.ts": events_document,
}


def typescript(document: dict[str, Any]) -> str:
    """The document as TypeScript, made by openapi-typescript."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "document.json"), Path(folder, "document.ts")
        source.write_text(json.dumps(document, sort_keys=True), "utf-8")
        done = subprocess.run(
            [UI / "node_modules/.bin/openapi-typescript", source, "--output", target, "--alphabetize"],
            cwd=UI,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise RuntimeError(f"openapi-typescript failed:\n{done.stdout}{done.stderr}")
        return target.read_text("utf-8")


def main(arguments: list[str]) -> int:
    """Write or check both files; return the exit code."""
    code = 0
    for name, document in FILES.items():
        path, text = API / name, typescript(document())
        if "--check" not in arguments:
            path.write_text(text, "utf-8")
        elif not path.exists() or path.read_text("utf-8") != text:
            print(f"ui/src/api/{name} does not fit the server: run `make types` and commit it.", file=sys.stderr)
            code = 1
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
