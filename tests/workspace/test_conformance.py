"""The rules of shared work, case by case, from `tests/conformance/workspace_*.json`.

In the cases of commands, `$name` stands for an id; an event's data is compared in the fields that the case names.
"""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, cast

import pytest

from planwerk.storage.in_memory.workspace import InMemoryWorkspaceStorage
from planwerk.workflow.ids import RunId, ThreadId
from planwerk.workspace.rules.commands import COMMAND
from planwerk.workspace.rules.errors import PatchFailed, Rejection
from planwerk.workspace.rules.events import read_log_event
from planwerk.workspace.rules.facts import Fact
from planwerk.workspace.rules.json_values import identical_json
from planwerk.workspace.rules.patches import apply_patch
from tests.workspace.world import ALICE, BOB, TENANT, World, agent

CONFORMANCE: Final = Path(__file__).parents[1] / "conformance"


def cases(name: str) -> list[Any]:
    found: list[dict[str, Any]] = json.loads((CONFORMANCE / name).read_text(encoding="utf-8"))
    return [pytest.param(case, id=f"{case['rule']} {case['title']}") for case in found]


@pytest.mark.parametrize("case", cases("workspace_patches.json"))
def test_patches_follow_the_rules(case: dict[str, Any]) -> None:
    then = case["then"]
    try:
        result = {"document": apply_patch(case["given"], case["when"])}
    except PatchFailed as failed:
        result = {"patch_failed": failed.operation}

    assert identical_json(result, then)


def id_of(name: str) -> str:
    """The same UUIDv7 for the same name."""
    digits = sha256(name.encode()).hexdigest()
    return f"{digits[:8]}-{digits[8:12]}-7{digits[13:16]}-8{digits[17:20]}-{digits[20:32]}"


def with_ids(value: Any) -> Any:
    """The value with an id for each `$name`."""
    if isinstance(value, str):
        return id_of(value) if value.startswith("$") else value
    if isinstance(value, dict):
        return {with_ids(key): with_ids(item) for key, item in cast("dict[str, Any]", value).items()}
    return [with_ids(item) for item in cast("list[Any]", value)] if isinstance(value, list) else value


async def do(world: World, action: dict[str, Any] | list[dict[str, Any]]) -> Any:
    """Carry out a command, a fact, or several facts; gives the outcome."""
    facts = action if isinstance(action, list) else [action] if "fact" in action else []
    if isinstance(action, list) or facts:
        told = [
            Fact(
                thread=ThreadId(fact["thread"]),
                run=RunId(fact["run"]),
                actor=agent(fact["thread"], fact["run"]),
                event=cast("Any", read_log_event(fact["fact"], 1, fact["data"])),
                text=fact.get("text", ""),
            )
            for fact in facts
        ]
        return await world.workspaces.record(TENANT, world.id, told)
    actor = BOB if action.get("by") == "bob" else ALICE
    command = COMMAND.validate_python(action.get("command", action))
    return await world.workspaces.of(TENANT, world.id, actor).send(command)


@pytest.mark.parametrize("case", cases("workspace_commands.json"))
async def test_commands_and_facts_follow_the_rules(case: dict[str, Any]) -> None:
    world = await World.begin(InMemoryWorkspaceStorage())
    case = with_ids(case)
    for action in case["given"]:
        await do(world, action)
    head = await world.alice.head_seq()
    then = case["then"]

    if "rejected" in then:
        with pytest.raises(Rejection) as refused:
            await do(world, case["when"])
        assert (refused.value.code, await world.alice.head_seq()) == (then["rejected"], head)
        return
    outcome = (await do(world, case["when"])).model_dump(mode="json")

    wire = [envelope.to_wire(TENANT) for envelope in await world.alice.read(after_seq=head)]
    named = [{"type": e["type"], "data": e["data"]} for e in then["events"]]
    shown = [
        {"type": envelope["type"], "data": {key: envelope["data"].get(key) for key in event["data"]}}
        for envelope, event in zip(wire, named, strict=True)
    ]
    assert shown == named
    assert outcome | then.get("outcome", {}) == outcome
    if "tree" in then or "queue" in then:
        thread = await world.alice.thread(ThreadId(id_of("$t")))
        assert then.get("tree") in (None, {m.id: m.parent_id for m in thread.messages})
        assert then.get("queue") in (None, [run for run in (thread.active_run, *thread.queued) if run is not None])
