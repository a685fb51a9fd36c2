"""Runs and their journals as lines for people."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any


class EntryLines:
    """Lines of a journal; which step an entry is of is said by its execution."""

    def __init__(self) -> None:
        self._steps: dict[str, str] = {}

    def row(self, entry: Mapping[str, Any]) -> tuple[str, str, str, str]:
        """Position, local time, kind and step of the next entry."""
        data = entry["data"]
        execution = str(data.get("execution") or entry["cause"] or "")
        if entry["type"] == "execution_due":
            self._steps[execution] = data["step"]
        time = datetime.fromisoformat(entry["time"]).astimezone().strftime("%H:%M:%S.%f")[:-3]
        return str(entry["position"]), time, entry["type"], str(data.get("step") or self._steps.get(execution, ""))


def print_head(run: Mapping[str, Any]) -> None:
    """What a run is and how it ended, in a few lines."""
    name = run["profile_name"] or run["profile"] or run["blueprint"]
    print(f"{run['id']}: {run['status']}, {name}, version {run['profile_version']}")
    if run["title"]:
        print(f"  {run['title']}")
    if run["forked_from"]:
        print(f"  Forked from {run['forked_from']} at No. {run['forked_at']}")
    print(f"  Started {when(run)}, worked {seconds(run)}, {run['model_calls']} model calls")
    error: dict[str, Any] | None = run["error"]
    if error:
        print(f"  {error['message']} {error['what_to_do']}".rstrip())


def when(run: Mapping[str, Any]) -> str:
    """When it was started, in local time."""
    started = run["started"]
    return datetime.fromisoformat(started).astimezone().strftime("%Y-%m-%d %H:%M:%S") if started else "not yet"


def seconds(run: Mapping[str, Any]) -> str:
    """How long it took from its start to its end."""
    if not run["started"] or not run["ended"]:
        return "until now"
    took = datetime.fromisoformat(run["ended"]) - datetime.fromisoformat(run["started"])
    return f"{took.total_seconds():.2f} s"


def what(run: Mapping[str, Any]) -> str:
    """What it is about, and what it was forked from."""
    fork = f"fork of {run['forked_from']} at No. {run['forked_at']}" if run["forked_from"] else ""
    return ": ".join(part for part in (fork, run["title"]) if part)
