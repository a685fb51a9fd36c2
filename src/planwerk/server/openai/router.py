"""`/v1/models` and `/v1/chat/completions`: every check comes before the first byte, so a status is still possible."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, Final

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from planwerk.access.actions import Action, Resource
from planwerk.access.authorize import authorize
from planwerk.access.errors import NotFound, NotSignedIn
from planwerk.access.principal import Principal
from planwerk.messages.events import UserMessageEvent
from planwerk.runtime.profiles import BlueprintTakesNoMessages, Profile, UnknownProfile
from planwerk.server.authentication import visitor
from planwerk.server.openai.answers import Chunks, completion, event, model_object
from planwerk.server.openai.errors import ModelNotFound, OpenAIRoute, UnknownUrl
from planwerk.server.openai.history import text_of
from planwerk.server.openai.identity import conversation_of, is_open_webui
from planwerk.server.openai.requests import ChatRequest, read_request
from planwerk.server.openai.responses import StreamedCompletion, WholeCompletion
from planwerk.server.openai.starting import begin
from planwerk.server.openai.tasks import Task, do_task, task_of
from planwerk.server.openai.turns import Piece, Turn, Usage
from planwerk.server.parts import Parts, find_profile, locale_of, usable_profiles
from planwerk.server.routes.threads import MessageTooLarge
from planwerk.workflow.errors import PlanwerkError

STARTED: Final = 1_767_225_600
"""The models' time of creation: profiles are not created for clients, so one time serves all."""
RUN: Final = "X-Planwerk-Run"
"""Header of every answer that a run made: what it names is at `/api/runs/{run}`, and its page at `/runs/{run}`."""
METHODS: Final = ["GET", "POST", "PUT", "PATCH", "DELETE"]


def openai_router(planwerk: Parts) -> APIRouter:
    """The surface of an installation."""
    router = APIRouter(prefix="/v1", tags=["openai"], route_class=OpenAIRoute)

    @router.get("/models", operation_id="v1_models")
    @router.get("/models/", include_in_schema=False)
    async def models(request: Request) -> Response:
        """The profiles the key may use, the default one first."""
        principal = await _principal(request)
        found = [profile for profile in await usable_profiles(planwerk, principal) if _chats(profile)]
        locale = locale_of(request, principal)
        return JSONResponse({"object": "list", "data": [_model(profile, locale) for profile in found]})

    @router.get("/models/{model:path}", operation_id="v1_model")
    async def model(request: Request, model: str) -> Response:
        """One profile as a model."""
        principal = await _principal(request)
        found = await _profile(planwerk, principal, model.rstrip("/"))
        return JSONResponse(_model(found, locale_of(request, principal)))

    @router.post("/chat/completions", operation_id="v1_chat_completions")
    @router.post("/chat/completions/", include_in_schema=False)
    async def chat_completions(request: Request) -> Response:
        """Answer the last message: in the conversation the client names, or over the history it sends."""
        return await _complete(planwerk, request)

    @router.api_route("", methods=METHODS, include_in_schema=False)
    @router.api_route("/{path:path}", methods=METHODS, include_in_schema=False)
    async def nothing_here(request: Request) -> Response:
        raise UnknownUrl(request.method, request.url.path)

    return router


async def _principal(request: Request) -> Principal:
    principal = await visitor(request)
    if principal is None:
        raise NotSignedIn
    authorize(principal, Action.V1_USE, Resource.of_tenant(principal.tenant))
    return principal


async def _profile(parts: Parts, principal: Principal, name: str) -> Profile:
    """The profile named as a model; one that is not the key's to use looks like none."""
    try:
        found = await find_profile(parts, principal, name, Action.PROFILE_USE)
    except (UnknownProfile, NotFound) as error:
        raise ModelNotFound(name) from error
    if not _chats(found):
        raise ModelNotFound(name)
    return found


def _chats(profile: Profile) -> bool:
    """Whether a message starts it: others are started by REST, with events of their own."""
    try:
        profile.refuse_unless_started_by(UserMessageEvent)
    except BlueprintTakesNoMessages:
        return False
    return True


def _model(profile: Profile, locale: str) -> dict[str, Any]:
    return model_object(profile.slug, profile.data.name.text(locale), STARTED)


async def _complete(parts: Parts, request: Request) -> Response:
    principal = await _principal(request)
    asked = read_request(await request.body())
    _refuse_too_large(asked, request.app.state.message_bytes)
    profile = await _profile(parts, principal, asked.model)
    task = task_of(asked, request.headers)
    if task is not None:
        return _task_response(parts, profile, task, asked, request)
    locale = locale_of(request, principal)
    named = conversation_of(principal, asked, request.headers)
    turn = await begin(parts, principal, profile.slug, asked, named, locale, str(request.base_url))
    if not asked.stream:
        return WholeCompletion(
            lambda: _whole(turn, asked),
            registry=request.app.state.streams,
            repeatable=turn.owned,
            headers={RUN: turn.run},
            on_close=turn.close,
        )
    steps = is_open_webui(request.headers)
    return StreamedCompletion(
        _stream(turn, asked, steps=steps, locale=locale),
        registry=request.app.state.streams,
        keep_alive_seconds=request.app.state.keep_alive_seconds,
        headers={RUN: turn.run},
        on_close=turn.close,
    )


def _refuse_too_large(asked: ChatRequest, limit: int) -> None:
    for place, message in enumerate(asked.messages):
        size = len(text_of(message.get("content"), f"messages[{place}]").encode())
        if size > limit:
            raise MessageTooLarge(size, limit)


async def _whole(turn: Turn, asked: ChatRequest) -> dict[str, Any]:
    reasoning = ""
    async with aclosing(turn.pieces()) as pieces:
        async for piece in pieces:
            reasoning += piece.text if piece.kind == "reasoning" else ""
    return completion(
        asked.model,
        turn.asked or turn.text,
        usage=turn.usage,
        refusal=turn.refusal,
        reasoning=reasoning,
        finish_reason=turn.finish_reason,
        waiting=turn.waiting,
    )


async def _stream(turn: Turn, asked: ChatRequest, *, steps: bool, locale: str) -> AsyncGenerator[dict[str, Any]]:
    """The chunks of a turn; for Open WebUI with a status for each step, the last of which is always closed (W2)."""
    chunks = Chunks(asked.model, asked.include_usage)
    yield chunks.first()
    step = ""
    try:
        async with aclosing(turn.pieces(steps=steps, locale=locale)) as pieces:
            async for piece in pieces:
                if piece.kind == "step":
                    step = piece.text
                if (chunk := _chunk(chunks, piece, events=steps)) is not None:
                    yield chunk
    except PlanwerkError:
        if step:
            yield event("status", {"description": step, "done": True})
        raise
    if step:
        yield event("status", {"description": step, "done": True, "hidden": True})
    yield chunks.last(turn.finish_reason, turn.waiting)
    if asked.include_usage:
        yield chunks.usage(turn.usage)


def _chunk(chunks: Chunks, piece: Piece, *, events: bool) -> dict[str, Any] | None:
    match piece.kind:
        case "text":
            return chunks.text(piece.text)
        case "reasoning":
            return chunks.reasoning(piece.text)
        case "refusal":
            return chunks.refusal(piece.text)
        case "step":
            return event("status", {"description": piece.text, "done": False})
        case "follow_ups":
            return event("chat:message:follow_ups", {"follow_ups": list(piece.items)}) if events else None


def _task_response(parts: Parts, profile: Profile, task: Task, asked: ChatRequest, request: Request) -> Response:
    """A task's answer, in the form that was asked for."""
    usage = Usage()
    if not asked.stream:

        async def make() -> dict[str, Any]:
            return completion(asked.model, await do_task(parts, profile, task, usage), usage=usage)

        return WholeCompletion(make, registry=request.app.state.streams)

    async def stream() -> AsyncGenerator[dict[str, Any]]:
        chunks = Chunks(asked.model, asked.include_usage)
        yield chunks.first()
        yield chunks.text(await do_task(parts, profile, task, usage))
        yield chunks.last()
        if asked.include_usage:
            yield chunks.usage(usage)

    return StreamedCompletion(
        stream(), registry=request.app.state.streams, keep_alive_seconds=request.app.state.keep_alive_seconds
    )
