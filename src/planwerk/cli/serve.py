"""`planwerk serve`: the server, with everything it needs to be used at once (S1.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from planwerk.cli.options import Data, Json, Model, Module
from planwerk.cli.output import print_json

if TYPE_CHECKING:
    from planwerk.server.serving import Announcement
    from planwerk.settings.model import Settings


def serve(
    module: Module = None,
    only: Annotated[bool, typer.Option("--only", help="Leave out the ready-made blueprints.")] = False,
    host: Annotated[
        str | None, typer.Option("--host", metavar="ADDRESS", help="Address to listen on.", show_default="127.0.0.1")
    ] = None,
    port: Annotated[
        int | None,
        typer.Option("--port", metavar="PORT", help="Port to listen on; 0 takes a free one.", show_default="8321"),
    ] = None,
    data: Data = None,
    model: Model = None,
    storage: Annotated[
        str | None, typer.Option("--storage", metavar="ADDRESS", help="sqlite:///FILE, or memory.")
    ] = None,
    api_key: Annotated[
        str | None, typer.Option("--api-key", metavar="KEY", help="A fixed API key; else a fresh one at each start.")
    ] = None,
    reload: Annotated[bool, typer.Option("--reload", help="Start anew when a source file changes.")] = False,
    as_json: Json = False,
) -> None:
    """Serve MODULE's blueprints and the ready-made ones: web client, REST and /v1."""
    options = {"host": host, "port": port, "data": data, "model": model, "storage": storage, "api_key": api_key}
    if reload:
        from planwerk.cli.reloading import serve_reloading

        serve_reloading(module, only, options, as_json=as_json)
    else:
        serve_once(module, only, options, as_json=as_json)


def serve_once(module: str | None, only: bool, options: dict[str, Any], *, as_json: bool) -> None:
    """Serve until told to end."""
    from planwerk.cli.installation import installation
    from planwerk.server.logging_setup import set_up_logging
    from planwerk.server.serving import ServingOptions, run
    from planwerk.server.serving import serve as serve_installation
    from planwerk.settings.loading import load

    settings = load(options).settings
    set_up_logging(settings.log.level, settings.log.format)
    served = installation(settings, module, only=only)
    chosen = ServingOptions(
        host=settings.host,
        port=settings.port,
        data=settings.data,
        api_key=settings.api_key.get_secret_value() if settings.api_key else None,
        shutdown_seconds=settings.shutdown_seconds,
        prepare=lambda application: _prepare(application, settings),
    )
    run(serve_installation(served, chosen, lambda told: _announce(told, as_json=as_json)))


def _prepare(application: Any, settings: Settings) -> None:
    application.state.message_bytes = settings.limits.message_bytes
    application.state.hosts = frozenset(settings.hosts)


def _announce(told: Announcement, *, as_json: bool) -> None:
    from importlib.metadata import version

    if as_json:
        print_json(
            {
                "url": told.url,
                "sign_in_url": told.sign_in_url,
                "api_key": told.api_key,
                "model": told.model,
                "demo_model": told.is_demo,
                "data": str(told.data),
                "pid": told.pid,
                "version": version("planwerk"),
            }
        )
        return
    note = "  the built-in demo model answers; 'planwerk doctor' says how to get another" if told.is_demo else ""
    print(f"Open     {told.sign_in_url}")
    print(f"API key  {told.api_key}")
    print(f"Model    {told.model}{note}")
    print("Stop     Ctrl-C", flush=True)
