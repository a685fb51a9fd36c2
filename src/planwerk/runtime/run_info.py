"""What a step may know of the run it belongs to (E2.4)."""

from __future__ import annotations

from dataclasses import dataclass, field

from planwerk.workflow.graph import Graph
from planwerk.workflow.injection import injectable


@injectable
@dataclass(frozen=True, slots=True)
class RunInfo:
    """Ids of the run, its thread and workspace; name, description and composed graph of its profile.

    Attributes:
        name: Of the profile, in the run's locale; the blueprint's where there is no profile.
        description: What the profile is for, in the run's locale.
        titled: Whether the thread had a title by a person or a suggestion when the run was opened; None where there
            is no thread, or nobody knows.
    """

    run: str
    name: str
    description: str = ""
    graph: Graph = field(default_factory=lambda: Graph((), (), ()))
    thread: str | None = None
    workspace: str | None = None
    profile: str | None = None
    titled: bool | None = None
