"""The types of the web client are what the server says, and drift is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tools import write_types


def tiny(description: str) -> dict[str, Any]:
    schema = {"type": "object", "description": description, "properties": {"text": {"type": "string"}}}
    info = {"title": "Tiny", "version": "1"}
    return {"openapi": "3.1.0", "info": info, "paths": {}, "components": {"schemas": {"Tiny": schema}}}


def test_an_event_has_its_wire_type_and_family_and_a_fact_of_the_log_is_there() -> None:
    schemas = write_types.events_document()["components"]["schemas"]

    answer = schemas["LLMEvent"]
    assert answer["properties"]["type"] == {"const": "LLMEvent", "type": "string"}
    assert answer["properties"]["family"]["const"] == "both"
    assert {"type", "family", "response", "model"} <= set(answer["required"])
    assert "message_id" in schemas["MessagePosted"]["properties"]


def test_the_families_are_no_events_of_their_own() -> None:
    options = write_types.events_document()["components"]["schemas"]["RunEvent"]["oneOf"]

    named = {option["$ref"].rpartition("/")[2] for option in options}
    assert "LLMEvent" in named
    assert not named & write_types.FAMILIES


def test_drift_is_refused_and_writing_mends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(write_types, "API", tmp_path)
    monkeypatch.setattr(write_types, "FILES", {"tiny.ts": lambda: tiny("before")})
    assert write_types.main([]) == 0
    assert write_types.main(["--check"]) == 0

    monkeypatch.setattr(write_types, "FILES", {"tiny.ts": lambda: tiny("after")})

    assert write_types.main(["--check"]) == 1
    assert "ui/src/api/tiny.ts does not fit the server: run `make types`" in capsys.readouterr().err
    assert write_types.main([]) == 0
    assert "after" in (tmp_path / "tiny.ts").read_text("utf-8")
