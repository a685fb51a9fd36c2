"""What a run's end names: events that no step took (E4.5)."""

from __future__ import annotations

from typing import Any

from planwerk.testing.folding import fold
from tests.workflow.notation import Notation, Play


def left_over(play: Play) -> set[str]:
    """Short names of the classes left over; a fold of the journal says the same."""
    names = {notation_name for notation_name, cls in play.notation.classes.items() if cls.__name__ in _left(play)}
    assert fold(play.composition, play.journal).left_over() == play.schedule.left_over()
    return names


def _left(play: Play) -> tuple[str, ...]:
    return play.schedule.left_over()


def played(given: dict[str, Any], *moves: tuple[str, str]) -> Play:
    play = Play(Notation(given))
    play.begin()
    for execution, outputs in moves:
        play.end(execution, outputs)
    return play


def test_an_event_that_no_step_takes_is_left_over() -> None:
    play = played({"begin": "Start -> (A, B)", "end": "A -> Stop"}, ("begin", "A B"), ("end", "Stop"))

    assert left_over(play) == {"B"}


def test_an_optional_event_that_came_too_late_is_left_over() -> None:
    given = {
        "ask": "Start -> Q",
        "reply": "Q, Hint|None -> (Text, Note)",
        "noter": "Note -> Hint",
        "end": "Text -> Stop",
    }

    play = played(given, ("ask", "Q"), ("reply", "Text Note"), ("noter", "Hint"), ("end", "Stop"))

    assert left_over(play) == {"Hint"}


def test_an_event_that_one_of_two_steps_took_is_not_left_over() -> None:
    given = {
        "begin": "Start -> A",
        "show": "A, B|None -> None",
        "both": "A, C -> Stop",
        "never": "B -> C",
        "end": "A -> Stop",
    }

    play = played(given, ("begin", "A"), ("end", "Stop"))

    assert left_over(play) == set()


def test_what_a_join_still_waited_with_at_the_stop_is_left_over() -> None:
    given = {"split": "Start -> list[W]", "work": "W -> D|Stop", "join": "Start, list[D] -> Stop"}

    play = played(given, ("split", "W W"), ("work.1", "D"), ("work.2", "Stop"))

    assert left_over(play) == {"D"}


def test_what_lies_in_a_call_that_is_over_is_left_over() -> None:
    given = {
        "begin": "Start -> Ask",
        "wait": "Told -> More",
        "end": "More -> Stop",
        "call Ask -> Told": {
            "look": "Ask -> (A, B)|A",
            "tell": "A -> Told",
            "pair": "A, B, C -> None",
            "c": "B -> C|None",
        },
    }

    play = played(given, ("begin", "Ask"), ("look", "A B"), ("c", ""), ("tell", "Told"), ("wait", "More"))

    assert len(play.schedule.open_scopes()) == 1
    assert left_over(play) == set()

    play = played(given, ("begin", "Ask"), ("look", "A"), ("tell", "Told"), ("wait", "More"), ("end", "Stop"))

    assert left_over(play) == set()


def test_an_event_nobody_in_a_call_that_is_over_took_is_left_over() -> None:
    given = {
        "begin": "Start -> Ask",
        "wait": "Told -> More",
        "end": "More -> Stop",
        "call Ask -> Told": {"look": "Ask -> (A, B)", "tell": "A -> Told", "c": "A -> C|None", "pair": "B, C -> None"},
    }

    play = played(
        given, ("begin", "Ask"), ("look", "A B"), ("c", ""), ("tell", "Told"), ("wait", "More"), ("end", "Stop")
    )

    assert left_over(play) == {"B"}


def test_what_a_precondition_holds_back_is_left_over() -> None:
    given = {
        "split": "Start -> list[W]",
        "work": "W -> D, if it is the first W",
        "join": "Start, list[D] -> Stop",
    }

    play = played(given, ("split", "W"), ("work", "D"), ("join", "Stop"))
    assert left_over(play) == set()

    play = played(given, ("split", "W W"), ("work", "D"), ("join", "Stop"))
    assert left_over(play) == {"W"}
