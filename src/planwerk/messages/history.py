"""A history that several events of a run carry is stored once, by content, and referenced (E7.7).

Theory of operation. `History` is the type of every event field that carries messages. Where the pydantic context has
`{"contents": sink}` (the journal), it is written as a small reference, and its contents go to the sink:

    {"$history": H}    H -> '["block digest", …]'    block -> '["message digest", …]'    message -> its JSON

Blocks end after a message whose digest says so, about every sixteenth, so a history that grew by a message, got
another head or lost its oldest turns shares all blocks but one or two with the one before it: the bytes of a step do
not grow with the conversation. Without such a context the history is written whole.

Digests are remembered by object: per message weakly, per history on the tuple itself (`_Held`). A history that passes
through ten events is therefore hashed once. Messages in events are facts: whoever wants another one makes it
(`dataclasses.replace`) and never changes one in place.
"""

from __future__ import annotations

import json
import weakref
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import replace
from hashlib import blake2b
from typing import Annotated, Any, ClassVar, Final, Protocol, TypeAlias, cast

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelRequest, ModelResponse
from pydantic_core import CoreSchema, PydanticCustomError, core_schema, from_json, to_json

from planwerk.messages.sanitise import sanitise_message
from planwerk.workflow.errors import PlanwerkError

REFERENCE: Final = "$history"
CONTENTS: Final = "contents"
LARGEST_BLOCK: Final = 64


class ContentSink(Protocol):
    """Where contents go when an event is written; a content is stored under its digest, once."""

    def has(self, digest: str) -> bool:
        """Whether this content is stored for certain, with all it refers to; False is always safe to say."""
        ...

    def put(self, digest: str, content: str) -> None:
        """Store the content; a second time is a no-op. What it refers to has been put before it."""
        ...


class ContentSource(Protocol):
    """Where contents are read back from."""

    def get(self, digest: str) -> str:
        """The content stored under this digest.

        Raises:
            KeyError: There is none.
        """
        ...


class ContentMissing(PlanwerkError):
    """A stored event refers to a history whose content is gone (E7.7)."""

    code = "content_missing"

    def __init__(self, digest: str) -> None:
        super().__init__(
            f"the content {digest} of a message history is not stored (E7.7: events are read back whole).",
            what_to_do="Read the journal with the contents it was written with: {'contents': source}.",
        )
        self.digest = digest


class _Held(tuple[ModelMessage, ...]):
    """A history whose messages have been checked, and whose digest is remembered."""

    digest: str | None = None


class _MessageMemory:
    """What is known of message objects, forgotten with them."""

    def __init__(self) -> None:
        self._digests: dict[int, tuple[weakref.ref[Any], str | None]] = {}

    def digest(self, message: ModelMessage) -> str | None:
        known = self._digests.get(id(message))
        return known[1] if known is not None and known[0]() is message else None

    def is_clean(self, message: ModelMessage) -> bool:
        known = self._digests.get(id(message))
        return known is not None and known[0]() is message

    def remember(self, message: ModelMessage, digest: str | None = None) -> None:
        key = id(message)
        self._digests[key] = (weakref.ref(message, lambda _: self._digests.pop(key, None)), digest)


_memory: Final = _MessageMemory()


def hold(messages: Iterable[ModelMessage]) -> tuple[ModelMessage, ...]:
    """The messages as a history: half characters replaced (SRV-25), digests remembered from event to event."""
    if isinstance(messages, _Held):
        return messages
    return _Held(_cleaned(message) for message in messages)


def history_digest(history: Sequence[ModelMessage]) -> str:
    """The digest under which this history is stored; equal content, equal digest."""
    held = cast("_Held", hold(history))
    return held.digest or _store(held, _Nowhere())


def _cleaned(message: ModelMessage) -> ModelMessage:
    if not _memory.is_clean(message):
        message = _with_typed_numbers(sanitise_message(message))
        _memory.remember(message)
    return message


def _with_typed_numbers(message: ModelMessage) -> ModelMessage:
    """pydantic-ai fills a float field with the int `0`: written as `0` now, but as `0.0` once read back (E1.5)."""
    if isinstance(message, ModelResponse) and isinstance(cast("Any", message.usage.audio_seconds), int):
        usage = copy(message.usage)
        usage.audio_seconds = float(usage.audio_seconds)
        return replace(message, usage=usage)
    return message


class _Nowhere:
    """A sink for whoever only wants digests."""

    def has(self, digest: str) -> bool:
        return False

    def put(self, digest: str, content: str) -> None:
        pass


def _digest_of(content: str) -> str:
    return blake2b(content.encode(), digest_size=20).hexdigest()


def _store(history: _Held, sink: ContentSink) -> str:
    """Put what the sink lacks, lowest first, and return the history's digest."""
    if history.digest is not None and sink.has(history.digest):
        return history.digest
    digests = [_store_message(message, sink) for message in history]
    blocks = [_store_list(block, sink) for block in _cut(digests)]
    history.digest = _store_list(blocks, sink)
    return history.digest


def _store_message(message: ModelMessage, sink: ContentSink) -> str:
    digest, content = _memory.digest(message), None
    if digest is None:
        content = _dump(message)
        digest = _digest_of(content)
        _memory.remember(message, digest)
    if not sink.has(digest):
        sink.put(digest, content or _dump(message))
    return digest


def _store_list(digests: Sequence[str], sink: ContentSink) -> str:
    content = json.dumps(digests, separators=(",", ":"))
    digest = _digest_of(content)
    if not sink.has(digest):
        sink.put(digest, content)
    return digest


def _cut(digests: Sequence[str]) -> Iterable[list[str]]:
    """Blocks that end where the content says, so that they are found again in the next history."""
    block: list[str] = []
    for digest in digests:
        block.append(digest)
        if digest[0] == "0" or len(block) == LARGEST_BLOCK:
            yield block
            block = []
    if block:
        yield block


def _dump(message: ModelMessage) -> str:
    return ModelMessagesTypeAdapter.dump_json([message]).decode()[1:-1]


def _load(digest: str, source: ContentSource, read: dict[str, Any]) -> tuple[ModelMessage, ...]:
    """The history of this digest; `read` holds what this reader has read already, so events share it."""
    known = read.get(digest)
    if known is None:
        blocks: list[str] = json.loads(_content(digest, source))
        lists: list[list[str]] = [json.loads(_content(block, source)) for block in blocks]
        known = _Held(_load_message(item, source, read) for block in lists for item in block)
        known.digest = digest
        read[digest] = known
    return known


def _load_message(digest: str, source: ContentSource, read: dict[str, Any]) -> ModelMessage:
    known = read.get(digest)
    if known is None:
        known = ModelMessagesTypeAdapter.validate_json(f"[{_content(digest, source)}]")[0]
        _memory.remember(known, digest)
        read[digest] = known
    return known


def _content(digest: str, source: ContentSource) -> str:
    try:
        return source.get(digest)
    except KeyError:
        raise ContentMissing(digest) from None


def _read_messages(items: Sequence[Any]) -> list[ModelMessage]:
    """Messages from JSON data; by way of JSON text, in which alone base64 is read as bytes."""
    return ModelMessagesTypeAdapter.validate_json(to_json(items, bytes_mode="base64"))


def _write_messages(messages: Sequence[ModelMessage]) -> list[Any]:
    """Messages as JSON data, in every mode."""
    return from_json(ModelMessagesTypeAdapter.dump_json(list(messages)))


class _HistoryType:
    """Tells pydantic how to read and write a history; its schema stays small in every event that has one."""

    read: ClassVar[str] = "$read"

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.with_info_plain_validator_function(
            cls._validate,
            serialization=core_schema.plain_serializer_function_ser_schema(cls._serialise, info_arg=True),
            json_schema_input_schema=core_schema.list_schema(core_schema.dict_schema()),
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"type": "array", "items": {"type": "object"}, "description": "Messages as pydantic-ai writes them."}

    @classmethod
    def _validate(cls, value: Any, info: core_schema.ValidationInfo) -> tuple[ModelMessage, ...]:
        if isinstance(value, _Held):
            return value
        context: dict[str, Any] = info.context or {}
        if isinstance(value, dict) and REFERENCE in value:
            digest = cast("dict[str, str]", value)[REFERENCE]
            if CONTENTS not in context:
                raise ContentMissing(digest)
            return _load(digest, context[CONTENTS], context.setdefault(cls.read, {}))
        if not isinstance(value, list | tuple):
            raise PydanticCustomError("history", "a history is a sequence of messages")
        items = cast("Sequence[Any]", value)
        if all(isinstance(item, ModelRequest | ModelResponse) for item in items):
            return hold(cast("Sequence[ModelMessage]", items))
        return hold(_read_messages(items))

    @staticmethod
    def _serialise(value: Any, info: core_schema.SerializationInfo) -> Any:
        context: dict[str, Any] = info.context or {}
        if info.mode == "json" and CONTENTS in context:
            return {REFERENCE: _store(cast("_Held", hold(value)), context[CONTENTS])}
        return _write_messages(value)


class _ResponseType:
    """Tells pydantic how to read and write one answer of a model."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            cls._validate,
            serialization=core_schema.plain_serializer_function_ser_schema(cls._serialise),
            json_schema_input_schema=core_schema.dict_schema(),
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"type": "object", "description": "An answer as pydantic-ai writes it."}

    @staticmethod
    def _validate(value: Any) -> ModelResponse:
        message = value if isinstance(value, ModelResponse) else _read_messages([value])[0]
        if not isinstance(message, ModelResponse):
            raise PydanticCustomError("response", "an answer is a model's response, not a request")
        return cast("ModelResponse", _cleaned(message))

    @staticmethod
    def _serialise(value: Any) -> Any:
        return _write_messages([value])[0]


History: TypeAlias = Annotated[tuple[ModelMessage, ...], _HistoryType]
"""A message history in an event (E7.7): `messages: History`."""

Response: TypeAlias = Annotated[ModelResponse, _ResponseType]
"""One answer of a model in an event: `response: Response`."""


def history_json(history: Sequence[ModelMessage]) -> str:
    """The history as one JSON text, whole."""
    return ModelMessagesTypeAdapter.dump_json(list(hold(history))).decode()


def read_history(text: str | bytes) -> tuple[ModelMessage, ...]:
    """The history of `history_json`'s text."""
    return hold(ModelMessagesTypeAdapter.validate_json(text))
