"""A history taken apart into what may leave it: turns, and of the present turn each exchange with tools (C1.2).

Theory of operation. Messages are cut into *pieces* so that each piece is of one role and the question, the last user
prompt, is a piece of its own. Pieces belong to *groups*; a group stays or leaves as a whole:

    head      leading system parts                                        never leaves as a group: it is rewritten
    turn      a person's words and all that follows until their next
    exchange  after the question: an answer with calls, and their results
    question  the last user prompt                                        never leaves

A result that comes in a later group than its call (a person answered in between) joins the two groups, so neither is
ever without the other. A call nobody answered and a result nobody asked for are left out from the start: no provider
takes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeGuard

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequestPart,
    ModelResponse,
    SystemPromptPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from planwerk.messages.tokens import estimate_message_tokens

QUESTION: Final = -1
HEAD: Final = -2
NEW: Final = -1


@dataclass(slots=True)
class Piece:
    """A message, or a part of one.

    Attributes:
        group: With which others it leaves.
        source: Place of the message it was cut from, so that it is joined again where nothing changed.
    """

    message: ModelMessage
    group: int = 0
    source: int = NEW


@dataclass(slots=True)
class Turns:
    """A history in pieces, in order."""

    pieces: list[Piece]

    @property
    def head(self) -> list[SystemPromptPart]:
        """The leading system parts."""
        parts = (part for piece in self.pieces if piece.group == HEAD for part in piece.message.parts)
        return [part for part in parts if isinstance(part, SystemPromptPart)]

    def tokens(self) -> dict[int, int]:
        """Tokens per group, in the order of their first pieces: the order in which they may leave."""
        costs: dict[int, int] = {}
        for piece in self.pieces:
            costs[piece.group] = costs.get(piece.group, 0) + estimate_message_tokens(piece.message)
        return costs


def take_apart(history: Sequence[ModelMessage]) -> Turns:
    """The history in pieces, with the pieces that belong together in one group."""
    pieces = _cut(_paired(history))
    question = max((place for place, piece in enumerate(pieces) if _is_user(piece.message)), default=len(pieces))
    group = 0
    for place, piece in enumerate(pieces):
        if place == question:
            piece.group = QUESTION
        elif piece.group != HEAD:
            before = pieces[place - 1] if place else None
            asks = _is_user(piece.message) and not (before is not None and _is_user(before.message))
            replies = place > question and isinstance(piece.message, ModelResponse)
            group += asks or replies
            piece.group = group
    _join_calls_and_results(pieces)
    return Turns(pieces)


def joined(pieces: Iterable[Piece]) -> tuple[ModelMessage, ...]:
    """The pieces as messages: neighbours of one role, and what was one message before, in one message."""
    messages: list[ModelMessage] = []
    before: Piece | None = None
    for piece in pieces:
        message = piece.message
        if before is not None and type(message) is type(before.message) and _belong_together(before, piece):
            messages[-1] = _with_parts(messages[-1], [*messages[-1].parts, *message.parts])
        else:
            messages.append(message)
        before = piece
    return tuple(messages)


def _belong_together(first: Piece, second: Piece) -> bool:
    if first.source == second.source != NEW or isinstance(first.message, ModelResponse):
        return True
    return _role(first.message.parts[-1]) == _role(second.message.parts[0])


def _paired(history: Sequence[ModelMessage]) -> list[ModelMessage]:
    """The history without calls that have no result and results that have no call."""
    waiting: dict[str, list[tuple[int, int]]] = {}
    lone: set[tuple[int, int]] = set()
    for place, message in enumerate(history):
        for number, part in enumerate(message.parts):
            if isinstance(part, ToolCallPart):
                waiting.setdefault(part.tool_call_id, []).append((place, number))
            elif is_result(part) and waiting.get(part.tool_call_id):
                waiting[part.tool_call_id].pop(0)
            elif is_result(part):
                lone.add((place, number))
    lone.update(call for calls in waiting.values() for call in calls)
    touched = {place for place, _ in lone}
    kept: list[ModelMessage] = []
    for place, message in enumerate(history):
        if place in touched:
            parts = [part for number, part in enumerate(message.parts) if (place, number) not in lone]
            message = _with_parts(message, parts)
        if message.parts:
            kept.append(message)
    return kept


def is_result(part: object) -> TypeGuard[ToolReturnPart]:
    """Whether this answers a tool call; also the older kind of part that asked the model to try again."""
    retry = getattr(part, "part_kind", "") == "retry-prompt" and getattr(part, "tool_name", None) is not None
    return isinstance(part, ToolReturnPart) or retry


def _with_parts(message: ModelMessage, parts: Sequence[object]) -> ModelMessage:
    return replace(message, parts=list(parts))  # pyright: ignore[reportArgumentType] - parts of this very message


def _cut(history: Sequence[ModelMessage]) -> list[Piece]:
    """Leading system parts, then each run of parts of one role; user prompts one by one."""
    pieces: list[Piece] = []
    leading = True
    for place, message in enumerate(history):
        if isinstance(message, ModelResponse):
            leading = False
            pieces.append(Piece(message, source=place))
            continue
        runs = _runs(message.parts)
        for parts in runs:
            leading = leading and isinstance(parts[0], SystemPromptPart)
            cut = message if len(runs) == 1 else replace(message, parts=parts)
            pieces.append(Piece(cut, HEAD if leading else 0, place))
    return pieces


def _runs(parts: Sequence[ModelRequestPart]) -> list[list[ModelRequestPart]]:
    runs: list[list[ModelRequestPart]] = []
    for part in parts:
        if runs and not isinstance(part, UserPromptPart) and _role(part) == _role(runs[-1][-1]):
            runs[-1].append(part)
        else:
            runs.append([part])
    return runs


def _role(part: object) -> str:
    if isinstance(part, SystemPromptPart):
        return "system"
    return "tool" if is_result(part) else "user"


def _is_user(message: ModelMessage) -> bool:
    return any(isinstance(part, UserPromptPart) for part in message.parts)


def _join_calls_and_results(pieces: list[Piece]) -> None:
    asked: dict[str, list[int]] = {}
    for place, piece in enumerate(pieces):
        for part in piece.message.parts:
            if isinstance(part, ToolCallPart):
                asked.setdefault(part.tool_call_id, []).append(place)
            elif is_result(part):
                first, second = pieces[asked[part.tool_call_id].pop(0)].group, piece.group
                if first != second:
                    _rename(pieces, second, first)


def _rename(pieces: list[Piece], old: int, new: int) -> None:
    for piece in pieces:
        if piece.group == old:
            piece.group = new
