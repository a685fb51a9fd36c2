"""What a client sends: a chat completion's request, read tolerantly, and its messages as ours (W1)."""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import dataclass, field
from typing import Any, Final, Literal, cast

from pydantic_ai.messages import (
    BinaryContent,
    ImageUrl,
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
)

from planwerk.messages.history import hold
from planwerk.server.openai.errors import BadRequest

ROLES: Final = ("system", "developer", "user", "assistant", "tool", "function")
Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A chat completion that is asked for; what we do not use is left out."""

    model: str
    messages: list[Object]
    stream: bool = False
    include_usage: bool = False
    metadata: Object = field(default_factory=dict[str, Any])

    @property
    def features(self) -> tuple[str, ...]:
        """Chat toggles in the metadata: a list, or names separated by commas."""
        given = self.metadata.get("features", ())
        names: list[Any] = given.split(",") if isinstance(given, str) else _list(given)
        return tuple(str(name).strip() for name in names if str(name).strip())


def read_request(body: bytes) -> ChatRequest:
    """The request of this body.

    Raises:
        BadRequest: It is no JSON object, or asks for what is not offered.
    """
    try:
        data: Any = json.loads(body)
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise BadRequest(f"the body is not valid JSON: {error}.", code="malformed_json") from error
    if not isinstance(data, dict):
        raise BadRequest("the body is not a JSON object.")
    given = cast("Object", data)
    model = given.get("model")
    if not isinstance(model, str) or not model:
        raise BadRequest("you must name a model; GET /v1/models lists them.", param="model")
    messages = given.get("messages")
    if not isinstance(messages, list) or not messages:
        raise BadRequest("`messages` must be a list with at least one message.", param="messages")
    if given.get("n") not in {None, 1}:
        raise BadRequest("only one choice can be asked for.", param="n")
    if given.get("tools") or given.get("functions"):
        raise BadRequest(
            "this model brings its own tools and takes none from clients.",
            param="tools",
            code="client_tools_not_allowed",
        )
    options = given.get("stream_options")
    return ChatRequest(
        model=model,
        messages=[_object(message, f"messages[{place}]") for place, message in enumerate(cast("list[Any]", messages))],
        stream=bool(given.get("stream")),
        include_usage=isinstance(options, dict) and bool(cast("Object", options).get("include_usage")),
        metadata=cast("Object", given["metadata"]) if isinstance(given.get("metadata"), dict) else {},
    )


def _object(value: Any, param: str) -> Object:
    if not isinstance(value, dict):
        raise BadRequest(f"{param} must be an object.", param=param)
    return cast("Object", value)


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def history_of(messages: list[Object]) -> tuple[ModelMessage, ...]:
    """The messages as a history of ours; calls of tools and their results are kept.

    Raises:
        BadRequest: A role or a part is none of this protocol.
    """
    history: list[ModelMessage] = []
    names: dict[str, str] = {}
    for place, message in enumerate(messages):
        where = f"messages[{place}]"
        role = message.get("role")
        if role not in ROLES:
            raise BadRequest(f"{where} has the unknown role {role!r}.", param=f"{where}.role")
        if role == "assistant":
            history.append(ModelResponse(parts=_answer(message, where, names)))
        else:
            history.append(ModelRequest(parts=[_request_part(role, message, where, names)]))
    return hold(history)


def last_question(messages: list[Object]) -> str:
    """The words of the last message, which must be the person's.

    Raises:
        BadRequest: The last message is not a user's.
    """
    last = messages[-1]
    if last.get("role") != "user":
        raise BadRequest("the last message must be the user's.", param=f"messages[{len(messages) - 1}].role")
    return _text(last.get("content"), f"messages[{len(messages) - 1}]")


def _request_part(role: str, message: Object, where: str, names: dict[str, str]) -> ModelRequestPart:
    content = message.get("content")
    if role in {"system", "developer"}:
        return SystemPromptPart(_text(content, where))
    if role == "user":
        return UserPromptPart(_user_content(content, where))
    call = str(message.get("tool_call_id") or message.get("name") or "")
    return ToolReturnPart(
        tool_name=names.get(call, str(message.get("name") or "tool")), content=_text(content, where), tool_call_id=call
    )


def _answer(message: Object, where: str, names: dict[str, str]) -> list[ModelResponsePart]:
    parts: list[ModelResponsePart] = []
    text = _text(message.get("content"), where) or _text(message.get("refusal"), where)
    if text:
        parts.append(TextPart(text))
    for call in _list(message.get("tool_calls")):
        function = _object(_object(call, where).get("function", {}), where)
        name, identity = str(function.get("name", "tool")), str(call.get("id", ""))
        names[identity] = name
        parts.append(ToolCallPart(tool_name=name, args=str(function.get("arguments") or "{}"), tool_call_id=identity))
    return parts or [TextPart("")]


def _text(content: Any, where: str) -> str:
    """The words of a content: a text, null, or a list of parts."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise BadRequest(f"{where}.content must be a text, null, or a list of parts.", param=f"{where}.content")
    words: list[str] = []
    for part in cast("list[Any]", content):
        item = _object(part, f"{where}.content")
        if item.get("type") in {"text", "input_text", "output_text", "refusal"}:
            words.append(str(item.get("text") or item.get("refusal") or ""))
    return "\n".join(words)


def _user_content(content: Any, where: str) -> str | list[UserContent]:
    if not isinstance(content, list):
        return _text(content, where)
    found: list[UserContent] = []
    for part in cast("list[Any]", content):
        item = _object(part, f"{where}.content")
        kind = item.get("type")
        if kind in {"text", "input_text"}:
            found.append(str(item.get("text") or ""))
        elif kind == "image_url":
            found.append(_image(item, where))
        else:
            raise BadRequest(f"{where} has a part of type {kind!r}, which is not taken.", param=f"{where}.content")
    return found[0] if len(found) == 1 and isinstance(found[0], str) else found


def _image(item: Object, where: str) -> UserContent:
    given = item.get("image_url")
    url = str(cast("Object", given).get("url", "")) if isinstance(given, dict) else str(given or "")
    if not url.startswith("data:"):
        return ImageUrl(url)
    head, _, data = url.partition(",")
    try:
        return BinaryContent(
            base64.b64decode(data, validate=True), media_type=head[5:].partition(";")[0] or "image/png"
        )
    except binascii.Error as error:
        raise BadRequest(f"{where} has an image that is not base64.", param=f"{where}.content") from error


THREAD_HEADERS: Final[tuple[tuple[str, Literal["planwerk", "openwebui", "librechat"]], ...]] = (
    ("x-planwerk-thread", "planwerk"),
    ("x-openwebui-chat-id", "openwebui"),
    ("x-librechat-conversation-id", "librechat"),
)
