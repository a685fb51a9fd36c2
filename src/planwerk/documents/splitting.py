"""Markdown into passages on its structure, each an exact stretch of its source (C3.1).

A text is a sequence of *blocks*: headings, paragraphs, list items, tables, fenced code. Blocks of one section fill a
passage up to about `TARGET_TOKENS`; a heading begins a new one, unless what is open is so short that it says little
alone. A block that is larger than a passage is cut at the best place there is: between lines, sentences, words, and in
the end characters. Nothing but white space is left out, and no two passages overlap.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from planwerk.messages.tokens import cut_to_tokens, estimate_tokens

TARGET_TOKENS: Final = 400
SHORT_TOKENS: Final = 80
"""A passage shorter than this is joined with the section that follows."""

_HEADING: Final = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#*)?[ \t]*$")
_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})")
_ITEM: Final = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]")
_MARKS: Final = re.compile(r"[*_`]+|\[([^\]]*)\]\([^)]*\)")
_SENTENCE_END: Final = re.compile(r"[.!?…。！？][\"'”’»)\]]*\s+|[。！？]")
_SPACE: Final = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Passage:
    """A stretch of a text.

    Attributes:
        start: Where it begins in the text, in characters.
        end: Where it ends; `text == source[start:end]`.
        headings: The headings above its beginning, the outermost first, its own included.
    """

    start: int
    end: int
    text: str
    headings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Block:
    start: int
    end: int
    headings: tuple[str, ...]
    is_heading: bool
    tokens: int


def split(text: str, *, tokens: int = TARGET_TOKENS) -> list[Passage]:
    """The passages of a text, in order.

    Args:
        tokens: About how large a passage may be, as `messages.tokens` estimates; none is larger.
    """
    passages: list[Passage] = []
    open_blocks: list[_Block] = []

    def close() -> None:
        if open_blocks:
            passages.append(_passage(text, open_blocks[0].start, open_blocks[-1].end, open_blocks[0].headings))
            open_blocks.clear()

    piece = tokens - tokens // 8  # so that a heading fits before the first piece of what it heads
    for block in _cut(text, _blocks(text), piece):
        filled = sum(each.tokens for each in open_blocks)
        is_full = filled + block.tokens > tokens
        begins_section = block.is_heading and filled >= min(SHORT_TOKENS, tokens // 4)
        if open_blocks and (begins_section or is_full):
            kept = _trailing_headings(open_blocks) if is_full and not block.is_heading else []
            if len(kept) < len(open_blocks) and sum(each.tokens for each in kept) + block.tokens <= tokens:
                del open_blocks[len(open_blocks) - len(kept) :]
                close()
                open_blocks.extend(kept)
            else:
                close()
        open_blocks.append(block)
    close()
    return passages


def _trailing_headings(blocks: list[_Block]) -> list[_Block]:
    """Headings at the end, which belong to what follows them."""
    count = 0
    while count < len(blocks) and blocks[-1 - count].is_heading:
        count += 1
    return blocks[len(blocks) - count :]


def _passage(text: str, start: int, end: int, headings: tuple[str, ...]) -> Passage:
    return Passage(start, end, text[start:end], headings)


def _blocks(text: str) -> Iterator[_Block]:
    """Blocks without the white space between them; lines of a table, a list item and a fence stay together."""
    path: list[tuple[int, str]] = []
    start: int | None = None
    end = 0
    fence = ""
    for line_start, line in _lines(text):
        bare = line.rstrip()
        line_end = line_start + len(bare)
        if fence:
            end = line_end if bare else end
            if bare.strip().startswith(fence) and set(bare.strip()) == {fence[0]}:
                fence = ""
            continue
        opening = _FENCE.match(line)
        heading = None if opening else _HEADING.fullmatch(bare)
        breaks = not bare or heading is not None or (_ITEM.match(line) is not None and start is not None)
        if breaks and start is not None:
            yield _block(text, start, end, path)
            start = None
        if heading is not None:
            level = len(heading[1])
            name = _plain(heading[2] or "")
            path = [each for each in path if each[0] < level]
            if name:
                path.append((level, name))
            yield _block(text, line_start + len(line) - len(line.lstrip()), line_end, path, is_heading=True)
            continue
        if not bare.strip():
            continue
        if start is None:
            start = line_start + len(line) - len(line.lstrip())
        end = line_end
        if opening is not None:
            fence = opening[1]
    if start is not None:
        yield _block(text, start, end, path)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    start = 0
    while start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        yield start, text[start:end]
        start = end + 1


def _block(text: str, start: int, end: int, path: list[tuple[int, str]], *, is_heading: bool = False) -> _Block:
    headings = tuple(name for _, name in path)
    return _Block(start, end, headings, is_heading, estimate_tokens(text[start:end]) + 1)


def _plain(heading: str) -> str:
    return " ".join(_MARKS.sub(lambda found: found[1] or "", heading).split())


def _cut(text: str, blocks: Iterable[_Block], tokens: int) -> Iterator[_Block]:
    for block in blocks:
        if block.tokens <= tokens:
            yield block
            continue
        start = block.start
        while start < block.end:
            end = _end_of_piece(text, start, block.end, tokens)
            yield _Block(start, end, block.headings, block.is_heading, estimate_tokens(text[start:end]) + 1)
            start = end + _white_space(text, end, block.end)


def _end_of_piece(text: str, start: int, end: int, tokens: int) -> int:
    """Where the next piece of a block ends: at the best break in what fits, at least one character on."""
    reach = min(end, start + tokens * 16)  # no estimate counts more than that many characters as one token
    fitting = start + max(1, len(cut_to_tokens(text[start:reach], tokens - 1)))
    if fitting >= end:
        return end
    window = text[start:fitting]
    for place in (window.rfind("\n"), _last_sentence_end(window), _last_space(window)):
        if place > len(window) // 3:
            return start + len(window[:place].rstrip())
    return fitting


def _last_sentence_end(window: str) -> int:
    return max((found.end() for found in _SENTENCE_END.finditer(window)), default=-1)


def _last_space(window: str) -> int:
    return max((found.start() for found in _SPACE.finditer(window)), default=-1)


def _white_space(text: str, start: int, end: int) -> int:
    found = _SPACE.match(text, start, end)
    return found.end() - start if found else 0
