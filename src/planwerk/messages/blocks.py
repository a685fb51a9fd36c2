"""Blocks: the pieces of a prompt beside the history (C1.2)."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict

from planwerk.messages.sanitise import sanitise_text

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
