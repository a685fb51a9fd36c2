"""The model messages of a turn: stored once by content (A1.6), and put together again as a history.

A person's message becomes a request, a reply the messages of its turn, or its text where it has none. A reply that was
broken off without a word contributes nothing; one with words is included, and says that it was broken off.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from hashlib import sha256
from typing import Final

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, UserPromptPart

from planwerk.messages.history import history_json, hold, read_history
from planwerk.workspace.rules.state import MessageEntity

BROKEN_OFF: Final = "[This answer was broken off here.]"
"""What the model is told at the end of a reply that did not reach its own end."""


def packed(messages: Sequence[ModelMessage]) -> tuple[str, bytes]:
    """The hash and the stored form of a turn's messages; half characters in them are replaced (SRV-25)."""
    data = history_json(hold(messages)).encode()
    return f"sha256:{sha256(data).hexdigest()}", data


def history_of(path: Sequence[MessageEntity], contents: Mapping[str, bytes]) -> tuple[ModelMessage, ...]:
    """The messages along a path, root first, as a model reads them."""
    return hold([message for entity in path for message in _messages_of(entity, contents)])


def _messages_of(entity: MessageEntity, contents: Mapping[str, bytes]) -> Sequence[ModelMessage]:
    stored = contents.get(entity.model_messages) if entity.model_messages is not None else None
    if stored is not None:
        messages: Sequence[ModelMessage] = read_history(stored)
    elif not entity.content:
        return ()
    elif entity.role == "user":
        messages = (ModelRequest(parts=[UserPromptPart(entity.content, timestamp=entity.time)], timestamp=entity.time),)
    else:
        messages = (ModelResponse(parts=[TextPart(entity.content)], timestamp=entity.time),)
    return _marked(messages, entity.time) if entity.incomplete else messages


def _marked(messages: Sequence[ModelMessage], time: datetime) -> Sequence[ModelMessage]:
    """The messages of a broken-off turn, its end marked for the model and for programs."""
    if not messages:
        return ()
    *before, last = messages
    if isinstance(last, ModelResponse):
        return (*before, replace(last, parts=[*last.parts, TextPart(BROKEN_OFF)], state="interrupted"))
    return (*messages, ModelResponse(parts=[TextPart(BROKEN_OFF)], timestamp=time, state="interrupted"))
