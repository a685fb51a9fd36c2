from __future__ import annotations

import pytest
from pydantic import ValidationError

from planwerk.access.actors import (
    ACTOR,
    Actor,
    AgentActor,
    EvaluatorActor,
    ExternalAgentActor,
    SystemActor,
    UserActor,
    same_participant,
)
from planwerk.workflow.ids import RunId, ThreadId

T1, T2 = ThreadId("t1"), ThreadId("t2")
R1, R2 = RunId("r1"), RunId("r2")

EVERY_KIND: list[Actor] = [
    UserActor(id="x", name="X"),
    AgentActor(thread_id=ThreadId("x"), run_id=R1, name="X"),
    ExternalAgentActor(client_id="x", name="X"),
    SystemActor(name="x"),
    EvaluatorActor(name="x", version="1"),
]


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        (UserActor(id="u", name="Ada"), UserActor(id="u", name="Ada Lovelace"), True),
        (UserActor(id="u", name="Ada"), UserActor(id="v", name="Ada"), False),
        (AgentActor(thread_id=T1, run_id=R1, name="A"), AgentActor(thread_id=T1, run_id=R2, name="B"), True),
        (AgentActor(thread_id=T1, run_id=R1, name="A"), AgentActor(thread_id=T2, run_id=R1, name="A"), False),
        (AgentActor(run_id=R1, name="A"), AgentActor(run_id=R1, name="A"), True),
        (AgentActor(run_id=R1, name="A"), AgentActor(run_id=R2, name="A"), False),
        (AgentActor(run_id=RunId("t1"), name="A"), AgentActor(thread_id=T1, run_id=R1, name="A"), False),
        (ExternalAgentActor(client_id="c", name="A"), ExternalAgentActor(client_id="c", name="B"), True),
        (SystemActor(name="starter"), SystemActor(name="projector"), False),
        (EvaluatorActor(name="e", version="1"), EvaluatorActor(name="e", version="2"), True),
    ],
)
def test_participants_are_compared_by_kind_and_id(a: Actor, b: Actor, same: bool) -> None:
    assert same_participant(a, b) is same
    assert same_participant(b, a) is same


def test_actors_of_two_kinds_are_never_one_participant_whatever_their_ids() -> None:
    pairs = [(a, b) for a in EVERY_KIND for b in EVERY_KIND if a is not b]

    assert not any(same_participant(a, b) for a, b in pairs)


@pytest.mark.parametrize("actor", EVERY_KIND, ids=lambda actor: actor.kind)
def test_an_actor_read_back_from_json_is_the_same(actor: Actor) -> None:
    assert ACTOR.validate_json(ACTOR.dump_json(actor)) == actor


@pytest.mark.parametrize(
    "data", [{"kind": "robot", "name": "x"}, {"name": "x"}, {"kind": "system", "name": "x", "id": 1}]
)
def test_what_is_no_actor_is_refused(data: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        ACTOR.validate_python(data)
