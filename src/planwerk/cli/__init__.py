"""The command line (S7): one file per command. What a command needs beyond typer is imported when it runs."""

from __future__ import annotations


def main() -> None:
    """Run the command that the command line names."""
    from planwerk.cli.root import app

    app()
