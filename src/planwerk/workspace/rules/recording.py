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
from planwerk.workspace.rules.events import (
    MessagePosted,
    RequestClosed,
    RequestOpened,
    RunEnded,
    RunPaused,
    RunResumed,
    RunStarted,
    SteeringTaken,
    ThreadRenamed,
)
from planwerk.workspace.rules.facts import Fact
from planwerk.workspace.rules.outcomes import Recorded
from planwerk.workspace.rules.requests import find_request, with_request
from planwerk.workspace.rules.state import (
    Key,
    MessageEntity,
    MessageKey,
    PendingKey,
    RunEntity,
    RunKey,
    RunRequest,
    State,
    ThreadEntity,
    ThreadKey,
    changed,
)
from planwerk.workspace.rules.steering import arrange, needs_of_turn, queue_untaken, take_steering
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
    runs = [run for fact in facts if (run := state.find_run(fact.run)) is not None]
    answered = {run.message for run in runs} | {run.parent_of_reply for run in runs}
    asked = {MessageId(fact.event.request_id) for fact in facts if isinstance(fact.event, RequestOpened)}
    turns = {key for run in runs for key in needs_of_turn(run)} | {
        PendingKey(run.thread) for run in runs if run.steering
    }
    return state.missing(*(MessageKey(message) for message in answered | asked), *turns)


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
        case SteeringTaken():
            if run.ended is None and take_steering(draft, run, fact.event, fact.actor):
                draft.touch(thread)
        case RunPaused() | RunResumed():
            _run_paused(draft, fact, fact.event, thread, run)
        case RequestOpened():
            _request_opened(draft, fact, fact.event, thread, run)
        case RequestClosed():
            _request_closed(draft, fact, fact.event, thread, run)
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
    answered = draft.state.find_message(run.parent_of_reply)
    reply_id = MessageId(run.id)
    posted = (MessageEntity, reply_id) in draft.entities or draft.state.find_message(reply_id) is not None
    if posted or run.dropped or answered is None or answered.retracted:
        return
    event = changed(event, parent_id=run.parent_of_reply, role="assistant", run_id=run.id)
    seq = draft.emit(event, thread=thread.id, run=run.id, actor=fact.actor)
    draft.save(
        MessageEntity(
            id=reply_id,
            thread=thread.id,
            parent=run.parent_of_reply,
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
    thread, _ = queue_untaken(draft, changed(thread, last_message=reply_id), run)
    draft.touch(thread)


def _run_paused(draft: Draft, fact: Fact, event: RunPaused | RunResumed, thread: ThreadEntity, run: RunEntity) -> None:
    waiting = isinstance(event, RunPaused)
    if run.ended is None and run.waiting != waiting:
        draft.emit(event, thread=thread.id, run=run.id, actor=fact.actor)
        draft.save(changed(run, waiting=waiting))
        draft.touch(changed(thread, waiting=waiting))


def _request_opened(draft: Draft, fact: Fact, event: RequestOpened, thread: ThreadEntity, run: RunEntity) -> None:
    """What is asked in the conversation is a message there, below the last one that the run has answered."""
    if run.ended is not None or find_request(run, event.request_id) is not None:
        return
    draft.emit(event, thread=thread.id, run=run.id, actor=fact.actor)
    request = RunRequest(
        id=event.request_id,
        kind=event.kind,
        expires=event.expires,
        recipients=event.recipients,
        chat_answer=fact.chat_answer,
    )
    asking = with_request(run, request)
    draft.save(asking)
    if event.kind == "chat":
        thread = _question_posted(draft, fact, event, thread, asking)
    draft.touch(thread)


def _question_posted(
    draft: Draft, fact: Fact, event: RequestOpened, thread: ThreadEntity, run: RunEntity
) -> ThreadEntity:
    question, above = MessageId(event.request_id), draft.state.find_message(run.parent_of_reply)
    if run.dropped or above is None or above.retracted or draft.state.find_message(question) is not None:
        return thread
    posted = MessagePosted(
        message_id=question, parent_id=above.id, role="assistant", content=fact.text, request_id=event.request_id
    )
    seq = draft.emit(posted, thread=thread.id, run=run.id, actor=fact.actor)
    draft.save(
        MessageEntity(
            id=question,
            thread=thread.id,
            parent=above.id,
            role="assistant",
            content=fact.text,
            request=event.request_id,
            actor=fact.actor,
            time=fact.time or draft.state.now,
            seq=seq,
        )
    )
    arrange(draft, run)
    return changed(thread, last_message=question)


def _request_closed(draft: Draft, fact: Fact, event: RequestClosed, thread: ThreadEntity, run: RunEntity) -> None:
    """An answer that the log has accepted is no news; that it came to nothing after all is."""
    request = find_request(run, event.request_id)
    if request is None or request.status in {"timed_out", "run_ended"}:
        return
    if request.status == "answered" and event.reason == "answered":
        return
    draft.emit(event, thread=thread.id, run=run.id, actor=fact.actor)
    draft.save(with_request(run, changed(request, status=event.reason)))
    draft.touch(thread)


def _renamed(draft: Draft, fact: Fact, event: ThreadRenamed, thread: ThreadEntity) -> None:
    title = shortened(event.title)
    if title and event.source != "person" and gives_way(thread, event.source):
        draft.emit(changed(event, title=title), thread=thread.id, run=fact.run, actor=fact.actor)
        draft.save(changed(thread, title=title, title_source=event.source))


def _run_ended(draft: Draft, fact: Fact, event: RunEnded, thread: ThreadEntity, run: RunEntity) -> None:
    if run.ended is not None:
        return
    draft.emit(event, thread=thread.id, run=run.id, actor=fact.actor)
    pending: tuple[RunId, ...] = tuple(other for other in thread.pending if other != run.id)
    thread, run = queue_untaken(draft, changed(thread, pending=pending), run)
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
            waiting=False,
        )
    )
    draft.touch(changed(thread, last_status=event.status, waiting=False))
