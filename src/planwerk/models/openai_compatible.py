"""Any server with OpenAI's chat completions, by its URL: Ollama, llama.cpp, vLLM, LM Studio, a gateway.

pydantic-ai's chat model does the work. What is added here is patience with servers that are only nearly compatible:

- Tool calls are told apart by id and place, not by index alone: a second id on one index is a second call (TOOL-01), a
  fragment on an unknown index belongs to the call before it (TOOL-03).
- Thinking written into the text as tags is told from the answer however the tags are cut into chunks.
- A stream that ends without a finish reason and without `[DONE]` was cut, even if the connection was closed politely:
  a cut answer is not taken for the whole (SRV-05).
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, cast

import httpx2
from openai import AsyncOpenAI
from openai.types.chat.chat_completion_chunk import Choice, ChoiceDeltaToolCall
from pydantic_ai.exceptions import ModelConnectionError
from pydantic_ai.messages import FinishReason, ModelResponseStreamEvent
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIStreamedResponse

if TYPE_CHECKING:
    from pydantic_ai.providers import Provider

CONNECT_SECONDS: Final = 10.0
SILENCE_SECONDS: Final = 300.0
"""A small machine may read a long prompt for minutes before its first token."""

_TAGS: Final = ("<think>", "</think>")
_SAW_END: Final = "planwerk_saw_end"
_log = logging.getLogger(__name__)


def compatible_model(
    provider: str, name: str, *, base_url: str, key: str | None, client: httpx2.AsyncClient, retries: int
) -> OpenAIChatModel:
    """A model on this server.

    Args:
        key: Sent as bearer token; servers on one's own machine often need none.
        client: Made by `http_client`, closed by its owner.
        retries: How often a request that failed before it was answered is sent again.
    """
    server = AsyncOpenAI(base_url=base_url, api_key=key or "none", http_client=client, max_retries=retries)
    return CompatibleChatModel(name, provider=_provider(provider, server))


def http_client() -> httpx2.AsyncClient:
    """A client whose streams remember whether they came to their end."""
    timeout = httpx2.Timeout(SILENCE_SECONDS, connect=CONNECT_SECONDS)
    return httpx2.AsyncClient(timeout=timeout, event_hooks={"response": [_watch]}, follow_redirects=True)


def _provider(name: str, server: AsyncOpenAI) -> Provider[AsyncOpenAI]:
    if name == "ollama":
        from pydantic_ai.providers.ollama import OllamaProvider

        return OllamaProvider(openai_client=server)
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

    return OpenAICompatibleProvider(name, openai_client=server)


class CompatibleChatModel(OpenAIChatModel):
    """pydantic-ai's chat model, reading streams with our patience."""

    @property
    def _streamed_response_cls(self) -> type[OpenAIStreamedResponse]:
        return _PatientStream


@dataclass
class _PatientStream(OpenAIStreamedResponse):
    _tags: _TagSplitter = field(default_factory=lambda: _TagSplitter(), init=False)
    _calls: _CallSorter = field(default_factory=lambda: _CallSorter(), init=False)

    def _map_text_delta(self, choice: Choice) -> Iterable[ModelResponseStreamEvent]:
        content = cast("Any", choice.delta.content)  # some servers send a list of parts
        if not isinstance(content, str):
            yield from super()._map_text_delta(choice)
            return
        for piece in self._tags.split(content, last=choice.finish_reason is not None):
            choice.delta.content = piece
            yield from super()._map_text_delta(choice)

    def _map_tool_call_delta(self, choice: Choice) -> Iterable[ModelResponseStreamEvent]:
        choice.delta.tool_calls = self._calls.sort(choice.delta.tool_calls or [])
        return super()._map_tool_call_delta(choice)

    def _missing_finish_reason(self) -> FinishReason:
        response: httpx2.Response = cast("Any", self._response.source).response
        if response.extensions.get(_SAW_END) is False:
            raise ModelConnectionError(
                self.model_name,
                "the stream ended without a finish reason and without [DONE]",
                phase="read",
                in_stream=True,
            )
        return super()._missing_finish_reason()


class _TagSplitter:
    """Cuts text so that a thinking tag is a piece of its own, which is how pydantic-ai knows one.

    An opening tag counts before any answer only: an answer may well talk about tags.
    """

    def __init__(self) -> None:
        self._held = ""
        self._thinks = False
        self._answered = False

    def split(self, content: str, *, last: bool) -> list[str]:
        """The pieces that can be told now; what may be the beginning of a tag waits, but not at the end."""
        text, self._held = self._held + content, ""
        pieces: list[str] = []
        while not self._answered and (found := text.find(self._tag)) >= 0:
            before, text = text[:found], text[found + len(self._tag) :]
            if before.strip() and not self._thinks:
                self._answered, text = True, f"{before}{self._tag}{text}"
                break
            pieces += [before, self._tag] if self._thinks else [self._tag]
            self._thinks = not self._thinks
        if not last and not self._answered:
            text, self._held = _without_begun_tag(text, self._tag)
        self._answered = self._answered or (not self._thinks and bool(text.strip()))
        return [piece for piece in [*pieces, text] if piece]

    @property
    def _tag(self) -> str:
        return _TAGS[1] if self._thinks else _TAGS[0]


def _without_begun_tag(text: str, tag: str) -> tuple[str, str]:
    length = next((n for n in range(min(len(tag) - 1, len(text)), 0, -1) if text.endswith(tag[:n])), 0)
    return (text[:-length], text[-length:]) if length else (text, "")


class _CallSorter:
    """Gives each tool call of a stream one number, whatever its fragments are called."""

    def __init__(self) -> None:
        self._by_id: dict[str, int] = {}
        self._by_index: dict[int, int] = {}
        self._names: list[str | None] = []

    def sort(self, fragments: list[ChoiceDeltaToolCall]) -> list[ChoiceDeltaToolCall]:
        sorted_ = (self._place(fragment) for fragment in fragments)
        return [fragment for fragment in sorted_ if fragment is not None]

    def _place(self, fragment: ChoiceDeltaToolCall) -> ChoiceDeltaToolCall | None:
        name = fragment.function.name if fragment.function else None
        number = self._number(fragment, name)
        if number is None:
            _log.warning("a model streamed arguments of a tool call that never began; they are dropped")
            return None
        begun = number < len(self._names)
        if not begun:
            self._names.append(name)
        elif fragment.function is not None and name == self._names[number]:
            fragment.function.name = None  # repeated with each fragment; would be glued to the name
        elif name:
            self._names[number] = name
        fragment.index = number
        fragment.id = None if begun else fragment.id
        return fragment

    def _number(self, fragment: ChoiceDeltaToolCall, name: str | None) -> int | None:
        index = cast("int | None", fragment.index)
        if fragment.id:
            number = self._by_id.setdefault(fragment.id, len(self._names))
        elif index is not None and index in self._by_index:
            number = self._by_index[index]
        elif name:
            number = len(self._names)
        else:
            return len(self._names) - 1 if self._names else None
        if index is not None:
            self._by_index[index] = number
        return number


async def _watch(response: httpx2.Response) -> None:
    """Note on an event stream whether `[DONE]` came; a packed stream is not looked into. A web page is no answer."""
    if response.is_success and "text/html" in response.headers.get("content-type", ""):
        raise httpx2.RemoteProtocolError(
            f"{response.url} answered with a web page, not with JSON", request=response.request
        )
    if "text/event-stream" in response.headers.get("content-type", "") and "content-encoding" not in response.headers:
        response.extensions[_SAW_END] = False
        response.stream = _Watched(cast("httpx2.AsyncByteStream", response.stream), response.extensions)


class _Watched(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, notes: dict[str, Any]) -> None:
        self._stream, self._notes = stream, notes

    async def __aiter__(self) -> AsyncIterator[bytes]:
        tail = b""
        async for piece in self._stream:
            tail = (tail + piece)[-64:] if b"[DONE]" not in tail else tail
            self._notes[_SAW_END] = b"[DONE]" in tail
            yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()
