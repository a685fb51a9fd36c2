"""What every test of the command line has: an empty folder, a data folder, no settings, and the demo model."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from structlog.stdlib import ProcessorFormatter

from tests.cli.world import Shell


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shell]:
    """A shell in an empty folder, in which nothing of this machine's settings is seen."""
    for name in list(os.environ):
        if name.startswith("PLANWERK_") or name.endswith(("_API_KEY", "_BASE_URL")):
            monkeypatch.delenv(name)
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setenv("PLANWERK_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("PLANWERK_MODEL", "demo")
    monkeypatch.setenv("PLANWERK_DEMO__PACE_SECONDS", "0")
    with Shell(data=tmp_path / "data") as made:
        yield made
    for handler in list(logging.getLogger().handlers):  # a `serve` in this process logs to a stream that is closed now
        if isinstance(handler.formatter, ProcessorFormatter):
            logging.getLogger().removeHandler(handler)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """A shell beside a running server, shared by the tests of a module."""
    folder = tmp_path_factory.mktemp("served")
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith("PLANWERK_") or name.endswith(("_API_KEY", "_BASE_URL")):
                patch.delenv(name)
        patch.chdir(folder)
        patch.setenv("PLANWERK_DATA", str(folder / "data"))
        patch.setenv("PLANWERK_MODEL", "demo")
        patch.setenv("PLANWERK_DEMO__PACE_SECONDS", "0")
        with Shell(data=folder / "data") as made:
            made.serve()
            patch.delenv("PLANWERK_MODEL")
            yield made
