"""What can go wrong at a real HTTP server, each with its code (E4.4)."""

from __future__ import annotations

import asyncio
import socket

import pytest
from tests.models.recording import RecordingSink
from tests.models.stub_server import Answer, Sse, Status, StubServer, chunk, delta, finish, usage

from planwerk.messages.prompts import user_prompt
from planwerk.models import Answering, Predicting
from planwerk.models.catalogue import CatalogueSettings, ModelCatalogue
from planwerk.models.discovery import ProviderSettings
from planwerk.models.errors import (
    ModelBrokeOff,
    ModelContextExceeded,
    ModelEmpty,
    ModelError,
    ModelRateLimited,
    ModelRefused,
    ModelUnreachable,
)
from planwerk.models.mapping import LONGEST_CAUSE, model_error
from planwerk.models.resolved import ResolvedModel

QUESTION = [user_prompt("Hello?")]


def problem(message: str, code: str | None = None, kind: str = "invalid_request_error") -> dict[str, object]:
    return {"error": {"message": message, "type": kind, "code": code, "param": None}}


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


async def test_a_server_that_is_not_there_is_unreachable() -> None:
    settings = CatalogueSettings("gone:m", {"gone": ProviderSettings(f"http://127.0.0.1:{free_port()}/v1")})
    catalogue = ModelCatalogue(settings, environment={}, local_servers=())

    with pytest.raises(ModelUnreachable) as caught:
        await Answering(catalogue.resolve("gone:m")).answer(QUESTION)

    assert caught.value.code == "model_unreachable"
    assert "planwerk doctor" in caught.value.what_to_do
    await catalogue.close()


CASES: list[tuple[str, Answer, type[ModelError]]] = [
    (
        "a wrong key",
        Status(401, problem("Incorrect API key provided: sk-abcdef123456.", "invalid_api_key")),
        ModelRefused,
    ),
    ("a forbidden model", Status(403, problem("No access to this model.")), ModelRefused),
    ("an unknown model", Status(404, problem("The model `x` does not exist", "model_not_found")), ModelRefused),
    ("a rejected request", Status(422, problem("temperature must be below 2")), ModelRefused),
    (
        "no credit",
        Status(429, problem("You exceeded your quota", "insufficient_quota", "insufficient_quota")),
        ModelRefused,
    ),
    (
        "too many requests",
        Status(429, problem("Slow down", "rate_limit_exceeded"), {"Retry-After": "7"}),
        ModelRateLimited,
    ),
    (
        "a prompt that is too long",
        Status(400, problem("maximum context length is 8192 tokens", "context_length_exceeded")),
        ModelContextExceeded,
    ),
    (
        "a prompt that is too long for llama.cpp",
        Status(
            400,
            {
                "error": {
                    "code": 400,
                    "message": "request (9000 tokens) exceeds the available context size (4096 tokens)",
                }
            },
        ),
        ModelContextExceeded,
    ),
    ("a server error", Status(500, problem("boom")), ModelUnreachable),
    ("an overloaded server", Status(503, problem("loading model")), ModelUnreachable),
    ("a page instead of an answer", Status(200, "<html>Welcome</html>"), ModelUnreachable),
    ("an error in the stream before any text", Sse([problem("Slow down", "rate_limit_exceeded")]), ModelRateLimited),
    ("an empty stream", Sse([]), ModelEmpty),
    ("a stream that is cut before any text", Sse([delta(role="assistant")], "cut"), ModelBrokeOff),
    ("no choices at all", Sse([chunk(), usage(10, 0)]), ModelEmpty),
    ("only a finish reason", Sse([finish("stop"), usage(10, 0)]), ModelEmpty),
    ("only blanks", Sse([delta(content=" \n"), finish("stop")]), ModelEmpty),
    ("only thinking", Sse([delta(reasoning_content="Hm"), finish("stop")]), ModelEmpty),
    ("a refusal", Sse([delta(refusal="I cannot help."), finish("stop")]), ModelRefused),
    ("a blocked answer", Sse([finish("content_filter")]), ModelRefused),
]


@pytest.mark.parametrize(("answer", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
async def test_what_went_wrong_has_a_code(
    stub: StubServer, model: ResolvedModel, answer: Answer, expected: type[ModelError]
) -> None:
    stub.answer(answer)
    sink = RecordingSink()

    with pytest.raises(ModelError) as caught:
        await Answering(model, sink).answer(QUESTION)

    assert type(caught.value) is expected
    assert caught.value.model == "stub:stub-model"
    assert len(caught.value.cause) <= LONGEST_CAUSE
    assert "sk-abcdef" not in str(caught.value)


async def test_a_rate_limit_says_how_long_to_wait(stub: StubServer, model: ResolvedModel) -> None:
    stub.answer(Status(429, problem("Slow down", "rate_limit_exceeded"), {"Retry-After": "7"}))

    with pytest.raises(ModelRateLimited) as caught:
        await Answering(model).answer(QUESTION)

    assert caught.value.retry_after_seconds == 7
    assert "7 seconds" in caught.value.what_to_do
    assert len(stub.requests) == 1  # nobody waited and asked again behind the user's back


@pytest.mark.parametrize("ending", ["cut", "eof"])
async def test_a_stream_cut_in_the_middle_breaks_off_with_the_text_so_far(
    stub: StubServer, model: ResolvedModel, ending: str
) -> None:
    stub.answer(Sse([delta(role="assistant", content="A"), delta(content="B")], "cut" if ending == "cut" else "eof"))
    sink = RecordingSink()

    with pytest.raises(ModelBrokeOff) as caught:
        await Answering(model, sink).answer(QUESTION)

    assert caught.value.text == "AB"
    assert sink.interruptions == [("AB", "model_broke_off")]


async def test_an_error_after_the_first_tokens_is_no_good_end(stub: StubServer, model: ResolvedModel) -> None:
    stub.answer(Sse([delta(content="A"), delta(content="B"), problem("The server had an error", kind="server_error")]))

    with pytest.raises(ModelBrokeOff, match="server had an error") as caught:
        await Answering(model).answer(QUESTION)

    assert caught.value.text == "AB"


async def test_a_refusal_after_the_first_tokens_does_not_pass_as_the_whole(
    stub: StubServer, model: ResolvedModel
) -> None:
    stub.answer(Sse([delta(content="A"), finish("content_filter")]))
    sink = RecordingSink()

    with pytest.raises(ModelBrokeOff) as caught:
        await Answering(model, sink).answer(QUESTION)

    assert caught.value.text == "A"
    assert sink.interruptions == [("A", "model_broke_off")]


async def test_a_server_without_done_but_with_a_finish_reason_is_whole(stub: StubServer, model: ResolvedModel) -> None:
    stub.answer(Sse([delta(content="Hello"), finish("stop")], "eof"))

    event = await Answering(model).answer(QUESTION)

    assert event.text == "Hello"


async def test_a_server_that_never_says_why_it_ends_but_says_done_is_whole(
    stub: StubServer, model: ResolvedModel
) -> None:
    stub.answer(Sse([delta(content="Hello"), finish(None)]))

    event = await Answering(model).answer(QUESTION)

    assert event.text == "Hello"


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (Status(401, problem("bad key")), ModelRefused),
        (Status(429, problem("slow", "rate_limit_exceeded")), ModelRateLimited),
        (Status(500, problem("boom")), ModelUnreachable),
        (Status(400, problem("x", "context_length_exceeded")), ModelContextExceeded),
    ],
)
async def test_predicting_has_the_same_codes(
    stub: StubServer, model: ResolvedModel, answer: Answer, expected: type[ModelError]
) -> None:
    stub.answer(answer, answer)

    with pytest.raises(expected):
        await Predicting(model).text(QUESTION)
    with pytest.raises(expected):
        await Predicting(model).predict(QUESTION, bool)


def test_an_error_nobody_knows_is_a_break_off_with_its_words() -> None:
    error = model_error(RuntimeError("odd \ud83d thing, key sk-1234567890abc"), model="a:b")

    assert isinstance(error, ModelBrokeOff)
    assert "odd \ufffd thing" in error.message
    assert "1234567890" not in error.message


def test_a_long_cause_is_shortened_to_one_line() -> None:
    error = model_error(RuntimeError("long\n" * 500), model="a:b")

    assert isinstance(error, ModelError)
    assert len(error.cause) == LONGEST_CAUSE
    assert "\n" not in error.message


async def test_stopping_closes_the_providers_stream_at_once(stub: StubServer, model: ResolvedModel) -> None:
    stub.answer(Sse([delta(content=f"{number} ") for number in range(100)], pause_seconds=0.02))
    sink = RecordingSink()
    task = asyncio.create_task(Answering(model, sink).answer(QUESTION))
    await sink.after_deltas(2)

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    await asyncio.wait_for(stub.client_left.wait(), 1)
    assert stub.chunks_sent < 20
    assert sink.interruptions
    text, reason = sink.interruptions[0]
    assert text.startswith("0 1 ")
    assert reason == "stopped"
