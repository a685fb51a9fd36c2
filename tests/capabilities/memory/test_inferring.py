"""From what a model names as changes to those that are made: bounded, each fact once, nothing lost (CAP-15)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.capabilities.memory.remembering import stored

from planwerk.capabilities.memory.events import MOST_CHANGES, MOST_FACT_CHARACTERS, FactChange, MemoryChanges
from planwerk.capabilities.memory.inferring import one_line, quoted_exchange, settled

KNOWN = [stored("a", "Drives to work."), stored("b", "Likes tea.")]


def change(action: str, memory: int | None = None, text: str = "") -> dict[str, Any]:
    return {"action": action, "memory": memory, "text": text}


def made(*changes: dict[str, Any], query: str = "I said so.", forget: bool = False) -> list[tuple[str | None, str]]:
    asked = MemoryChanges.model_validate({"forget": forget, "changes": changes})
    return [(found.memory, found.text) for found in settled(asked, KNOWN, query)]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ([change("add", text="Has a dog.")], [(None, "Has a dog.")]),
        ([change("add", text="  Has\n a   dog. ")], [(None, "Has a dog.")]),
        ([change("add", text="likes TEA")], []),
        ([change("add", text="Has a dog."), change("add", text="Has a dog!")], [(None, "Has a dog.")]),
        ([change("add", text="  ")], []),
        ([change("update", 1, "Cycles to work.")], [("a", "Cycles to work.")]),
        ([change("update", 1, "Drives to work")], []),
        ([change("update", 9, "Has a dog.")], [(None, "Has a dog.")]),
        ([change("update", None, "Has a dog.")], [(None, "Has a dog.")]),
        ([change("update", 1, "")], []),
        ([change("update", 1, "Cycles."), change("update", 1, "Walks.")], [("a", "Cycles."), (None, "Walks.")]),
        ([change("delete", 9)], []),
        ([change("delete", 0)], []),
        ([change("delete", -1)], []),
        ([change("delete", 1)], [("a", "I said so.")]),
        ([change("delete", 1), change("add", text="Never drives.")], [("a", "Never drives.")]),
        ([change("add", text="Never drives."), change("delete", 1)], [("a", "Never drives.")]),
        ([change("delete", 1), change("delete", 2)], [("a", "I said so."), ("b", "")]),
        (
            [change("delete", 1), change("add", text="Never drives."), change("add", text="Has a dog.")],
            [("a", "Never drives."), (None, "Has a dog.")],
        ),
        ([change("delete", 1), change("update", 2, "Likes coffee.")], [("b", "Likes coffee.")]),
    ],
)
def test_changes_are_settled(changes: list[dict[str, Any]], expected: list[tuple[str | None, str]]) -> None:
    assert made(*changes) == expected


def test_what_is_to_be_forgotten_is_deleted_whatever_was_said() -> None:
    assert made(change("delete", 1), forget=True) == [("a", "")]


def test_a_question_takes_no_facts_place() -> None:
    assert made(change("delete", 1), query="Do I drive?") == []


def test_of_many_changes_the_first_are_made() -> None:
    many = [change("add", text=f"Fact {n}.") for n in range(MOST_CHANGES + 5)]

    assert len(made(*many)) == MOST_CHANGES


def test_a_fact_is_cut_at_its_limit() -> None:
    line = one_line("x" * 2 * MOST_FACT_CHARACTERS)

    assert len(line) == MOST_FACT_CHARACTERS
    assert line.endswith("…")


def test_facts_are_listed_with_their_numbers() -> None:
    text = quoted_exchange(KNOWN, "I cycle.", "Good.")

    assert "<facts>\n1. Drives to work.\n2. Likes tea.\n</facts>" in text
    assert "<message>\nI cycle.\n</message>" in text
    assert "<answer>\nGood.\n</answer>" in text


def test_a_long_exchange_is_cut() -> None:
    assert len(quoted_exchange([], "word " * 50_000, "word " * 50_000)) < 20_000


CHANGES = st.lists(
    st.fixed_dictionaries(
        {
            "action": st.sampled_from(["add", "update", "delete"]),
            "memory": st.none() | st.integers(-1, 4),
            "text": st.text(max_size=40),
        }
    ),
    max_size=12,
)


@given(changes=CHANGES, forget=st.booleans())
def test_whatever_a_model_names_each_fact_changes_once_and_no_fact_is_there_twice(
    changes: list[dict[str, Any]], forget: bool
) -> None:
    found = settled(MemoryChanges.model_validate({"forget": forget, "changes": changes}), KNOWN, "I said so.")

    targets = [one.memory for one in found if one.memory is not None]
    assert len(targets) == len(set(targets))
    texts = [one.text.casefold() for one in found if one.text]
    assert len(texts) == len(set(texts))
    assert all(isinstance(one, FactChange) and (one.memory or one.text) for one in found)
    assert len(found) <= MOST_CHANGES + 1
