"""Knowledge on SQLite: two full-text tables beside the passages, and vectors compared one by one (C3.1).

`knowledge_words` holds words with their collection and document as words of their own, so that a search reads only
what it may; `knowledge_parts` holds trigrams and is narrowed by the passages' rows. Both are narrowed before they are
cut to the best (CAP-11). Vectors of a collection are read once and kept until they change.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from planwerk.capabilities.knowledge import ports
from planwerk.capabilities.knowledge.errors import CollectionNameTaken
from planwerk.capabilities.knowledge.ports import (
    CollectionCounts,
    Document,
    DocumentPlace,
    DocumentText,
    Found,
    KnowledgeQuery,
    NewPassage,
    Passage,
    Scope,
    State,
    Vector,
)
from planwerk.documents.parsed import Place
from planwerk.storage.knowledge_search import by_parts, by_words, fused_scores
from planwerk.storage.memory_search import fold
from planwerk.storage.sqlite.knowledge_rows import (
    COLLECTION,
    DOCUMENT,
    PASSAGE,
    collection_of,
    collection_row,
    document_of,
    document_row,
    json_text,
    passage_of,
    place_lists,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

T = TypeVar("T")

CANDIDATES: Final = 50
"""Of each ranking; what stands further down hardly moves the fused order."""
HEADING_WEIGHT: Final = 2.0
SHORTEST_ID: Final = 6
UNFINISHED: Final = "('waiting', 'working')"

PUT_DOCUMENT: Final = """
    INSERT INTO knowledge_documents (id, tenant, collection, name, state, created, updated, data, passages)
    SELECT ?, ?, ?, ?, ?, ?, ?, ?, 0 WHERE EXISTS (SELECT 1 FROM knowledge_collections WHERE id = ? AND tenant = ?)
    ON CONFLICT (id) DO UPDATE SET state = excluded.state, updated = excluded.updated, data = excluded.data
"""
ADVANCE: Final = """
    UPDATE knowledge_documents SET state = ?, updated = ?, data = ?
    WHERE id = ? AND tenant = ? AND json_extract(data, '$.file') = ?
"""
FROM_PASSAGES: Final = "FROM knowledge_passages AS p JOIN knowledge_documents AS d ON d.id = p.document"
BY_WORDS: Final = f"""
    SELECT p.number FROM knowledge_words AS found JOIN knowledge_passages AS p ON p.number = found.rowid
    WHERE knowledge_words MATCH ? AND p.tenant = ? AND ({{within}})
    ORDER BY bm25(knowledge_words, 0.0, {HEADING_WEIGHT}, 1.0), p.number LIMIT {CANDIDATES}
"""
BY_PARTS: Final = f"""
    SELECT p.number FROM knowledge_parts AS found JOIN knowledge_passages AS p ON p.number = found.rowid
    WHERE knowledge_parts MATCH ? AND p.tenant = ? AND ({{within}})
    ORDER BY bm25(knowledge_parts), p.number LIMIT {CANDIDATES}
"""
BY_NUMBERS: Final = f"SELECT {PASSAGE} {FROM_PASSAGES} WHERE p.number IN ({{marks}})"
BY_ID: Final = f"SELECT {PASSAGE} {FROM_PASSAGES} WHERE p.tenant = ? AND p.id = ?"
WITHOUT_VECTORS: Final = f"""
    SELECT {PASSAGE} {FROM_PASSAGES} WHERE p.tenant = ? AND p.document = ?
    AND NOT EXISTS (SELECT 1 FROM knowledge_vectors AS v WHERE v.number = p.number) ORDER BY p.start LIMIT ?
"""
COUNTS: Final = f"""
    SELECT collection, count(*), sum(passages), sum(state IN {UNFINISHED}), sum(state = 'failed'), max(updated)
    FROM knowledge_documents WHERE tenant = ? AND collection IN ({{marks}}) GROUP BY collection
"""
INSERT_PASSAGE: Final = """
    INSERT INTO knowledge_passages (tenant, collection, document, id, identity, start, "end", text, data)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
KNOWN_TERM: Final = "SELECT 1 FROM knowledge_vocabulary WHERE term >= ? AND term < ? LIMIT 1"
VECTORS: Final = """
    SELECT v.number, p.document, v.vector FROM knowledge_vectors AS v
    JOIN knowledge_passages AS p ON p.number = v.number WHERE v.collection = ? ORDER BY v.number
"""


class Connection(Protocol):
    """What this adapter needs of a database; `SqliteDatabase` is one."""

    async def write(self, operation: Callable[[sqlite3.Connection], T], *, atomic: bool = False) -> T: ...

    def read(self, operation: Callable[[sqlite3.Connection], T]) -> T: ...

    async def read_in_thread(self, operation: Callable[[sqlite3.Connection], T]) -> T: ...


@dataclass(frozen=True, slots=True)
class _Vectors:
    numbers: NDArray[np.int64]
    documents: tuple[str, ...]
    matrix: NDArray[np.float32]
    stamp: tuple[Any, ...]


class SqliteKnowledge:
    """Port `KnowledgeIndex` on one file."""

    def __init__(self, database: Connection) -> None:
        self._database = database
        self._vectors: dict[str, _Vectors] = {}

    async def create_collection(self, collection: ports.Collection) -> None:
        def write(connection: sqlite3.Connection) -> None:
            _refuse_taken(connection, collection)
            marks = "?, ?, ?, ?, ?, ?"
            connection.execute(
                f"INSERT INTO knowledge_collections ({COLLECTION}) VALUES ({marks})", collection_row(collection)
            )

        await self._database.write(write)

    async def change_collection(self, collection: ports.Collection) -> bool:
        def write(connection: sqlite3.Connection) -> bool:
            _refuse_taken(connection, collection)
            statement = "UPDATE knowledge_collections SET name = ?, data = ? WHERE id = ? AND tenant = ?"
            row = collection_row(collection)
            return connection.execute(statement, (row[3], row[5], row[0], row[1])).rowcount > 0

        return await self._database.write(write)

    async def delete_collection(self, tenant: str, collection: str) -> list[str]:
        def write(connection: sqlite3.Connection) -> list[str]:
            found = "SELECT id FROM knowledge_documents WHERE tenant = ? AND collection = ?"
            documents = [row[0] for row in connection.execute(found, (tenant, collection)).fetchall()]
            files = [_delete_document(connection, tenant, document) for document in documents]
            connection.execute("DELETE FROM knowledge_collections WHERE tenant = ? AND id = ?", (tenant, collection))
            return [file for file in files if file is not None]

        return await self._database.write(write, atomic=True)

    async def collection(self, tenant: str, collection: str) -> ports.Collection | None:
        statement = f"SELECT {COLLECTION} FROM knowledge_collections WHERE tenant = ? AND id = ?"
        rows = self._rows(statement, (tenant, collection))
        return collection_of(rows[0]) if rows else None

    async def collections(self, tenant: str) -> list[ports.Collection]:
        statement = f"SELECT {COLLECTION} FROM knowledge_collections WHERE tenant = ? ORDER BY name, id"
        return [collection_of(row) for row in self._rows(statement, (tenant,))]

    async def counts(self, tenant: str, collections: Collection[str]) -> dict[str, CollectionCounts]:
        rows = self._rows(COUNTS.format(marks=_marks(len(collections))), (tenant, *collections))
        counted = {row[0]: CollectionCounts(*row[1:]) for row in rows}
        return {collection: counted.get(collection, CollectionCounts()) for collection in collections}

    async def put_document(self, document: Document) -> bool:
        row = (*document_row(document), document.collection, document.tenant)
        return await self._database.write(lambda connection: connection.execute(PUT_DOCUMENT, row).rowcount > 0)

    async def advance(self, document: Document) -> bool:
        identity, tenant, _, _, state, _, updated, data = document_row(document)
        row = (state, updated, data, identity, tenant, document.file)
        return await self._database.write(lambda connection: connection.execute(ADVANCE, row).rowcount > 0)

    async def document(self, tenant: str, document: str) -> Document | None:
        statement = f"SELECT {DOCUMENT} FROM knowledge_documents WHERE tenant = ? AND id = ?"
        rows = self._rows(statement, (tenant, document))
        return document_of(rows[0]) if rows else None

    async def document_named(self, tenant: str, collection: str, name: str) -> Document | None:
        statement = f"SELECT {DOCUMENT} FROM knowledge_documents WHERE tenant = ? AND collection = ? AND name = ?"
        rows = self._rows(statement, (tenant, collection, name))
        return document_of(rows[0]) if rows else None

    async def documents(
        self,
        tenant: str,
        collection: str,
        *,
        after: DocumentPlace | None = None,
        limit: int = 50,
        state: State | None = None,
    ) -> list[Document]:
        conditions, values = ["tenant = ?", "collection = ?"], [tenant, collection]
        if after is not None:
            conditions.append("(name, id) > (?, ?)")
            values += after
        if state is not None:
            conditions.append("state = ?")
            values.append(state)
        order = "ORDER BY name, id LIMIT ?"
        statement = f"SELECT {DOCUMENT} FROM knowledge_documents WHERE {' AND '.join(conditions)} {order}"
        return [document_of(row) for row in self._rows(statement, (*values, limit))]

    async def unfinished(self, *, limit: int) -> list[Document]:
        order = f"WHERE state IN {UNFINISHED} ORDER BY created, id LIMIT ?"
        return [document_of(row) for row in self._rows(f"SELECT {DOCUMENT} FROM knowledge_documents {order}", (limit,))]

    async def delete_document(self, tenant: str, document: str) -> str | None:
        return await self._database.write(lambda connection: _delete_document(connection, tenant, document))

    async def keep_passages(self, document: Document, text: DocumentText, passages: Sequence[NewPassage]) -> bool:
        def write(connection: sqlite3.Connection) -> bool:
            current = "SELECT data FROM knowledge_documents WHERE tenant = ? AND id = ?"
            row = connection.execute(current, (document.tenant, document.id)).fetchone()
            if row is None or json.loads(row[0])["file"] != document.file:
                return False
            known = _drop_passages(connection, document.id)
            _insert_passages(connection, document, text, passages, known)
            connection.execute(
                "INSERT INTO knowledge_texts (document, text, places) VALUES (?, ?, ?)"
                " ON CONFLICT (document) DO UPDATE SET text = excluded.text, places = excluded.places",
                (document.id, text.text, json_text(place_lists(text.places))),
            )
            state, _, updated, data = document_row(document)[4:]
            connection.execute(
                "UPDATE knowledge_documents SET state = ?, updated = ?, data = ?, passages = ? WHERE id = ?",
                (state, updated, data, len(passages), document.id),
            )
            return True

        return await self._database.write(write, atomic=True)

    async def without_vectors(self, tenant: str, document: str, *, limit: int) -> list[Passage]:
        return [passage_of(row) for row in self._rows(WITHOUT_VECTORS, (tenant, document, limit))]

    async def keep_vectors(self, tenant: str, collection: str, vectors: Mapping[int, Vector]) -> None:
        import numpy as np

        rows = [(number, np.asarray(vector, "<f4").tobytes()) for number, vector in vectors.items()]

        def write(connection: sqlite3.Connection) -> None:
            for number, blob in rows:
                connection.execute(
                    "INSERT INTO knowledge_vectors (number, collection, vector)"
                    " SELECT number, collection, ? FROM knowledge_passages"
                    " WHERE number = ? AND tenant = ? AND collection = ?"
                    " ON CONFLICT (number) DO UPDATE SET vector = excluded.vector",
                    (blob, number, tenant, collection),
                )

        await self._database.write(write)

    async def forget_vectors(self, tenant: str, collection: str) -> None:
        def write(connection: sqlite3.Connection) -> None:
            connection.execute(
                "DELETE FROM knowledge_vectors WHERE collection IN"
                " (SELECT id FROM knowledge_collections WHERE id = ? AND tenant = ?)",
                (collection, tenant),
            )
            connection.execute(
                "UPDATE knowledge_documents SET state = 'waiting' WHERE tenant = ? AND collection = ?"
                " AND state = 'ready'",
                (tenant, collection),
            )

        await self._database.write(write)

    async def search(
        self, tenant: str, scopes: Sequence[Scope], queries: Sequence[KnowledgeQuery], *, limit: int
    ) -> list[Found]:
        wanted = [query for query in queries if query.text.strip()]
        if not scopes or not wanted:
            return []

        def find(connection: sqlite3.Connection) -> list[Found]:
            rankings: list[list[int]] = []
            for query in wanted:
                rankings += _full_text(connection, tenant, scopes, query.text)
                rankings += [
                    self._by_vector(connection, scopes, vector, embedder)
                    for embedder, vector in (query.vectors or {}).items()
                ]
            scores = fused_scores(rankings)
            best = list(scores)[:limit]
            rows = connection.execute(BY_NUMBERS.format(marks=_marks(len(best))), best).fetchall()
            passages = {row[0]: passage_of(row) for row in rows}
            return [Found(passages[number], scores[number]) for number in best if number in passages]

        return await self._database.read_in_thread(find)

    async def passage(self, tenant: str, passage: str) -> Passage | None:
        rows = self._rows(BY_ID, (tenant, passage))
        return passage_of(rows[0]) if rows else None

    async def text(self, tenant: str, document: str) -> DocumentText | None:
        statement = """
            SELECT t.text, t.places FROM knowledge_texts AS t JOIN knowledge_documents AS d ON d.id = t.document
            WHERE d.tenant = ? AND d.id = ?
        """
        rows = self._rows(statement, (tenant, document))
        return DocumentText(rows[0][0], tuple(Place(*place) for place in json.loads(rows[0][1]))) if rows else None

    def _rows(self, statement: str, parameters: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        return self._database.read(lambda connection: connection.execute(statement, parameters).fetchall())

    def _by_vector(
        self, connection: sqlite3.Connection, scopes: Sequence[Scope], vector: Vector, embedder: str
    ) -> list[int]:
        """The passages whose vectors are nearest, of the collections that this embedder serves."""
        import numpy as np

        wanted = np.asarray(vector, np.float32)
        near: list[tuple[float, int]] = []
        for collection in dict.fromkeys(scope.collection for scope in scopes):
            kept = self._vectors_of(connection, collection, embedder)
            if kept is None or kept.matrix.shape[1:] != wanted.shape:
                continue
            likeness = kept.matrix @ wanted
            documents = {scope.document for scope in scopes if scope.collection == collection}
            if None not in documents:
                likeness[[document not in documents for document in kept.documents]] = -np.inf
            best = np.argsort(-likeness, kind="stable")[:CANDIDATES]
            near += [(float(likeness[n]), int(kept.numbers[n])) for n in best if likeness[n] > 0]
        return [number for _, number in sorted(near, key=lambda item: (-item[0], item[1]))[:CANDIDATES]]

    def _vectors_of(self, connection: sqlite3.Connection, collection: str, embedder: str) -> _Vectors | None:
        import numpy as np

        about = "SELECT data FROM knowledge_collections WHERE id = ?"
        row = connection.execute(about, (collection,)).fetchone()
        if row is None or json.loads(row[0])["embedder"] != embedder:
            return None
        changed = "SELECT count(*), max(number), max(rowid) FROM knowledge_vectors WHERE collection = ?"
        updated = "SELECT max(updated) FROM knowledge_documents WHERE collection = ?"
        stamp = (
            *connection.execute(changed, (collection,)).fetchone(),
            *connection.execute(updated, (collection,)).fetchone(),
        )
        kept = self._vectors.get(collection)
        if kept is None or kept.stamp != stamp:
            rows = connection.execute(VECTORS, (collection,)).fetchall()
            if not rows:
                return None
            matrix = np.stack([np.frombuffer(blob, "<f4") for _, _, blob in rows]).astype(np.float32)
            numbers = np.array([row[0] for row in rows], np.int64)
            kept = _Vectors(numbers, tuple(row[1] for row in rows), matrix, stamp)
            self._vectors[collection] = kept
        return kept


def _full_text(connection: sqlite3.Connection, tenant: str, scopes: Sequence[Scope], text: str) -> list[list[int]]:
    within, values = _within(scopes)
    rankings: list[list[int]] = []
    words = by_words(text, lambda part: _is_known(connection, part))
    if words:
        where = " OR ".join(dict.fromkeys(_word(scope.document or scope.collection) for scope in scopes))
        match = f"scope : ({where}) AND {{headings text}} : ({words})"
        rankings.append(_numbers(connection, BY_WORDS.format(within=within), (match, tenant, *values)))
    if inside := by_parts(text):
        rankings.append(_numbers(connection, BY_PARTS.format(within=within), (inside, tenant, *values)))
    return rankings


def _within(scopes: Sequence[Scope]) -> tuple[str, list[str]]:
    collections = [scope.collection for scope in scopes if scope.document is None]
    documents = [scope for scope in scopes if scope.document is not None]
    conditions = [f"p.collection IN ({_marks(len(collections))})"] if collections else []
    conditions += ["(p.collection = ? AND p.document = ?)"] * len(documents)
    values = [*collections, *(value for scope in documents for value in (scope.collection, scope.document or ""))]
    return " OR ".join(conditions), values


def _numbers(connection: sqlite3.Connection, statement: str, parameters: tuple[Any, ...]) -> list[int]:
    return [row[0] for row in connection.execute(statement, parameters)]


def _is_known(connection: sqlite3.Connection, beginning: str) -> bool:
    return connection.execute(KNOWN_TERM, (beginning, f"{beginning}\U0010ffff")).fetchone() is not None


def _refuse_taken(connection: sqlite3.Connection, collection: ports.Collection) -> None:
    statement = "SELECT 1 FROM knowledge_collections WHERE tenant = ? AND owner IS ? AND name = ? AND id != ?"
    values = (collection.tenant, collection.owner, collection.name, collection.id)
    if connection.execute(statement, values).fetchone() is not None:
        raise CollectionNameTaken(collection.name)


def _delete_document(connection: sqlite3.Connection, tenant: str, document: str) -> str | None:
    statement = "SELECT data FROM knowledge_documents WHERE tenant = ? AND id = ?"
    row = connection.execute(statement, (tenant, document)).fetchone()
    if row is None:
        return None
    _drop_passages(connection, document)
    connection.execute("DELETE FROM knowledge_texts WHERE document = ?", (document,))
    connection.execute("DELETE FROM knowledge_documents WHERE id = ?", (document,))
    file: str = json.loads(row[0])["file"]
    return file


def _drop_passages(connection: sqlite3.Connection, document: str) -> dict[str, str]:
    """Delete the passages of a document; what each was cited by, by its identity."""
    statement = "SELECT number, identity, id FROM knowledge_passages WHERE document = ?"
    rows = connection.execute(statement, (document,)).fetchall()
    numbers = [(row[0],) for row in rows]
    for table in ("knowledge_words", "knowledge_parts"):
        connection.executemany(f"DELETE FROM {table} WHERE rowid = ?", numbers)
    connection.executemany("DELETE FROM knowledge_vectors WHERE number = ?", numbers)
    connection.execute("DELETE FROM knowledge_passages WHERE document = ?", (document,))
    return {row[1]: row[2] for row in rows}


def _insert_passages(
    connection: sqlite3.Connection,
    document: Document,
    text: DocumentText,
    passages: Sequence[NewPassage],
    known: Mapping[str, str],
) -> None:
    scope = f"{_word(document.collection)} {_word(document.id)}"
    kept = frozenset(known.values())
    for passage in passages:
        places = tuple(place for place in text.places if place.start < passage.end and passage.start < place.end)
        data = {"headings": passage.headings, "places": place_lists(places)}
        cited = known.get(passage.identity) or _free_id(connection, document.tenant, passage.identity, kept)
        row = (document.tenant, document.collection, document.id, cited, passage.identity)
        stretch = (passage.start, passage.end, passage.text, json_text(data))
        number = connection.execute(INSERT_PASSAGE, (*row, *stretch)).lastrowid
        headings, folded = fold(" ".join([document.title, *passage.headings])), fold(passage.text)
        words = "INSERT INTO knowledge_words (rowid, scope, headings, text) VALUES (?, ?, ?, ?)"
        connection.execute(words, (number, scope, headings, folded))
        parts = "INSERT INTO knowledge_parts (rowid, text) VALUES (?, ?)"
        connection.execute(parts, (number, f"{headings}\n{folded}"))


def _free_id(connection: sqlite3.Connection, tenant: str, identity: str, kept: Collection[str]) -> str:
    """The shortest beginning of the identity that no other passage of the tenant is cited by."""
    taken = "SELECT 1 FROM knowledge_passages WHERE tenant = ? AND id = ?"
    for length in range(SHORTEST_ID, len(identity) + 1):
        candidate = f"s{identity[:length]}"
        if candidate not in kept and connection.execute(taken, (tenant, candidate)).fetchone() is None:
            return candidate
    raise AssertionError(f"two passages have the identity {identity}")


def _word(identity: str) -> str:
    """One word of the full-text index for a collection or a document."""
    return f"z{hashlib.blake2b(identity.encode(), digest_size=8).hexdigest()}"


def _marks(count: int) -> str:
    return ", ".join("?" * count)
