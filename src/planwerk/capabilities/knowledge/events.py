"""What happens in a search of knowledge: its request, and what was found (C3.2)."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict

from planwerk.documents.parsed import PlaceKind
from planwerk.locales import texts
from planwerk.messages.blocks import Block
from planwerk.messages.events import KnowledgeReference
from planwerk.messages.sanitise import sanitise_text
from planwerk.workflow.events import ControlAndDisplayEvent
from planwerk.workflow.locale_string import LocaleString

Text = Annotated[str, AfterValidator(sanitise_text)]


def _label(key: str) -> LocaleString:
    return LocaleString(**texts(key))


class Location(BaseModel):
    """Where in its document a passage stands.

    Attributes:
        last: The page, slide or sheet on which it ends.
        name: Of a sheet.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: PlaceKind
    first: int
    last: int
    name: Text = ""


class RetrievedDocument(BaseModel):
    """A passage that was found, as it stands in its document.

    Attributes:
        id: What it is cited by, `s3f9a1c`.
        document: Id of the document.
        name: The document's name in its collection.
        text: The words as they are in the source, without any frame.
        start: Where they begin in the document's text, in characters.
        score: By which it was ranked here; scores of different searches do not compare.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    collection: str
    collection_name: Text = ""
    document: str
    name: Text
    title: Text
    text: Text
    headings: tuple[Text, ...] = ()
    location: Location | None = None
    start: int = 0
    end: int = 0
    score: float = 0.0


class SearchKnowledgeEvent(ControlAndDisplayEvent, label=_label("knowledge.events.search"), icon="search"):
    """Asks for passages that help with a question.

    Attributes:
        references: Collections, or documents of them, by id or name; without any nothing is searched.
        query: What to look for; blank searches nothing.
        literal: The person's own words, looked for as well where they differ.
        cite_sources: Whether the model is told how to cite.
    """

    references: tuple[KnowledgeReference, ...] = ()
    query: Text = ""
    literal: Text | None = None
    cite_sources: bool = True


class KnowledgeSearchedEvent(
    ControlAndDisplayEvent, label=_label("knowledge.events.searched"), icon="source", kind="RETRIEVER"
):
    """What was found.

    Attributes:
        block: The passages as data for the prompt, the citation rule as its note; what was refused, and that nothing
            was found, is said in it. Blank where nothing was searched.
        documents: The passages, the best first.
        refused: What may not be read or is not there, by the label of its reference; nobody can tell which.
    """

    block: Block
    documents: tuple[RetrievedDocument, ...] = ()
    refused: tuple[Text, ...] = ()
