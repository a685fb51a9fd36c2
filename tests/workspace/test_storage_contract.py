"""One suite for every storage of shared work (A6): whatever the handle may rely on."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from datetime import UTC, datetime, timedelta

import pytest

from planwerk.workflow.ids import EventId, WorkspaceId, new_id
from planwerk.workspace.ports import CommandRef, Commit, CursorMove, PlacedRun, Storage
from planwerk.workspace.rules.envelope import LogEnvelope
from planwerk.workspace.rules.errors import CursorPassedOn, SoleWorkspaceTaken, StaleCursor, StaleHead
from planwerk.workspace.rules.events import ThreadCreated, UnknownLogEvent, WorkspaceCreated
from planwerk.workspace.rules.outcomes import Recorded
from planwerk.workspace.rules.state import (
    ArtifactEntity,
    ArtifactKey,
    MessageEntity,
    MessageKey,
    PendingKey,
    Revision,
    RevisionsAfterKey,
    RevisionsToKey,
    RunEntity,
    RunKey,
    RunsKey,
    ThreadEntity,
    ThreadKey,
    TreeKey,
    WorkspaceEntity,
    changed,
)
from tests.workspace.world import (
    ALICE,
    OTHER_TENANT,
    TENANT,
    artifact_id,
    message_id,
    run_id,
    thread_id,
)

NOW = datetime(2026, 1, 1, 12, 0, 0, 123456, tzinfo=UTC)


def a_workspace(owner: str = "alice") -> WorkspaceEntity:
    return WorkspaceEntity(
        id=WorkspaceId(new_id()), tenant=TENANT, kind="private", name="Alice", owner=owner, created=NOW
    )


def envelope(workspace: WorkspaceId, seq: int, *, thread: str | None = None) -> LogEnvelope:
    event = WorkspaceCreated(kind="private", name="Alice", owner="alice") if seq == 1 else ThreadCreated(title=str(seq))
    return LogEnvelope.model_validate(
        {
            "seq": seq,
            "id": EventId(new_id()),
            "time": NOW,
            "workspace": workspace,
            "thread": thread,
            "actor": ALICE,
            "event": event,
        }
    )


async def create(storage: Storage, entity: WorkspaceEntity | None = None) -> WorkspaceId:
    entity = entity or a_workspace()
    events = [envelope(entity.id, 1)]
    await storage.commit(Commit(TENANT, entity.id, expected_head=0, events=events, entities=[entity]))
    return entity.id


async def append(storage: Storage, workspace: WorkspaceId, head: int, *, thread: str | None = None) -> None:
    events = [envelope(workspace, head + 1, thread=thread)]
    await storage.commit(Commit(TENANT, workspace, expected_head=head, events=events))


def a_thread(updated_seq: int) -> ThreadEntity:
    return ThreadEntity(id=thread_id(), creator=ALICE, created=NOW, updated=NOW, updated_seq=updated_seq)


def a_message(thread: ThreadEntity, seq: int, parent: MessageEntity | None = None) -> MessageEntity:
    return MessageEntity(
        id=message_id(),
        thread=thread.id,
        parent=parent.id if parent else None,
        role="user",
        content=f"message {seq}",
        actor=ALICE,
        time=NOW,
        seq=seq,
    )


def a_run(message: MessageEntity, seq: int) -> RunEntity:
    return RunEntity(
        id=run_id(),
        thread=message.thread,
        message=message.id,
        profile="assistant",
        requested_by=ALICE,
        requested=NOW,
        requested_seq=seq,
    )


async def test_what_is_committed_is_read_back_whole(storage: Storage) -> None:
    entity = a_workspace()
    written = envelope(entity.id, 1)

    await storage.commit(Commit(TENANT, entity.id, expected_head=0, events=[written], entities=[entity]))

    assert await storage.read(entity.id) == [written]
    loaded = await storage.load(TENANT, entity.id, [])
    assert (loaded.head, loaded.workspace) == (1, entity)


async def test_a_commit_at_an_old_head_is_refused_and_writes_nothing(storage: Storage) -> None:
    workspace = await create(storage)
    await append(storage, workspace, 1)
    thread = a_thread(2)
    late = Commit(TENANT, workspace, expected_head=1, events=[envelope(workspace, 2)], entities=[thread])

    with pytest.raises(StaleHead):
        await storage.commit(late)

    assert await storage.head_seq(workspace) == 2
    assert (await storage.load(TENANT, workspace, [ThreadKey(thread.id)])).found == {ThreadKey(thread.id): None}


async def test_a_commit_that_fails_after_it_wrote_leaves_nothing_behind(storage: Storage) -> None:
    workspace = await create(storage)
    thread, ref = a_thread(2), CommandRef("user:alice", "c1", "hash")
    await storage.save_cursor("projector", 9)

    with pytest.raises(StaleCursor):
        await storage.commit(
            Commit(
                TENANT,
                workspace,
                expected_head=1,
                events=[envelope(workspace, 2)],
                entities=[thread],
                contents={"h": b"x"},
                command=ref,
                outcome=Recorded(seq=2),
                time=NOW,
                cursor=CursorMove("projector", expected=5, new=6),
            )
        )

    loaded = await storage.load(TENANT, workspace, [ThreadKey(thread.id)], ("user:alice", "c1"))
    assert (loaded.head, loaded.found[ThreadKey(thread.id)], loaded.result) == (1, None, None)
    assert await storage.contents(TENANT, ["h"]) == {}
    assert await storage.cursor("projector") == 9
    assert [item.envelope.seq for item in await storage.feed(0, 10)] == [1]


async def test_a_cursor_stays_where_its_commit_is_refused(storage: Storage) -> None:
    workspace = await create(storage)
    move = CursorMove("projector", expected=0, new=6)

    with pytest.raises(StaleHead):
        await storage.commit(Commit(TENANT, workspace, expected_head=0, events=[envelope(workspace, 1)], cursor=move))

    assert await storage.cursor("projector") == 0


async def test_a_person_has_one_private_workspace(storage: Storage) -> None:
    first = await create(storage, a_workspace())

    with pytest.raises(SoleWorkspaceTaken):
        await create(storage, a_workspace())

    found = await storage.find_workspace(TENANT, "private", "alice")
    assert found is not None
    assert found.id == first
    assert await storage.find_workspace(TENANT, "private", "bob") is None
    assert await storage.find_workspace(OTHER_TENANT, "private", "alice") is None


async def test_a_workspace_is_created_once(storage: Storage) -> None:
    entity = a_workspace()
    await create(storage, entity)

    with pytest.raises(StaleHead):
        await create(storage, entity)


async def test_a_run_is_found_by_its_id_alone_and_only_in_its_tenant(storage: Storage) -> None:
    workspace = await create(storage)
    thread = a_thread(2)
    run = a_run(a_message(thread, 2), 2)
    entities = [thread, run]
    await storage.commit(Commit(TENANT, workspace, expected_head=1, events=[envelope(workspace, 2)], entities=entities))

    assert await storage.locate_run(TENANT, run.id) == (workspace, thread.id)
    assert await storage.locate_run(OTHER_TENANT, run.id) is None
    assert await storage.locate_run(TENANT, run_id()) is None


async def test_another_tenant_loads_nothing_and_commits_nothing(storage: Storage) -> None:
    workspace = await create(storage)
    thread = a_thread(2)
    await storage.commit(Commit(TENANT, workspace, expected_head=1, events=[envelope(workspace, 2)], entities=[thread]))

    loaded = await storage.load(OTHER_TENANT, workspace, [ThreadKey(thread.id)])

    assert (loaded.head, loaded.workspace, loaded.found) == (0, None, {ThreadKey(thread.id): None})
    with pytest.raises(StaleHead):
        await storage.commit(Commit(OTHER_TENANT, workspace, expected_head=2, events=[envelope(workspace, 3)]))
    assert await storage.locate_thread(OTHER_TENANT, thread.id) is None
    assert await storage.locate_thread(TENANT, thread.id) == workspace
    assert await storage.list_workspaces(OTHER_TENANT) == []


async def test_the_log_is_read_by_place_thread_and_amount(storage: Storage) -> None:
    workspace = await create(storage)
    one, two = thread_id(), thread_id()
    for head, thread in enumerate([one, two, one, None, two], start=1):
        await append(storage, workspace, head, thread=thread)

    async def seqs(**wanted: object) -> list[int]:
        return [e.seq for e in await storage.read(workspace, **wanted)]  # pyright: ignore[reportArgumentType] - a table

    assert await seqs() == [1, 2, 3, 4, 5, 6]
    assert await seqs(after_seq=2) == [3, 4, 5, 6]
    assert await seqs(after_seq=2, before_seq=5) == [3, 4]
    assert await seqs(after_seq=1, limit=2) == [2, 3]
    assert await seqs(last=2) == [5, 6]
    assert await seqs(before_seq=5, last=2) == [3, 4]
    assert await seqs(threads=[one]) == [1, 2, 4, 5]
    assert await seqs(threads=[]) == [1, 5]
    assert await seqs(threads=[one, two], after_seq=5) == [6]
    assert await storage.read(WorkspaceId(new_id())) == []


async def test_unknown_events_are_read_back_as_they_were_written(storage: Storage) -> None:
    workspace = await create(storage)
    event = UnknownLogEvent(type="from_tomorrow", version=7, fields={"mood": "calm", "list": [1, {"a": None}]})
    written = envelope(workspace, 2).model_copy(update={"event": event})

    await storage.commit(Commit(TENANT, workspace, expected_head=1, events=[written]))

    (read,) = await storage.read(workspace, after_seq=1)
    assert (read.type, read.v, read.event.to_data()) == ("from_tomorrow", 7, event.fields)


async def test_the_feed_has_all_workspaces_in_commit_order(storage: Storage) -> None:
    one, two = await create(storage, a_workspace("alice")), await create(storage, a_workspace("bob"))
    await append(storage, two, 1)
    await append(storage, one, 1)

    first = await storage.feed(0, 3)
    rest = await storage.feed(first[-1].position, 10)

    assert [(item.envelope.workspace, item.envelope.seq) for item in first] == [(one, 1), (two, 1), (two, 2)]
    assert [(item.envelope.workspace, item.envelope.seq) for item in rest] == [(one, 2)]
    assert [item.tenant for item in (*first, *rest)] == [TENANT] * 4
    positions = [item.position for item in (*first, *rest)]
    assert positions == sorted(set(positions))


async def test_a_cursor_never_goes_back(storage: Storage) -> None:
    assert await storage.cursor("starter") == 0

    await storage.save_cursor("starter", 9)
    await storage.save_cursor("starter", 5)

    assert await storage.cursor("starter") == 9


async def test_a_cursor_moves_with_its_commit_and_only_from_where_it_is_expected(storage: Storage) -> None:
    workspace = await create(storage)
    move = CursorMove("projector", expected=0, new=4)
    await storage.commit(Commit(TENANT, workspace, expected_head=1, events=[envelope(workspace, 2)], cursor=move))

    with pytest.raises(StaleCursor) as refused:
        await storage.commit(Commit(TENANT, workspace, expected_head=2, events=[envelope(workspace, 3)], cursor=move))

    assert (refused.value.stored, refused.value.expected) == (4, 0)
    assert (await storage.cursor("projector"), await storage.head_seq(workspace)) == (4, 2)


async def lease(storage: Storage, owner: str, now: int, *, heir_of: str | None = None) -> int | None:
    found = await storage.lease_cursor("starter", owner, now_microseconds=now, lease_microseconds=10, heir_of=heir_of)
    return found.fence if found is not None else None


async def test_a_cursor_is_leased_to_one_owner_until_its_lease_lapses_or_is_given_back(storage: Storage) -> None:
    assert await storage.cursor_owner("starter") is None
    first = await lease(storage, "one", 0)
    assert first is not None
    assert await lease(storage, "two", 9) is None
    assert await storage.cursor_owner("starter") == "one"

    second = await lease(storage, "two", 10)
    assert second is not None
    assert second > first
    assert await lease(storage, "three", 11) is None
    third = await lease(storage, "three", 11, heir_of="two")
    assert third is not None
    assert third > second

    held = await storage.lease_cursor("projector", "one", now_microseconds=0, lease_microseconds=10)
    assert held is not None
    await storage.release_cursor(held)
    assert await storage.cursor_owner("projector") is None
    assert await storage.renew_cursor(held, until_microseconds=99) is not None


async def test_a_lease_of_a_cursor_that_passed_on_is_neither_renewed_nor_given_back(storage: Storage) -> None:
    old = await storage.lease_cursor("starter", "one", now_microseconds=0, lease_microseconds=10)
    assert old is not None
    new = await storage.lease_cursor("starter", "two", now_microseconds=10, lease_microseconds=10)
    assert new is not None

    await storage.release_cursor(old)

    assert await storage.renew_cursor(old, until_microseconds=99) is None
    assert await storage.renew_cursor(new, until_microseconds=99) is not None
    assert await lease(storage, "three", 50) is None


async def test_an_owner_whose_lease_has_passed_on_moves_the_cursor_no_more(storage: Storage) -> None:
    workspace = await create(storage)
    old, new = await lease(storage, "one", 0), await lease(storage, "two", 10)
    await storage.save_cursor("starter", 3, fence=new)

    with pytest.raises(CursorPassedOn):
        await storage.save_cursor("starter", 7, fence=old)
    move = CursorMove("starter", expected=3, new=8, fence=old)
    with pytest.raises(CursorPassedOn):
        await storage.commit(Commit(TENANT, workspace, expected_head=1, events=[envelope(workspace, 2)], cursor=move))

    assert (await storage.cursor("starter"), await storage.head_seq(workspace)) == (3, 1)
    move = CursorMove("starter", expected=3, new=8, fence=new)
    await storage.commit(Commit(TENANT, workspace, expected_head=1, events=[envelope(workspace, 2)], cursor=move))
    assert await storage.cursor("starter") == 8


async def test_the_first_result_of_a_command_is_kept_for_thirty_days(storage: Storage) -> None:
    workspace = await create(storage)

    async def send(command: str, *, seq: int, hash_: str, time: datetime) -> None:
        ref = CommandRef("user:alice", command, hash_)
        await storage.commit(
            Commit(TENANT, workspace, expected_head=1, command=ref, outcome=Recorded(seq=seq), time=time)
        )

    async def result(command: str, sender: str = "user:alice") -> object:
        return (await storage.load(TENANT, workspace, [], (sender, command))).result

    await send("c1", seq=1, hash_="first", time=NOW)
    await send("c1", seq=8, hash_="second", time=NOW)
    kept = await result("c1")
    await send("c2", seq=2, hash_="x", time=NOW + timedelta(days=29))
    after_29_days = await result("c1")
    await send("c3", seq=3, hash_="x", time=NOW + timedelta(days=31))

    assert kept == after_29_days
    assert kept is not None
    assert repr(kept).count("'first'") == 1
    assert await result("c1", sender="user:bob") is None
    assert await result("c1") is None
    assert await result("c2") is not None


async def test_contents_are_stored_once_and_stay_with_their_tenant(storage: Storage) -> None:
    workspace = await create(storage)
    await storage.commit(Commit(TENANT, workspace, expected_head=1, contents={"h1": b"one", "h2": b"two"}))
    await storage.commit(Commit(TENANT, workspace, expected_head=1, contents={"h1": b"another"}))

    assert await storage.contents(TENANT, ["h1", "h2", "h3"]) == {"h1": b"one", "h2": b"two"}
    assert await storage.contents(OTHER_TENANT, ["h1"]) == {}


async def test_entities_are_found_by_their_keys_as_they_were_saved_last(storage: Storage) -> None:
    workspace = await create(storage)
    thread = a_thread(2)
    message = a_message(thread, 2)
    run = a_run(message, 3)
    await storage.commit(Commit(TENANT, workspace, expected_head=1, entities=[thread, message, run]))
    titled = changed(thread, title="Oslo")
    await storage.commit(Commit(TENANT, workspace, expected_head=1, entities=[titled]))

    keys = [ThreadKey(thread.id), MessageKey(message.id), RunKey(run.id), TreeKey(thread.id), PendingKey(thread.id)]
    found = (await storage.load(TENANT, workspace, keys)).found

    assert [found[key] for key in keys] == [titled, message, run, (message,), (run,)]


async def test_retracted_messages_and_ended_runs_leave_the_tree_and_the_queue(storage: Storage) -> None:
    workspace = await create(storage)
    thread = a_thread(5)
    one, two = a_message(thread, 2), a_message(thread, 3)
    first, second = a_run(one, 4), a_run(two, 5)
    await storage.commit(Commit(TENANT, workspace, expected_head=1, entities=[thread, two, one, second, first]))
    gone, done = changed(one, retracted=True), changed(first, ended=NOW, status="completed")
    await storage.commit(Commit(TENANT, workspace, expected_head=1, entities=[gone, done]))

    keys = [TreeKey(thread.id), PendingKey(thread.id), RunsKey(thread.id), MessageKey(one.id), RunKey(first.id)]
    found = (await storage.load(TENANT, workspace, keys)).found
    contents = await storage.thread_contents(workspace, thread.id)

    assert [found[key] for key in keys] == [(two,), (second,), (done, second), gone, done]
    assert contents is not None
    assert (contents.messages, contents.runs, contents.head_seq) == ((two,), (done, second), 1)
    assert await storage.thread_contents(workspace, thread_id()) is None


async def test_a_run_is_found_alone_and_whether_its_turn_has_come(storage: Storage) -> None:
    workspace, elsewhere = await create(storage), await create(storage, a_workspace("bob"))
    thread = a_thread(5)
    message = a_message(thread, 2)
    first, second = a_run(message, 4), a_run(message, 5)
    thread = changed(thread, pending=(second.id, first.id))
    await storage.commit(Commit(TENANT, workspace, expected_head=1, entities=[thread, message, first, second]))

    assert await storage.active_run(workspace, thread.id) == second
    assert await storage.find_run(workspace, first.id) == PlacedRun(first, active=False)
    assert await storage.find_run(workspace, second.id) == PlacedRun(second, active=True)
    assert await storage.find_run(workspace, run_id()) is None
    assert await storage.find_run(elsewhere, first.id) is None
    assert await storage.active_run(elsewhere, thread.id) is None
    assert await storage.active_run(workspace, thread_id()) is None

    done = changed(second, ended=NOW, status="completed")
    await storage.commit(
        Commit(TENANT, workspace, expected_head=1, entities=[changed(thread, pending=(first.id,)), done])
    )
    assert await storage.active_run(workspace, thread.id) == first
    assert await storage.find_run(workspace, second.id) == PlacedRun(done, active=False)

    await storage.commit(Commit(TENANT, workspace, expected_head=1, entities=[changed(thread, pending=())]))
    assert await storage.active_run(workspace, thread.id) is None


async def test_threads_are_listed_by_their_last_event_a_page_at_a_time(storage: Storage) -> None:
    workspace = await create(storage)
    threads = [a_thread(seq) for seq in (3, 9, 5, 7)]
    await storage.commit(Commit(TENANT, workspace, expected_head=1, entities=threads))

    first = await storage.list_threads(workspace, before_updated_seq=None, limit=3)
    rest = await storage.list_threads(workspace, before_updated_seq=first[-1].updated_seq, limit=3)

    assert [thread.updated_seq for thread in first] == [9, 7, 5]
    assert [thread.updated_seq for thread in rest] == [3]


async def test_the_path_to_a_message_goes_through_a_reply_that_never_came(storage: Storage) -> None:
    workspace = await create(storage)
    thread = a_thread(9)
    root = a_message(thread, 2)
    run = a_run(root, 3)
    behind = changed(a_message(thread, 4), parent=run.id)
    sibling = a_message(thread, 5, root)
    await storage.commit(Commit(TENANT, workspace, expected_head=1, entities=[thread, root, run, behind, sibling]))

    assert await storage.message_path(workspace, behind.id) == [root, behind]
    assert await storage.message_path(workspace, sibling.id) == [root, sibling]
    assert await storage.message_path(workspace, message_id()) == []

    came = changed(a_message(thread, 6, root), id=run.id)
    await storage.commit(Commit(TENANT, workspace, expected_head=1, entities=[came]))
    assert await storage.message_path(workspace, behind.id) == [root, came, behind]


async def test_artifacts_and_revisions_are_found_by_type_and_version(storage: Storage) -> None:
    workspace = await create(storage)
    plan = ArtifactEntity(
        id=artifact_id(),
        type="plan",
        version=5,
        schema_version=1,
        data={"n": 5},
        created_by=ALICE,
        created=NOW,
        updated_by=ALICE,
        updated=NOW,
    )
    old = changed(plan, id=artifact_id(), archived=True)
    other = changed(plan, id=artifact_id(), type="note")
    revisions = [
        Revision(
            artifact=plan.id,
            version=version,
            schema_version=1,
            snapshot={"n": version} if version in (1, 4) else None,
            actor=ALICE,
            time=NOW,
            seq=version,
        )
        for version in range(1, 6)
    ]
    await storage.commit(Commit(TENANT, workspace, expected_head=1, entities=[plan, old, other], revisions=revisions))

    after, to_3 = RevisionsAfterKey(plan.id, 3), RevisionsToKey(plan.id, 3)
    to_5, none = RevisionsToKey(plan.id, 5), RevisionsToKey(artifact_id(), 1)
    found = (await storage.load(TENANT, workspace, [after, to_3, to_5, none, ArtifactKey(plan.id)])).found

    assert found[ArtifactKey(plan.id)] == plan
    assert (found[after], found[none]) == (tuple(revisions[3:]), ())
    assert (found[to_3], found[to_5]) == (tuple(revisions[:3]), tuple(revisions[3:]))
    assert await storage.list_revisions(workspace, plan.id) == revisions
    assert await storage.list_artifacts(workspace, "plan", archived=False) == [plan]
    assert await storage.list_artifacts(workspace, "plan", archived=True) == [plan, old]


async def test_changes_are_told_at_once_and_again_after_each_commit(storage: Storage) -> None:
    workspace = await create(storage)
    async with aclosing(storage.changes()) as changes:
        await anext(changes)
        waiting = asyncio.ensure_future(anext(changes))
        await asyncio.sleep(0)
        assert not waiting.done()

        await append(storage, workspace, 1)
        await asyncio.wait_for(waiting, timeout=5)

        await append(storage, workspace, 2)  # while nobody waits: the next look must not wait
        await asyncio.wait_for(anext(changes), timeout=5)


async def test_a_call_cancelled_at_any_await_leaves_nothing_locked(storage: Storage) -> None:
    workspace = await create(storage)

    for steps in range(6):
        head = await storage.head_seq(workspace)
        task = asyncio.ensure_future(append(storage, workspace, head))
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    head = await storage.head_seq(workspace)
    await append(storage, workspace, head)
    assert [e.seq for e in await storage.read(workspace)] == list(range(1, head + 2))
