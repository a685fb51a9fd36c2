"""Decides what the projector reports of runs (E7.9): starts, replies, titles, ends.

Facts are never refused: what the log has already, what came too late and what nobody can see any more gives no event.
So the projector may offer a fact again after a crash, and a run of a thread that has changed meanwhile still ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from planwerk.access.actors import Actor
from planwerk.workflow.ids import MessageId, RunId
from planwerk.workspace.rules.drafting import Decision, Draft
from planwerk.workspace.rules.events import MessagePosted, RunEnded, RunStarted, ThreadRenamed
from planwerk.workspace.rules.facts import Fact
from planwerk.workspace.rules.outcomes import Recorded
from planwerk.workspace.rules.state import (
    Key,
    MessageEntity,
    MessageKey,
    RunEntity,
    RunKey,
    State,
    ThreadEntity,
    ThreadKey,
    changed,
)
from planwerk.workspace.rules.threads import gives_way, shortened
from planwerk.workspace.rules.visibility import seen


def needs_of_facts(facts: Sequence[Fact], state: State) -> frozenset[Key]:
    keys: set[Key] = set()
    for fact in facts:
        keys |= {ThreadKey(fact.thread), RunKey(fact.run)}
        if isinstance(fact.event, MessagePosted):
            keys.add(MessageKey(fact.event.message_id))
    missing = state.missing(*keys)
    if missing:
        return missing
    runs = (state.find_run(fact.run) for fact in facts)
    return state.missing(*(MessageKey(run.message) for run in runs if run is not None))


def commit_facts(facts: Sequence[Fact], state: State, actor: Actor) -> Decision:
    """Those of the facts that the log does not have yet, in their order."""
    seen(state, actor)
    draft = Draft(state, actor)
    for fact in facts:
        thread, run = _current(draft, fact)
        if thread is not None and run is not None and run.thread == thread.id:
            _record(draft, fact, thread, run)
    return draft.decide(Recorded(seq=draft.seq))


def _current(draft: Draft, fact: Fact) -> tuple[ThreadEntity | None, RunEntity | None]:
    """Thread and run as the facts before this one left them."""
    thread = draft.entities.get((ThreadEntity, fact.thread)) or draft.state.find_thread(fact.thread)
    run = draft.entities.get((RunEntity, fact.run)) or draft.state.find_run(fact.run)
    assert thread is None or isinstance(thread, ThreadEntity)
    assert run is None or isinstance(run, RunEntity)
    return thread, run


def _record(draft: Draft, fact: Fact, thread: ThreadEntity, run: RunEntity) -> None:
    match fact.event:
        case RunStarted():
            _run_started(draft, fact, fact.event, thread, run)
        case MessagePosted():
            _reply_posted(draft, fact, fact.event, thread, run)
        case ThreadRenamed():
            _renamed(draft, fact, fact.event, thread)
        case RunEnded():
            _run_ended(draft, fact, fact.event, thread, run)
        case _:
            assert_never(fact.event)


def _run_started(draft: Draft, fact: Fact, event: RunStarted, thread: ThreadEntity, run: RunEntity) -> None:
    if run.started is not None or run.ended is not None:
        return
    draft.emit(changed(event, message_id=run.message), thread=thread.id, run=run.id, actor=fact.actor)
    draft.save(
        changed(
            run,
            started=fact.time or draft.state.now,
            profile=event.profile,
            profile_version=event.profile_version,
            profile_name=event.profile_name,
        )
    )
    draft.touch(thread)


def _reply_posted(draft: Draft, fact: Fact, event: MessagePosted, thread: ThreadEntity, run: RunEntity) -> None:
    """A run's reply stands below the message that it answers, whatever the projector says."""
    answered = draft.state.find_message(run.message)
    reply_id = MessageId(run.id)
    posted = (MessageEntity, reply_id) in draft.entities or draft.state.find_message(reply_id) is not None
    if posted or run.dropped or answered is None or answered.retracted:
        return
    event = changed(event, parent_id=run.message, role="assistant", run_id=run.id)
    seq = draft.emit(event, thread=thread.id, run=run.id, actor=fact.actor)
    draft.save(
        MessageEntity(
            id=reply_id,
            thread=thread.id,
            parent=run.message,
            role="assistant",
            content=event.content,
            run=run.id,
            incomplete=event.incomplete,
            error=event.error,
            follow_ups=event.follow_ups,
            files=event.files,
            model_messages=event.model_messages,
            actor=fact.actor,
            time=fact.time or draft.state.now,
            seq=seq,
        )
    )
    draft.touch(changed(thread, last_message=reply_id))


def _renamed(draft: Draft, fact: Fact, event: ThreadRenamed, thread: ThreadEntity) -> None:
    title = shortened(event.title)
    if title and event.source != "person" and gives_way(thread, event.source):
        draft.emit(changed(event, title=title), thread=thread.id, run=fact.run, actor=fact.actor)
        draft.save(changed(thread, title=title, title_source=event.source))


def _run_ended(draft: Draft, fact: Fact, event: RunEnded, thread: ThreadEntity, run: RunEntity) -> None:
    if run.ended is not None:
        return
    draft.emit(event, thread=thread.id, run=run.id, actor=fact.actor)
    draft.save(
        changed(
            run,
            ended=fact.time or draft.state.now,
            status=event.status,
            error=event.error,
            usage=event.usage,
            cost=event.cost,
            duration_seconds=event.duration_seconds,
            steps=event.steps,
        )
    )
    pending: tuple[RunId, ...] = tuple(other for other in thread.pending if other != run.id)
    draft.touch(changed(thread, pending=pending, last_status=event.status))
