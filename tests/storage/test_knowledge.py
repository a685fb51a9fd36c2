"""What every index of knowledge promises: found by words, stems, compounds and vectors, and only where one may (C3)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from planwerk.capabilities.knowledge.errors import CollectionNameTaken
from planwerk.capabilities.knowledge.identity import identified
from planwerk.capabilities.knowledge.ports import (
    CollectionCounts,
    DocumentText,
    Failure,
    KnowledgeIndex,
    KnowledgeQuery,
    NewPassage,
    Scope,
)
from planwerk.documents.parsed import Place
from planwerk.documents.splitting import split
from planwerk.storage.in_memory.knowledge import InMemoryKnowledge
from planwerk.storage.migrate import upgrade
from planwerk.storage.sqlite.database import SqliteDatabase
from planwerk.storage.sqlite.knowledge import SqliteKnowledge
from tests.capabilities.knowledge.shelves import TENANT, HashEmbedder, collection, document, fill, found, keep


@pytest.fixture(params=["in_memory", "sqlite"])
async def index(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[KnowledgeIndex]:
    if request.param == "in_memory":
        yield InMemoryKnowledge()
        return
    upgrade(tmp_path / "data.db")
    database = SqliteDatabase(tmp_path / "data.db")
    try:
        yield SqliteKnowledge(database)
    finally:
        await database.close()


OFFICE = {
    "leave": "# Urlaub\n\nDer Antrag auf Urlaub geht an die Vorgesetzte.",
    "travel": "# Reisen\n\nDie Reisekostenabrechnung braucht alle Belege. Zugfahrten werden erstattet.",
    "parking": "# Parken\n\nTiefgaragenstellplätze vergibt der Empfang.",
    "english": "# Laptops\n\nBroken laptops are replaced by the help desk within two days.",
    "street": "# Anfahrt\n\nDas Büro liegt in der Großen Straße, Höhe Bäckerei Müller.",
}


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("Urlaub", "leave"),
        ("Urlaubsantrag stellen", "leave"),  # a compound in the question
        ("Urlaubsanträge", "leave"),
        ("Wer vergibt einen Stellplatz?", "parking"),  # inside a compound of the document, with an umlaut there
        ("Kosten der Reise", "travel"),
        ("zugfahrt", "travel"),
        ("replacement of a laptop", "english"),
        ("GROSSE STRASSE", "street"),
        ("baeckerei mueller", "street"),  # umlauts written out
        ("Backerei", "street"),
    ],
)
async def test_a_question_finds_what_says_it_otherwise(index: KnowledgeIndex, query: str, wanted: str) -> None:
    await fill(index, {"office": OFFICE})

    assert (await found(index, query, "office"))[0] == wanted


@pytest.mark.parametrize(
    "query", ['"', "AND OR NOT", "a*", "(", "text:evil", "NEAR(a b)", "-", "'; DROP TABLE x", "\0", "?"]
)
async def test_whatever_is_typed_is_no_syntax(index: KnowledgeIndex, query: str) -> None:
    await fill(index, {"office": OFFICE})

    await found(index, query, "office")  # does not raise


async def test_nothing_fits_and_nothing_is_searched(index: KnowledgeIndex) -> None:
    await fill(index, {"office": OFFICE})

    assert await found(index, "Quantenchromodynamik", "office") == []
    assert await found(index, "  ", "office") == []
    assert await found(index, "Urlaub") == []


async def test_a_heading_counts_for_what_stands_below_it(index: KnowledgeIndex) -> None:
    body = "Sie beträgt drei Monate zum Quartal. " * 5
    await fill(
        index,
        {"law": {"a": f"# Vertrag\n\n## Kündigungsfrist\n\n{body}", "b": f"# Vertrag\n\n## Probezeit\n\n{body}"}},
    )

    assert await found(index, "Kündigung", "law") == ["a"]


async def test_what_others_have_takes_no_place_and_is_never_found(index: KnowledgeIndex) -> None:
    others = {f"o{n}": "Budget Budget Budget für das Budget" for n in range(60)}
    await fill(index, {"others": others, "mine": {f"m{n}": f"{'Text. ' * n}Ein Budget." for n in range(5)}})
    await fill(index, {"foreign": {"secret": "Budget Budget"}}, tenant="elsewhere")

    assert await found(index, "Budget", "mine", limit=3) == ["m0", "m1", "m2"]  # CAP-11
    assert await found(index, "budgets", "mine", limit=1) == ["m0"]
    assert await found(index, "Budget", Scope("others", "o7")) == ["o7"]
    assert await found(index, "Budget", Scope("mine", "o7")) == []
    assert await found(index, "Budget", "foreign") == []
    assert await found(index, "Budget", "foreign", tenant="elsewhere") == ["secret"]


async def test_vectors_find_what_no_word_does_and_only_there(index: KnowledgeIndex) -> None:
    embedder = HashEmbedder()
    await fill(index, {"cars": {"a": "Ein Wagen steht bereit."}, "plain": {"b": "Ein Wagen."}})
    await index.change_collection(replace(collection("cars"), embedder=embedder.name))
    [passage] = await index.without_vectors(TENANT, "a", limit=9)
    await index.keep_vectors(TENANT, "cars", {passage.number: embedder.vector(passage.text)})
    query = KnowledgeQuery("auto", {embedder.name: embedder.vector("auto")})

    hits = await index.search(TENANT, [Scope("cars"), Scope("plain")], [query], limit=5)

    assert [hit.passage.document for hit in hits] == ["a"]
    assert await index.without_vectors(TENANT, "a", limit=9) == []
    assert await index.search(TENANT, [Scope("cars", "b")], [query], limit=5) == []
    other = KnowledgeQuery("auto", {"hash:2": embedder.vector("auto")})
    assert await index.search(TENANT, [Scope("cars")], [other], limit=5) == []  # of another embedder

    await keep(index, document("a", "cars"), "Nur noch Züge.")
    assert await index.search(TENANT, [Scope("cars")], [query], limit=5) == []


async def test_vectors_that_are_forgotten_are_made_anew(index: KnowledgeIndex) -> None:
    embedder = HashEmbedder()
    await fill(index, {"cars": {"a": "Ein Wagen."}})
    await index.advance(replace(document("a", "cars"), state="ready", stage="embedded"))
    [passage] = await index.without_vectors(TENANT, "a", limit=9)
    await index.keep_vectors(TENANT, "cars", {passage.number: embedder.vector(passage.text)})

    await index.forget_vectors(TENANT, "cars")

    assert len(await index.without_vectors(TENANT, "a", limit=9)) == 1
    assert [waiting.id for waiting in await index.unfinished(limit=9)] == ["a"]


async def test_what_is_cited_stays_what_it_was_when_the_document_changes(index: KnowledgeIndex) -> None:
    text = "\n\n".join(f"# Teil {n}\n\n{f'Satz {n} steht hier. ' * 40}" for n in range(3))
    await fill(index, {"c": {"d": text}})
    [before] = await index.search(TENANT, [Scope("c")], [KnowledgeQuery("Teil 2")], limit=1)

    await keep(index, document("d", "c"), f"# Neues\n\nVorweg. {'Mehr. ' * 200}\n\n{text}")

    again = await index.passage(TENANT, before.passage.id)
    assert again is not None
    assert (again.text, again.document) == (before.passage.text, "d")
    assert again.start > before.passage.start
    kept = await index.text(TENANT, "d")
    assert kept is not None
    assert kept.text[again.start : again.end] == again.text
    assert await index.passage("elsewhere", before.passage.id) is None


async def test_ids_are_short_and_longer_where_two_would_be_one(index: KnowledgeIndex) -> None:
    await fill(index, {"c": {"d": "x"}})
    passages = [NewPassage(f"abcdef{n}{'0' * 25}", n, n + 1, "word", ()) for n in range(3)]

    await index.keep_passages(document("d", "c"), DocumentText("wordword"), passages)

    hits = await index.search(TENANT, [Scope("c")], [KnowledgeQuery("word")], limit=5)
    assert sorted(hit.passage.id for hit in hits) == ["sabcdef", "sabcdef1", "sabcdef2"]


async def test_a_passage_knows_its_pages(index: KnowledgeIndex) -> None:
    await fill(index, {"c": {"d": "x"}})
    text, places = "eins\n\nzwei", (Place(0, 4, "page", 1), Place(6, 10, "page", 2))
    passages = identified("c", "d.md", split(text))

    await index.keep_passages(document("d", "c"), DocumentText(text, places), passages)

    [hit] = await index.search(TENANT, [Scope("c")], [KnowledgeQuery("zwei")], limit=5)
    assert hit.passage.places == places
    assert await index.text(TENANT, "d") == DocumentText(text, places)


async def test_documents_are_listed_by_name_in_pages_and_by_state(index: KnowledgeIndex) -> None:
    await index.create_collection(collection("c"))
    for identity in ("b", "a", "d", "e"):
        assert await index.put_document(document(identity, "c"))
    failed = replace(document("d", "c"), state="failed", failure=Failure("document_broken", "Kaputt.", "Neu sichern."))
    assert await index.advance(failed)

    first = await index.documents(TENANT, "c", limit=2)
    rest = await index.documents(TENANT, "c", after=(first[-1].name, first[-1].id))

    assert [one.id for one in first] == ["a", "b"]
    assert [one.id for one in rest] == ["d", "e"]
    assert await index.documents(TENANT, "c", state="failed") == [failed]
    assert await index.documents("elsewhere", "c") == []
    assert [one.id for one in await index.unfinished(limit=9)] == ["a", "b", "e"]


async def test_what_is_counted(index: KnowledgeIndex) -> None:
    await fill(index, {"c": OFFICE, "empty": {}})
    await index.advance(replace(document("leave", "c"), state="ready", updated_microseconds=7))
    await index.advance(replace(document("street", "c"), state="failed"))

    counts = await index.counts(TENANT, ["c", "empty"])

    assert counts == {"c": CollectionCounts(5, 5, 3, 1, 7), "empty": CollectionCounts()}


async def test_a_document_that_was_replaced_is_not_overwritten_by_its_earlier_reading(index: KnowledgeIndex) -> None:
    await fill(index, {"c": {"d": "Erstes"}})
    newer = document("d", "c", file="file-2")
    assert await index.put_document(newer)

    assert not await index.advance(replace(document("d", "c"), state="ready"))
    assert not await index.keep_passages(document("d", "c"), DocumentText("Altes"), [])
    assert await index.document(TENANT, "d") == replace(newer, passages=1)


async def test_what_is_deleted_is_not_found(index: KnowledgeIndex) -> None:
    await fill(index, {"c": OFFICE, "other": {"x": "Urlaub im Süden."}})
    [hit, *_] = await index.search(TENANT, [Scope("c")], [KnowledgeQuery("Urlaub")], limit=5)

    assert await index.delete_document("elsewhere", "leave") is None
    assert await index.delete_document(TENANT, "leave") == "file-leave"

    assert await found(index, "Urlaub", "c", "other") == ["x"]
    assert await index.passage(TENANT, hit.passage.id) is None
    assert await index.text(TENANT, "leave") is None
    assert not await index.advance(document("leave", "c"))
    assert await index.delete_collection("elsewhere", "c") == []
    assert sorted(await index.delete_collection(TENANT, "c")) == [
        f"file-{one}" for one in sorted(OFFICE) if one != "leave"
    ]
    assert await index.collection(TENANT, "c") is None
    assert await found(index, "Büro", "c") == []
    assert not await index.put_document(document("new", "c"))


async def test_a_person_has_one_collection_of_a_name(index: KnowledgeIndex) -> None:
    await index.create_collection(collection("1", owner="ada", name="Notes"))
    await index.create_collection(collection("2", owner="ben", name="Notes"))
    await index.create_collection(collection("3", owner="ada", name="Notes", tenant="elsewhere"))
    other = collection("4", owner="ada", name="Other")
    await index.create_collection(other)

    with pytest.raises(CollectionNameTaken):
        await index.create_collection(collection("5", owner="ada", name="Notes"))
    with pytest.raises(CollectionNameTaken):
        await index.change_collection(replace(other, name="Notes"))
    renamed = replace(other, name="Else", description="What else", access=frozenset({"role:admin"}))
    assert await index.change_collection(renamed)
    assert await index.collections(TENANT) == [
        renamed,
        *[each for each in await index.collections(TENANT) if each.id != "4"],
    ]
    assert [each.id for each in await index.collections(TENANT)] == ["4", "1", "2"]
    assert not await index.change_collection(collection("9"))
