"""A workflow that could stall is found before it runs, with the path that leads there (E6.4)."""

from __future__ import annotations

from typing import Any

import pytest

from planwerk.workflow.blueprint import Agent
from planwerk.workflow.events import ControlEvent, StartEvent, StopEvent
from planwerk.workflow.exploration import explore
from planwerk.workflow.exploring.search import Limits
from planwerk.workflow.steps import step
from tests.workflow.notation import Notation

UNTIMED = Limits(clock=lambda: 0.0)
"""The bound of states alone, so that a slow machine says the same."""

GUARDED = {
    "begin": "Start -> Query",
    "guard": "Query -> Enough|Short",
    "answer": "Query, Enough -> Stop",
}


def problems(given: dict[str, Any]) -> list[tuple[str, str]]:
    return [(problem.severity, problem.message) for problem in explore(Notation(given).compose(), UNTIMED).problems]


def test_a_straight_workflow_has_nothing_to_report() -> None:
    assert problems({"begin": "Start -> A", "finish": "A -> Stop"}) == []


def test_an_outcome_nobody_takes_is_a_stall_with_its_path() -> None:
    found = problems(GUARDED)

    assert [severity for severity, _ in found] == ["error"]
    assert "guard → " in found[0][1]
    assert "answer waits for" in found[0][1]
    assert "guard could have sent" in found[0][1]


def test_a_step_that_needs_two_outcomes_of_one_choice_is_refused() -> None:
    found = problems({"begin": "Start -> A|B", "finish": "A, B -> Stop"})

    assert found
    assert found[0][0] == "error"
    assert "finish waits for" in found[0][1]


def test_a_choice_whose_every_branch_ends_is_free_of_stalls() -> None:
    assert problems({**GUARDED, "refuse": "Short -> StopRefused"}) == []


def test_a_step_that_may_fail_without_ending_the_run_may_not_be_waited_for() -> None:
    found = problems({"begin": "Start -> (A, B)", "risky": "A -> C (stop_on_error=False)", "finish": "B, C -> Stop"})

    assert found
    assert found[0][0] == "error"


def test_an_empty_list_is_only_a_warning() -> None:
    found = problems({"begin": "Start -> list[W]", "work": "W -> D", "join": "list[D] -> Stop"})

    assert [severity for severity, _ in found] == ["warning"]
    assert "begin → nothing: join waits for " in found[0][1]
    assert "which work could have sent, for ever (when the list of begin is empty)" in found[0][1]


def test_a_join_that_takes_an_empty_list_is_free_of_stalls() -> None:
    assert problems({"begin": "Start -> list[W]", "work": "W -> D", "join": "Start, list[D] -> Stop"}) == []


def test_a_loop_without_an_exit_reaches_no_stop() -> None:
    found = problems({"begin": "Start -> A", "again": "A -> B", "back": "B -> A"})

    assert [severity for severity, _ in found] == ["error", "warning"]
    assert "no stop can be reached" in found[0][1]
    assert "again → back → again can go round for ever" in found[1][1]


def test_a_call_is_explored_on_its_own_and_stands_for_its_outcomes() -> None:
    given = {
        "begin": "Start -> Ask",
        "finish": "Found -> Stop",
        "call Ask -> Found|Missing": {"look": "Ask -> Found|Missing"},
    }

    found = problems(given)

    assert found
    assert "Missing" in found[0][1]


def test_a_call_that_can_end_without_its_outcome_is_refused() -> None:
    given = {
        "begin": "Start -> Ask",
        "finish": "Found -> Stop",
        "call Ask -> Found": {"look": "Ask -> Hit|None", "tell": "Hit -> Found"},
    }

    found = problems(given)

    assert found
    assert "a call owes an outcome" in found[0][1]


def test_a_call_that_can_answer_twice_is_refused() -> None:
    given = {
        "begin": "Start -> Ask",
        "finish": "Found -> Stop",
        "call Ask -> Found": {"look": "Ask -> (Hit, Hit)", "tell": "Hit -> Found"},
    }

    found = problems(given)

    assert found
    assert "answered before" in found[0][1]


def test_a_call_that_ends_the_run_needs_no_outcome() -> None:
    given = {"begin": "Start -> Finish", "call Finish -> ": {"finish": "Finish -> Stop"}}

    assert problems(given) == []


def test_steps_that_wait_for_each_other_are_named_as_a_warning() -> None:
    found = problems(
        {
            "a": "Start -> A",
            "p": "A, Y|None -> X",
            "q": "A, X|None -> Y",
            "r": "A, list[Y]|None -> Stop",
        }
    )

    assert [severity for severity, _ in found] == ["warning"]
    assert "cycle" in found[0][1]


def test_a_precondition_that_says_no_is_a_warning() -> None:
    found = problems({"begin": "Start -> A", "finish": "A -> Stop, if it is the second A"})

    assert [severity for severity, _ in found] == ["warning"]
    assert "the precondition of finish says no" in found[0][1]


@pytest.mark.parametrize("branches", [2, 6, 16])
def test_parallel_choices_are_explored_in_one_order(branches: int) -> None:
    outputs = ", ".join(f"W{number}" for number in range(branches))
    given = {"begin": f"Start -> ({outputs})"}
    for number in range(branches):
        given[f"work{number}"] = f"W{number} -> D{number}|None"
    given["join"] = "Start, " + ", ".join(f"D{number}|None" for number in range(branches)) + " -> Stop"

    assert problems(given) == []


def test_two_inputs_that_each_come_more_than_once_are_a_warning() -> None:
    found = problems(
        {
            "begin": "Start -> (list[A], list[B])",
            "pair": "A, B -> C",
            "join": "Start, list[C]|None -> Stop",
        }
    )

    assert [severity for severity, message in found if "paired as they come" in message] == ["warning"]


def test_one_input_that_comes_more_than_once_beside_one_that_does_not_is_sound() -> None:
    given = {
        "split": "Start -> list[W]",
        "load": "Start -> Cfg",
        "work": "W, Cfg -> D",
        "join": "Start, list[D]|None -> Stop",
    }

    assert problems(given) == []


@pytest.mark.parametrize(
    ("again", "warned"),
    [("Again -> (A, B)", False), ("Again -> (A, B) | A", True), ("Again -> A", False), ("Again -> (A, C)", False)],
    ids=["both", "one of both", "one of no loop", "through another step"],
)
def test_an_input_of_a_loop_that_can_come_round_without_the_other_is_a_warning(again: str, warned: bool) -> None:
    found = problems(
        {
            "begin": "Start -> (A, B)",
            "pair": "A, B -> Again | Stop",
            "again": again,
            "turn": "C -> B",
        }
        if "C" in again
        else {"begin": "Start -> (A, B)", "pair": "A, B -> Again | Stop", "again": again}
    )

    alone = [(severity, message) for severity, message in found if "can come round again without" in message]
    assert [severity for severity, _ in alone] == (["warning"] if warned else [])
    assert all("b can come" not in message for _, message in alone)


def test_two_inputs_of_one_loop_that_come_once_a_round_are_sound() -> None:
    given = {
        "ask": "Start -> Query",
        "retrieve": "Query -> Nodes",
        "rerank": "Query, Nodes -> Ranked",
        "guard": "Ranked -> Query|Stop",
    }

    assert [message for _, message in problems(given) if "paired" in message] == []


def test_an_event_that_can_come_too_late_is_named_as_left_behind() -> None:
    found = problems(
        {"ask": "Start -> Q", "reply": "Q, Hint|None -> (Text, Note)", "noter": "Note -> Hint", "end": "Text -> Stop"}
    )

    assert [severity for severity, _ in found] == ["warning"]
    assert "Hint can be left behind: reply can no longer take it" in found[0][1]


def test_what_lies_when_a_stop_cuts_work_off_is_nothing_to_mend() -> None:
    given = {
        "begin": "Start -> (A, B)",
        "guard": "A -> Fine|StopRefused",
        "more": "B -> C (stop_on_error=False)",
        "join": "Fine, C|None -> Stop",
    }

    assert problems(given) == []


def test_a_loop_is_explored_to_its_end_whatever_its_rounds() -> None:
    given = {
        "decide": "Start|Again -> (Decided, list[Tool])|Stop",
        "run": "Tool -> Result",
        "join": "Decided, list[Result]|None -> Again",
    }

    exploration = explore(Notation(given).compose(), UNTIMED)

    assert all(scope.is_proven for scope in exploration.scopes)
    assert [problem.obligation for problem in exploration.problems] == ["E3.7"]
    assert exploration.states < 20


def test_a_fault_that_only_a_later_round_runs_into_is_found() -> None:
    given = {
        "begin": "Start -> (Turn, Once)",
        "turn": "Turn -> Turn2|Last",
        "once": "Once, Turn2|None -> Spare",
        "back": "Turn2 -> Turn",
        "last": "Last, Spare, Turn3 -> Stop",
        "third": "Turn2 -> Turn3 (stop_on_error=False)",
    }

    found = problems(given)

    assert found
    assert found[0][0] == "error"
    assert "last waits for" in found[0][1]


def test_a_loop_with_a_limit_is_not_warned_of() -> None:
    class LimitedStart(StartEvent):
        pass

    class LimitedAgain(ControlEvent):
        pass

    class Limited(Agent):
        @step()
        async def begin(self, start: LimitedStart) -> LimitedAgain:
            return LimitedAgain()

        @step(max_executions_per_run=3)
        async def again(self, again: LimitedAgain) -> LimitedAgain | StopEvent:
            return StopEvent()

    assert Limited.find_problems() == []


def test_a_request_to_a_person_may_be_answered_either_way() -> None:
    given = {
        "request Confirm?": "Yes | No",
        "begin": "Start -> Confirm?",
        "go": "Yes -> Stop",
    }

    found = problems(given)

    assert [severity for severity, _ in found] == ["error"]
    assert "Asked → " in found[0][1]
    assert "no step takes" in found[0][1]


def test_a_call_that_needs_no_outcome_is_free_of_stalls() -> None:
    given = {
        "begin": "Start -> (Note, A)",
        "end": "A -> Stop",
        "call Note -> ": {"keep": "Note -> Kept", "drop": "Kept -> None"},
    }

    assert problems(given) == []


def test_a_caller_is_explored_with_the_outcomes_its_calls_were_found_to_have() -> None:
    """The second outcome is declared, but what leads to it is held up by a choice that never brings both."""
    given = {
        "begin": "Start -> Ask",
        "finish": "Found -> Stop",
        "lost": "Lost, Never -> Stop",
        "never": "Found -> Never",
        "call Ask -> Found|Lost": {
            "look": "Ask -> A|B",
            "tell": "A -> Found",
            "other": "B -> Found",
            "both": "A, B -> Lost",
        },
    }

    assert not [message for severity, message in problems(given) if severity == "error"]


def test_where_steps_wait_for_each_other_a_stall_is_found_beside_the_cycle() -> None:
    given = {
        "begin": "Start -> (A, B)",
        "p": "A, Y|None -> X",
        "q": "B, X|None -> Y|Z",
        "end": "X, Y -> Stop",
    }

    found = problems(given)

    assert found[0][0] == "error"
    assert "end waits for" in found[0][1]
    assert any("cycle" in message for _, message in found)


def test_entangled_loops_are_told_apart_only_so_far_and_that_is_said() -> None:
    given = {
        "begin": "Start -> list[B]|A",
        "some": "E -> list[A|B]",
        "many": "Start, list[A], list[C]|None, B -> (D, E)|list[D]",
        "more": "E|None, C|None, list[B] -> C|list[A]",
        "show": "D -> None",
        "end": "A -> Stop",
    }

    exploration = explore(Notation(given).compose(), UNTIMED)

    notes = [problem.message for problem in exploration.problems if problem.severity == "note"]
    assert not all(scope.is_proven for scope in exploration.scopes)
    assert any("rounds of its loops are told apart only up to 3" in note for note in notes)
