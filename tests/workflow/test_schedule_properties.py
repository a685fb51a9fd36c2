"""Laws of the schedule, over made-up workflows and every order of finishing (E3, E4.5, E7.2)."""

from __future__ import annotations

import random
from collections.abc import Hashable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planwerk.workflow import entries as journal
from planwerk.workflow.events import ControlEvent
from planwerk.workflow.schedule import RunSchedule, entry_of
from tests.workflow.notation import Notation, Play

FAN_OUT = {"split": "Start -> list[W]", "work": "W -> D", "join": "Start, list[D] -> Stop"}


@given(order=st.permutations(range(1, 6)))
def test_a_join_runs_once_in_fan_out_order_in_whatever_order_its_inputs_finish(order: list[int]) -> None:
    play = Play(Notation(FAN_OUT))
    play.begin()
    play.end("split", "W W W W W")

    due = [name for number in order for name in play.end(f"work.{number}", "D")]

    assert len(due) == 1
    joined = play.executions["join.1"].binding[1]
    assert isinstance(joined, list)
    assert [seen.source.place for seen in joined if seen.source] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("width", [0, 1, 3])
def test_a_join_beside_a_required_input_runs_once_for_any_width(width: int) -> None:
    play = Play(Notation(FAN_OUT))
    play.begin()

    due = play.end("split", " ".join(["W"] * width))
    for number in range(1, width + 1):
        due = play.end(f"work.{number}", "D")

    assert [name.partition("(")[0] for name in due] == ["join.1"]


def test_a_fan_out_of_ten_thousand_is_joined_once_in_its_order() -> None:
    play = Play(Notation(FAN_OUT))
    play.begin()
    play.end("split", " ".join(["W"] * 10_000))
    running = list(play.executions)[1:]
    random.Random(7).shuffle(running)

    due: list[str] = []
    for name in running:
        execution = play.executions[name]
        event = play.notation.cls("D")()
        published = journal.EventPublished(event, execution.id, 0, execution=execution.id)  # pyright: ignore[reportArgumentType] - any id will do
        play.schedule.apply(published)
        play.schedule.apply(journal.ExecutionFinished(execution.id, 0, 1, (play.schedule.position,)))
        due += [made.step.name for made in play.schedule.decide().due]

    assert due == ["join"]
    joined = next(iter(play.schedule.in_flight.values())).binding[1]
    assert isinstance(joined, list)
    assert [seen.source.place for seen in joined if seen.source] == list(range(10_000))


def test_a_required_fan_and_a_plain_branch_are_joined_whatever_ends_first() -> None:
    """ENG-03: a join of an inner join and a plain branch waits for both."""
    given = {
        "fan": "Start -> list[Item]",
        "plain": "Start -> Y",
        "work": "Item -> Done",
        "inner": "Start, list[Done]|None -> X",
        "final": "X, Y -> Stop",
    }
    play = Play(Notation(given))
    play.begin()
    play.end("plain", "Y")
    play.end("fan", "Item Item Item")
    for number in (3, 1, 2):
        due = play.end(f"work.{number}", "Done")

    assert [name.partition("(")[0] for name in due] == ["inner.1"]
    assert [name.partition("(")[0] for name in play.end("inner", "X")] == ["final.1"]


def test_two_parallel_calls_of_one_capability_do_not_mix() -> None:
    given = {
        "fan": "Start -> (Ask, Ask)",
        "all": "Start, list[Told]|None -> Stop",
        "call Ask -> Told": {"left": "Ask -> L", "right": "Ask -> R", "both": "L, R -> Told"},
    }
    play = Play(Notation(given))
    play.begin()
    play.end("fan", "Ask Ask")

    assert play.end("left.1", "L") == []
    assert play.end("right.2", "R") == []
    assert [name.partition("(")[0] for name in play.end("right.1", "R")] == ["both.1"]
    assert [name.partition("(")[0] for name in play.end("left.2", "L")] == ["both.2"]


def test_a_run_that_cannot_go_on_says_who_waits_for_what() -> None:
    play = Play(Notation({"begin": "Start -> A|B", "finish": "A, C -> Stop", "never": "B -> C"}))
    play.begin()

    play.end("begin", "A")

    assert play.fault is not None
    assert "finish waits for" in str(play.fault)
    assert "never could have sent" in str(play.fault)


def test_a_call_that_is_quiet_without_its_outcome_is_named_by_its_path() -> None:
    given = {"begin": "Start -> Ask", "end": "Told -> Stop", "call Ask -> Told": {"look": "Ask -> Told|None"}}
    play = Play(Notation(given))
    play.begin()
    play.end("begin", "Ask")

    play.end("look", "")

    assert play.fault is not None
    assert "CallAsk ended without" in str(play.fault)


def test_events_beside_a_stop_start_nothing() -> None:
    play = Play(Notation({"begin": "Start -> (A, Stop)", "more": "A -> Stop"}))
    play.begin()

    assert play.end("begin", "Stop A") == []
    assert play.schedule.stop is not None


# Made-up workflows ---------------------------------------------------------------------------------------------------

KINDS = ["A", "B", "C", "D", "E"]


@st.composite
def workflows(draw: st.DrawFn) -> dict[str, str]:
    """A few steps over five classes, with unions, optional and list inputs, choices and fan-outs."""
    given: dict[str, str] = {"begin": f"Start -> {draw(_outputs())}"}
    for number in range(draw(st.integers(2, 5))):
        kinds = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=3, unique=True))
        inputs = ", ".join(draw(st.sampled_from([k, k, f"{k}|None", f"list[{k}]", f"list[{k}]|None"])) for k in kinds)
        given[f"s{number}"] = f"{inputs} -> {draw(_outputs())}"
    given["end"] = f"{draw(st.sampled_from(KINDS))} -> Stop"
    return given


@st.composite
def _outputs(draw: st.DrawFn) -> str:
    def one() -> str:
        kind = draw(st.sampled_from(KINDS))
        return draw(st.sampled_from([kind, kind, f"list[{kind}]"]))

    alternatives = [one() for _ in range(draw(st.integers(1, 2)))]
    if draw(st.booleans()):
        alternatives.append("None")
    return "|".join(alternatives)


@settings(max_examples=300)
@given(given=workflows(), seed=st.integers(0, 2**16))
def test_no_run_hangs_and_every_prefix_folds_to_the_same_state(given: dict[str, str], seed: int) -> None:
    choose = random.Random(seed)
    play = Play(Notation(given))
    play.begin()

    for _ in range(30):
        running = play.running()
        assert running or play.fault is not None or play.schedule.stop is not None, "hangs in silence"
        if not running or play.fault is not None or play.schedule.stop is not None:
            break
        name = choose.choice(running)
        alternative = choose.choice(play.executions[name].step.returns.alternatives)
        outputs: list[str] = []
        for output in alternative:
            if issubclass(output.cls, ControlEvent):
                outputs += [play.notation.name(output.cls)] * (choose.randint(0, 3) if output.many else 1)
        play.end(name, " ".join(outputs))

        assert _folded(play) == _state(play.schedule)


def _folded(play: Play) -> Hashable:
    again = RunSchedule(play.composition)
    for entry in play.journal:
        again.apply(entry)
    decision = again.decide_all()
    assert decision.due == [], [entry_of(made) for made in decision.due]
    assert (decision.fault is None) == (play.fault is None)
    return _state(again)


def _state(schedule: RunSchedule) -> Hashable:
    scope = schedule.open_scopes()[0]
    cells = tuple(
        sorted(
            (
                key,
                tuple(seen.position for seen in cell.new),
                tuple(sorted(seen.position for seen in cell.all)),
                cell.last.position if cell.last is not None else 0,
            )
            for key, cell in scope.cells.items()
            if cell.new or cell.all or cell.last is not None
        )
    )
    flight = tuple(sorted((made.step.name, made.positions, made.rounds) for made in schedule.in_flight.values()))
    if schedule.stop is not None:
        return (flight, cells)
    return (flight, cells, tuple(sorted(scope.waiting.items())), tuple(scope.counts))


def test_a_second_outcome_of_a_call_names_the_step_and_the_call() -> None:
    given = {
        "begin": "Start -> Ask",
        "end": "Told, More -> Stop",
        "more": "Told -> More",
        "call Ask -> Told": {"look": "Ask -> (A, B)", "tell": "A -> Told", "too": "B -> Told"},
    }
    play = Play(Notation(given))
    play.begin()
    play.end("begin", "Ask")
    play.end("look", "A B")
    play.end("tell", "Told")

    play.end("too", "Told")

    assert "CallAsk.too published" in str(play.fault)
    assert "was answered before" in str(play.fault)


def test_a_run_that_a_precondition_holds_back_says_so() -> None:
    play = Play(Notation({"begin": "Start -> A", "finish": "A -> Stop, if it is the second A"}))
    play.begin()

    play.end("begin", "A")

    assert "finish is held back by its precondition" in str(play.fault)
