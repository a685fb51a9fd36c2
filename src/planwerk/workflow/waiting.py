"""Who waits for what: eligibility, settled inputs and cycles of waits (E3.1, E3.2, E3.4, E3.9)."""

from __future__ import annotations

from planwerk.workflow.plan import ParameterPlan, StepPlan, bits
from planwerk.workflow.scope import OUTSIDE, Scope
from planwerk.workflow.seen import Rounds, one_more
from planwerk.workflow.settling import must_settle


def ready_steps(scope: Scope) -> tuple[list[int], bool]:
    """Waiting steps whose inputs are settled; where there are none, the one that opens a cycle (E3.4)."""
    ready: list[int] = []
    only_waits = False
    for index, round_number in scope.waiting.items():
        step = scope.plan.steps[index]
        if step.awaited_steps & scope.working:
            continue  # seen at a glance: a join is looked at after each of the thousands it joins
        steps, arrivals = blocked_by(scope, step, round_number)
        if not steps and not arrivals:
            ready.append(index)
        elif not arrivals and not steps & scope.working:
            only_waits = True
    if ready or not only_waits:
        ready.sort()
        return ready, False
    return open_cycle(scope), True


def must_wait(scope: Scope, step: StepPlan, round_number: int) -> bool:
    """Whether any of its inputs has to be settled before it is due."""
    if step.always_waits:
        return True
    for parameter in step.parameters:
        if must_settle(parameter, has_new=bool(scope.cell(step, parameter.index, round_number).new)):
            return True
    return False


def rounds_waiting(scope: Scope, step: StepPlan, round_number: int) -> Rounds:
    """The rounds its next execution will have: those of the earliest events that can start it, at least."""
    rounds = scope.no_rounds()
    if not rounds:
        return rounds
    for parameter in step.parameters:
        cell = scope.cell(step, parameter.index, round_number)
        if parameter.starting and cell.new:
            rounds = tuple(map(max, rounds, cell.low))
        elif parameter.is_list:
            rounds = tuple(map(max, rounds, cell.high or rounds))
        elif cell.last is not None and not parameter.read_only:
            rounds = tuple(map(max, rounds, cell.last.rounds))
    return one_more(rounds, step)


def eligible_round(scope: Scope, step: StepPlan) -> int | None:
    """The earliest round in which the step is eligible (E3.1, E3.9)."""
    if step.tracked < 0:
        return OUTSIDE if is_eligible(scope, step, OUTSIDE, latest=True) else None
    latest = latest_complete(scope, step)
    fresh = sorted(round_number for round_number, count in scope.fresh.get(step.index, {}).items() if count > 0)
    for round_number in dict.fromkeys([*fresh, latest]):
        if is_eligible(scope, step, round_number, latest=round_number == latest):
            return round_number
    return None


def latest_complete(scope: Scope, step: StepPlan) -> int:
    """The latest round that has all required events of the loop; new events from outside join it."""
    looping = [parameter for parameter in step.parameters if parameter.of_loop and parameter.is_single]
    top = scope.top.get(step.index, OUTSIDE)
    for round_number in range(top, OUTSIDE - 1, -1):
        cells = [scope.cells.get((step.index, parameter.index, round_number)) for parameter in looping]
        if all(cell is not None and (cell.new or cell.last is not None) for cell in cells):
            return round_number
    return top


def is_eligible(scope: Scope, step: StepPlan, round_number: int, *, latest: bool) -> bool:
    has_new = bool(scope.empty_starts & step.bit)
    for parameter in step.parameters:
        cell = scope.cell(step, parameter.index, round_number)
        if parameter.is_single and not cell.new and cell.last is None:
            return False
        if parameter.starting and cell.new and (latest or parameter.of_loop):
            has_new = True
    return has_new


def blocked_by(scope: Scope, step: StepPlan, round_number: int) -> tuple[int, int]:
    """Active steps and arriving classes that can still bring a waiting step an event of its round (E3.2)."""
    found_steps = found_arrivals = 0
    for parameter in step.parameters:
        if parameter.read_only or (
            parameter.is_single and (parameter.of_loop or scope.cell(step, parameter.index, round_number).new)
        ):
            continue
        steps, arrivals = blockers(scope, step, parameter, round_number)
        found_steps |= steps
        found_arrivals |= arrivals
    return found_steps, found_arrivals


def blockers(scope: Scope, step: StepPlan, parameter: ParameterPlan, round_number: int) -> tuple[int, int]:
    """Active steps and arriving classes that can still bring the parameter an event of this round."""
    if step.tracked < 0:
        active = scope.working | scope.waiting_mask
        return active & parameter.same_steps, scope.arriving & parameter.same_arrivals
    same, earlier = scope.active_in(step.tracked, round_number)
    steps = same & parameter.same_steps | earlier & parameter.earlier_steps
    if parameter.of_loop and scope.runs_earlier(step.tracked, round_number):
        steps |= step.bit
    same, earlier = scope.arriving_in(step.tracked, round_number)
    return steps, same & parameter.same_arrivals | earlier & parameter.earlier_arrivals


def open_cycle(scope: Scope) -> list[int]:
    """One member of a set of steps that wait only for each other (E3.4); empty if there is no such set."""
    blocking: dict[int, int] = {}
    for_list: dict[int, bool] = {}
    stuck: set[int] = set()
    for index, round_number in scope.waiting.items():
        step = scope.plan.steps[index]
        blocking[index], arrivals = blocked_by(scope, step, round_number)
        for_list[index] = any(
            blockers(scope, step, parameter, round_number) != (0, 0)
            for parameter in step.parameters
            if parameter.is_list
        )
        if not arrivals and not blocking[index] & scope.working:
            stuck.add(index)
    shrunk = True
    while shrunk:
        reachable = {index for index in stuck if any(number not in stuck for number in bits(blocking[index]))}
        shrunk = bool(reachable)
        stuck -= reachable
    behind = {index: _all_behind(index, blocking) for index in stuck}
    sources = [index for index in stuck if all(index in behind[other] for other in behind[index])]
    if not sources:
        return []
    return [min(sources, key=lambda index: (for_list[index], index))]


def must_settle_now(scope: Scope, step: StepPlan, round_number: int) -> bool:
    """Whether a further binding would repeat a required event that may not be the last of its kind (E3.2)."""
    return any(
        parameter.is_single and must_settle(parameter, has_new=False) and not cell.new
        for parameter in step.parameters
        for cell in [scope.cell(step, parameter.index, round_number)]
    )


def _all_behind(index: int, blockers: dict[int, int]) -> set[int]:
    """Every step that a waiting step waits for, at any remove."""
    found: set[int] = set()
    frontier = [index]
    while frontier:
        for number in bits(blockers.get(frontier.pop(), 0)):
            if number not in found:
                found.add(number)
                frontier.append(number)
    return found
