"""Which conversation a request belongs to, and which of its messages are meant: told by headers and metadata (W1).

Nothing is guessed: a request that names no conversation is answered over the history it sends. The ids of other
clients become ids of ours that are always the same for this account, so that a message sent again is the same message,
an edited one a branch, and an answer asked for again a second answer to the same message.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal

from planwerk.access.principal import Principal
from planwerk.server.openai.requests import ChatRequest
from planwerk.workflow.ids import UUID7, MessageId, RunId, ThreadId
from planwerk.workspace.rules.commands import LAST

Source = Literal["planwerk", "openwebui", "librechat", "idempotency"]

THREAD: Final = "x-planwerk-thread"
CHAT: Final = "x-openwebui-chat-id"
ANSWER: Final = "x-openwebui-message-id"
QUESTION: Final = "x-openwebui-user-message-id"
BEFORE: Final = "x-openwebui-user-message-parent-id"
LIBRECHAT: Final = "x-librechat-conversation-id"
IDEMPOTENCY: Final = "idempotency-key"

TEMPORARY: Final = "local:"
"""How Open WebUI's temporary chats are named: they are not to be kept."""
NOTHING: Final = frozenset({"", "new", "null", "none", "undefined"})
"""What clients write where there is no id yet."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """What a request is about, in ids of ours; None is what the client did not name.

    Attributes:
        thread: None for a request that is answered over the history it sends.
        question: Id of the person's message.
        answer: Id of the answer, which is the run's too.
        before: Id of the message that the person's follows; None for a first one.
    """

    thread: ThreadId | None
    question: MessageId | None = None
    answer: RunId | None = None
    before: MessageId | Literal["last"] | None = LAST


def conversation_of(principal: Principal, request: ChatRequest, headers: Mapping[str, str]) -> Conversation:
    """The conversation that the client names: by our header or metadata, as Open WebUI's chat, as LibreChat's."""
    own = _given(headers, THREAD) or _value(request.metadata.get("thread_id"))
    chat = _given(headers, CHAT)
    librechat = _given(headers, LIBRECHAT)
    if own is not None:
        named = Conversation(ThreadId(own if UUID7.fullmatch(own) else _id(principal, "planwerk", own)))
    elif chat is not None and not chat.startswith(TEMPORARY):
        named = _open_webui(principal, chat, headers)
    elif librechat is not None:
        named = Conversation(ThreadId(_id(principal, "librechat", librechat)))
    else:
        named = Conversation(None)
    key = _given(headers, IDEMPOTENCY)
    return named if key is None else _with_key(principal, named, key, request)


def is_open_webui(headers: Mapping[str, str]) -> bool:
    """Whether Open WebUI asks: it sends headers of its own, and reads events beside the chunks (W2)."""
    return any(name.startswith("x-openwebui-") for name in headers)


def _open_webui(principal: Principal, chat: str, headers: Mapping[str, str]) -> Conversation:
    def identity(message: str) -> str:
        return _id(principal, "openwebui", f"{chat}/{message}")

    asked, answered, parent = (_given(headers, name) for name in (QUESTION, ANSWER, BEFORE))
    before: MessageId | Literal["last"] | None = LAST
    if asked is not None and BEFORE in headers:
        before = MessageId(identity(parent)) if parent is not None else None
    return Conversation(
        ThreadId(_id(principal, "openwebui", chat)),
        MessageId(identity(asked)) if asked is not None else None,
        RunId(identity(answered)) if answered is not None else None,
        before,
    )


def _with_key(principal: Principal, named: Conversation, key: str, request: ChatRequest) -> Conversation:
    """The same request with the same key is the same message and the same answer; another one is another."""
    content = json.dumps([key, named.thread, request.model, request.messages], sort_keys=True)
    return replace(
        named,
        question=named.question or MessageId(_id(principal, "idempotency", f"question {content}")),
        answer=named.answer or RunId(_id(principal, "idempotency", f"answer {content}")),
    )


def _given(headers: Mapping[str, str], name: str) -> str | None:
    return _value(headers.get(name))


def _value(text: object) -> str | None:
    """An id that was really given; a template that the client did not fill in is none."""
    if not isinstance(text, str):
        return None
    value = text.strip()
    return None if value.lower() in NOTHING or value.startswith("{{") else value


def _id(principal: Principal, source: Source, text: str) -> str:
    """An id of ours for a foreign one: always the same for this account, and never another account's."""
    digest = hashlib.sha256(f"{principal.tenant}/{principal.account}/{source}/{text}".encode()).hexdigest()
    variant = "89ab"[int(digest[16], 16) % 4]
    return f"{digest[:8]}-{digest[8:12]}-7{digest[13:16]}-{variant}{digest[17:20]}-{digest[20:32]}"
