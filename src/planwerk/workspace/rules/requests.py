"""Decides `answer_request`, and what the log keeps of the requests of a run (E8.1, E7.9).

A request is opened and closed by facts of its run. Between the two one answer is accepted, from a person with access
whom it asks: that is the log's word, and the starter carries it into the run. So who answers second, too late, or
after the run's end is refused here, whichever process decides.

A question in the conversation is a message of the thread. It is answered by the next message there, which becomes the
answer in the commit that posts it; the run's reply then stands below that message.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from planwerk.access.actors import Actor, UserActor
from planwerk.workflow.ids import EventId, MessageId
from planwerk.workspace.rules.commands import LAST, AnswerRequest, PostMessage
from planwerk.workspace.rules.drafting import Decision, Draft
from planwerk.workspace.rules.errors import (
    Forbidden,
    InvalidState,
    NotFound,
    Rejection,
    RequestAnsweredBefore,
    RequestNotOpen,
    RequestTimedOut,
)
from planwerk.workspace.rules.events import RequestAnswered
from planwerk.workspace.rules.json_values import JSONObject
from planwerk.workspace.rules.outcomes import Recorded
from planwerk.workspace.rules.runs import active_run
from planwerk.workspace.rules.state import Key, RunEntity, RunKey, RunRequest, State, ThreadEntity, ThreadKey, changed
from planwerk.workspace.rules.visibility import only_people

KEPT_CLOSED: Final = 100
"""How many closed requests of a run are remembered; answers to older ones find none."""


def needs_answer_request(command: AnswerRequest, state: State) -> frozenset[Key]:
    missing = state.missing(RunKey(command.run_id))
    if missing:
        return missing
    run = state.find_run(command.run_id)
    return state.missing(ThreadKey(run.thread)) if run is not None else frozenset()


def commit_answer_request(command: AnswerRequest, state: State, actor: Actor) -> Decision:
    """The answer is accepted, or refused with the reason why it comes to nothing."""
    only_people(actor, "answer a request")
    run = state.find_run(command.run_id)
    request = find_request(run, command.request_id) if run is not None else None
    if run is None or request is None:
        raise NotFound("request", command.request_id)
    refuse_unless_open(request, run, state.now)
    refuse_unless_asked(request, actor)
    if request.kind == "chat":
        raise InvalidState(
            f"request {request.id} is a question in the conversation (S2.3).",
            what_to_do="Post the answer as a message of the thread.",
        )
    draft = Draft(state, actor)
    accept(draft, run, request, command.response)
    draft.touch(state.thread(run.thread))
    return draft.decide(Recorded(seq=draft.seq, run_id=run.id))


def find_request(run: RunEntity, request: EventId) -> RunRequest | None:
    """What the run asked under this id."""
    return next((known for known in run.requests if known.id == request), None)


def refuse_unless_open(request: RunRequest, run: RunEntity, now: datetime) -> None:
    """Refuse an answer that comes second or too late.

    Raises:
        RequestAnsweredBefore: It was answered.
        RequestTimedOut: Its time is over.
        RequestNotOpen: Its run has ended, or was asked to stop.
    """
    if request.status == "answered":
        raise RequestAnsweredBefore(request.id)
    if request.status == "timed_out" or (request.expires is not None and now >= request.expires):
        raise RequestTimedOut(request.id)
    if request.status != "open" or run.ended is not None or run.stop_requested:
        raise RequestNotOpen(request.id)


def refuse_unless_asked(request: RunRequest, actor: Actor) -> None:
    """Refuse an answer of somebody whom the request does not ask.

    Raises:
        Forbidden: It names others.
    """
    if request.recipients and not (isinstance(actor, UserActor) and actor.id in request.recipients):
        raise Forbidden(
            f"request {request.id} is for others to answer (E8.1).", what_to_do="Let one of them answer it."
        )


def accept(draft: Draft, run: RunEntity, request: RunRequest, response: JSONObject) -> RunEntity:
    """Record the answer; the run as it then is, saved."""
    event = RequestAnswered(run_id=run.id, request_id=request.id, kind=request.kind, response=response)
    seq = draft.emit(event, thread=run.thread, run=run.id)
    answered = with_request(run, changed(request, status="answered", answered_seq=seq))
    draft.save(answered)
    return answered


def with_request(run: RunEntity, request: RunRequest) -> RunEntity:
    """The run with this request in the place of what it had under its id, the oldest closed ones forgotten."""
    if find_request(run, request.id) is None:
        requests = (*run.requests, request)
    else:
        requests = tuple(request if known.id == request.id else known for known in run.requests)
    closed = [known.id for known in requests if known.status != "open"]
    forgotten = set(closed[: max(len(closed) - KEPT_CLOSED, 0)])
    return changed(run, requests=tuple(known for known in requests if known.id not in forgotten))


def question_for(command: PostMessage, state: State, thread: ThreadEntity, actor: Actor) -> RunRequest | None:
    """The question in the conversation that this message answers; None if it asks for a run of its own."""
    if command.when_chosen == "instead" or not thread.pending or not command.content.strip():
        return None
    run = active_run(state, thread)
    if run.ended is not None or run.stop_requested:
        return None
    for request in run.requests:
        is_open = request.status == "open" and (request.expires is None or state.now < request.expires)
        asks_this = not request.recipients or (isinstance(actor, UserActor) and actor.id in request.recipients)
        if request.kind == "chat" and is_open and asks_this and command.parent_id in (LAST, MessageId(request.id)):
            return request
    return None


def accept_message(draft: Draft, run: RunEntity, request: RunRequest, message: MessageId, text: str) -> RunEntity:
    """The message that was just posted is the answer to a question in the conversation; the run as it then is."""
    response: JSONObject = {"type": request.chat_answer, "family": "both", "text": text, "message_id": message}
    answered = accept(draft, run, request, response)
    below = changed(answered, reply_below=message)
    draft.save(below)
    return below


def why_it_answers_nothing(request: EventId, state: State, thread: ThreadEntity, actor: Actor) -> Rejection:
    """Why a message is no answer to this question in the conversation."""
    run = active_run(state, thread) if thread.pending else None
    known = find_request(run, request) if run is not None else None
    if run is not None and known is not None:
        try:
            refuse_unless_open(known, run, state.now)
            refuse_unless_asked(known, actor)
        except Rejection as rejection:
            return rejection
    return RequestNotOpen(request)
