"""Makes what readers get out of what is stored."""

from __future__ import annotations

from planwerk.workflow.ids import RunId, WorkspaceId
from planwerk.workspace.ports import ThreadContents
from planwerk.workspace.rules.state import MessageEntity, RunEntity, ThreadEntity
from planwerk.workspace.views import MessageView, RunStatus, RunView, ThreadStatus, ThreadSummary, ThreadView


def thread_summary(workspace: WorkspaceId, thread: ThreadEntity) -> ThreadSummary:
    return ThreadSummary(
        id=thread.id,
        workspace=workspace,
        title=thread.title,
        title_source=thread.title_source,
        profile=thread.profile,
        creator=thread.creator,
        created=thread.created,
        updated=thread.updated,
        updated_seq=thread.updated_seq,
        active_run=thread.pending[0] if thread.pending else None,
        queued=thread.pending[1:],
        last_status=_status(thread),
    )


def thread_view(workspace: WorkspaceId, contents: ThreadContents) -> ThreadView:
    active = contents.thread.pending[:1]
    runs = {run.id: run_view(run, active=active == (run.id,)) for run in contents.runs}
    return ThreadView(
        **dict(thread_summary(workspace, contents.thread)),
        messages=tuple(message_view(message, runs) for message in contents.messages),
        runs=tuple(runs.values()),
        head_seq=contents.head_seq,
    )


def message_view(message: MessageEntity, runs: dict[RunId, RunView]) -> MessageView:
    return MessageView(
        id=message.id,
        parent_id=message.parent,
        role=message.role,
        content=message.content,
        run=runs.get(message.run) if message.run is not None else None,
        incomplete=message.incomplete,
        error=message.error,
        follow_ups=message.follow_ups,
        files=message.files,
        actor=message.actor,
        time=message.time,
        seq=message.seq,
    )


def run_view(run: RunEntity, *, active: bool) -> RunView:
    return RunView(
        id=run.id,
        thread=run.thread,
        message=run.message,
        status=_run_status(run, active=active),
        profile=run.profile,
        profile_version=run.profile_version,
        profile_name=run.profile_name,
        blueprint=run.blueprint,
        when=run.when,
        start=run.start,
        steerable=run.steerable and not run.has_stopped and not run.stop_requested,
        requested_by=run.requested_by,
        requested=run.requested,
        stop_requested_by=run.stop_requested_by,
        started=run.started,
        ended=run.ended,
        error=run.error,
        usage=run.usage,
        cost=run.cost,
        duration_seconds=run.duration_seconds,
        steps=run.steps,
    )


def _status(thread: ThreadEntity) -> ThreadStatus | None:
    if thread.pending:
        return "waiting" if thread.waiting else "working"
    return thread.last_status


def _run_status(run: RunEntity, *, active: bool) -> RunStatus:
    if run.status is not None:
        return run.status
    if run.started is not None:
        return "waiting" if run.waiting else "running"
    return "requested" if active else "queued"
