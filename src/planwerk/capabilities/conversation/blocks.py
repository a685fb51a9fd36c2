"""How blocks get into a prompt: framed, so that no data can leave its frame (C1.2, C3.6)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from pydantic_ai.framing import register_tag, wrap

from planwerk.messages.blocks import Block

DATA: Final = register_tag("data")


def framed(block: Block) -> str:
    """The data in its frame: no text in it can end the frame, open another, or speak as the system (C3.6)."""
    return wrap(DATA, f"\n{block.text}\n", title=block.title or None)


def instruction_text(blocks: Iterable[Block]) -> str:
    """What the blocks say to the model as instructions, in the order given: their own, and the notes of data."""
    texts = (block.text if block.kind == "instruction" else block.note for block in blocks)
    return "\n\n".join(text.strip() for text in texts if text.strip())


def data_text(blocks: Iterable[Block]) -> str:
    """The data of the blocks, each framed, in the order given."""
    return "\n\n".join(framed(block) for block in blocks if block.kind == "data")
