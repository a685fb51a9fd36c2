"""One turn for a client of this protocol: start a run, give its words as they come, and what it used in the end."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Literal

from planwerk.access.actions import Action
from planwerk.access.principal import Principal
from planwerk.messages.events import FollowUpsSuggestedEvent, LLMStopEvent, RefusalStopEvent, UserMessageEvent
from planwerk.runtime.errors import RunFailed
from planwerk.runtime.live import LiveFrame, LiveSnapshot, LiveWatch
from planwerk.server.openai.requests import THREAD_HEADERS, ChatRequest, history_of, last_question
from planwerk.server.parts import Parts, find_thread
from planwerk.workflow import entries as journal
from planwerk.workflow.events import Event, ExceptionEvent, StopEvent
from planwerk.workflow.ids import UUID7, MessageId, RunId, ThreadId, new_id
from planwerk.workspace.rules.commands import CreateThread

Kind = Literal["text", "reasoning", "refusal", "step", "follow_ups"]


@dataclass(frozen=True, slots=True)
class Piece:
    """Something to tell the client."""

    kind: Kind
    text: str = ""
    items: tuple[str, ...] = ()


@dataclass(slots=True)
class Usage:
    """Tokens over all model calls of the run."""

    prompt: int = 0
    completion: int = 0
    cached: int = 0
    reasoning: int = 0

    def add(self, usage: Mapping[str, int]) -> None:
        self.prompt += usage.get("input_tokens", 0)
        self.completion += usage.get("output_tokens", 0)
        self.cached += usage.get("cached_tokens", 0)
        self.reasoning += usage.get("reasoning_tokens", 0)


@dataclass(slots=True)
class Turn:
    """A run that answers one request."""

    parts: Parts
    principal: Principal
    run: RunId
    owned: bool
    """Whether it stops when its connection closes: a request without a thread (E4.7)."""
    watch: LiveWatch
    usage: Usage = field(default_factory=Usage)
    refused: bool = False
    _sent: dict[tuple[int, int, int], int] = field(default_factory=dict[tuple[int, int, int], int])
    _texts: dict[tuple[int, int], str] = field(default_factory=dict[tuple[int, int], str])
    _ended: bool = False

    async def pieces(self, *, steps: bool = False) -> AsyncGenerator[Piece]:
        """What the run says, as it says it; its end is the end of this.

        Raises:
            RunFailed: The run ended with an error.
        """
        queue: asyncio.Queue[Piece | BaseException | None] = asyncio.Queue()
        tasks = [
            asyncio.create_task(self._read_live(queue)),
            asyncio.create_task(self._read_journal(queue, steps=steps)),
        ]
        try:
            while (found := await queue.get()) is not None:
                if isinstance(found, BaseException):
                    raise found
                yield found
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self.watch.close()

    async def close(self) -> None:
        """The connection is gone or the answer complete: a run that the request owns does not go on without it."""
        if self.owned and not self._ended:
            with contextlib.suppress(Exception):
                await asyncio.shield(self.parts.host.stop(self.run, actor=self.principal.actor()))

    async def _read_live(self, queue: asyncio.Queue[Piece | BaseException | None]) -> None:
        while True:
            await self.watch.wait()
            for piece in self._live_pieces():
                queue.put_nowait(piece)

    def _live_pieces(self) -> list[Piece]:
        found: list[Piece] = []
        for item in self.watch.drain():
            if isinstance(item, LiveSnapshot):
                for response in item.responses:
                    for part in response["parts"]:
                        key = (response["attempt"], response["response"], part["part"])
                        rest = part["text"][self._sent.get(key, 0) :]
                        found += self._said(key, part["kind"], rest)
            elif isinstance(item, LiveFrame) and item.type in {"text_delta", "thinking_delta"}:
                kind = "text" if item.type == "text_delta" else "thinking"
                found += self._said((item.attempt, item.response, item.part), kind, item.text)
        return found

    def _said(self, key: tuple[int, int, int], kind: str, text: str) -> list[Piece]:
        if not text or kind not in {"text", "thinking"}:
            return []
        self._sent[key] = self._sent.get(key, 0) + len(text)
        if kind == "thinking":
            return [Piece("reasoning", text)]
        response = key[:2]
        begins = response not in self._texts and bool(self._texts)
        self._texts[response] = self._texts.get(response, "") + text
        return [Piece("text", f"\n\n{text}" if begins else text)]

    async def _read_journal(self, queue: asyncio.Queue[Piece | BaseException | None], *, steps: bool) -> None:
        stop: StopEvent | None = None
        try:
            async with aclosing(self.parts.host.follow(self.run)) as entries:
                async for _, entry in entries:
                    if isinstance(entry, journal.ModelCalled):
                        self.usage.add(entry.usage)
                    elif isinstance(entry, journal.ExecutionDue) and steps:
                        queue.put_nowait(Piece("step", entry.step))
                    elif isinstance(entry, journal.EventPublished):
                        event = entry.event
                        if isinstance(event, FollowUpsSuggestedEvent):
                            queue.put_nowait(Piece("follow_ups", items=event.questions))
                        if isinstance(event, StopEvent) and stop is None:
                            stop = event
            self._ended = True
            for piece in [*self._live_pieces(), *self._rest(stop)]:
                queue.put_nowait(piece)
            failed = RunFailed(self.run, stop) if isinstance(stop, ExceptionEvent) else None
            queue.put_nowait(failed)
        except asyncio.CancelledError:
            raise
        except Exception as error:
            queue.put_nowait(error)

    def _rest(self, stop: Event | None) -> list[Piece]:
        """What of the answer was not streamed: all of it, or what a reader missed."""
        if isinstance(stop, RefusalStopEvent):
            self.refused = True
            return [Piece("refusal", stop.text or stop.reason.value)]
        whole = stop.answer.text if isinstance(stop, LLMStopEvent) else str(getattr(stop, "text", "") or "")
        if isinstance(stop, ExceptionEvent) or not whole:
            return []
        said = list(self._texts.values())[-1] if self._texts else ""
        if whole.startswith(said):
            return [Piece("text", whole[len(said) :])] if len(whole) > len(said) else []
        return [] if whole in "\n\n".join(self._texts.values()) else [Piece("text", f"\n\n{whole}")]


def thread_named(request: ChatRequest, headers: Mapping[str, str]) -> tuple[str, str] | None:
    """The conversation that the client names, and where: our header, metadata, Open WebUI's, LibreChat's (W1)."""
    own = headers.get(THREAD_HEADERS[0][0])
    if own:
        return "planwerk", own
    named = request.metadata.get("thread_id")
    if isinstance(named, str) and named:
        return "planwerk", named
    for header, source in THREAD_HEADERS[1:]:
        value = headers.get(header)
        if value:
            return source, value
    return None


def thread_id(principal: Principal, source: str, text: str) -> ThreadId:
    """An id of ours as it is; a foreign one as an id of ours that is always the same for this person."""
    if source == "planwerk" and UUID7.fullmatch(text):
        return ThreadId(text)
    digest = hashlib.sha256(f"{principal.tenant}/{principal.account}/{source}/{text}".encode()).hexdigest()
    variant = "89ab"[int(digest[16], 16) % 4]
    return ThreadId(f"{digest[:8]}-{digest[8:12]}-7{digest[13:16]}-{variant}{digest[17:20]}-{digest[20:32]}")


async def begin(
    parts: Parts, principal: Principal, profile: str, request: ChatRequest, headers: Mapping[str, str], locale: str
) -> Turn:
    """Start the run that answers a request: in the thread the client names, or by itself.

    Raises:
        BadRequest: The messages are none of this protocol.
        NotFound: The thread is somebody else's.
    """
    run = RunId(new_id())
    named = thread_named(request, headers)
    watch = parts.live.watch([run])
    turn = Turn(parts, principal, run, owned=named is None, watch=watch)
    try:
        if named is None:
            event = UserMessageEvent(
                messages=history_of(request.messages),
                user=principal.identity(),
                locale=locale,
                requested_features=request.features,
            )
            last_question(request.messages)
            await parts.host.start(
                profile, event, actor=principal.actor(), tenant=principal.tenant, run_id=run, locale=locale
            )
        else:
            await _post(parts, principal, profile, request, thread_id(principal, *named), run, locale)
    except BaseException:
        watch.close()
        raise
    return turn


async def _post(
    parts: Parts, principal: Principal, profile: str, request: ChatRequest, thread: ThreadId, run: RunId, locale: str
) -> None:
    content = last_question(request.messages)
    workspace = await parts.workspaces.locate_thread(principal.tenant, thread)
    if workspace is None:
        workspace = await parts.workspaces.private_of(principal.tenant, principal.actor())
        space = parts.workspaces.of(principal.tenant, workspace, principal.actor())
        await space.send(CreateThread(thread_id=thread, profile=profile), command_id=thread)
    else:
        await find_thread(parts, principal, thread, Action.THREAD_WRITE)
    await parts.host.post_message(
        tenant=principal.tenant,
        workspace=workspace,
        thread=thread,
        message_id=MessageId(new_id()),
        content=content,
        actor=principal.actor(),
        profile=profile,
        requested_features=request.features,
        locale=locale,
        run_id=run,
    )
