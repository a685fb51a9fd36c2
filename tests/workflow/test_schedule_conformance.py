"""The rules of due executions, case by case, from `tests/conformance/schedule.json`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.workflow.notation import Notation, Play, executions_of

CASES: list[dict[str, Any]] = json.loads((Path(__file__).parents[1] / "conformance" / "schedule.json").read_text())


@pytest.mark.parametrize("case", CASES, ids=[f"{case['rule']} {case['title']}" for case in CASES])
def test_what_is_due_follows_the_rules(case: dict[str, Any]) -> None:
    play = Play(Notation(case["given"]))

    for action, expected in zip(case["when"], case["then"], strict=True):
        name, outputs = action[0], action[1] if len(action) > 1 else ""
        if name == "begin":
            due = play.begin()
        elif name.startswith("answer"):
            due = play.answer(int(name.partition(".")[2] or 1), outputs)
        else:
            due = play.end(name, outputs)

        wanted = executions_of(expected)
        unmatched = [text for text in wanted if not any(play.matches(got, text) for got in due)]
        shown = [f"{text} of {[sorted(play.labels[p]) for p in play.labels]}" for text in unmatched]
        assert (unmatched, len(due)) == ([], len(wanted)), (name, due, shown)
