"""Reads what was brought: from the original to passages that are found (C3.1).

A document is `waiting` until it is taken up and `working` while it is read; both are taken up again after a restart, so
what a process left half done is done by the next. Whatever goes wrong with a document is kept as its failure, in words
for people, and concerns no other document.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from typing import Final

from planwerk.capabilities.knowledge.identity import identified
from planwerk.capabilities.knowledge.library import Library
from planwerk.capabilities.knowledge.ports import Document, DocumentText, Failure
from planwerk.documents.parsed import ParsedDocument
from planwerk.documents.parsing import Parser
from planwerk.documents.splitting import split
from planwerk.workflow.errors import PlanwerkError

log = logging.getLogger(__name__)

AT_ONCE: Final = 2
EMBED_AT_ONCE: Final = 64
PASSAGES_LOOKED_AT: Final = 64
RETRY_SECONDS: Final = 10.0


class Ingestion:
    """Works through the documents that wait, some at once.

    Args:
        parser: Turns originals into text.
    """

    def __init__(self, library: Library, parser: Parser, *, at_once: int = AT_ONCE) -> None:
        self._library = library
        self._index = library.index
        self._parser = parser
        self._at_once = at_once
        self._called = asyncio.Event()

    def call(self) -> None:
        """Look for documents that wait, soon."""
        self._called.set()

    async def run(self) -> None:
        """Work until cancelled."""
        try:
            while True:
                self._called.clear()
                try:
                    worked = await self.work()
                except Exception:
                    log.exception("documents could not be read; trying again in %g s", RETRY_SECONDS)
                    await asyncio.sleep(RETRY_SECONDS)
                    continue
                if not worked:
                    await self._called.wait()
        finally:
            await self._parser.close()

    async def work(self) -> int:
        """Read what waits now; how many documents that were."""
        waiting = await self._index.unfinished(limit=PASSAGES_LOOKED_AT)
        places = asyncio.Semaphore(self._at_once)

        async def one(document: Document) -> None:
            async with places:
                await self._take_up(document)

        await asyncio.gather(*(one(document) for document in waiting))
        return len(waiting)

    async def _take_up(self, document: Document) -> None:
        try:
            await self._read(document)
        except PlanwerkError as error:
            await self._fail(document, Failure(error.code, error.message, error.what_to_do))
        except FileNotFoundError:
            gone = Failure("original_missing", "The original is not there any more.", "Upload it again.")
            await self._fail(document, gone)
        except Exception as error:
            log.exception("a document could not be read")
            said = f"Something went wrong while it was read ({type(error).__name__})."
            await self._fail(document, Failure("ingestion_failed", said, "Try it again; tell an admin when."))

    async def _read(self, document: Document) -> None:
        if document.state == "waiting" and document.stage in {"chunked", "embedded"}:
            await self._embed(document)  # only its vectors are wanting
            return
        working = replace(document, state="working", stage="received", failure=None)
        if not await self._index.advance(working):
            return
        with self._library.files.on_disk(document.tenant, document.file) as path:
            parsed = await self._parser.parse(path, document.name)
        read = replace(working, stage="parsed", kind=parsed.kind, title=parsed.title)
        if not await self._index.advance(read):
            return
        passages = await asyncio.to_thread(split, parsed.text)
        chunked = replace(read, stage="chunked", updated_microseconds=self._library.clock())
        found = identified(document.collection, document.name, passages)
        if await self._index.keep_passages(chunked, _text_of(parsed), found):
            await self._embed(chunked)

    async def _embed(self, document: Document) -> None:
        """The last stage, where the collection has an embedder; then the document is ready."""
        collection = await self._index.collection(document.tenant, document.collection)
        if collection is None:
            return
        stage = document.stage
        if collection.embedder is not None:
            embedder = self._library.embedders.get(collection.embedder)
            if embedder is None:
                message = f"Its embedder {collection.embedder!r} is not configured any more."
                what = "Configure it again, or give the collection another one."
                await self._fail(document, Failure("unknown_embedder", message, what))
                return
            while wanting := await self._index.without_vectors(document.tenant, document.id, limit=EMBED_AT_ONCE):
                texts = ["\n".join([*passage.headings, passage.text]) for passage in wanting]
                vectors = await embedder.embed(texts, is_query=False)
                kept = {passage.number: vector for passage, vector in zip(wanting, vectors, strict=True)}
                await self._index.keep_vectors(document.tenant, document.collection, kept)
            stage = "embedded"
        elif stage == "embedded":
            stage = "chunked"
        now = self._library.clock()
        await self._index.advance(replace(document, state="ready", stage=stage, failure=None, updated_microseconds=now))

    async def _fail(self, document: Document, failure: Failure) -> None:
        """Keep why it failed, unless another content came meanwhile, which waits."""
        current = await self._index.document(document.tenant, document.id)
        if current is not None and current.file == document.file:
            now = self._library.clock()
            await self._index.advance(replace(current, state="failed", failure=failure, updated_microseconds=now))


def _text_of(parsed: ParsedDocument) -> DocumentText:
    return DocumentText(parsed.text, parsed.places)
