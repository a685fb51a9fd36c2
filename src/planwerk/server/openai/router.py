"""`/v1/models` and `/v1/chat/completions`: every check comes before the first byte, so a status is still possible."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from planwerk.access.actions import Action, Resource
from planwerk.access.authorize import authorize
from planwerk.access.errors import NotSignedIn
from planwerk.access.principal import Principal
from planwerk.runtime.profiles import UnknownProfile
from planwerk.server.authentication import visitor
from planwerk.server.openai.answers import Chunks, completion, model_object
from planwerk.server.openai.errors import error_response
from planwerk.server.openai.requests import ChatRequest, read_request
from planwerk.server.openai.responses import StreamedCompletion, WholeCompletion
from planwerk.server.openai.tasks import answer_task, task_key
from planwerk.server.openai.turns import Turn, Usage, begin
from planwerk.server.parts import Parts, find_profile, locale_of, usable_profiles
from planwerk.server.routes.threads import MessageTooLarge
from planwerk.workflow.errors import PlanwerkError

STARTED = 1_767_225_600
"""The models' time of creation: profiles are not created for clients, so one time serves all."""


class TooMuch(PlanwerkError):
    """The body is larger than this server reads."""

    code = "too_large"
    http_status = 413


def openai_router(planwerk: Parts) -> APIRouter:
    """The surface of an installation."""
    router = APIRouter(prefix="/v1", tags=["openai"])

    @router.get("/models", operation_id="v1_models")
    @router.get("/models/", include_in_schema=False)
    async def models(request: Request) -> Response:
        """The profiles the key may use, the default one first."""
        try:
            principal = await _principal(request)
            found = await usable_profiles(planwerk, principal)
        except PlanwerkError as error:
            return error_response(error)
        return JSONResponse({"object": "list", "data": [model_object(profile.slug, STARTED) for profile in found]})

    @router.get("/models/{model:path}", operation_id="v1_model")
    async def model(request: Request, model: str) -> Response:
        """One profile as a model."""
        try:
            principal = await _principal(request)
            found = await find_profile(planwerk, principal, model.rstrip("/"), Action.PROFILE_USE)
        except PlanwerkError as error:
            return error_response(error)
        return JSONResponse(model_object(found.slug, STARTED))

    @router.post("/chat/completions", operation_id="v1_chat_completions")
    @router.post("/chat/completions/", include_in_schema=False)
    async def chat_completions(request: Request) -> Response:
        """Answer the last message: in the conversation the client names, or over the history it sends."""
        try:
            return await _complete(planwerk, request)
        except PlanwerkError as error:
            return error_response(error)

    return router


async def _principal(request: Request) -> Principal:
    principal = await visitor(request)
    if principal is None:
        raise NotSignedIn
    authorize(principal, Action.V1_USE, Resource.of_tenant(principal.tenant))
    return principal


async def _complete(parts: Parts, request: Request) -> Response:
    principal = await _principal(request)
    try:
        body = await request.body()
    except HTTPException as refused:
        raise TooMuch(str(refused.detail), what_to_do="Send less.") from refused
    asked = read_request(body)
    _refuse_too_large(asked, request.app.state.message_bytes)
    try:
        profile = await find_profile(parts, principal, asked.model, Action.PROFILE_USE)
    except UnknownProfile as error:
        error.param = "model"  # pyright: ignore[reportAttributeAccessIssue] - read by error_body
        raise
    key = task_key(asked, request.headers)
    if key is not None:
        usage = Usage()
        text = await answer_task(parts, profile, asked, key, usage)
        return _said(asked, text, usage, request)
    turn = await begin(parts, principal, profile.slug, asked, request.headers, locale_of(request, principal))
    if asked.stream:
        shows_events = "x-openwebui-chat-id" in request.headers
        return StreamedCompletion(
            _stream(turn, asked, shows_events=shows_events),
            on_close=turn.close,
            keep_alive_seconds=request.app.state.keep_alive_seconds,
        )
    return WholeCompletion(lambda: _whole(turn, asked), on_close=turn.close)


def _refuse_too_large(asked: ChatRequest, limit: int) -> None:
    content = asked.messages[-1].get("content")
    size = len(content.encode("utf-8", "surrogatepass")) if isinstance(content, str) else 0
    if size > limit:
        raise MessageTooLarge(size, limit)


async def _whole(turn: Turn, asked: ChatRequest) -> dict[str, Any]:
    text, reasoning, refusal = "", "", None
    async with aclosing(turn.pieces()) as pieces:
        async for piece in pieces:
            if piece.kind == "text":
                text += piece.text
            elif piece.kind == "reasoning":
                reasoning += piece.text
            elif piece.kind == "refusal":
                refusal = piece.text
    return completion(asked.model, text, refusal=refusal, reasoning=reasoning, usage=turn.usage)


async def _stream(turn: Turn, asked: ChatRequest, *, shows_events: bool) -> AsyncGenerator[dict[str, Any]]:
    chunks = Chunks(asked.model, asked.include_usage)
    yield chunks.first()
    shown_step = False
    async with aclosing(turn.pieces(steps=shows_events)) as pieces:
        async for piece in pieces:
            match piece.kind:
                case "text":
                    yield chunks.text(piece.text)
                case "reasoning":
                    yield chunks.reasoning(piece.text)
                case "refusal":
                    yield chunks.refusal(piece.text)
                case "step" if shows_events:
                    shown_step = True
                    yield chunks.event("status", {"description": piece.text, "done": False})
                case "follow_ups" if shows_events:
                    yield chunks.event("chat:message:follow_ups", {"follow_ups": list(piece.items)})
                case _:
                    pass
    if shown_step:
        yield chunks.event("status", {"description": "Done", "done": True, "hidden": True})
    yield chunks.last()
    if asked.include_usage:
        yield chunks.usage(turn.usage)


def _said(asked: ChatRequest, text: str, usage: Usage, request: Request) -> Response:
    """A task's answer, in the form that was asked for."""
    if not asked.stream:
        return JSONResponse(completion(asked.model, text, refusal=None, reasoning="", usage=usage))

    async def chunks() -> AsyncGenerator[dict[str, Any]]:
        made = Chunks(asked.model, asked.include_usage)
        yield made.first()
        yield made.text(text)
        yield made.last()
        if asked.include_usage:
            yield made.usage(usage)

    async def nothing() -> None:
        """Nothing is left to stop."""

    return StreamedCompletion(chunks(), on_close=nothing, keep_alive_seconds=request.app.state.keep_alive_seconds)
