"""Options that several commands share, written once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
Data = Annotated[
    Path | None, typer.Option("--data", metavar="DIR", help="The data folder.", show_default="this account's own")
]
Server = Annotated[
    str | None,
    typer.Option("--server", metavar="URL", help="Talk to this server; else to the one that uses the data folder."),
]
Key = Annotated[
    str | None, typer.Option("--key", metavar="KEY", help="API key for --server; else the setting api_key.")
]
Model = Annotated[str | None, typer.Option("--model", metavar="PROVIDER:NAME", help="The model to answer with.")]
Module = Annotated[
    str | None,
    typer.Argument(metavar="MODULE", help="A file, or a dotted name; else the setting app.", show_default=False),
]
App = Annotated[str | None, typer.Option("--app", metavar="MODULE", help="Blueprints to use where no server runs.")]
