"""Blocks: the pieces of a prompt beside the history, and the frame that data in them cannot leave (C1.2, C3.6)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Final, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict
from pydantic_ai.framing import register_tag, wrap

from planwerk.messages.sanitise import sanitise_text

DATA: Final = register_tag("data")

Text = Annotated[str, AfterValidator(sanitise_text)]


class Block(BaseModel):
    """A piece of the prompt: an instruction, or data, which is framed.

    Attributes:
        kind: An *instruction* speaks for the application; *data* (passages, file text, memories) is material.
        text: What it says. A blank block is left out.
        title: What people and the model read of data, such as "Memories".
        note: Of data: an instruction that comes and goes with it, such as how to cite it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["instruction", "data"]
    text: Text
    title: Text = ""
    note: Text = ""

    @classmethod
    def instruction(cls, text: str) -> Self:
        """A rule, a reason, a note to the model."""
        return cls(kind="instruction", text=text)

    @classmethod
    def data(cls, text: str, *, title: str = "", note: str = "") -> Self:
        """Material from documents, files or memory; nothing in it counts as an instruction."""
        return cls(kind="data", text=text, title=title, note=note)

    @property
    def is_blank(self) -> bool:
        return not self.text.strip()


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
