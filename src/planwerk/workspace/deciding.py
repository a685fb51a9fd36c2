"""Loads what the rules need, lets them decide, and saves what they decided, in one optimistic transaction (A2.1, A6).

Commands of one process take turns per workspace, so they hardly ever meet; where another process committed in between,
the storage refuses, and everything is loaded and decided anew.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from typing import Final
from weakref import WeakValueDictionary

from pydantic_core import to_json

from planwerk.access.actors import Actor, participant_id
from planwerk.access.ids import TenantId
from planwerk.workflow.ids import EventId, WorkspaceId
from planwerk.workspace.ports import CommandRef, Commit, CursorMove, Loaded, Storage
from planwerk.workspace.rules.artifacts import Artifact
from planwerk.workspace.rules.drafting import Decision
from planwerk.workspace.rules.envelope import LogEnvelope
from planwerk.workspace.rules.errors import InvalidState, Rejection, StaleHead
from planwerk.workspace.rules.json_values import JSONObject
from planwerk.workspace.rules.outcomes import Outcome
from planwerk.workspace.rules.state import Found, Key, State

MAX_TRIES: Final = 1_000
"""Far more than any number of processes causes; an endless loop would hide a fault of the storage."""


def utc_now() -> datetime:
    """The time, in UTC with microseconds (E1.7)."""
    return datetime.now(UTC)


def sender_of(actor: Actor) -> str:
    """Kind and id of a participant, by which its commands are told from those of others (A2.3)."""
    return f"{actor.kind}:{participant_id(actor)}"


def hash_of(body: JSONObject) -> str:
    """By this a repetition of a command is told from another command under its id."""
    return sha256(to_json(body)).hexdigest()


@dataclass(frozen=True, slots=True)
class Question:
    """Something to decide in one workspace: what it needs to see, and how it is decided."""

    tenant: TenantId
    workspace: WorkspaceId
    needs: Callable[[State], frozenset[Key]]
    commit: Callable[[State], Decision]
    command: CommandRef | None = None
    contents: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    cursor: CursorMove | None = None
    traceparent: str | None = None


class Decider:
    """Answers questions with the outcome of what was saved."""

    def __init__(
        self,
        storage: Storage,
        types: Mapping[str, type[Artifact]],
        *,
        now: Callable[[], datetime],
        ids: Callable[[], str],
    ) -> None:
        self._storage = storage
        self._types = types
        self._now = now
        self._ids = ids
        self._turns: WeakValueDictionary[WorkspaceId, asyncio.Lock] = WeakValueDictionary()

    async def decide(self, question: Question) -> Outcome:
        """Decide and save.

        Raises:
            Rejection: The rules refuse it; nothing was changed.
            StaleCursor: The question's cursor stands elsewhere; nothing was changed.
        """
        turn = self._turns.setdefault(question.workspace, asyncio.Lock())
        async with turn:
            for _ in range(MAX_TRIES):
                try:
                    return await self._try(question)
                except StaleHead:
                    continue
        raise StaleHead(question.workspace, expected=-1)

    async def _try(self, question: Question) -> Outcome:
        loaded = await self._load(question, frozenset(), question.command)
        if loaded.result is not None and question.command is not None:
            return _first_outcome(question.command, loaded)
        state = await self._whole_state(question, loaded)
        try:
            decision = question.commit(state)
        except Rejection:
            if (await self._load(question, frozenset())).head != state.head:
                raise StaleHead(question.workspace, expected=state.head) from None  # decided on a mixture
            raise
        await self._storage.commit(self._as_commit(question, state, decision))
        return decision.outcome

    async def _whole_state(self, question: Question, loaded: Loaded) -> State:
        """The state with everything that the rules ask for, at the head that was read first."""
        found: dict[Key, Found] = {}
        state = State(
            id=question.workspace,
            tenant=question.tenant,
            head=loaded.head,
            now=self._now(),
            workspace=loaded.workspace,
            types=self._types,
            loaded=found,
        )
        while missing := question.needs(state):
            found.update((await self._load(question, missing)).found)
        return state

    async def _load(self, question: Question, keys: frozenset[Key], command: CommandRef | None = None) -> Loaded:
        reference = (command.sender, command.id) if command is not None else None
        return await self._storage.load(question.tenant, question.workspace, keys, reference)

    def _as_commit(self, question: Question, state: State, decision: Decision) -> Commit:
        envelopes = [
            LogEnvelope(
                seq=state.head + place,
                id=EventId(self._ids()),
                time=state.now,
                workspace=question.workspace,
                thread=new.thread,
                run=new.run,
                actor=new.actor,
                traceparent=question.traceparent,
                event=new.event,
            )
            for place, new in enumerate(decision.events, start=1)
        ]
        return Commit(
            tenant=question.tenant,
            workspace=question.workspace,
            expected_head=state.head,
            events=envelopes,
            entities=decision.entities,
            revisions=decision.revisions,
            contents=question.contents,
            command=question.command,
            outcome=decision.outcome,
            time=state.now,
            cursor=question.cursor,
        )


def _first_outcome(command: CommandRef, loaded: Loaded) -> Outcome:
    """What the command led to the first time.

    Raises:
        InvalidState: It said something else the first time.
    """
    result = loaded.result
    assert result is not None
    if result.body_hash != command.body_hash:
        raise InvalidState(
            f"command {command.id} was sent before with another content (A2.3).",
            what_to_do="Repeat it unchanged to get its result, or send the new content under a new id.",
        )
    return result.outcome
