"""A workflow of the size people build is explored in few states; faults put in are found with a path (E6.4)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from planwerk.workflow.errors import Problem
from planwerk.workflow.exploration import Exploration, explore
from planwerk.workflow.exploring.search import Limits
from tests.workflow.composed import RAG, Given, with_change
from tests.workflow.notation import Notation

UNTIMED = Limits(clock=lambda: 0.0)
"""The bound of states alone, so that a slow machine says the same."""


def explored(given: Given, limits: Limits = UNTIMED) -> tuple[Exploration, list[Problem]]:
    """What was found, the names of classes as they stand in the notation."""
    notation = Notation(given)
    found = explore(notation.compose(), limits)
    problems = [
        Problem(problem.where, problem.obligation, _short(notation, problem.message), problem.remedy, problem.severity)
        for problem in found.problems
    ]
    return found, problems


def _short(notation: Notation, message: str) -> str:
    return message.replace(notation.blueprint.__name__, "").replace("Asked", "?")


def errors(problems: list[Problem]) -> list[str]:
    return [problem.message for problem in problems if problem.severity == "error"]


def warnings(problems: list[Problem]) -> list[str]:
    return [problem.message for problem in problems if problem.severity == "warning"]


def test_sixty_steps_in_ten_scopes_are_proven_in_few_states() -> None:
    composition = Notation(RAG).compose()
    assert sum(len(scope.steps) for scope in composition.scopes) >= 60
    assert len(composition.scopes) == 10

    found, problems = explored(RAG)

    assert errors(problems) == []
    assert all(scope.is_proven for scope in found.scopes)
    assert found.states <= 400


def test_sixteen_optional_side_branches_add_few_states() -> None:
    def side_branches(given: Given) -> None:
        for number in range(16):
            given[f"side{number}"] = f"Contextualized -> Side{number} | None"
        given["beside"] = f"Contextualized, {', '.join(f'Side{number}|None' for number in range(16))} -> None"

    found, problems = explored(with_change(side_branches))

    assert errors(problems) == []
    assert found.states <= 600


def _nobody_takes_the_failure(given: Given) -> None:
    del given["failed"]


def _a_failing_step_is_needed(given: Given) -> None:
    given["assemble"] = given["assemble"].replace("FilesRead|None", "FilesRead, Block")
    given["blocks"] = "Contextualized -> Block (stop_on_error=False)"


def _an_input_of_one_branch_is_needed(given: Given) -> None:
    given["assemble"] = given["assemble"].replace("Nodes|None", "Nodes")


def _a_loop_without_an_exit(given: Given) -> None:
    given.update(sufficiency="Ranked -> Insufficient", escalate="Insufficient -> Search")
    for step in ("sufficient", "confirmed", "declined", "replied", "failed"):
        del given[step]


def _a_call_that_answers_twice(given: Given) -> None:
    given["call Know2? -> Know2"]["too"] = "Wide -> Know2"


FAULTS: list[tuple[Callable[[Given], None], str]] = [
    (_nobody_takes_the_failure, ": no step takes ExpertFailed; assemble waits for Context (parameter p2), which"),
    (_a_failing_step_is_needed, "assemble waits for Block (parameter p4), which blocks could have sent, for ever"),
    (
        _an_input_of_one_branch_is_needed,
        "assemble waits for Nodes (parameter p4), which found could have sent, for ever",
    ),
    (_a_loop_without_an_exit, "from there no stop can be reached"),
    (_a_call_that_answers_twice, "was answered before"),
]


@pytest.mark.parametrize(("put_in", "said"), FAULTS, ids=[put_in.__name__ for put_in, _ in FAULTS])
def test_a_fault_put_in_is_found_with_a_readable_path(put_in: Callable[[Given], None], said: str) -> None:
    found, problems = explored(with_change(put_in))

    told = [message for message in errors(problems) if said in message]
    assert told, errors(problems)
    assert " → " in told[0]
    assert len(told[0]) < 900
    assert found.states <= 1_000


def test_the_path_to_a_failure_nobody_takes_is_told_from_the_start() -> None:
    _, problems = explored(with_change(_nobody_takes_the_failure))

    assert errors(problems)[0].startswith("begin → Ctx?; Ctx? → Contextualized; ")
    assert "; …; " in errors(problems)[0]
    assert (
        "escalate → Confirm?; Confirm? → Confirmed; confirmed → Expert?; Expert? → ExpertFailed" in errors(problems)[0]
    )


def test_a_list_that_may_lack_its_completion_is_a_warning_that_names_both_steps() -> None:
    _, problems = explored(RAG)

    told = [message for message in warnings(problems) if "the list of finish is empty" in message]
    assert len(told) == 1
    assert "none has returned a stop" in told[0]


def test_a_limit_that_is_hit_is_said_with_how_far_it_came_and_refuses_nothing() -> None:
    found, problems = explored(RAG, Limits(states=10, clock=lambda: 0.0))

    notes = [problem.message for problem in problems if problem.severity == "note"]
    assert any("not proven: a limit was hit after 10 states" in note for note in notes)
    assert errors(problems) == []
    assert not all(scope.is_proven for scope in found.scopes)


def test_the_limit_in_seconds_is_one_for_each_scope() -> None:
    seconds = iter(range(10_000))

    found, problems = explored(RAG, Limits(seconds=4.0, clock=lambda: float(next(seconds))))

    assert {scope.states for scope in found.scopes} <= {4, 5}
    assert errors(problems) == []
