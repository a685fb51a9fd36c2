"""From what is brought to what is found: stages, failures, restarts, and reading nothing twice (C3.1)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.capabilities.knowledge.shelves import TENANT, HashEmbedder, found
from tests.documents.making import write_pdf

from planwerk.capabilities.knowledge.errors import (
    CollectionAccessInvalid,
    CollectionNameInvalid,
    DocumentNameInvalid,
    EmbedderFixed,
    NothingToRetry,
    UnknownEmbedder,
)
from planwerk.capabilities.knowledge.ingestion import Ingestion
from planwerk.capabilities.knowledge.library import Library, Received
from planwerk.capabilities.knowledge.ports import Collection, Document, KnowledgeQuery, Scope
from planwerk.documents.parsed import ParsedDocument
from planwerk.documents.parsing import Parser
from planwerk.storage.folder_files import FolderFiles
from planwerk.storage.in_memory.knowledge import InMemoryKnowledge
from planwerk.workspace.files import FileTooLarge


class CountingParser(Parser):
    def __init__(self) -> None:
        super().__init__(at_once=1)
        self.parsed: list[str] = []

    async def parse(self, path: Path, name: str) -> ParsedDocument:
        self.parsed.append(name)
        return await super().parse(path, name)


def files_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


class Desk:
    """A library with its ingestion, and a collection."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.now = 0
        self.embedder = HashEmbedder()
        self.parser = CountingParser()
        self.library = Library(InMemoryKnowledge(), FolderFiles(folder), clock=self.tick, embedders=[self.embedder])
        self.ingestion = Ingestion(self.library, self.parser)
        self.collection: Collection

    def tick(self) -> int:
        self.now += 1
        return self.now

    async def bring(self, name: str, content: bytes | str) -> Received:
        writer = self.library.files.begin(TENANT, most_bytes=1_000_000)
        writer.write(content.encode() if isinstance(content, str) else content)
        return await self.library.receive(self.collection, name, writer.finish(), author="ada")

    async def document(self, name: str) -> Document:
        known = await self.library.index.document_named(TENANT, self.collection.id, name)
        assert known is not None
        return known

    async def found(self, query: str) -> list[str]:
        return await found(self.library.index, query, self.collection.id)

    def files(self) -> int:
        return len(files_in(self.folder))


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    desk = Desk(tmp_path / "files")
    desk.collection = await desk.library.create(TENANT, "Handbook", owner="ada")
    yield desk
    await desk.parser.close()


async def test_what_is_brought_is_read_and_found(desk: Desk, tmp_path: Path) -> None:
    pdf = write_pdf(tmp_path / "x", [["Anreise"], ["Die Kündigungsfrist ist kurz."]], title="Vertrag")

    brought = await desk.bring("vertrag.pdf", pdf.read_bytes())
    await desk.ingestion.work()

    ready = await desk.document("vertrag.pdf")
    assert (brought.document.state, brought.document.stage, brought.changed) == ("waiting", "received", True)
    assert (ready.state, ready.stage, ready.kind, ready.title) == ("ready", "chunked", "pdf", "Vertrag")
    assert (ready.passages, ready.author) == (1, "ada")
    [hit] = await desk.library.search(TENANT, [Scope(desk.collection.id)], ["Kündigung"], limit=5)
    assert [place.number for place in hit.passage.places] == [1, 2]
    assert await desk.ingestion.work() == 0


async def test_the_same_content_is_read_once_and_other_content_anew(desk: Desk) -> None:
    await desk.bring("a.md", "# Eins\n\nAlt.")
    await desk.ingestion.work()

    same = await desk.bring("a.md", "# Eins\n\nAlt.")
    await desk.ingestion.work()
    assert (same.changed, desk.parser.parsed, desk.files()) == (False, ["a.md"], 1)

    other = await desk.bring("a.md", "# Eins\n\nNeu.")
    assert await desk.found("Alt") == [other.document.id]  # until the new one is read
    await desk.ingestion.work()

    assert (other.changed, desk.parser.parsed, desk.files()) == (True, ["a.md", "a.md"], 1)
    assert await desk.found("Alt") == []
    assert await desk.found("Neu") == [other.document.id]
    assert other.document.id == same.document.id


async def test_a_broken_file_fails_with_its_reason_and_stops_no_other(desk: Desk) -> None:
    await desk.bring("a.pdf", b"%PDF-1.4 nothing")
    await desk.bring("b.md", "Gut.")
    await desk.bring("c.bin", bytes(range(256)))

    await desk.ingestion.work()

    broken, good, binary = [await desk.document(name) for name in ("a.pdf", "b.md", "c.bin")]
    assert (broken.state, broken.stage) == ("failed", "received")
    assert broken.failure is not None
    assert broken.failure.code == "document_broken"
    assert "damaged" in broken.failure.message
    assert broken.failure.what_to_do
    assert good.state == "ready"
    assert binary.failure is not None
    assert binary.failure.code == "document_unsupported"


async def test_a_failed_document_is_retried_and_one_that_is_well_is_not(desk: Desk) -> None:
    await desk.bring("a.md", "Gut.")
    document = await desk.document("a.md")
    original = next(path for path in desk.folder.rglob("*") if path.is_file())
    hidden = original.rename(desk.folder / "hidden")
    await desk.ingestion.work()
    failed = await desk.document("a.md")
    assert failed.failure is not None
    assert failed.failure.code == "original_missing"

    hidden.rename(original)
    again = await desk.library.retry(failed)
    await desk.ingestion.work()

    assert (again.state, again.failure) == ("waiting", None)
    ready = await desk.document("a.md")
    assert (ready.id, ready.state, ready.failure) == (document.id, "ready", None)
    with pytest.raises(NothingToRetry):
        await desk.library.retry(ready)


async def test_bringing_a_failed_document_again_tries_again(desk: Desk) -> None:
    await desk.bring("a.pdf", b"%PDF-1.4 nothing")
    await desk.ingestion.work()

    again = await desk.bring("a.pdf", b"%PDF-1.4 nothing")

    assert again.changed
    assert (await desk.document("a.pdf")).state == "waiting"


async def test_what_was_left_half_done_is_taken_up_again(desk: Desk) -> None:
    await desk.bring("a.md", "Gut.")
    await desk.library.index.advance(replace(await desk.document("a.md"), state="working", stage="parsed"))

    await Ingestion(desk.library, desk.parser).work()

    assert (await desk.document("a.md")).state == "ready"


async def test_a_document_that_is_deleted_while_it_is_read_stays_deleted(desk: Desk) -> None:
    await desk.bring("a.md", "Gut.")
    document = await desk.document("a.md")

    class Deleting(CountingParser):
        async def parse(self, path: Path, name: str) -> ParsedDocument:
            parsed = await super().parse(path, name)
            await desk.library.remove(document)
            return parsed

    parser = Deleting()
    await Ingestion(desk.library, parser).work()
    await parser.close()

    assert await desk.library.index.document(TENANT, document.id) is None
    assert await desk.found("Gut") == []
    assert desk.files() == 0


async def test_with_an_embedder_there_is_one_stage_more(desk: Desk) -> None:
    desk.collection = await desk.library.create(TENANT, "Meant", owner="ada", embedder=desk.embedder.name)
    await desk.bring("a.md", "# Fuhrpark\n\nEin Wagen.")

    await desk.ingestion.work()

    ready = await desk.document("a.md")
    assert (ready.state, ready.stage) == ("ready", "embedded")
    assert desk.embedder.asked == ["Fuhrpark\n# Fuhrpark\n\nEin Wagen."]
    hits = await desk.library.search(TENANT, [Scope(desk.collection.id)], ["auto"], limit=5)
    assert [hit.passage.document for hit in hits] == [ready.id]


async def test_an_embedder_is_changed_only_by_embedding_anew(desk: Desk) -> None:
    await desk.bring("a.md", "Ein Wagen.")
    await desk.ingestion.work()

    with pytest.raises(EmbedderFixed):
        await desk.library.change(desk.collection, embedder="hash:1", change_embedder=True)
    with pytest.raises(UnknownEmbedder, match="hash:1"):
        await desk.library.change(desk.collection, embedder="hash:9", change_embedder=True, reembed=True)
    await desk.library.change(desk.collection, embedder="hash:1", change_embedder=True, reembed=True)
    await desk.ingestion.work()

    ready = await desk.document("a.md")
    assert (ready.state, ready.stage, desk.parser.parsed) == ("ready", "embedded", ["a.md"])  # not read again
    query = KnowledgeQuery("auto", {"hash:1": desk.embedder.vector("auto")})
    assert await desk.library.index.search(TENANT, [Scope(desk.collection.id)], [query], limit=5)


async def test_an_embedder_that_fails_fails_the_document_and_words_still_find_it(desk: Desk) -> None:
    desk.collection = await desk.library.create(TENANT, "Meant", owner="ada", embedder=desk.embedder.name)
    await desk.bring("a.md", "Ein Wagen.")
    away = Library(desk.library.index, desk.library.files, clock=desk.tick)

    await Ingestion(away, desk.parser).work()

    failed = await desk.document("a.md")
    assert failed.failure is not None
    assert (failed.state, failed.stage, failed.failure.code) == ("failed", "chunked", "unknown_embedder")
    assert await desk.found("Wagen") == [failed.id]


async def test_deleting_a_collection_deletes_its_originals(desk: Desk) -> None:
    await desk.bring("a.md", "Eins.")
    await desk.bring("b.md", "Zwei.")
    assert desk.files() == 2

    await desk.library.delete(desk.collection)

    assert desk.files() == 0
    assert await desk.found("Eins") == []


async def test_a_file_that_is_too_large_leaves_nothing(desk: Desk) -> None:
    writer = desk.library.files.begin(TENANT, most_bytes=10)
    writer.write(b"123456")

    with pytest.raises(FileTooLarge):
        writer.write(b"7890123")

    assert desk.files() == 0


@pytest.mark.parametrize(
    "name", ["../../../../tmp/pwn.txt", "a/../../b.txt", "sub/dir/c.txt", "/etc/passwd", "..", "C:\\x"]
)
async def test_a_name_is_only_a_label(desk: Desk, name: str, tmp_path: Path) -> None:
    await desk.bring(name, "Gut.")
    await desk.ingestion.work()

    document = await desk.document(name)  # SRV-19
    assert document.state == "ready"
    assert [path.name for path in files_in(tmp_path)] == [document.file]
    assert await desk.library.files.delete(TENANT, name) is False
    with pytest.raises(FileNotFoundError), desk.library.files.on_disk("../other", document.file):
        pass


async def test_half_a_character_in_a_name_is_replaced(desk: Desk) -> None:
    brought = await desk.bring("ok \ud83d done\n.md", "Gut.")  # SRV-25

    assert brought.document.name == "ok \ufffd done .md"


@pytest.mark.parametrize("name", ["", "   ", "x" * 401])
async def test_a_document_without_a_usable_name_is_refused_and_not_kept(desk: Desk, name: str) -> None:
    with pytest.raises(DocumentNameInvalid):
        await desk.bring(name, "Gut.")

    assert desk.files() == 0


@pytest.mark.parametrize("name", ["", " ", "two\nlines", "x" * 121])
async def test_a_collection_needs_a_name(desk: Desk, name: str) -> None:
    with pytest.raises(CollectionNameInvalid):
        await desk.library.create(TENANT, name, owner=None)


@pytest.mark.parametrize("entry", ["ada", "account:", "everyone:x", ""])
async def test_an_entry_of_the_access_list_names_somebody(desk: Desk, entry: str) -> None:
    with pytest.raises(CollectionAccessInvalid):
        await desk.library.change(desk.collection, access=[entry], change_access=True)
