"""What is brought into a run from outside (S2.3), by the rules alone: never waited for, never missed, never owed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planwerk.messages.events import SteeringMessageEvent, UserMessageEvent
from planwerk.messages.prompts import user_prompt
from planwerk.workflow import entries as journal
from planwerk.workflow.blueprint import Agent
from planwerk.workflow.composition import compose
from planwerk.workflow.errors import ScheduleError
from planwerk.workflow.events import ControlEvent, Event, StopEvent
from planwerk.workflow.exploration import explore
from planwerk.workflow.ids import EventId
from planwerk.workflow.schedule import RunSchedule, entry_of
from planwerk.workflow.seen import Execution
from planwerk.workflow.steps import step
from planwerk.workflow.validation import find_problems

START = UserMessageEvent(messages=(user_prompt("hello"),))


class OutsideDraft(ControlEvent):
    pass


class OutsideNote(ControlEvent):
    pass


class OutsideTurn(ControlEvent):
    pass


class OutsideStop(StopEvent):
    pass


class Heeding(Agent):
    """Heeds each message with a step of its own, and joins what came of them."""

    @step()
    async def begin(self, message: UserMessageEvent) -> OutsideDraft: ...
    @step()
    async def heed(self, said: SteeringMessageEvent) -> OutsideNote: ...
    @step()
    async def answer(self, draft: OutsideDraft, notes: list[OutsideNote]) -> OutsideStop: ...


class Looping(Agent):
    """Takes what was said with the next turn of a loop."""

    @step()
    async def begin(self, message: UserMessageEvent) -> OutsideTurn: ...
    @step(max_executions_per_run=9)
    async def think(self, turn: OutsideTurn, said: list[SteeringMessageEvent]) -> OutsideTurn | OutsideStop: ...


class LoopingOnNotes(Agent):
    """The same with what came of each message."""

    @step()
    async def begin(self, message: UserMessageEvent) -> OutsideTurn: ...
    @step()
    async def heed(self, said: SteeringMessageEvent) -> OutsideNote: ...
    @step(max_executions_per_run=9)
    async def think(self, turn: OutsideTurn, notes: list[OutsideNote]) -> OutsideTurn | OutsideStop: ...


class Needing(Agent):
    """Cannot go on unless somebody says something."""

    @step()
    async def begin(self, message: UserMessageEvent) -> OutsideTurn: ...
    @step()
    async def think(self, turn: OutsideTurn, said: SteeringMessageEvent) -> OutsideStop: ...


class Taking(Agent):
    """Takes one message, if it is there in time."""

    @step()
    async def begin(self, message: UserMessageEvent) -> OutsideDraft: ...
    @step()
    async def answer(self, draft: OutsideDraft, said: SteeringMessageEvent | None) -> OutsideStop: ...


class Keeping(Agent):
    """Keeps a draft for what may be said about it."""

    @step()
    async def begin(self, message: UserMessageEvent) -> tuple[OutsideDraft, OutsideTurn]: ...
    @step()
    async def heed(self, draft: OutsideDraft, said: SteeringMessageEvent) -> OutsideNote: ...
    @step()
    async def answer(self, turn: OutsideTurn, notes: list[OutsideNote]) -> OutsideStop: ...


class Circling(Agent):
    """Two steps wait for each other, but only where something is said."""

    @step()
    async def begin(self, message: UserMessageEvent) -> OutsideDraft: ...
    @step()
    async def heed(self, said: SteeringMessageEvent, turn: OutsideTurn | None) -> OutsideNote: ...
    @step()
    async def think(self, draft: OutsideDraft, notes: list[OutsideNote]) -> OutsideTurn: ...
    @step()
    async def answer(self, turn: OutsideTurn) -> OutsideStop: ...


class Pairing(Agent):
    """Pairs each draft with something that is said."""

    @step()
    async def begin(self, message: UserMessageEvent) -> list[OutsideDraft]: ...
    @step()
    async def heed(self, draft: OutsideDraft, said: SteeringMessageEvent) -> OutsideStop: ...


class Silent(Agent):
    """Takes nothing from outside."""

    @step()
    async def begin(self, message: UserMessageEvent) -> OutsideStop: ...


class Played:
    """A run that is driven by hand."""

    def __init__(self, blueprint: type[Agent]) -> None:
        self.schedule = RunSchedule(compose(blueprint, UserMessageEvent))
        self.entries: list[journal.Entry] = []
        self.due: list[Execution] = []
        self.fault: str | None = None
        self.publish(START)

    def publish(self, event: Event, execution: Execution | None = None) -> None:
        identity = execution.id if execution is not None else None
        self._apply(journal.EventPublished(event, EventId(f"e{len(self.entries)}"), 0, identity))
        if execution is not None:
            self._apply(journal.ExecutionFinished(execution.id, 0, 1, (self.schedule.position,)))
            self.due.remove(execution)
        decision = self.schedule.decide()
        self.entries += map(entry_of, decision.due)
        self.due += decision.due
        self.fault = decision.fault.code if decision.fault is not None else self.fault

    def _apply(self, entry: journal.Entry) -> None:
        self.schedule.apply(entry)
        self.entries.append(entry)

    def end(self, name: str) -> None:
        """The oldest execution of the step ends with what it has to return."""
        execution = next(made for made in self.due if made.step.name == name)
        returned = {"begin": OutsideDraft, "heed": OutsideNote, "answer": OutsideStop}
        self.publish(returned[name](), execution)

    def named(self) -> list[str]:
        return [made.step.name for made in self.due]


def said(text: str) -> SteeringMessageEvent:
    return SteeringMessageEvent(messages=(user_prompt(text),))


@given(moments=st.lists(st.integers(0, 3), max_size=4))
def test_all_that_is_said_before_the_answer_begins_is_in_it_and_nothing_twice(moments: list[int]) -> None:
    played = Played(Heeding)
    for _ in range(moments.count(0)):
        played.publish(said("early"))
    played.end("begin")
    for _ in range(moments.count(1)):
        played.publish(said("later"))
    while "heed" in played.named():
        played.end("heed")

    [answer] = [made for made in played.due if made.step.name == "answer"]

    heeded = moments.count(0) + (moments.count(1) if moments.count(0) else 0)
    bound = answer.positions[1]
    assert len(set(bound)) == len(bound) == heeded
    played.end("answer")
    assert (type(played.schedule.stop), played.fault) == (OutsideStop, None)


def test_a_run_into_which_nothing_is_said_ends_as_if_nothing_could_be() -> None:
    played = Played(Taking)
    played.end("begin")

    [answer] = played.due

    assert answer.arguments()[1] is None


def test_what_no_step_takes_is_not_left_over() -> None:
    played = Played(Taking)
    played.end("begin")
    played.publish(said("too late"))
    played.end("answer")

    assert (played.named(), played.schedule.left_over()) == ([], ())


def test_what_is_waited_for_and_never_said_stalls_the_run_by_name() -> None:
    [problem] = [problem for problem in find_problems(Needing) if problem.severity == "error"]

    assert "think waits for SteeringMessageEvent (parameter said), which may never come" in problem.message


@pytest.mark.parametrize("blueprint", [Heeding, Looping, LoopingOnNotes, Taking, Keeping])
def test_blueprints_that_can_be_steered_are_proven_free_of_stalls(blueprint: type[Agent]) -> None:
    exploration = explore(compose(blueprint, UserMessageEvent))

    assert [problem for problem in exploration.problems if "E6.4" in problem.obligation] == []
    assert [scope.is_proven for scope in exploration.scopes] == [True]


@pytest.mark.parametrize(
    ("blueprint", "where", "obligation"), [(Circling, "Circling.heed", "E3.4"), (Pairing, "Pairing.heed", "E3.5")]
)
def test_what_can_go_wrong_only_where_something_is_said_is_found(
    blueprint: type[Agent], where: str, obligation: str
) -> None:
    problems = explore(compose(blueprint, UserMessageEvent)).problems

    assert (where, obligation) in {(problem.where, problem.obligation) for problem in problems}


def test_a_run_of_another_workflow_refuses_it() -> None:
    played = Played(Silent)

    with pytest.raises(ScheduleError, match="no step of which takes it"):
        played.publish(said("hello"))


@given(cut=st.integers(1, 12))
def test_folding_the_journal_anywhere_leads_to_the_same_run(cut: int) -> None:
    played = Played(Heeding)
    played.publish(said("one"))
    played.end("begin")
    played.publish(said("two"))
    played.end("heed")
    played.end("heed")

    folded = RunSchedule(compose(Heeding, UserMessageEvent))
    for entry in played.entries[:cut]:
        folded.apply(entry)
    folded = folded.fork()
    for entry in played.entries[cut:]:
        folded.apply(entry)

    assert folded.in_flight.keys() == played.schedule.in_flight.keys()
    assert folded.left_over() == played.schedule.left_over()
