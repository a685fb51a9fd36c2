"""What is told of a run is what is stored of it, whatever a slow reader missed."""

from __future__ import annotations

from pydantic_ai.messages import ModelResponse, TextPart, ThinkingPart

from planwerk.runtime.live import LiveHub, LiveSnapshot
from planwerk.server.openai.turns import Piece, Said

RUN = "run"


def text(pieces: list[Piece]) -> str:
    return "".join(piece.text for piece in pieces if piece.kind == "text")


def test_parts_are_joined_as_the_stored_text_joins_them() -> None:
    said = Said()
    parts = [TextPart("One "), TextPart("two."), ThinkingPart("Hm."), TextPart("Three.")]

    told: list[Piece] = []
    for number, part in enumerate(parts):
        told += said.add((1, 1, number), "thinking" if isinstance(part, ThinkingPart) else "text", part.content)

    stored = ModelResponse(parts=parts).text or ""
    assert text(told) == stored == "One two.\n\nThree."
    assert said.rest(stored) == []


def test_what_was_missed_is_told_from_the_stop() -> None:
    said = Said()
    said.add((1, 1, 0), "text", "One ")

    assert text(said.rest("One two.")) == "two."
    assert text(Said().rest("All of it.")) == "All of it."


def test_other_words_than_those_streamed_are_told_apart() -> None:
    said = Said()
    said.add((1, 1, 0), "text", "Let me look.")

    assert text(said.rest("Here it is.")) == "\n\nHere it is."


def test_answers_in_several_goes_are_apart_and_nothing_is_told_twice() -> None:
    said = Said()
    told = text(said.add((1, 1, 0), "text", "Let me look.") + said.add((1, 2, 0), "text", "Found it."))

    assert told == "Let me look.\n\nFound it."
    assert said.rest("Found it.") == []
    assert said.rest("Let me look. Found it.") == []


def test_after_a_loss_the_snapshot_brings_only_what_is_missing() -> None:
    hub = LiveHub(max_waiting=3)
    watch = hub.watch([RUN])
    said, told = Said(), ""
    words = [f"word{number} " for number in range(20)]

    hub.publish(RUN, attempt=1, response=1, part=0, frame="part_started", kind="text")
    for place, word in enumerate(words):
        hub.publish(RUN, attempt=1, response=1, part=0, frame="text_delta", text=word)
        if place in {0, 12, 19}:
            for item in watch.drain():
                if isinstance(item, LiveSnapshot):
                    told += text(said.snapshot(item))
                elif getattr(item, "type", "") == "text_delta":
                    told += text(said.add((1, 1, 0), "text", getattr(item, "text", "")))

    assert told == "".join(words)
