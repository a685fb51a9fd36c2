"""Decides `request_run` and `stop_run`, and how a run takes its place in its thread's queue."""

from __future__ import annotations

from planwerk.access.actors import Actor
from planwerk.workflow.ids import MessageId, RunId, ThreadId
from planwerk.workspace.rules.commands import PostMessage, RequestRun, StopRun
from planwerk.workspace.rules.drafting import Decision, Draft
from planwerk.workspace.rules.errors import InvalidState, NotFound
from planwerk.workspace.rules.events import RunRequested, StopRequested
from planwerk.workspace.rules.outcomes import Recorded
from planwerk.workspace.rules.state import (
    Key,
    MessageKey,
    RunEntity,
    RunKey,
    State,
    ThreadEntity,
    ThreadKey,
    changed,
)
from planwerk.workspace.rules.visibility import only_people


def needs_request_run(command: RequestRun, state: State) -> frozenset[Key]:
    missing = state.missing(
        ThreadKey(command.thread_id),
        MessageKey(command.message_id),
        RunKey(command.run_id),
        MessageKey(MessageId(command.run_id)),
    )
    return missing or needs_of_queue(command.thread_id, state)


def needs_of_queue(thread: ThreadId, state: State) -> frozenset[Key]:
    """Of a thread's pending runs, however many, the active one and the last whose reply will be posted."""
    found = state.find_thread(thread)
    if found is None or not found.pending:
        return frozenset()
    missing = state.missing(RunKey(found.pending[0]))
    for run in reversed(found.pending):
        missing |= state.missing(RunKey(run))
        if missing or not _is_dropped(state, run):
            break
    return missing


def active_run(state: State, thread: ThreadEntity) -> RunEntity:
    """The thread's first pending run."""
    found = state.find_run(thread.pending[0])
    assert found is not None
    return found


def reply_to_come(state: State, thread: ThreadEntity) -> MessageId | None:
    """The reply of the run that will run last, of those whose reply will be posted."""
    return next((MessageId(run) for run in reversed(thread.pending) if not _is_dropped(state, run)), None)


def _is_dropped(state: State, run: RunId) -> bool:
    found = state.find_run(run)
    return found is not None and found.dropped


def commit_request_run(command: RequestRun, state: State, actor: Actor) -> Decision:
    """Another run on a person's message; its reply becomes a sibling of those that are there."""
    only_people(actor, "ask for a run")
    thread = state.thread(command.thread_id)
    refuse_used_run_id(command.run_id, state)
    message = state.find_message(command.message_id)
    if message is None or message.thread != thread.id or message.retracted:
        raise NotFound("message", command.message_id)
    if message.role != "user":
        raise InvalidState(
            f"message {message.id} is a reply, and a run answers a person's message (A1.6).",
            what_to_do=f"Ask for a run on its parent {message.parent}.",
        )
    draft = Draft(state, actor)
    queue_run(draft, thread, command)
    return draft.decide(Recorded(seq=draft.seq, run_id=command.run_id))


def needs_stop_run(command: StopRun, state: State) -> frozenset[Key]:
    return state.missing(RunKey(command.run_id))


def commit_stop_run(command: StopRun, state: State, actor: Actor) -> Decision:
    """Ask a run to stop. One that has ended, or was asked before, is left as it is: both wanted the same."""
    only_people(actor, "stop a run")
    run = state.find_run(command.run_id)
    if run is None:
        raise NotFound("run", command.run_id)
    draft = Draft(state, actor)
    ask_to_stop(draft, run)
    return draft.decide(Recorded(seq=draft.seq, run_id=run.id))


def refuse_used_run_id(run: RunId, state: State) -> None:
    """Refuse the id of a run or of a message, for a reply has the id of its run.

    Raises:
        InvalidState: The id is used.
    """
    if state.find_run(run) is not None or state.find_message(MessageId(run)) is not None:
        raise InvalidState(
            f"run id {run} is used already (A2.3: an id is used once in a workspace).",
            what_to_do="Make a new id for a new run.",
        )


def queue_run(draft: Draft, thread: ThreadEntity, command: PostMessage | RequestRun) -> None:
    """Request the run and give it its place: behind all pending ones, or right behind the active one, which stops."""
    pending = thread.pending
    if command.when_chosen == "instead" and pending:
        ask_to_stop(draft, active_run(draft.state, thread))
        pending = (pending[0], command.run_id, *pending[1:])
    else:
        pending = (*pending, command.run_id)  # "now" too, where it steers no run (S2.3)
    emit_request(draft, thread, requested(command), draft.actor)
    draft.touch(changed(thread, pending=pending, profile=command.profile))


def requested(command: PostMessage | RequestRun) -> RunRequested:
    """The run that a command asks for."""
    return RunRequested(
        run_id=command.run_id,
        message_id=command.message_id,
        profile=command.profile,
        profile_version=command.profile_version,
        blueprint=command.blueprint,
        when=command.when_chosen,
        start=command.start,
        steerable=command.steerable,
    )


def emit_request(draft: Draft, thread: ThreadEntity, event: RunRequested, actor: Actor) -> None:
    """Ask for a run, whose place in the queue is the caller's to give."""
    seq = draft.emit(event, thread=thread.id, run=event.run_id, actor=actor)
    draft.save(
        RunEntity(
            id=event.run_id,
            thread=thread.id,
            message=event.message_id,
            profile=event.profile,
            profile_version=event.profile_version,
            blueprint=event.blueprint,
            when=event.when,
            start=event.start,
            steerable=event.steerable,
            requested_by=actor,
            requested=draft.state.now,
            requested_seq=seq,
        )
    )


def ask_to_stop(draft: Draft, run: RunEntity) -> RunEntity:
    """Record that the run is to stop, once; the starter carries it into the run's journal (E7.9)."""
    if run.ended is not None or run.stop_requested:
        return run
    draft.emit(StopRequested(run_id=run.id), thread=run.thread, run=run.id)
    stopping = changed(run, stop_requested_by=draft.actor)
    draft.save(stopping)
    return stopping
