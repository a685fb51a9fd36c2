"""Made-up workflows from a seed, and concrete runs of them in any order, for laws of exploring (E6.4)."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any

from planwerk.workflow.composition import Composition
from planwerk.workflow.steps import Output
from tests.workflow.notation import Notation, Play

MOST_MOVES = 60
"""Executions after which a concrete run is given up; a loop may go round for ever."""

Choices = Mapping[str, frozenset[frozenset[str]]]
"""Sets of classes that executions of a step return, of those a run should keep to."""


def made_up(dice: random.Random) -> dict[str, Any]:
    """A few steps over a few classes: unions, optional and list inputs, choices, fan-outs, loops, failing steps, stops,
    and in some a call of a capability as wild.
    """
    kinds = list("ABCDE"[: dice.randint(3, 5)])
    if dice.random() < 0.6:
        return _steps(dice, kinds, "Start", "Stop", dice.randint(2, 5), "")
    given: dict[str, Any] = {"call Q -> O": _steps(dice, ["X", "Y", "Z"], "Q", "O", dice.randint(1, 2), "in_")}
    given.update(_steps(dice, kinds, "Start", "Stop", dice.randint(2, 4), ""))
    given["begin"] = f"Start -> {dice.choice(['Q', 'list[Q]', '(Q, A)', '(Q, Q)'])}"
    given["tell"] = f"{dice.choice(['O', 'list[O]', 'Start, list[O]|None', 'O, A|None'])} -> {_ends(dice, kinds, '')}"
    return given


def _steps(dice: random.Random, kinds: list[str], start: str, stop: str, count: int, prefix: str) -> dict[str, Any]:
    given = {f"{prefix}begin": f"{start} -> {_ends(dice, kinds, '')}"}
    for number in range(count):
        taken = dice.sample(kinds, dice.randint(1, 3))
        inputs = [
            dice.choice([kind, kind, kind, f"{kind}|None", f"list[{kind}]", f"list[{kind}]|None"]) for kind in taken
        ]
        if dice.random() < 0.25:
            inputs.insert(0, start)
        given[f"{prefix}s{number}"] = f"{', '.join(inputs)} -> {_ends(dice, kinds, stop)}"
    given[f"{prefix}end"] = f"{dice.choice(kinds)} -> {stop}"
    return given


def _ends(dice: random.Random, kinds: list[str], stop: str) -> str:
    def one() -> str:
        kind, other = dice.choice(kinds), dice.choice(kinds)
        return dice.choice([kind, kind, f"list[{kind}]", f"({kind}, {other})", f"list[{kind}|{other}]"])

    found = [one() for _ in range(dice.randint(1, 2))]
    found += ["None"] if dice.random() < 0.25 else []
    found += [stop] if stop and dice.random() < 0.35 else []
    return "|".join(dict.fromkeys(found)) + (" (stop_on_error=False)" if dice.random() < 0.1 else "")


def how_it_ends(
    notation: Notation,
    composition: Composition,
    dice: random.Random,
    *,
    full_lists: bool,
    keep_to: Choices | None = None,
) -> str:
    """Run the workflow concretely, what ends next and how drawn at random: `stop`, the code of its fault, `long` when
    it was given up, or `hangs` when nothing works and nothing was said.
    """
    play = Play(notation, composition=composition)
    play.begin()
    for _ in range(MOST_MOVES):
        if play.fault is not None:
            return getattr(play.fault, "code", "fault")
        if play.schedule.stop is not None:
            return "stop"
        working = play.running()
        if not working:
            return "hangs"
        name = dice.choice(working)
        play.end(name, " ".join(_returned(play, name, dice, full_lists, keep_to)))
    return "long"


def _returned(play: Play, name: str, dice: random.Random, full_lists: bool, keep_to: Choices | None) -> list[str]:
    step = play.executions[name].step
    ways = list(step.returns.alternatives) + ([] if step.spec.stop_on_error else [()])
    kept = (keep_to or {}).get(step.spec.name)
    if kept:
        wanted = dice.choice(sorted(kept, key=sorted))
        fitting = [way for way in ways if wanted <= {output.cls.__name__ for output in way} or not way]
        way = dice.choice(fitting or ways)
        return [play.notation.name(output.cls) for output in way if not output.many or output.cls.__name__ in wanted]
    way = dice.choice(ways)
    names = [play.notation.name(output.cls) for output in way for _ in range(_many(output, dice, full_lists))]
    if all(output.many for output in way):
        dice.shuffle(names)
    return names


def _many(output: Output, dice: random.Random, full_lists: bool) -> int:
    return dice.randint(1 if full_lists else 0, 3) if output.many else 1


def choices_of(path: str) -> dict[str, frozenset[frozenset[str]]]:
    """What steps return on a path as it is printed: `begin → A; work → B, C`."""
    found: dict[str, set[frozenset[str]]] = {}
    for move in path.partition(":")[0].split("; "):
        step, arrow, returned = move.partition(" → ")
        if arrow:
            found.setdefault(step, set()).add(frozenset(returned.split(", ")) - {"nothing"})
    return {step: frozenset(sets) for step, sets in found.items()}


def seen_in(runs: int, run: Callable[[int], str]) -> set[str]:
    """How so many runs ended."""
    return {run(number) for number in range(runs)}
