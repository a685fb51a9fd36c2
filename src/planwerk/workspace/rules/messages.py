"""Decides `post_message` and `retract_message`: the tree of a thread, and who waits for whom.

A thread's messages form a tree (A1.6): editing posts a sibling, nothing is overwritten. Every accepted post asks for a
run in the same commit (E7.9). A thread runs one run after another: `ThreadEntity.pending` has them in order, the first
is the active one. `when=next` queues behind all of them; `when=instead` asks the active one to stop and comes right
after it, so what was queued stays behind.

While a run's question in the conversation is open, the next message is its answer and asks for no run (S2.3). Nor does
a message with `when=now` that is said into the active run (`steering.py`); where that run takes none, it queues.

A reply has the id of its run, so a message can name the reply to come as its parent. Retracting takes a message and all
below it, replies to come included: their runs are asked to stop, and what they still say is not posted.
"""

from __future__ import annotations

from planwerk.access.actors import Actor
from planwerk.workflow.ids import MessageId, RunId
from planwerk.workspace.rules.commands import LAST, PostMessage, RetractMessage
from planwerk.workspace.rules.drafting import Decision, Draft
from planwerk.workspace.rules.errors import InvalidState, NotFound, ValidationFailed
from planwerk.workspace.rules.events import MessagePosted, MessageRetracted
from planwerk.workspace.rules.outcomes import Recorded
from planwerk.workspace.rules.requests import accept_message, question_for, why_it_answers_nothing
from planwerk.workspace.rules.runs import (
    active_run,
    ask_to_stop,
    needs_of_queue,
    queue_run,
    refuse_used_run_id,
    reply_to_come,
)
from planwerk.workspace.rules.state import (
    Key,
    MessageEntity,
    MessageKey,
    RunEntity,
    RunKey,
    RunsKey,
    State,
    ThreadEntity,
    ThreadKey,
    TreeKey,
    changed,
)
from planwerk.workspace.rules.steering import (
    arrange,
    end_of_turn,
    needs_of_turn,
    run_to_steer,
    steer,
    without_retracted,
)
from planwerk.workspace.rules.visibility import only_people


def needs_post_message(command: PostMessage, state: State) -> frozenset[Key]:
    keys: list[Key] = [
        ThreadKey(command.thread_id),
        MessageKey(command.message_id),
        RunKey(RunId(command.message_id)),
        RunKey(command.run_id),
        MessageKey(MessageId(command.run_id)),
    ]
    if command.parent_id not in (None, LAST):
        keys += [MessageKey(MessageId(command.parent_id)), RunKey(RunId(command.parent_id))]
    missing = state.missing(*keys) or needs_of_queue(command.thread_id, state)
    thread = state.find_thread(command.thread_id) if not missing else None
    if thread is None or not thread.pending:
        return missing
    return state.missing(*needs_of_turn(active_run(state, thread)))


def commit_post_message(command: PostMessage, state: State, actor: Actor) -> Decision:
    """A message in its place in the tree, and a run that is to answer it."""
    only_people(actor, "post a message as a person's")
    thread = state.thread(command.thread_id)
    _refuse_used_message_id(command, state)
    refuse_used_run_id(command.run_id, state)
    if not command.content.strip() and not command.files:
        raise ValidationFailed.of("post_message", "content", "a message has a text or a file")
    draft = Draft(state, actor)
    question = question_for(command, state, thread, actor)
    if command.answers is not None and (question is None or question.id != command.answers):
        raise why_it_answers_nothing(command.answers, state, thread, actor)
    steered = run_to_steer(command, state, thread) if question is None else None
    if question is not None:
        parent: MessageId | None = MessageId(question.id)
    else:
        parent = end_of_turn(steered) if steered is not None else _parent(command, state, thread)
    message = MessageEntity(
        id=command.message_id,
        thread=thread.id,
        parent=parent,
        role="user",
        content=command.content,
        files=command.files,
        actor=actor,
        time=state.now,
        seq=draft.seq + 1,
    )
    draft.emit(
        MessagePosted(
            message_id=message.id,
            parent_id=message.parent,
            role="user",
            content=message.content,
            files=message.files,
        ),
        thread=thread.id,
    )
    draft.save(message)
    thread = changed(thread, last_message=message.id)
    if steered is not None:
        steer(draft, steered, command)
        draft.touch(thread)
        return draft.decide(Recorded(seq=draft.seq, run_id=steered.id))
    if question is None:
        queue_run(draft, thread, command)
        return draft.decide(Recorded(seq=draft.seq, run_id=command.run_id))
    asking = active_run(state, thread)
    arrange(draft, accept_message(draft, asking, question, message.id, message.content))
    draft.touch(thread)
    return draft.decide(Recorded(seq=draft.seq, run_id=asking.id))


def _refuse_used_message_id(command: PostMessage, state: State) -> None:
    used = state.find_message(command.message_id) or state.find_run(RunId(command.message_id))
    if used is not None or command.message_id == command.run_id:
        raise InvalidState(
            f"message id {command.message_id} is used already (A2.3: an id is used once in a workspace).",
            what_to_do="Make a new id for a new message; repeat the first one unchanged to get its result again.",
        )


def _parent(command: PostMessage, state: State, thread: ThreadEntity) -> MessageId | None:
    """The message that the new one follows.

    Raises:
        NotFound: The named parent is neither a message of this thread nor the reply to come of one of its runs.
    """
    named = command.parent_id
    if named is None:
        return None
    if named == LAST:
        return reply_to_come(state, thread) or thread.last_message
    message, run = state.find_message(MessageId(named)), state.find_run(RunId(named))
    if message is not None and message.thread == thread.id and not message.retracted:
        return message.id
    if message is None and run is not None and run.thread == thread.id and run.ended is None and not run.dropped:
        return MessageId(run.id)
    raise NotFound("message", named)


def needs_retract_message(command: RetractMessage, state: State) -> frozenset[Key]:
    return state.missing(ThreadKey(command.thread_id), TreeKey(command.thread_id), RunsKey(command.thread_id))


def commit_retract_message(command: RetractMessage, state: State, actor: Actor) -> Decision:
    """The message and all below it are gone; every other branch is as it was (UI-07)."""
    only_people(actor, "retract a message")
    thread = state.thread(command.thread_id)
    tree, runs = state.tree(thread.id), state.runs(thread.id)
    by_id = {message.id: message for message in tree}
    if command.message_id not in by_id:
        raise NotFound("message", command.message_id)
    gone = subtree(command.message_id, tree, runs)
    draft = Draft(state, actor)
    below = tuple(message.id for message in tree if message.id in gone and message.id != command.message_id)
    draft.emit(MessageRetracted(message_id=command.message_id, below=below), thread=thread.id)
    for message in tree:
        if message.id in gone:
            draft.save(changed(message, retracted=True))
    for run in runs:
        if (run.message in gone or run.reply_below in gone) and run.ended is None:
            draft.save(changed(ask_to_stop(draft, run), dropped=True, steering=()))
        elif any(said.message in gone for said in run.steering):
            draft.save(without_retracted(run, gone))
    left = [message for message in tree if message.id not in gone]
    draft.touch(changed(thread, last_message=max(left, key=lambda m: m.seq).id if left else None))
    return draft.decide(Recorded(seq=draft.seq))


def subtree(root: MessageId, tree: tuple[MessageEntity, ...], runs: tuple[RunEntity, ...]) -> frozenset[MessageId]:
    """The message and all below it, also where a reply in between is still to come, or never came."""
    children: dict[MessageId, list[MessageId]] = {}
    for message in tree:
        if message.parent is not None:
            children.setdefault(message.parent, []).append(message.id)
    for run in runs:
        children.setdefault(run.parent_of_reply, []).append(MessageId(run.id))
    gone: set[MessageId] = set()
    open_: list[MessageId] = [root]
    while open_:
        message_id = open_.pop()
        if message_id not in gone:
            gone.add(message_id)
            open_ += children.get(message_id, [])
    return frozenset(gone)
