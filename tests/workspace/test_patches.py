"""JSON Patch, strictly (A3.1, ART-01, ART-03), and diffs that always replay (ART-05)."""

from __future__ import annotations

import copy
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planwerk.workspace.rules.diffs import LONG_TEXT, diff
from planwerk.workspace.rules.errors import PatchFailed
from planwerk.workspace.rules.json_values import identical_json, impossible_number, same_json
from planwerk.workspace.rules.patches import apply_patch

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
DOCUMENTS = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=6) | st.dictionaries(TEXTS, inner, max_size=5), max_leaves=25
)
ITEMS = st.lists(st.fixed_dictionaries({"id": st.integers(0, 8), "n": SCALARS}), unique_by=lambda item: item["id"])
LONG_TEXTS = st.lists(st.sampled_from(["one two", "three\n", "four, five.\n", "🐢", "é ", "\r\n"]), max_size=90).map(
    "".join
)

TEST_CASES: list[tuple[Any, str, Any, bool]] = [
    ({"ready": 1}, "/ready", True, False),
    ({"ready": True}, "/ready", 1, False),
    ({"ready": 0}, "/ready", False, False),
    ({"a": [1, {"b": 0}]}, "/a", [True, {"b": False}], False),
    ({"a": 1}, "/a", 1.0, True),
    ({"a": None}, "/a", False, False),
    ({"a": "1"}, "/a", 1, False),
    ({"a": {"x": 1, "y": 2}}, "/a", {"y": 2, "x": 1}, True),
    ({"a": [1, 2]}, "/a", [2, 1], False),
]


@pytest.mark.parametrize(("document", "path", "value", "passes"), TEST_CASES)
def test_a_test_compares_as_json_does(document: Any, path: str, value: Any, passes: bool) -> None:
    before = copy.deepcopy(document)
    patch = [{"op": "test", "path": path, "value": value}, {"op": "add", "path": "/z", "value": "done"}]

    if passes:
        assert apply_patch(document, patch)["z"] == "done"
    else:
        with pytest.raises(PatchFailed) as failed:
            apply_patch(document, patch)
        assert failed.value.operation == 0
    assert identical_json(document, before)


def test_a_failing_operation_undoes_those_before_it_and_is_named() -> None:
    document = {"state": "open"}
    patch = [
        {"op": "replace", "path": "/state", "value": "closed"},
        {"op": "test", "path": "/owner", "value": "ann"},
    ]

    with pytest.raises(PatchFailed) as failed:
        apply_patch(document, patch)

    assert document == {"state": "open"}
    assert (failed.value.operation, failed.value.http_status) == (1, 422)
    assert "operation 1" in failed.value.message


@pytest.mark.parametrize(
    ("patch", "result"),
    [
        ([{"op": "add", "path": "/list/1", "value": "x"}], {"list": ["a", "x", "b"], "m": {"k": 1}}),
        ([{"op": "add", "path": "/list/2", "value": "x"}], {"list": ["a", "b", "x"], "m": {"k": 1}}),
        ([{"op": "add", "path": "/list/-", "value": "x"}], {"list": ["a", "b", "x"], "m": {"k": 1}}),
        ([{"op": "add", "path": "/m/k", "value": 2}], {"list": ["a", "b"], "m": {"k": 2}}),
        ([{"op": "remove", "path": "/list/0"}], {"list": ["b"], "m": {"k": 1}}),
        ([{"op": "move", "from": "/list/0", "path": "/list/1"}], {"list": ["b", "a"], "m": {"k": 1}}),
        ([{"op": "move", "from": "/m/k", "path": "/n"}], {"list": ["a", "b"], "m": {}, "n": 1}),
        ([{"op": "copy", "from": "/m", "path": "/list/0"}], {"list": [{"k": 1}, "a", "b"], "m": {"k": 1}}),
        ([{"op": "replace", "path": "", "value": 7}], 7),
        ([], {"list": ["a", "b"], "m": {"k": 1}}),
    ],
)
def test_operations_do_what_the_rfc_says(patch: list[dict[str, Any]], result: Any) -> None:
    assert apply_patch({"list": ["a", "b"], "m": {"k": 1}}, patch) == result


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "append", "path": "/list", "value": 1},
        {"path": "/list"},
        {"op": "add", "path": "/list/-"},
        {"op": "add", "path": "list", "value": 1},
        {"op": "add", "path": "/list/3", "value": 1},
        {"op": "add", "path": "/list/01", "value": 1},
        {"op": "add", "path": "/list/+1", "value": 1},
        {"op": "add", "path": "/list/-1", "value": 1},
        {"op": "add", "path": "/gone/x", "value": 1},
        {"op": "add", "path": "/text/x", "value": 1},
        {"op": "add", "path": "/a~2b", "value": 1},
        {"op": "add", "path": "/n", "value": float("nan")},
        {"op": "add", "path": "/n", "value": {"deep": [float("inf")]}},
        {"op": "add", "path": 3, "value": 1},
        {"op": "add", "path": "/n", "value": 1, "extra": True},
        {"op": "remove", "path": ""},
        {"op": "remove", "path": "/list/2"},
        {"op": "remove", "path": "/list/-"},
        {"op": "replace", "path": "/gone", "value": 1},
        {"op": "replace", "path": "/list/-", "value": 1},
        {"op": "move", "from": "/m", "path": "/m/k"},
        {"op": "move", "from": "/gone", "path": "/x"},
        {"op": "copy", "from": "/gone", "path": "/x"},
        {"op": "text", "path": "/list", "edits": []},
        {"op": "text", "path": "/text", "edits": [{"at": 0, "old": "WORLD", "new": ""}]},
        {"op": "text", "path": "/text", "edits": [{"at": -5, "old": "world", "new": ""}]},
        {"op": "text", "path": "/text", "edits": [{"at": 99, "old": "", "new": "x"}]},
        {"op": "text", "path": "/text", "edits": [{"at": True, "old": "", "new": "x"}]},
        {"op": "text", "path": "/text", "edits": [{"at": 0, "old": ""}]},
        {"op": "text", "path": "/text", "edits": "x"},
        {
            "op": "text",
            "path": "/text",
            "edits": [{"at": 4, "old": "o", "new": "0"}, {"at": 0, "old": "h", "new": "H"}],
        },
    ],
)
def test_what_does_not_fit_is_refused_and_leaves_the_document(operation: dict[str, Any]) -> None:
    document = {"list": ["a", "b"], "m": {"k": 1}, "text": "hello world"}
    before = copy.deepcopy(document)

    with pytest.raises(PatchFailed) as failed:
        apply_patch(document, [{"op": "add", "path": "/first", "value": 1}, operation])

    assert failed.value.operation == 1
    assert document == before


def test_pointers_escape_slashes_and_tildes() -> None:
    document = {"a/b": {"m~n": 1}, "": {"": 2}}

    after = apply_patch(
        document,
        [{"op": "replace", "path": "/a~1b/m~0n", "value": 3}, {"op": "replace", "path": "//", "value": 4}],
    )

    assert after == {"a/b": {"m~n": 3}, "": {"": 4}}


def test_a_patched_value_is_no_longer_the_senders() -> None:
    value: dict[str, Any] = {"list": []}
    after = apply_patch({}, [{"op": "add", "path": "/x", "value": value}, {"op": "copy", "from": "/x", "path": "/y"}])

    after["x"]["list"].append(1)

    assert (value, after["y"]) == ({"list": []}, {"list": []})


def test_text_positions_count_code_points() -> None:
    edits = [{"at": 1, "old": "🐢", "new": "🐇!"}, {"at": 2, "old": "y", "new": "z"}]

    assert apply_patch({"t": "x🐢y"}, [{"op": "text", "path": "/t", "edits": edits}]) == {"t": "x🐇!z"}


@given(old=DOCUMENTS, new=DOCUMENTS)
def test_a_diff_applied_to_the_old_document_gives_exactly_the_new_one(old: Any, new: Any) -> None:
    before = copy.deepcopy(old)

    patch = diff(old, new)

    assert identical_json(apply_patch(old, patch), new)
    assert identical_json(old, before)
    assert (patch == []) == identical_json(old, new)


@given(old=ITEMS, new=ITEMS)
def test_a_diff_of_items_with_ids_replays(old: list[Any], new: list[Any]) -> None:
    assert identical_json(apply_patch({"items": old}, diff({"items": old}, {"items": new})), {"items": new})


@given(old=LONG_TEXTS, new=LONG_TEXTS)
def test_a_diff_inside_long_texts_replays(old: str, new: str) -> None:
    assert apply_patch({"text": old}, diff({"text": old}, {"text": new})) == {"text": new}


def test_diffs_of_mixed_lists_replay() -> None:
    seeded = random.Random(5)
    choices: list[Any] = ["a", {"x": 1}, ["q"], 2, True, None, 1.5, {"id": "1"}, {"id": "2", "n": 1}]
    pairs: list[tuple[list[Any], list[Any]]] = [(["a", {"x": 1}, ["q"], 2], [{"x": 1}, 2, "a", ["q"], {"x": 1}])]
    pairs += [
        (seeded.choices(choices, k=seeded.randint(0, 6)), seeded.choices(choices, k=seeded.randint(0, 6)))
        for _ in range(1_000)
    ]

    for old, new in pairs:
        assert identical_json(apply_patch(old, diff(old, new)), new)


def test_an_item_with_an_id_is_changed_where_it_is_though_others_came_and_went() -> None:
    old = [{"id": "a", "n": 1}, {"id": "b", "n": 2}, {"id": "c", "n": 3}]
    new = [{"id": "x", "n": 0}, {"id": "b", "n": 2}, {"id": "c", "n": 4}]

    assert diff(old, new, "/items") == [
        {"op": "remove", "path": "/items/0"},
        {"op": "add", "path": "/items/0", "value": {"id": "x", "n": 0}},
        {"op": "replace", "path": "/items/2/n", "value": 4},
    ]


def test_a_word_changed_in_a_long_text_is_stored_as_that_word() -> None:
    line = "The quick brown fox jumps over the lazy dog.\n"
    old = line * 10
    new = line * 5 + line.replace("lazy", "sleepy") + line * 4

    (operation,) = diff({"text": old}, {"text": new})

    at = 5 * len(line) + line.index("lazy")
    assert operation == {"op": "text", "path": "/text", "edits": [{"at": at, "old": "lazy", "new": "sleepy"}]}


def test_a_short_text_is_stored_as_a_whole() -> None:
    assert diff({"t": "a" * LONG_TEXT}, {"t": "b"}) == [{"op": "replace", "path": "/t", "value": "b"}]
    assert diff({"t": "a" * (LONG_TEXT + 1)}, {"t": "b"})[0]["op"] == "text"


def test_texts_that_share_nothing_are_compared_in_bounded_time() -> None:
    old, new = "a b " * 20_000, "c d " * 20_000  # word by word these would be 6.4 billion comparisons

    (operation,) = diff({"t": old}, {"t": new})

    assert operation["edits"] == [{"at": 0, "old": old[:-1], "new": new[:-1]}]
    assert apply_patch({"t": old}, [operation]) == {"t": new}


def test_one_is_not_written_like_one_point_zero_though_they_are_equal() -> None:
    assert same_json(1, 1.0)
    assert diff({"n": 1}, {"n": 1.0}) == [{"op": "replace", "path": "/n", "value": 1.0}]


def test_numbers_that_json_cannot_write_are_found_by_their_place() -> None:
    assert impossible_number({"a": [1, {"b/c": float("nan")}]}) == "/a/1/b~1c"
    assert impossible_number({"a": [1, 2.5, "x", None, True]}) is None
