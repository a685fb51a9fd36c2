"""Artifact types: Pydantic classes whose objects people and agents edit together (A1.3).

A type is registered on the `Workspaces` that uses it. Its name is the class's in snake case, without a final
`Artifact`, or the one given: `class Plan(Artifact, name="roadmap")`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, model_validator

from planwerk.workspace.rules.events import snake_case
from planwerk.workspace.rules.json_values import JSONObject
from planwerk.workspace.rules.text import whole


class Artifact(BaseModel):
    """Base of every artifact type. Unknown fields are refused; assignments are validated."""

    model_config = ConfigDict(extra="forbid", validate_assignment=True)

    type_name: ClassVar[str] = "artifact"
    schema_version: ClassVar[int] = 1
    upcasters: ClassVar[Mapping[int, Callable[[JSONObject], JSONObject]]] = {}
    """From data of schema version n to data of n + 1."""
    write_policy: ClassVar[Literal["direct", "propose"]] = "direct"
    """`"propose"`: an agent's change becomes a proposal that somebody else accepts (A4.1)."""
    reviewers: ClassVar[Literal["anyone", "people"]] = "anyone"

    @model_validator(mode="before")
    @classmethod
    def _whole(cls, data: Any) -> Any:
        return whole(data)

    def __init_subclass__(cls, *, name: str | None = None, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.type_name = name or snake_case(cls.__name__.removesuffix("Artifact") or cls.__name__)

    def render_for_agent(self) -> str:
        """The text by which an agent reads this artifact."""
        return self.model_dump_json(indent=2)

    def describe_change(self, before: Self | None) -> str:
        """One line that says what a change did; `before` is None when the artifact is new."""
        if before is None:
            return "created"
        fields = [name for name in type(self).model_fields if getattr(self, name) != getattr(before, name)]
        return f"changed {', '.join(fields)}" if fields else "unchanged"

    def to_data(self) -> JSONObject:
        """The artifact as it is stored."""
        return self.model_dump(mode="json")


class MarkdownArtifact(Artifact, name="markdown"):
    """A text that people and agents write together."""

    text: str = ""

    def render_for_agent(self) -> str:
        return self.text
