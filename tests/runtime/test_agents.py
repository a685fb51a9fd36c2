"""Agents of an installation that ask each other: limits, counts and rights (E8.2)."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from planwerk.access.actions import Role
from planwerk.access.actors import SystemActor, UserActor
from planwerk.app import Planwerk
from planwerk.messages.events import LLMStopEvent, UserMessageEvent
from planwerk.messages.prompts import first_user_prompt, user_prompt
from planwerk.models.answering import Answering
from planwerk.runtime.profiles import ProfileArtifact
from planwerk.testing import ScriptedModel
from planwerk.testing.virtual_clock import virtual_clock, virtual_time
from planwerk.workflow import entries as journal
from planwerk.workflow.agents import AgentInTheLoop
from planwerk.workflow.blueprint import Agent
from planwerk.workflow.events import StopEvent
from planwerk.workflow.ids import RunId
from planwerk.workflow.locale_string import LocaleString
from planwerk.workflow.steps import step

DELEGATE = "delegate"
REPLIES = [DELEGATE] * 4 + ["four", "three", "two", "one"]


class Eng23Ask(AgentInTheLoop):
    """Hands the question to the other one."""


class Eng23A(Agent):
    """Delegates what its model wants delegated; says what the model says with the result."""

    other = "b"

    @step()
    async def think(self, message: UserMessageEvent, answering: Answering) -> Eng23Ask | LLMStopEvent:
        answer = await answering.answer(message.messages)
        if answer.text == DELEGATE:
            return Eng23Ask(profile=self.other, message=first_user_prompt(message.messages))
        return LLMStopEvent(answer=answer)

    @step()
    async def conclude(
        self, message: UserMessageEvent, result: Eng23Ask.Ended | Eng23Ask.Failed, answering: Answering
    ) -> LLMStopEvent:
        told = result.text if isinstance(result, Eng23Ask.Ended) else result.message
        return LLMStopEvent(answer=await answering.answer((*message.messages, user_prompt(told))))


class Eng23B(Eng23A):
    """The other one."""

    other = "a"


def profile(slug: str, blueprint: type[Agent], *access: str) -> ProfileArtifact:
    return ProfileArtifact(slug=slug, name=LocaleString(slug.upper()), blueprint=blueprint.__name__, access=access)


@pytest.fixture(params=["in_memory", "sqlite"])
async def storage(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Path | None]:
    with virtual_time():
        yield None if request.param == "in_memory" else tmp_path / "data.db"


def message(text: str) -> UserMessageEvent:
    return UserMessageEvent(messages=(user_prompt(text),))


async def test_eng_23_two_agents_that_delegate_to_each_other_end_with_the_named_chain(storage: Path | None) -> None:
    model = ScriptedModel(REPLIES)
    profiles = (profile("a", Eng23A), profile("b", Eng23B))
    async with Planwerk((Eng23A, Eng23B), profiles, storage, model=model, clock=virtual_clock()) as app:
        root = await app.host.start("a", message("Who?"), actor=SystemActor(name="test"))

        stop = await app.host.result(root)

        assert isinstance(stop, LLMStopEvent)
        assert stop.answer.text == "one"
        assert len(model.requests) == 8
        await asyncio.sleep(1)
        runs = [RunId(record.run) for record in await app.stores.records.newest("default")]
        journals = {run: await app.host.entries(run) for run in runs}
        assert len(runs) == 4
        [refused] = [
            entry.event
            for entries in journals.values()
            for entry in entries
            if isinstance(entry, journal.EventPublished) and isinstance(entry.event, Eng23Ask.Failed)
        ]
        assert refused.code == "agents_too_deep"
        assert "the chain a>b>a>b has 4 runs" in refused.message
        called = [e for entries in journals.values() for e in entries if isinstance(e, journal.ModelCalled)]
        used = Counter[str]()
        for call in called:
            used.update(call.usage)
        record = await app.host.status(root)
        assert record.summary["model_calls"] == len(called) == 8
        assert Counter(record.summary["usage"]) == used
        assert used["output_tokens"] > 0


@pytest.mark.parametrize(("account", "told"), [("owner", "two"), ("stranger", "nobody"), ("gone", "nobody")])
async def test_a_run_asks_with_the_rights_of_the_person_who_asked(account: str, told: str) -> None:
    with virtual_time():
        model = ScriptedModel([DELEGATE, "two", "one"] if told == "two" else [DELEGATE, "nobody"])
        profiles = (profile("a", Eng23A), profile("b", Eng23B, "role:builder"))
        async with Planwerk((Eng23A, Eng23B), profiles, model=model, clock=virtual_clock()) as app:
            owner = await app.access.local_principal()
            member = await app.access.create_account("member", role=Role.MEMBER, name="Mia")
            actor = {
                "owner": UserActor(id=owner.account, name=owner.name),
                "stranger": UserActor(id=member.id, name=member.name),
                "gone": UserActor(id="00000000-0000-7000-8000-000000000000", name="Gone"),
            }[account]

            run = await app.host.start("a", message("Who?"), actor=actor)

            assert isinstance(await app.host.result(run), StopEvent)
            failed = [
                entry.event
                for entry in await app.host.entries(run)
                if isinstance(entry, journal.EventPublished) and isinstance(entry.event, Eng23Ask.Failed)
            ]
            assert [event.code for event in failed] == ([] if told == "two" else ["profile_not_found"])
