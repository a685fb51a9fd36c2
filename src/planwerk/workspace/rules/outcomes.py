"""What a command led to (A2), each with the `seq` of its last event."""

from __future__ import annotations

from typing import Annotated, Final, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from planwerk.workflow.ids import ArtifactId, RunId


class _Outcome(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    seq: int
    """Of the command's last event; where it changed nothing, the log's head."""


class Recorded(_Outcome):
    """The command is in the log; `run_id` names the run it asked for or spoke to."""

    outcome: Literal["recorded"] = "recorded"
    run_id: RunId | None = None


class Applied(_Outcome):
    """The artifact has this version now."""

    outcome: Literal["applied"] = "applied"
    artifact_id: ArtifactId
    version: int


Outcome: TypeAlias = Annotated[Recorded | Applied, Field(discriminator="outcome")]
OUTCOME: Final[TypeAdapter[Outcome]] = TypeAdapter(Outcome)
