"""What is said into an active run (S2.3): where it stands in the tree, and what becomes of it.

A message posted with `when=now` while a run works that can be steered asks for no run of its own: `run_steered` names
the run, and the starter carries the message there. It stands in that run's turn: below what the run answers, above
the reply to come. Several stand below each other, in the order in which they were said.

When a step takes one, that is a fact of the run (`steering_taken`), and the reply will stand below it. What no step
has taken when the run comes to its stop is not lost: it moves behind all that is queued and asks for the run that its
sender would have got otherwise. So a message is answered in one turn, this one or one of its own, whoever was faster.

An open question in the conversation stands between what is taken and what is not; the next message is its answer.
"""

from __future__ import annotations

from planwerk.access.actors import Actor
from planwerk.workflow.ids import MessageId, RunId
from planwerk.workspace.rules.commands import LAST, PostMessage
from planwerk.workspace.rules.drafting import Draft
from planwerk.workspace.rules.events import MessageMoved, RunSteered, SteeringTaken
from planwerk.workspace.rules.runs import active_run, emit_request, requested
from planwerk.workspace.rules.state import (
    Key,
    MessageEntity,
    MessageKey,
    RunEntity,
    RunKey,
    State,
    Steering,
    ThreadEntity,
    changed,
)


def run_to_steer(command: PostMessage, state: State, thread: ThreadEntity) -> RunEntity | None:
    """The run into which this message is said; None if it asks for a run of its own."""
    if command.when_chosen != "now" or command.files or not thread.pending:
        return None
    run = active_run(state, thread)
    is_over = run.ended is not None or run.has_stopped or run.stop_requested or run.dropped
    in_this_turn = (LAST, MessageId(run.id), run.parent_of_reply, end_of_turn(run))
    return run if run.steerable and not is_over and command.parent_id in in_this_turn else None


def end_of_turn(run: RunEntity) -> MessageId:
    """The message of the run's turn below which the next one stands."""
    if run.steering:
        return run.steering[-1].message
    return _question(run) or run.parent_of_reply


def steer(draft: Draft, run: RunEntity, command: PostMessage) -> None:
    """Record that the message that was just posted is said into the run."""
    otherwise = requested(command)
    steered = RunSteered(run_id=run.id, message_id=command.message_id, otherwise=otherwise)
    draft.emit(steered, thread=run.thread, run=run.id)
    said = Steering(message=command.message_id, otherwise=otherwise, actor=draft.actor)
    draft.save(changed(run, steering=(*run.steering, said)))


def needs_of_turn(run: RunEntity) -> frozenset[Key]:
    """What can move in the run's turn, and what is asked for in its place."""
    keys: set[Key] = set()
    for said in run.steering:
        asked = said.otherwise.run_id
        keys |= {MessageKey(said.message), RunKey(asked), MessageKey(MessageId(asked))}
    question = _question(run)
    if keys and question is not None:
        keys.add(MessageKey(question))
    return frozenset(keys)


def take_steering(draft: Draft, run: RunEntity, event: SteeringTaken, actor: Actor) -> bool:
    """A step has taken a message: it is of this turn for good. Whether that is news."""
    if all(said.message != event.message_id for said in run.steering):
        return False
    draft.emit(event, thread=run.thread, run=run.id, actor=actor)
    _move(draft, run, event.message_id, run.parent_of_reply)
    left = tuple(said for said in run.steering if said.message != event.message_id)
    taken = changed(run, steering=left, reply_below=event.message_id)
    draft.save(taken)
    question = _question(taken)
    if question is not None:
        _move(draft, taken, question, taken.parent_of_reply)
    arrange(draft, taken)
    return True


def arrange(draft: Draft, run: RunEntity) -> None:
    """What is not taken yet stands below what is, the open question between them."""
    if not run.steering:
        return
    above, question = run.parent_of_reply, _question(run)
    if question is not None:
        _move(draft, run, question, above)
        above = question
    for said in run.steering:
        _move(draft, run, said.message, above)
        above = said.message


def queue_untaken(draft: Draft, thread: ThreadEntity, run: RunEntity) -> tuple[ThreadEntity, RunEntity]:
    """The run came to its stop: each message that it has not taken asks for a run of its own, behind those queued."""
    dropped = {other.id for other in draft.state.pending(thread.id) if other.dropped} if run.steering else set[RunId]()
    for said in run.steering:
        message, asked = _message(draft, said.message), said.otherwise.run_id
        is_used = draft.state.find_run(asked) is not None or draft.state.find_message(MessageId(asked)) is not None
        if message is None or message.retracted or is_used:
            continue
        coming = next((MessageId(other) for other in reversed(thread.pending) if other not in dropped), None)
        _move(draft, run, said.message, coming or run.parent_of_reply)
        emit_request(draft, thread, said.otherwise, said.actor)
        thread = changed(thread, pending=(*thread.pending, asked))
    stopped = changed(run, steering=(), has_stopped=True)
    draft.save(stopped)
    return thread, stopped


def without_retracted(run: RunEntity, gone: frozenset[MessageId]) -> RunEntity:
    """The run without what was said into it and is retracted."""
    return changed(run, steering=tuple(said for said in run.steering if said.message not in gone))


def _question(run: RunEntity) -> MessageId | None:
    asked = (MessageId(request.id) for request in run.requests if request.kind == "chat" and request.status == "open")
    return next(asked, None)


def _message(draft: Draft, message: MessageId) -> MessageEntity | None:
    found = draft.entities.get((MessageEntity, message)) or draft.state.find_message(message)
    assert found is None or isinstance(found, MessageEntity)
    return found


def _move(draft: Draft, run: RunEntity, message: MessageId, parent: MessageId) -> None:
    found = _message(draft, message)
    if found is None or found.retracted or found.parent == parent:
        return
    draft.emit(MessageMoved(message_id=message, parent_id=parent), thread=run.thread, run=run.id)
    draft.save(changed(found, parent=parent))
