"""How well questions find their passages, by words alone, and what each stage of the search adds (issue 4, point 2)."""

from __future__ import annotations

import asyncio
import re
import sqlite3
from collections.abc import Callable, Sequence
from typing import Final

import pytest
from tests.capabilities.knowledge.shelves import fill, found
from tests.data.retrieval import FACTS, QUESTIONS, documents
from tests.docs.pages import ROOT

from planwerk.storage.in_memory.knowledge import InMemoryKnowledge
from planwerk.storage.knowledge_search import by_parts, by_words, fused_scores, spellings
from planwerk.storage.memory_search import query_words

CUTS: Final = (1, 3, 10)
Search = Callable[[sqlite3.Connection, str], Sequence[str]]
GUIDE: Final = ROOT / "docs" / "guide" / "knowledge.md"


def matching(connection: sqlite3.Connection, table: str, query: str) -> list[str]:
    """The documents that a query of FTS5 finds, the best first."""
    weights = "(knowledge_words, 0.0, 2.0, 1.0)" if table == "knowledge_words" else "(knowledge_parts)"
    statement = f"""
        SELECT p.document FROM {table} AS found JOIN knowledge_passages AS p ON p.number = found.rowid
        WHERE {table} MATCH ? ORDER BY bm25{weights}, p.number LIMIT 50
    """
    return [row[0] for row in connection.execute(statement, (query,))] if query else []


def is_known(connection: sqlite3.Connection) -> Callable[[str], bool]:
    statement = "SELECT 1 FROM knowledge_vocabulary WHERE term >= ? AND term < ? LIMIT 1"
    return lambda part: connection.execute(statement, (part, f"{part}\U0010ffff")).fetchone() is not None


def as_written(connection: sqlite3.Connection, question: str) -> Sequence[str]:
    words = [spelt for word in query_words(question) for spelt in spellings(word)]
    return matching(connection, "knowledge_words", " OR ".join(f'"{word}"' for word in words))


def by_stems(connection: sqlite3.Connection, question: str) -> Sequence[str]:
    return matching(connection, "knowledge_words", by_words(question, lambda _: False))


def by_compounds(connection: sqlite3.Connection, question: str) -> Sequence[str]:
    return matching(connection, "knowledge_words", by_words(question, is_known(connection)))


def fused(connection: sqlite3.Connection, question: str) -> Sequence[str]:
    inside = matching(connection, "knowledge_parts", by_parts(question))
    return list(fused_scores([by_compounds(connection, question), inside]))


STAGES: Final[dict[str, Search]] = {
    "words as they are written": as_written,
    "and their stems": by_stems,
    "and the parts of compounds": by_compounds,
    "and words inside words, fused": fused,
}


@pytest.fixture(scope="module")
def index() -> InMemoryKnowledge:
    index = InMemoryKnowledge()
    asyncio.run(fill(index, {"c": documents()}))
    return index


def recalls(ranks: Sequence[int]) -> list[float]:
    return [round(sum(rank <= cut for rank in ranks) / len(ranks), 2) for cut in CUTS]


def rank_of(place: int, hits: Sequence[str]) -> int:
    return hits.index(f"f{place}") + 1 if f"f{place}" in hits else 1000


def test_the_questions_are_as_many_as_they_are_said_to_be() -> None:
    assert (len(FACTS), len(QUESTIONS), len(documents())) == (50, 100, 1050)
    assert len({question for question, _ in QUESTIONS}) == 100


async def test_a_question_finds_its_passage_among_ten(index: InMemoryKnowledge) -> None:
    ranks = [rank_of(place, await found(index, question, "c")) for question, place in QUESTIONS]

    assert recalls(ranks)[-1] >= 0.9
    assert recalls(ranks[::2])[-1] == 1.0  # the questions that are near to the words of their passage


def test_each_stage_adds_what_the_guide_says(index: InMemoryKnowledge) -> None:
    def measured(connection: sqlite3.Connection) -> dict[str, list[float]]:
        return {
            name: recalls([rank_of(place, search(connection, question)) for question, place in QUESTIONS])
            for name, search in STAGES.items()
        }

    measures = index._database.read(measured)  # pyright: ignore[reportPrivateUsage] - a stage alone is no part of the port

    told = re.findall(
        r"^\| ([^|]+?) \| (\d\.\d+) \| (\d\.\d+) \| (\d\.\d+) \|$", GUIDE.read_text("utf-8"), re.MULTILINE
    )
    assert {name: [float(cell) for cell in cells] for name, *cells in told} == measures
