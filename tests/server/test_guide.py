"""The guide's page on REST: what it shows runs against a real server."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from planwerk.app import Planwerk
from planwerk.testing import ScriptedModel
from tests.docs.pages import ROOT, snippets
from tests.server.live import live_server

PAGE = ROOT / "docs/guide/rest.md"


async def test_the_guides_snippet_asks_follows_and_reads_the_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    [snippet] = snippets(PAGE, "py")
    model = ScriptedModel(["With one eye open."])
    async with live_server(Planwerk(storage=tmp_path / "data.db", model=model)) as server:
        monkeypatch.setenv("PLANWERK_URL", server.url)
        monkeypatch.setenv("PLANWERK_KEY", server.key)
        code = compile(snippet.compiled_in_place, str(PAGE), "exec")
        await asyncio.to_thread(exec, code, {"__name__": "guide"})

    printed = capsys.readouterr().out
    assert printed.splitlines()[0] == "1 run_opened "
    assert printed.splitlines()[-1] == "With one eye open."
