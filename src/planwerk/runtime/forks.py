"""Forks and replays of runs that are in the journal (E7.8)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from pydantic import ValidationError

from planwerk.access.actors import Actor
from planwerk.runtime.errors import RuntimeFault, UnknownRun
from planwerk.runtime.opening import open_run
from planwerk.runtime.ports import Clock, Journal, RunRecord, RunRecords, WorkQueue
from planwerk.runtime.profiles import BlueprintRegistry, ProfileInvalid
from planwerk.runtime.projector import record_of
from planwerk.workflow import entries as journal
from planwerk.workflow.composition import compose
from planwerk.workflow.fitting import changed_fingerprint, refuse_misfit
from planwerk.workflow.forking import Fork, fork
from planwerk.workflow.ids import RunId, new_id
from planwerk.workflow.plan import Composition
from planwerk.workflow.replay import Replay, replay
from planwerk.workflow.schedule import RunSchedule


class RunNotEnded(RuntimeFault):
    """Only a run that has ended is replayed: of one that goes on, nobody knows what it was to decide next."""

    code = "run_not_ended"
    http_status = 409

    def __init__(self, run: str) -> None:
        super().__init__(f"run {run} has not ended (E7.8).", what_to_do="Wait for its end, or stop it.")


@dataclass(frozen=True, slots=True)
class Forked:
    """A fork that is accepted.

    Attributes:
        position: The position of the other run it goes on from; see `Fork.position`.
        first: Steps that are executed first.
    """

    run: RunId
    position: int
    first: tuple[str, ...]


class Forks:
    """Makes new runs from positions of others, and re-drives runs without executing anything."""

    def __init__(
        self,
        *,
        blueprints: BlueprintRegistry,
        store: Journal,
        queue: WorkQueue,
        records: RunRecords,
        clock: Clock,
    ) -> None:
        self._blueprints = blueprints
        self._journal = store
        self._queue = queue
        self._records = records
        self._clock = clock

    async def replay(self, run: RunId) -> Replay:
        """Re-drive a run that has ended; no step is executed and no model is called.

        Raises:
            UnknownRun: There is no such run.
            RunNotEnded: It goes on.
            UnknownBlueprint: Its blueprint is not served here.
        """
        found = await self._read(run)
        if not isinstance(found[-1], journal.RunEnded):
            raise RunNotEnded(run)
        return replay(found, self._composition(found))

    async def fork(
        self,
        run: RunId,
        position: int,
        *,
        actor: Actor,
        config: Mapping[str, Any] | None = None,
        run_id: RunId | None = None,
    ) -> Forked:
        """Make a run that goes on from a position of another; it is accepted once this returns.

        It belongs to no thread and posts nothing; it is in the same workspace, and names the run it came from.

        Args:
            position: Position of an entry; what it says is part of the new run.
            config: A merge patch of the settings that run had: null goes back to the blueprint's default.
            run_id: Repeating a fork with the same id changes nothing.

        Raises:
            UnknownRun: There is no such run.
            NoForkHere: It cannot be forked from this position.
            ProfileInvalid: The changed settings do not fit the blueprint.
            CodeChanged: The code has changed, and the run does not fit it any more.
            UnknownBlueprint: Its blueprint is not served here.
        """
        found = await self._read(run)
        opened = cast("journal.RunOpened", found[0])
        composition = self._composition(found)
        if changed_fingerprint(found, composition) is not None:
            refuse_misfit(found[: max(position, 2)], composition)
        settings = self._settings(opened, config or {})
        now, identity = self._clock(), run_id or RunId(new_id())
        made = fork(found, position, at=now, make_id=new_id)
        first = _opened(opened, identity, made, actor=actor, at=now, config=settings, changes=config)
        first.fingerprint = composition.fingerprint
        if run_id is None or not await self._journal.read(identity):
            source = await self._records.get(run)
            await self._records.put(_record(first, source))
        await open_run(self._journal, self._queue, identity, [first, *made.entries])
        return Forked(identity, made.position, _first_steps([first, *made.entries], composition))

    async def _read(self, run: RunId) -> list[journal.Entry]:
        found = await self._journal.read(run)
        if len(found) < 2:
            raise UnknownRun(run)
        return found

    def _composition(self, found: Sequence[journal.Entry]) -> Composition:
        opened = cast("journal.RunOpened", found[0])
        start = cast("journal.EventPublished", found[1]).event
        return compose(self._blueprints.get(opened.blueprint), type(start))

    def _settings(self, opened: journal.RunOpened, changes: Mapping[str, Any]) -> dict[str, Any]:
        settings = merged(opened.config, changes)
        try:
            self._blueprints.get(opened.blueprint).config.model_validate(settings)
        except ValidationError as error:
            shown = [dict(item) for item in error.errors(include_url=False)]
            raise ProfileInvalid(opened.profile or opened.blueprint, shown) from error
        return settings


def merged(config: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """A config with a merge patch applied (RFC 7396): null takes a setting out, which leaves its default."""
    result = dict(config)
    for name, value in patch.items():
        before = result.get(name)
        if value is None:
            result.pop(name, None)
        elif isinstance(value, Mapping):
            inner = cast("Mapping[str, Any]", before if isinstance(before, Mapping) else dict[str, Any]())
            result[name] = merged(inner, cast("Mapping[str, Any]", value))
        else:
            result[name] = value
    return result


def _opened(
    source: journal.RunOpened,
    run: RunId,
    made: Fork,
    *,
    actor: Actor,
    at: int,
    config: dict[str, Any],
    changes: Mapping[str, Any] | None,
) -> journal.RunOpened:
    return replace(
        source,
        run=run,
        at=at,
        config=config,
        actor=actor.model_dump(mode="json"),
        thread=None,
        message=None,
        titled=None,
        traceparent=None,
        expires=None,
        parent=None,  # nobody waits for it: what the other run was asked for, that one answers
        request=None,
        detached=None,
        on_behalf_of=None,
        forked_from=source.run,
        forked_at=made.position,
        forked_entries=1 + sum(not isinstance(entry, journal.OwnershipReleased) for entry in made.entries),
        forked_changes=dict(changes) if changes else None,
    )


def _record(opened: journal.RunOpened, source: RunRecord | None) -> RunRecord:
    return replace(record_of(opened), title=source.title if source is not None else "")


def _first_steps(entries: Sequence[journal.Entry], composition: Composition) -> tuple[str, ...]:
    """What the run's first owner will execute; preconditions are still to be asked."""
    schedule = RunSchedule(composition)
    for entry in entries:
        schedule.apply(entry)
    open_before = [execution.step.name for execution in schedule.in_flight.values()]
    decision = schedule.decide_all()
    named = [execution.step.name for execution in (*decision.due, *decision.asks)]
    return tuple(dict.fromkeys([*open_before, *named]))
