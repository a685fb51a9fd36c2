"""Who did something. Every event names one actor, and participants are compared by kind and id (A1.2)."""

from __future__ import annotations

from typing import Annotated, Final, Literal, TypeAlias, assert_never

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from planwerk.workflow.ids import RunId, ThreadId


class _ActorModel(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class UserActor(_ActorModel):
    """A person; `id` is the account's."""

    kind: Literal["user"] = "user"
    id: str
    name: str


class AgentActor(_ActorModel):
    """A run of a profile. All runs of one thread are one participant; a run without a thread is its own."""

    kind: Literal["agent"] = "agent"
    thread_id: ThreadId | None = None
    run_id: RunId
    name: str


class ExternalAgentActor(_ActorModel):
    """An agent that is not ours and came in through a key or a client registration."""

    kind: Literal["external_agent"] = "external_agent"
    client_id: str
    name: str


class SystemActor(_ActorModel):
    """A part of the installation itself, such as the starter or a schedule."""

    kind: Literal["system"] = "system"
    name: str


class EvaluatorActor(_ActorModel):
    """What gives scores; its versions are one participant."""

    kind: Literal["evaluator"] = "evaluator"
    name: str
    version: str


Actor: TypeAlias = Annotated[
    UserActor | AgentActor | ExternalAgentActor | SystemActor | EvaluatorActor, Field(discriminator="kind")
]
ActorKind: TypeAlias = Literal["user", "agent", "external_agent", "system", "evaluator"]

ACTOR: Final[TypeAdapter[Actor]] = TypeAdapter(Actor)
"""Reads and writes any actor as JSON."""


def participant_id(actor: Actor) -> str:
    """The id by which an actor is compared with others of its kind; it says nothing without the kind."""
    match actor:
        case UserActor(id=account):
            return account
        case AgentActor(thread_id=None, run_id=run):
            return f"run:{run}"
        case AgentActor(thread_id=thread):
            return f"thread:{thread}"
        case ExternalAgentActor(client_id=client):
            return client
        case SystemActor(name=name) | EvaluatorActor(name=name):
            return name
        case _:
            assert_never(actor)


def same_participant(a: Actor, b: Actor) -> bool:
    """Whether both are one participant: same kind and id, whatever the run, the name shown or the version."""
    return a.kind == b.kind and participant_id(a) == participant_id(b)
