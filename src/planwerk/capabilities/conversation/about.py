"""What an assistant can say about itself: its name, its description, and what its workflow does (C1.1)."""

from __future__ import annotations

from planwerk.workflow.graph import Graph


def workflow_summary(graph: Graph, locale: str) -> str:
    """The composed workflow in a few lines: the blueprint's steps, then those of each capability, then its ends."""
    own = [node.label.text(locale) for node in graph.nodes if node.kind == "step" and node.group is None]
    lines = [f"- {' → '.join(own)}"] if own else []
    for group in graph.groups:
        steps = [node.label.text(locale) for node in graph.nodes if node.kind == "step" and node.group == group.id]
        if steps:
            lines.append(f"- {group.label}: {', '.join(steps)}")
    ends = [node.label.text(locale) for node in graph.nodes if node.kind == "stop"]
    if ends:
        lines.append(f"- → {' / '.join(ends)}")
    return "\n".join(lines)
