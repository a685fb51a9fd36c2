"""Edits that quote what they replace (A3.1, ART-07)."""

from __future__ import annotations

import pytest

from planwerk.workspace.rules.commands import TextEdit
from planwerk.workspace.rules.errors import PatchFailed
from planwerk.workspace.rules.text_edits import apply_text_edits, occurrences


def edited(text: str, *edits: tuple[str, str]) -> str:
    document = apply_text_edits({"text": text}, [TextEdit(old=old, new=new) for old, new in edits])
    return document["text"]


def test_a_passage_that_occurs_once_is_replaced() -> None:
    assert edited("one two three", ("two", "2")) == "one 2 three"


def test_a_quote_with_line_feeds_fits_a_text_with_crlf_which_keeps_its_line_ends() -> None:
    assert edited("one\r\n\ttwo\r\nthree\r\n", ("one\n\ttwo", "one\n\tTWO")) == "one\r\n\tTWO\r\nthree\r\n"


@pytest.mark.parametrize(
    ("text", "old", "new", "result"),
    [
        ("a\r\nb\r\n", "b", "b\nc", "a\r\nb\r\nc\r\n"),
        ("a\nb\n", "a\r\nb", "a\r\nB", "a\nB\n"),
        ("a\nb\r\nc\r\n", "b\r\nc", "B\r\nc", "a\nB\r\nc\r\n"),
        ("a\nb\nc\r\n", "a\nb", "A\nb", "A\nb\nc\r\n"),
        ("a\nb\r\nc\nd\n", "b\nc", "B\nc", "a\nB\r\nc\nd\n"),
        ("a\nb\r\nc\nd\n", "b", "B\nB", "a\nB\nB\r\nc\nd\n"),
    ],
)
def test_what_is_written_has_the_line_ends_of_its_text(text: str, old: str, new: str, result: str) -> None:
    assert edited(text, (old, new)) == result


def test_a_passage_that_occurs_twice_is_refused_with_its_places_and_fits_with_its_context() -> None:
    text = "total: 5\nx\ntotal: 5"

    with pytest.raises(PatchFailed) as failed:
        edited(text, ("total: 5", "total: 6"))

    assert failed.value.details | {"reason": ""} == {
        "operation": 0,
        "reason": "",
        "occurrences": 2,
        "positions": [0, 11],
    }
    assert "2 times, at 0, 11" in failed.value.message
    assert edited(text, ("x\ntotal: 5", "x\ntotal: 6")) == "total: 5\nx\ntotal: 6"


def test_overlapping_occurrences_count() -> None:
    with pytest.raises(PatchFailed) as failed:
        edited("aXaXa", ("aXa", "b"))

    assert (failed.value.occurrences, failed.value.positions) == (2, (0, 2))
    assert occurrences("aaaa", "aa") == [0, 1, 2]


def test_a_passage_that_does_not_occur_is_refused() -> None:
    with pytest.raises(PatchFailed) as failed:
        edited("one", ("one", "two"), ("one", "three"))

    assert (failed.value.operation, failed.value.occurrences) == (1, 0)


def test_a_later_edit_may_quote_what_an_earlier_one_wrote() -> None:
    assert edited("one", ("one", "two"), ("two", "three")) == "three"


def test_an_empty_quote_writes_into_an_empty_text_only() -> None:
    assert edited("", ("", "first words")) == "first words"
    with pytest.raises(PatchFailed):
        edited("something", ("", "more"))


def test_an_edit_reaches_texts_further_inside_and_nothing_else() -> None:
    document = {"parts": [{"title": "Old"}], "n": 3, "a/b": "x"}

    after = apply_text_edits(
        document, [TextEdit(field="/parts/0/title", old="Old", new="New"), TextEdit(field="a/b", old="x", new="y")]
    )

    assert after == {"parts": [{"title": "New"}], "n": 3, "a/b": "y"}
    assert document["parts"] == [{"title": "Old"}]
    for field in ("n", "gone", "/parts/7/title"):
        with pytest.raises(PatchFailed):
            apply_text_edits(document, [TextEdit(field=field, old="x", new="y")])
