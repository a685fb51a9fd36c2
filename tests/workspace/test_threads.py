"""Threads, their titles, and who sees them (S2.2, A1.7)."""

from __future__ import annotations

import asyncio

import pytest

from planwerk.access.actors import Actor, EvaluatorActor, ExternalAgentActor
from planwerk.workflow.ids import ThreadId, WorkspaceId, new_id
from planwerk.workspace import Workspace
from planwerk.workspace.rules.commands import (
    CreateThread,
    CreateWorkspace,
    RenameThread,
    RetractMessage,
    StopRun,
)
from planwerk.workspace.rules.errors import Forbidden, InvalidState, NotFound, TitleChanged, ValidationFailed
from planwerk.workspace.rules.outcomes import Recorded
from tests.workspace.world import (
    ALICE,
    BOB,
    OTHER_TENANT,
    SYSTEM,
    TENANT,
    World,
    agent,
    post_of,
    run_id,
    thread_id,
    titled,
)


async def rename(world: World, title: str, *, only_if_untitled: bool = False) -> None:
    only_if = "untitled" if only_if_untitled else None
    await world.alice.send(RenameThread(thread_id=world.thread, title=title, only_if=only_if))


async def title_of(world: World) -> tuple[str | None, str | None]:
    thread = await world.alice.thread(world.thread)
    return thread.title, thread.title_source


async def test_a_thread_has_the_title_and_profile_it_was_made_with(stored_world: World) -> None:
    world, thread = stored_world, thread_id()

    await world.alice.send(CreateThread(thread_id=thread, title="  Oslo \n trip ", profile="helpdesk"))

    view = await world.alice.thread(thread)
    assert (view.title, view.title_source, view.profile, view.messages) == ("Oslo trip", "person", "helpdesk", ())
    assert (view.active_run, view.last_status, view.creator) == (None, None, ALICE)


async def test_a_thread_id_is_used_once(world: World) -> None:
    with pytest.raises(InvalidState):
        await world.alice.send(CreateThread(thread_id=world.thread, title="again"))

    assert await title_of(world) == (None, None)


async def test_a_repeated_creation_under_its_command_id_gives_the_first_outcome(stored_world: World) -> None:
    command = CreateThread(thread_id=thread_id())

    first = await stored_world.alice.send(command, command_id="c1")
    again = await stored_world.alice.send(command, command_id="c1")

    assert again == first
    with pytest.raises(InvalidState):
        await stored_world.alice.send(CreateThread(thread_id=thread_id()), command_id="c1")


async def test_a_command_id_belongs_to_its_sender(world: World) -> None:
    await world.alice.send(CreateThread(thread_id=thread_id()), command_id="c1")

    await world.workspaces.of(TENANT, world.id, SYSTEM).send(CreateThread(thread_id=thread_id()), command_id="c1")

    assert len((await world.alice.threads()).items) == 3


async def test_a_suggestion_never_replaces_a_persons_title_but_a_fallback(world: World) -> None:
    _, run = await world.post("hello")

    await world.record(run, titled("hello", "fallback"))
    fallback = await title_of(world)
    await world.record(run, titled("A greeting"))
    suggested = await title_of(world)
    await world.record(run, titled("Another suggestion"), titled("a late fallback", "fallback"))
    kept = await title_of(world)
    await rename(world, "Mine")
    await world.record(run, titled("A late suggestion"))

    assert fallback == ("hello", "fallback")
    assert suggested == kept == ("A greeting", "suggested")
    assert await title_of(world) == ("Mine", "person")
    assert (await world.types()).count("thread_renamed") == 3


async def test_a_persons_title_replaces_any_other_even_with_the_same_words(world: World) -> None:
    _, run = await world.post("hello")
    await world.record(run, titled("Oslo"))

    await rename(world, "Oslo")
    await world.record(run, titled("Bergen"))
    head = await world.alice.head_seq()
    await rename(world, "Oslo")

    assert await title_of(world) == ("Oslo", "person")
    assert await world.alice.head_seq() == head


async def test_a_title_is_replaced_only_where_it_is_still_the_one_that_was_read(world: World) -> None:
    await rename(world, "First")
    first = RenameThread(thread_id=world.thread, title="Mine", replaces=("First", "person"))
    second = RenameThread(thread_id=world.thread, title="Also mine", replaces=("First", "person"))

    await world.alice.send(first)
    with pytest.raises(TitleChanged) as rejected:
        await world.alice.send(second)

    assert rejected.value.details == {"thread": world.thread, "title": "Mine"}
    assert (await world.alice.thread(world.thread)).title == "Mine"


async def test_only_if_untitled_changes_nothing_where_there_is_a_title(world: World) -> None:
    await rename(world, "First", only_if_untitled=True)
    await rename(world, "Second", only_if_untitled=True)

    assert await title_of(world) == ("First", "person")


@pytest.mark.parametrize("title", ["", "  ", "x" * 201])
async def test_a_title_is_neither_empty_nor_longer_than_a_line(world: World, title: str) -> None:
    with pytest.raises(ValidationFailed):
        await rename(world, title)
    with pytest.raises(ValidationFailed):
        await world.alice.send(CreateThread(thread_id=thread_id(), title=title))


async def test_a_long_suggestion_is_shortened_and_an_empty_one_ignored(world: World) -> None:
    _, run = await world.post("hello")

    await world.record(run, titled("  "))
    empty = await title_of(world)
    await world.record(run, titled("word " * 100))

    assert empty == (None, None)
    title, _ = await title_of(world)
    assert title is not None
    assert (len(title) <= 200, title[-1]) == (True, "…")


async def test_threads_are_listed_by_activity_and_renaming_is_none(stored_world: World) -> None:
    world = stored_world
    others = [thread_id() for _ in range(4)]
    for thread in others:
        await world.alice.send(CreateThread(thread_id=thread))
    await world.post("back to the first")
    await world.alice.send(RenameThread(thread_id=others[0], title="renamed"))

    first = await world.alice.threads(limit=3)
    rest = await world.alice.threads(cursor=first.next, limit=3)

    assert [thread.id for thread in first.items] == [world.thread, others[3], others[2]]
    assert [thread.id for thread in rest.items] == [others[1], others[0]]
    assert rest.next is None
    assert [thread.last_status for thread in first.items] == ["working", None, None]


async def test_a_private_workspace_does_not_exist_for_anybody_else(stored_world: World) -> None:
    world = stored_world
    message, run = await world.post("a secret")
    foreign = world.workspaces.of(TENANT, world.id, BOB)
    missing = world.workspaces.of(TENANT, WorkspaceId(new_id()), BOB)

    async def refusals(workspace: Workspace) -> list[str]:
        said: list[str] = []
        for attempt in (
            workspace.read(),
            workspace.head_seq(),
            workspace.threads(),
            workspace.thread(world.thread),
            workspace.history(message),
            workspace.send(post_of(world.thread, "mine too")),
            workspace.send(RenameThread(thread_id=world.thread, title="x")),
            workspace.send(RetractMessage(thread_id=world.thread, message_id=message)),
            workspace.send(StopRun(run_id=run)),
            anext(workspace.subscribe(0)),
        ):
            with pytest.raises(NotFound) as refused:
                await attempt
            said.append(str(refused.value).replace(workspace.id, "W"))
        return said

    before = await world.log()
    assert await refusals(foreign) == await refusals(missing)
    assert await world.log() == before


async def test_another_tenant_sees_nothing_even_with_the_owners_name(world: World) -> None:
    elsewhere = world.workspaces.of(OTHER_TENANT, world.id, ALICE)

    with pytest.raises(NotFound):
        await elsewhere.read()
    with pytest.raises(NotFound):
        await elsewhere.send(post_of(world.thread, "x"))
    assert await world.workspaces.locate_thread(OTHER_TENANT, world.thread) is None


@pytest.mark.parametrize(
    "actor",
    [
        ExternalAgentActor(client_id="c", name="Client"),
        EvaluatorActor(name="judge", version="1"),
        agent(None, run_id()),
        agent(thread_id(), run_id()),
    ],
    ids=["external agent", "evaluator", "run without a thread", "agent of another workspace"],
)
async def test_who_is_not_of_the_workspace_sees_nothing(world: World, actor: Actor) -> None:
    stranger = world.workspaces.of(TENANT, world.id, actor)

    with pytest.raises(NotFound):
        await stranger.read()
    with pytest.raises(NotFound):
        await stranger.send(CreateThread(thread_id=thread_id()))


async def test_an_agent_reads_its_threads_workspace_but_does_not_speak_as_a_person(world: World) -> None:
    _, run = await world.post("hello")
    own = world.workspaces.of(TENANT, world.id, agent(world.thread, run))

    assert await own.read() == await world.log()
    with pytest.raises(Forbidden):
        await own.send(post_of(world.thread, "as if a person"))
    with pytest.raises(Forbidden):
        await own.send(RenameThread(thread_id=world.thread, title="x"))


async def test_everybody_gets_one_private_workspace_however_often_and_at_once_it_is_asked_for(
    stored_world: World,
) -> None:
    workspaces = stored_world.workspaces

    asked = await asyncio.gather(*(workspaces.private_of(TENANT, BOB) for _ in range(5)))

    assert len(set(asked)) == 1
    assert await workspaces.private_of(TENANT, BOB) == asked[0]
    assert await workspaces.private_of(TENANT, ALICE) == stored_world.id
    assert await workspaces.private_of(OTHER_TENANT, BOB) != asked[0]
    assert [(w.id, w.kind) for w in await workspaces.list_for(TENANT, BOB)] == [(asked[0], "private")]


async def test_a_tenant_has_one_admin_workspace(stored_world: World) -> None:
    workspaces = stored_world.workspaces

    admin = await workspaces.admin_of(TENANT)

    assert await workspaces.admin_of(TENANT) == admin
    assert await workspaces.admin_of(OTHER_TENANT) != admin
    assert (await workspaces.of(TENANT, admin, SYSTEM).about()).kind == "admin"


async def test_people_make_workspaces_of_their_own_only(world: World) -> None:
    def new() -> Workspace:
        return world.workspaces.of(TENANT, WorkspaceId(new_id()), BOB)

    with pytest.raises(Forbidden):
        await new().send(CreateWorkspace(kind="admin", name="Mine"))
    with pytest.raises(Forbidden):
        await new().send(CreateWorkspace(kind="shared", name="Hers", owner="alice"))
    with pytest.raises(ValidationFailed):
        await new().send(CreateWorkspace(kind="shared", name=" "))
    shared = new()
    assert await shared.send(CreateWorkspace(kind="shared", name="Ours")) == Recorded(seq=1)
    with pytest.raises(InvalidState):
        await shared.send(CreateWorkspace(kind="shared", name="Ours"))


async def test_a_thread_id_taken_by_somebody_else_still_leads_to_who_had_it_first(stored_world: World) -> None:
    world = stored_world
    private = world.workspaces.of(TENANT, await world.workspaces.private_of(TENANT, BOB), BOB)

    await private.send(CreateThread(thread_id=ThreadId(world.thread)))

    assert await world.workspaces.locate_thread(TENANT, world.thread) == world.id
