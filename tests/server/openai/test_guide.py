"""What the guide shows runs as it stands, against a real server with the demo model."""

from __future__ import annotations

import asyncio

import pytest

from planwerk.app import Planwerk
from planwerk.models.demo.model import DemoModel
from planwerk.server.openai import identity, tasks
from tests.docs.pages import ROOT, snippets
from tests.server.live import live_server
from tests.server.openai.asking import messages_of, threads_of

PAGE = ROOT / "docs" / "guide" / "openai.md"


async def test_the_snippets_of_the_guide_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run() -> None:
        found: dict[str, object] = {}
        for snippet in snippets(PAGE, "py"):
            exec(compile(snippet.compiled_in_place, str(PAGE), "exec"), found)
        getattr(found["client"], "close")()  # noqa: B009 - the client is made by the page

    async with live_server(Planwerk(model=DemoModel())) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", server.key)
        await asyncio.to_thread(run)
        [thread] = await threads_of(server)
        posted = [message["content"] for message in await messages_of(server, thread["id"])][::2]

    printed = capsys.readouterr().out
    assert "turtles" in printed
    assert " tokens\n" in printed
    assert "model_not_found" in printed
    assert posted == ["My name is Ada.", "What is my name?"]


def test_the_headers_of_the_guide_are_those_that_are_read() -> None:
    named = PAGE.read_text("utf-8").lower()

    for header in (
        identity.THREAD,
        identity.CHAT,
        identity.QUESTION,
        identity.ANSWER,
        identity.BEFORE,
        identity.LIBRECHAT,
        identity.IDEMPOTENCY,
        tasks.HEADER,
    ):
        assert header in named
