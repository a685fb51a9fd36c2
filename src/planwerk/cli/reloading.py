"""`planwerk serve --reload`: the server in a process of its own, started anew when a source file changes."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

from planwerk.cli.serve import serve_once
from planwerk.module_loading import is_file
from planwerk.settings.loading import load


def serve_reloading(module: str | None, only: bool, options: dict[str, Any], *, as_json: bool) -> None:
    """Serve until told to end; each process gets the same API key, so that clients keep working."""
    from watchfiles import PythonFilter, run_process

    settings = load(options).settings
    key = settings.api_key.get_secret_value() if settings.api_key else f"pw_local_{secrets.token_urlsafe(32)}"
    run_process(
        *watched(module or settings.app),
        target=serve_process,
        args=(module, only, {**options, "api_key": key}, as_json),
        watch_filter=PythonFilter(extra_extensions=(".md", ".json", ".toml")),
        grace_period=0.2,
    )


def watched(module: str | None) -> list[Path]:
    """Folders whose changes start the server anew: Planwerk's own, and the module's."""
    own = Path(__file__).resolve().parents[1]
    return [own, Path(module).resolve().parent if module is not None and is_file(module) else Path.cwd()]


def serve_process(module: str | None, only: bool, options: dict[str, Any], as_json: bool) -> None:
    """One process of the server; an error is told and waits for the next change."""
    from planwerk.cli.errors import report
    from planwerk.workflow.errors import PlanwerkError

    try:
        serve_once(module, only, options, as_json=as_json)
    except (PlanwerkError, OSError) as error:
        report(error, as_json=as_json, with_trace=False)
