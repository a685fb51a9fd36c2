"""A workflow that could stall is found before it runs, with the path that leads there (E6.4)."""

from __future__ import annotations

from typing import Any

import pytest

from planwerk.workflow.exploration import explore
from tests.workflow.notation import Notation

GUARDED = {
    "begin": "Start -> Query",
    "guard": "Query -> Enough|Short",
    "answer": "Query, Enough -> Stop",
}


def problems(given: dict[str, Any]) -> list[tuple[str, str]]:
    return [(problem.severity, problem.message) for problem in explore(Notation(given).compose()).problems]


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
