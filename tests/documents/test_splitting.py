"""Passages: exact stretches of their source, on its structure, none too large (C3.1)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from planwerk.documents.splitting import TARGET_TOKENS, split
from planwerk.messages.tokens import estimate_tokens

WORDS = st.sampled_from(["Urlaub", "the", "Höhe", "a", "资料", "😀", "`code`", "**fett**", "x" * 900, "Ende.", "Was?"])
LINES = st.one_of(
    st.lists(WORDS, max_size=40).map(" ".join),
    st.tuples(st.integers(1, 7), st.lists(WORDS, max_size=3)).map(lambda h: f"{'#' * h[0]} {' '.join(h[1])}"),
    st.sampled_from(["", "", "   ", "```", "~~~~", "- item", "  1. one", "| a | b |", "|---|---|", "\t"]),
    st.text(max_size=30).map(lambda text: text.replace("\n", " ")),
)
TEXTS = st.lists(LINES, max_size=40).map("\n".join)


@given(text=TEXTS, tokens=st.integers(8, 500))
def test_a_passage_is_what_stands_in_its_source(text: str, tokens: int) -> None:
    passages = split(text, tokens=tokens)

    assert all(passage.text == text[passage.start : passage.end] for passage in passages)
    assert all(passage.text.strip() for passage in passages)


@given(text=TEXTS, tokens=st.integers(8, 500))
def test_nothing_but_white_space_is_left_out_and_nothing_stands_twice(text: str, tokens: int) -> None:
    passages = split(text, tokens=tokens)

    ends = [0, *(passage.end for passage in passages)]
    starts = [*(passage.start for passage in passages), len(text)]
    assert all(end <= start and not text[end:start].strip() for end, start in zip(ends, starts, strict=True))


@given(text=TEXTS, tokens=st.integers(8, 500))
def test_no_passage_is_larger_than_asked(text: str, tokens: int) -> None:
    for passage in split(text, tokens=tokens):
        assert estimate_tokens(passage.text) <= tokens or len(passage.text) == 1


def test_a_section_is_a_passage_under_its_headings() -> None:
    text = (
        "# Handbuch\n\nVorwort.\n\n"
        f"## Urlaub\n\n{'Dreißig Tage im Jahr. ' * 20}\n\n### Antrag *stellen*\n\n{'Zwei Wochen vorher. ' * 20}\n\n"
        f"## Reisen\n\n{'Mit der Bahn. ' * 30}\n"
    )

    passages = split(text)

    assert [passage.headings for passage in passages] == [
        ("Handbuch",),
        ("Handbuch", "Urlaub", "Antrag stellen"),
        ("Handbuch", "Reisen"),
    ]
    assert passages[0].text.startswith("# Handbuch\n\nVorwort.\n\n## Urlaub")
    assert passages[1].text.startswith("### Antrag *stellen*")


def test_a_heading_goes_with_what_follows_it() -> None:
    text = f"{'Erstes. ' * 150}\n\n## Zweites\n\n{'Mehr davon. ' * 100}"

    first, *_, last = split(text, tokens=300)

    assert "Zweites" not in first.text
    assert last.headings == ("Zweites",)
    assert any(passage.text.startswith("## Zweites\n\nMehr") for passage in split(text, tokens=300))


def test_a_hash_in_a_code_block_is_no_heading() -> None:
    text = "# Shell\n\n```sh\n# not a heading\nls\n```\n\nAfter."

    passages = split(text)

    assert [passage.headings for passage in passages] == [("Shell",)]


def test_a_long_paragraph_is_cut_between_sentences() -> None:
    text = " ".join(f"Satz {number} steht hier für sich allein." for number in range(300))

    passages = split(text)

    assert len(passages) > 3
    assert all(passage.text.endswith("allein.") and passage.text.startswith("Satz") for passage in passages)
    assert all(estimate_tokens(passage.text) > TARGET_TOKENS // 2 for passage in passages[:-1])
