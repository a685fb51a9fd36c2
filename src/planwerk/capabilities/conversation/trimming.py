"""Fitting a prompt into its budget: what gives way, and in which order (C1.2).

    1. the oldest turns, tool calls together with their results
    2. whole blocks with their notes, the first given first
    never: the head and the question

When those two alone are too large there is no prompt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pydantic_ai.messages import ModelMessage, ModelRequest, SystemPromptPart, UserPromptPart

from planwerk.capabilities.conversation.blocks import data_text, instruction_text
from planwerk.capabilities.conversation.turns import HEAD, QUESTION, Piece, Turns, joined, take_apart
from planwerk.messages.blocks import Block
from planwerk.messages.tokens import TOKENS_PER_MESSAGE, estimate_history_tokens, estimate_tokens

JOINT: Final = "\n\n"
JOINT_TOKENS: Final = 2


@dataclass(frozen=True, slots=True)
class Fitted:
    """A prompt that fits."""

    history: tuple[ModelMessage, ...]
    head: str
    tokens: int
    left_out_messages: int = 0
    left_out_blocks: tuple[Block, ...] = ()


def fit(
    history: Sequence[ModelMessage], budget_tokens: int, *, head: str = "", blocks: Sequence[Block] = ()
) -> Fitted | None:
    """The prompt of this history and these blocks, within the budget; None when head and question do not fit.

    Args:
        head: The profile's instructions; leading system parts of the history follow them.
        blocks: In the order in which they are to reach the model; blank ones are left out.
    """
    turns = take_apart(history)
    whole_head = JOINT.join(text for text in (head.strip(), *(part.content for part in turns.head)) if text.strip())
    kept = [block for block in blocks if not block.is_blank]
    costs = turns.tokens()
    costs.pop(HEAD, None)
    free = budget_tokens - _text_tokens(whole_head) - costs.pop(QUESTION, 0)
    if free < 0:
        return None
    leaving = _oldest_to_leave(costs, free - _block_tokens(kept))
    free -= sum(cost for group, cost in costs.items() if group not in leaving)
    first = _first_to_stay(kept, free)
    messages = _assemble(turns, leaving, whole_head, kept[first:])
    lost = sum(1 for piece in turns.pieces if piece.group in leaving)
    return Fitted(messages, whole_head, estimate_history_tokens(messages), lost, tuple(kept[:first]))


def _text_tokens(text: str) -> int:
    return TOKENS_PER_MESSAGE + estimate_tokens(text) if text else 0


def _block_tokens(blocks: Sequence[Block]) -> int:
    """What the blocks cost at most: one system part joined to the head, and one message of data."""
    if not blocks:
        return 0
    instructions, data = instruction_text(blocks), data_text(blocks)
    joint = JOINT_TOKENS + TOKENS_PER_MESSAGE
    cost = estimate_tokens(instructions) + joint if instructions else 0
    return cost + (estimate_tokens(data) + TOKENS_PER_MESSAGE if data else 0)


def _oldest_to_leave(costs: dict[int, int], free: int) -> set[int]:
    """The oldest groups that must leave so that the others fit into what is free."""
    needed = sum(costs.values())
    leaving: set[int] = set()
    for group, cost in costs.items():
        if needed <= free:
            break
        leaving.add(group)
        needed -= cost
    return leaving


def _first_to_stay(blocks: Sequence[Block], free: int) -> int:
    """Place of the first block that stays; those before it leave, whatever their size."""
    for first in range(len(blocks)):
        if _block_tokens(blocks[first:]) <= free:
            return first
    return len(blocks)


def _assemble(turns: Turns, leaving: set[int], head: str, blocks: Sequence[Block]) -> tuple[ModelMessage, ...]:
    """The messages in order; where nothing changed they are those of the history."""
    system = JOINT.join(text for text in (head, instruction_text(blocks)) if text)
    data = data_text(blocks)
    was_head = [piece for piece in turns.pieces if piece.group == HEAD]
    stay = [piece for piece in turns.pieces if piece.group != HEAD and piece.group not in leaving]
    if not system or [part.content for part in turns.head] != [system]:
        was_head = [Piece(ModelRequest(parts=[SystemPromptPart(system)]))] if system else []
    if data:
        before = next((place for place, piece in enumerate(stay) if piece.group == QUESTION), len(stay))
        stay.insert(before, Piece(ModelRequest(parts=[UserPromptPart(data)])))
    return joined([*was_head, *stay])
