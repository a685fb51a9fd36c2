"""The messages of a request as a history of ours: roles, parts, pictures, calls of tools and their results (W1)."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any, Final, cast

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
from planwerk.server.openai.requests import Object, as_list, as_object

ROLES: Final = ("system", "developer", "user", "assistant", "tool", "function")
TEXTS: Final = ("text", "input_text", "output_text", "refusal")
AUDIO: Final[Mapping[str, str]] = {"wav": "audio/wav", "mp3": "audio/mpeg"}


def history_of(messages: list[Object]) -> tuple[ModelMessage, ...]:
    """The messages as a history; `developer` is `system`, calls of tools and their results are kept.

    Raises:
        BadRequest: A role or a part is none of this protocol.
    """
    check_roles(messages)
    names: dict[str, str] = {}
    return hold(_message(message, f"messages[{place}]", names) for place, message in enumerate(messages))


def check_roles(messages: list[Object]) -> None:
    """Refuse roles that are none.

    Raises:
        BadRequest: Names the message.
    """
    for place, message in enumerate(messages):
        role = message.get("role")
        if role not in ROLES:
            known = ", ".join(ROLES)
            raise BadRequest(f"messages[{place}] has the role {role!r:.80}; known are {known}.", param=_at(place))


def text_of(content: Any, where: str) -> str:
    """The words of a content: a text, null, or a list of parts, of which pictures and files are left out.

    Raises:
        BadRequest: It is none of these.
    """
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise BadRequest(f"{where}.content must be a text, null, or a list of parts.", param=f"{where}.content")
    return "\n".join(text for part in cast("list[Any]", content) if (text := _text_part(part, where)) is not None)


def has_more_than_text(content: Any, where: str) -> bool:
    """Whether there are pictures, sounds or files in it."""
    return any(_text_part(part, where) is None for part in as_list(content))


def _at(place: int) -> str:
    return f"messages[{place}].role"


def _message(message: Object, where: str, names: dict[str, str]) -> ModelMessage:
    if message["role"] == "assistant":
        return ModelResponse(parts=_answer(message, where, names))
    return ModelRequest(parts=[_request_part(message, where, names)])


def _request_part(message: Object, where: str, names: dict[str, str]) -> ModelRequestPart:
    content = message.get("content")
    match message["role"]:
        case "system" | "developer":
            return SystemPromptPart(text_of(content, where))
        case "user":
            return UserPromptPart(_user_content(content, where))
        case _:
            call = str(message.get("tool_call_id") or message.get("name") or "")
            name = names.get(call) or str(message.get("name") or "tool")
            return ToolReturnPart(tool_name=name, content=text_of(content, where), tool_call_id=call)


def _answer(message: Object, where: str, names: dict[str, str]) -> list[ModelResponsePart]:
    parts: list[ModelResponsePart] = []
    text = text_of(message.get("content"), where) or text_of(message.get("refusal"), where)
    if text:
        parts.append(TextPart(text))
    calls: list[tuple[str, Any]] = [
        (str(call.get("id", "")), call.get("function", {})) for call in _objects(message.get("tool_calls"), where)
    ]
    legacy = message.get("function_call")
    if isinstance(legacy, dict):
        call = cast("Object", legacy)
        calls.append((str(call.get("name", "")), call))
    for identity, given in calls:
        function = as_object(given, f"{where}.tool_calls")
        names[identity] = str(function.get("name") or "tool")
        arguments = str(function.get("arguments") or "{}")
        parts.append(ToolCallPart(tool_name=names[identity], args=arguments, tool_call_id=identity))
    return parts or [TextPart("")]


def _objects(value: Any, where: str) -> list[Object]:
    return [as_object(item, f"{where}.tool_calls") for item in as_list(value)]


def _text_part(part: Any, where: str) -> str | None:
    """The words of a part; None for one that has none."""
    if isinstance(part, str):
        return part
    item = as_object(part, f"{where}.content")
    if item.get("type") not in TEXTS:
        return None
    return str(item.get("text") or item.get("refusal") or "")


def _user_content(content: Any, where: str) -> str | list[UserContent]:
    if not has_more_than_text(content, where):
        return text_of(content, where)
    return [_content(part, where) for part in cast("list[Any]", content)]


def _content(part: Any, where: str) -> UserContent:
    text = _text_part(part, where)
    if text is not None:
        return text
    item = cast("Object", part)
    kind = item.get("type")
    match kind:
        case "image_url" | "input_image":
            return _image(item.get("image_url"), where)
        case "input_audio":
            return _audio(as_object(item.get("input_audio"), f"{where}.content"), where)
        case "file":
            return _file(as_object(item.get("file"), f"{where}.content"), where)
        case _:
            raise BadRequest(f"{where} has a part of type {kind!r:.80}, which is not taken.", param=f"{where}.content")


def _image(given: Any, where: str) -> UserContent:
    url = str(cast("Object", given).get("url", "")) if isinstance(given, dict) else str(given or "")
    if url.startswith("data:"):
        return _from_data_url(url, where, default="image/png")
    if not url.startswith(("https://", "http://")):
        raise BadRequest(f"{where} has a picture whose address is neither http nor data.", param=f"{where}.content")
    return ImageUrl(url)


def _audio(given: Object, where: str) -> UserContent:
    form = str(given.get("format") or "wav").lower()
    return BinaryContent(_bytes(str(given.get("data") or ""), where), media_type=AUDIO.get(form, f"audio/{form}"))


def _file(given: Object, where: str) -> UserContent:
    data = str(given.get("file_data") or "")
    if not data:
        raise BadRequest(
            f"{where} names a file by id, and files cannot be uploaded here: send its `file_data`.",
            param=f"{where}.content",
        )
    if data.startswith("data:"):
        return _from_data_url(data, where, default="application/pdf")
    return BinaryContent(_bytes(data, where), media_type="application/pdf")


def _from_data_url(url: str, where: str, *, default: str) -> BinaryContent:
    head, _, data = url.partition(",")
    return BinaryContent(_bytes(data, where), media_type=head[5:].partition(";")[0] or default)


def _bytes(data: str, where: str) -> bytes:
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError) as error:
        raise BadRequest(f"{where} has a part that is not base64.", param=f"{where}.content") from error
