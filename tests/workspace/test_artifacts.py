"""Artifacts: created, edited on the version that was read, restored, lifted to today's schema (A1.3 to A1.5, A2.2)."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ConfigDict, Field, field_validator

from planwerk.access.actors import Actor
from planwerk.storage.in_memory.workspace import InMemoryWorkspaceStorage
from planwerk.workflow.errors import DefinitionError
from planwerk.workflow.ids import ArtifactId
from planwerk.workspace import Artifact, MarkdownArtifact, Workspaces
from planwerk.workspace.ports import Storage
from planwerk.workspace.rules.commands import CreateArtifact, EditArtifact
from planwerk.workspace.rules.errors import (
    ArtifactUnreadable,
    Forbidden,
    InvalidState,
    NotFound,
    PatchFailed,
    ValidationFailed,
    VersionConflict,
)
from planwerk.workspace.rules.events import ArtifactChanged, ArtifactCreated
from planwerk.workspace.rules.json_values import identical_json
from planwerk.workspace.rules.outcomes import Applied
from planwerk.workspace.rules.patches import apply_patch
from tests.workspace.world import ALICE, SYSTEM, TENANT, World, agent, artifact_id


class TripPlan(Artifact):
    """A plan whose title is always written in one way."""

    title: str
    stops: list[str] = Field(default_factory=list)
    budget: float = 0.0

    @field_validator("title")
    @classmethod
    def _one_way(cls, title: str) -> str:
        return " ".join(title.split()).capitalize()


class HouseRules(Artifact, name="rules"):
    write_policy: ClassVar[Any] = "propose"

    text: str = ""


async def begin(storage: Storage | None = None) -> World:
    return await World.begin(storage or InMemoryWorkspaceStorage(), [MarkdownArtifact, TripPlan, HouseRules])


async def create(world: World, data: dict[str, Any] | None = None, type_: str = "trip_plan") -> ArtifactId:
    artifact = artifact_id()
    data = {"title": "oslo"} if data is None else data
    await world.alice.send(CreateArtifact(artifact_id=artifact, artifact_type=type_, data=data))
    return artifact


async def test_a_created_artifact_is_version_one_with_one_revision_and_its_whole_data_in_the_log(
    storage: Storage,
) -> None:
    world, artifact = await begin(storage), artifact_id()
    head = await world.alice.head_seq()

    outcome = await world.alice.send(
        CreateArtifact(artifact_id=artifact, artifact_type="trip_plan", data={"title": " oslo "})
    )

    assert outcome == Applied(seq=head + 1, artifact_id=artifact, version=1)
    data: dict[str, Any] = {"title": "Oslo", "stops": [], "budget": 0.0}
    (envelope,) = await world.alice.read(after_seq=head)
    assert envelope.event == ArtifactCreated(artifact_id=artifact, type="trip_plan", data=data)
    (revision,) = await world.alice.revisions(artifact)
    assert (revision.version, revision.snapshot, revision.actor) == (1, data, ALICE)
    read = await world.alice.artifact(TripPlan, artifact)
    assert (read.version, read.data, read.updated_by, read.archived) == (1, TripPlan(title="Oslo"), ALICE, False)


async def test_types_are_named_in_snake_case_or_as_they_say() -> None:
    assert (TripPlan.type_name, HouseRules.type_name, MarkdownArtifact.type_name) == ("trip_plan", "rules", "markdown")

    class PDFDraftArtifact(Artifact):
        pass

    assert PDFDraftArtifact.type_name == "pdf_draft"


async def test_a_type_that_is_not_registered_is_not_found_and_its_name_is_taken_once() -> None:
    world = await begin()

    class Stranger(Artifact):
        pass

    with pytest.raises(NotFound):
        await create(world, {}, "stranger")
    with pytest.raises(NotFound):
        await world.alice.artifacts(Stranger)

    class OtherPlan(Artifact, name="trip_plan"):
        pass

    with pytest.raises(DefinitionError, match="trip_plan"):
        world.workspaces.register(OtherPlan)
    world.workspaces.register(TripPlan)  # the same one again is no mistake


@pytest.mark.parametrize(
    "data", [{}, {"title": 3}, {"title": "x", "unknown": 1}, {"title": "x", "budget": float("nan")}]
)
async def test_data_that_the_type_refuses_is_refused_with_its_errors(data: dict[str, Any]) -> None:
    world = await begin()
    head = await world.alice.head_seq()

    with pytest.raises(ValidationFailed) as failed:
        await create(world, data)

    assert failed.value.details["errors"]
    assert await world.alice.head_seq() == head


async def test_an_artifact_id_is_used_once() -> None:
    world = await begin()
    artifact = await create(world)

    with pytest.raises(InvalidState):
        await world.alice.send(CreateArtifact(artifact_id=artifact, artifact_type="markdown", data={"text": "another"}))


async def test_an_edit_gives_the_next_version_and_leaves_the_one_it_came_from(storage: Storage) -> None:
    world = await begin(storage)
    first = await world.alice.artifact(TripPlan, await create(world))

    second = await first.edit(lambda plan: plan.stops.append("Opera"))

    assert (first.version, first.data.stops) == (1, [])
    assert (second.version, second.data.stops) == (2, ["Opera"])
    event = (await world.log())[-1].event
    assert event == ArtifactChanged(
        artifact_id=first.id,
        type="trip_plan",
        version=2,
        patch=({"op": "add", "path": "/stops/0", "value": "Opera"},),
    )


async def test_an_edit_on_an_old_version_is_refused_with_what_was_changed_since(storage: Storage) -> None:
    world = await begin(storage)
    mine = await world.alice.artifact(TripPlan, await create(world))
    theirs = await mine.edit(lambda plan: plan.stops.append("Opera"))
    await theirs.edit(lambda plan: setattr(plan, "budget", 9.5))

    with pytest.raises(VersionConflict) as conflict:
        await mine.edit(lambda plan: plan.stops.append("Museum"))

    assert (conflict.value.base, conflict.value.head, conflict.value.http_status) == (1, 3, 409)
    assert conflict.value.details == {
        "artifact_id": mine.id,
        "base": 1,
        "head": 3,
        "patches": [
            {
                "version": 2,
                "patch": [{"op": "add", "path": "/stops/0", "value": "Opera"}],
                "actor": ALICE.model_dump(mode="json"),
            },
            {
                "version": 3,
                "patch": [{"op": "replace", "path": "/budget", "value": 9.5}],
                "actor": ALICE.model_dump(mode="json"),
            },
        ],
    }
    assert (await world.alice.artifact(TripPlan, mine.id)).data.stops == ["Opera"]


async def test_an_edit_that_changes_nothing_is_refused() -> None:
    world = await begin()
    plan = await world.alice.artifact(TripPlan, await create(world))

    with pytest.raises(PatchFailed):
        await plan.edit(lambda plan: None)
    with pytest.raises(PatchFailed):
        await world.alice.send(
            EditArtifact(
                artifact_id=plan.id,
                base_version=1,
                json_patch=({"op": "replace", "path": "/title", "value": "  OSLO "},),
            )
        )
    assert (await world.alice.artifact(TripPlan, plan.id)).version == 1


async def test_a_text_is_edited_by_quoting_it() -> None:
    world = await begin()
    note = await world.alice.artifact(MarkdownArtifact, await create(world, {"text": "Hello wrold"}, "markdown"))

    after = await note.edit_text("wrold", "world")

    assert (after.version, after.data.text, after.data.render_for_agent()) == (2, "Hello world", "Hello world")
    with pytest.raises(PatchFailed):
        await after.edit_text("wrold", "world")


def test_an_edit_has_one_form() -> None:
    for forms in ({}, {"json_patch": (), "text_edits": ()}):
        with pytest.raises(ValueError, match="either json_patch or text_edits"):
            EditArtifact.model_validate({"artifact_id": artifact_id(), "base_version": 1, **forms})
    with pytest.raises(ValueError, match="base_version"):
        EditArtifact.model_validate({"artifact_id": artifact_id(), "json_patch": ()})


async def test_any_version_is_restored_as_a_new_one_also_past_snapshots(storage: Storage) -> None:
    world = await begin(storage)
    plan = await world.alice.artifact(TripPlan, await create(world))
    for number in range(2, 45):
        plan = await plan.edit(lambda plan, number=number: plan.stops.append(str(number)))

    for version in (1, 20, 21, 22, 43):
        plan = await plan.restore(version)
        assert plan.data.stops == [str(number) for number in range(2, version + 1)]

    assert plan.version == 49
    event = (await world.log())[-1].event
    assert isinstance(event, ArtifactChanged)
    assert (event.version, event.restored_from) == (49, 43)
    with pytest.raises(PatchFailed):
        await plan.restore(49)
    with pytest.raises(NotFound):
        await plan.restore(50)


async def test_revisions_replay_to_what_is_stored(storage: Storage) -> None:
    world = await begin(storage)
    plan = await world.alice.artifact(TripPlan, await create(world))
    for number in range(30):
        plan = await plan.edit(lambda plan, number=number: setattr(plan, "title", f"day {number}"))

    data: Any = None
    for revision in await world.alice.revisions(plan.id):
        data = apply_patch(data, revision.patch) if data is not None else revision.snapshot
        assert revision.snapshot is None or identical_json(data, revision.snapshot)

    assert identical_json(data, plan.data.to_data())
    snapshots = [r.version for r in await world.alice.revisions(plan.id) if r.snapshot is not None]
    assert snapshots == [1, 21]


@given(titles=st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=300), min_size=1, max_size=6))
async def test_recorded_patches_replay_whatever_the_type_made_of_the_data(titles: list[str]) -> None:
    world = await begin()
    artifact = await create(world, {"title": "start"})
    for title in titles:
        version = (await world.alice.artifact(TripPlan, artifact)).version
        patch = ({"op": "replace", "path": "/title", "value": title}, {"op": "add", "path": "/stops/-", "value": title})
        await world.alice.send(EditArtifact(artifact_id=artifact, base_version=version, json_patch=patch))

    data: Any = {"title": "Start", "stops": [], "budget": 0.0}
    for envelope in await world.log():
        if isinstance(envelope.event, ArtifactChanged):
            data = apply_patch(data, envelope.event.patch)

    assert identical_json(data, (await world.alice.artifact(TripPlan, artifact)).data.to_data())


async def test_an_archived_artifact_is_out_of_the_list_and_comes_back(storage: Storage) -> None:
    world = await begin(storage)
    plan = await world.alice.artifact(TripPlan, await create(world))

    archived = await plan.archive()
    hidden = await world.alice.artifacts(TripPlan)
    with pytest.raises(InvalidState):
        await archived.edit(lambda plan: plan.stops.append("x"))
    head = await world.alice.head_seq()
    await archived.archive()
    unchanged = await world.alice.head_seq()
    back = await archived.archive(archived=False)

    assert (archived.archived, hidden, unchanged) == (True, [], head)
    assert [found.id for found in await world.alice.artifacts(TripPlan)] == [plan.id]
    assert (back.archived, back.version) == (False, 1)


async def test_an_artifact_is_found_by_its_own_type_only() -> None:
    world = await begin()
    plan = await create(world)

    with pytest.raises(NotFound):
        await world.alice.artifact(MarkdownArtifact, plan)
    with pytest.raises(NotFound):
        await world.alice.artifact(TripPlan, artifact_id())
    with pytest.raises(NotFound):
        await world.alice.revisions(artifact_id())


async def test_agents_propose_changes_to_what_people_decide() -> None:
    world = await begin()
    rules = await world.alice.artifact(HouseRules, await create(world, {"text": "Be kind."}, "rules"))
    _, run = await world.post("hello")
    as_agent = world.workspaces.of(TENANT, world.id, agent(world.thread, run))

    with pytest.raises(Forbidden):
        await (await as_agent.artifact(HouseRules, rules.id)).edit_text("kind", "quick")
    with pytest.raises(Forbidden):
        await as_agent.send(CreateArtifact(artifact_id=artifact_id(), artifact_type="rules", data={}))
    with pytest.raises(Forbidden):
        await (await as_agent.artifact(HouseRules, rules.id)).archive()
    plan = await as_agent.artifact(TripPlan, await create(world))
    assert (await plan.edit(lambda plan: plan.stops.append("Opera"))).version == 2


@pytest.mark.parametrize("actor", [ALICE, SYSTEM], ids=["person", "system"])
async def test_profiles_are_changed_by_people_and_the_installation(actor: Actor) -> None:
    world = await begin()
    admin = world.workspaces.of(TENANT, await world.workspaces.admin_of(TENANT), actor)
    artifact = artifact_id()

    await admin.send(CreateArtifact(artifact_id=artifact, artifact_type="trip_plan", data={"title": "x"}))

    assert (await (await admin.artifact(TripPlan, artifact)).edit(lambda p: setattr(p, "budget", 1))).version == 2


def old_and_new(upcasters: dict[int, Any]) -> tuple[type[Artifact], type[Artifact]]:
    """A type at schema 1, and the same type at schema 2, where `text` became `body`."""

    class MinutesOne(Artifact, name="minutes"):
        text: str

    class MinutesTwo(Artifact, name="minutes"):
        model_config = ConfigDict(extra="forbid")
        schema_version = 2

        body: str

    MinutesTwo.upcasters = upcasters
    return MinutesOne, MinutesTwo


async def reopened(storage: Storage, upcasters: dict[int, Any]) -> tuple[World, type[Artifact], ArtifactId]:
    old, new = old_and_new(upcasters)
    world = await World.begin(storage, [old, MarkdownArtifact])
    artifact = await create(world, {"text": "We met."}, "minutes")
    world.workspaces = Workspaces(storage, [new, MarkdownArtifact], now=world.clock)
    return world, new, artifact


def renamed(data: dict[str, Any]) -> dict[str, Any]:
    return {"body": data["text"]}


async def test_data_of_an_older_schema_is_lifted_when_read_and_stored_lifted_when_edited(storage: Storage) -> None:
    world, new, artifact = await reopened(storage, {1: renamed})

    minutes = await world.alice.artifact(new, artifact)
    after = await minutes.edit_text("met", "parted", "body")

    assert (minutes.version, minutes.data.to_data()) == (1, {"body": "We met."})
    assert (after.version, after.data.to_data()) == (2, {"body": "We parted."})
    first, second = await world.alice.revisions(artifact)
    assert (first.schema_version, second.schema_version) == (1, 2)
    assert apply_patch(first.snapshot, second.patch) == {"body": "We parted."}


async def test_data_that_cannot_be_lifted_is_an_error_for_that_artifact_alone(
    storage: Storage, caplog: pytest.LogCaptureFixture
) -> None:
    world, new, artifact = await reopened(storage, {})
    note = await create(world, {"text": "fine"}, "markdown")

    with pytest.raises(ArtifactUnreadable, match="schema 1"):
        await world.alice.artifact(new, artifact)
    with pytest.raises(ArtifactUnreadable):
        await world.alice.send(EditArtifact(artifact_id=artifact, base_version=1, json_patch=()))

    assert await world.alice.artifacts(new) == []
    assert artifact in caplog.text
    assert (await world.alice.artifact(MarkdownArtifact, note)).data.text == "fine"


async def test_data_of_a_newer_schema_is_not_guessed_at() -> None:
    storage = InMemoryWorkspaceStorage()
    old, new = old_and_new({})
    world = await World.begin(storage, [new])
    artifact = await create(world, {"body": "We met."}, "minutes")
    world.workspaces = Workspaces(storage, [old], now=world.clock)

    with pytest.raises(ArtifactUnreadable, match="newer"):
        await world.alice.artifact(old, artifact)


def test_a_change_is_described_by_its_fields() -> None:
    before, after = TripPlan(title="Oslo"), TripPlan(title="Oslo", stops=["Opera"], budget=3)

    assert after.describe_change(before) == "changed stops, budget"
    assert (after.describe_change(None), after.describe_change(after)) == ("created", "unchanged")
    assert '"stops"' in after.render_for_agent()
