"""A run as the source of a test: run, that test passes, and with another blueprint's answer it fails (U8)."""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from pydantic import BaseModel

from planwerk.blueprints.llm_wrapping_agent import LLMWrappingAgent
from planwerk.messages.events import LLMEvent, UserMessageEvent
from planwerk.messages.prompts import user_prompt
from planwerk.models.answering import Answering
from planwerk.models.predicting import Predicting
from planwerk.runtime.as_test import NoTestOfRun, as_test
from planwerk.testing import RunResult, ScriptedCall, ScriptedModel, Stream, Thought, run_workflow
from planwerk.workflow import entries as journal
from planwerk.workflow.blueprint import Agent, AgentConfig
from planwerk.workflow.events import StartEvent, StopEvent
from planwerk.workflow.people import HumanInTheLoop
from planwerk.workflow.steps import step
from tests.simulation.workflows import CASES, Case

Test = Callable[[], Awaitable[None]]


def module_test(source: str, folder: Path) -> Test:
    """The one test of a module with this source."""
    file = folder / f"module_{abs(hash(source))}.py"
    file.write_text(source, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module
    spec.loader.exec_module(module)
    [found] = [made for name, made in inspect.getmembers(module, inspect.isfunction) if name.startswith("test_")]
    return cast("Test", found)


def opened(entries: Sequence[journal.Entry]) -> journal.RunOpened:
    return cast("journal.RunOpened", entries[0])


class PlayedStart(StartEvent):
    who: str


class PlayedAsk(HumanInTheLoop.Input):
    """Asks how it went on."""


class PlayedVerdict(BaseModel):
    good: bool
    why: str


class PlayedStop(StopEvent):
    said: str


class PlayedConfig(AgentConfig):
    times: int = 1


class Played(Agent):
    """Asks a person, and a model in every way there is."""

    config = PlayedConfig

    @step()
    async def ask(self, start: PlayedStart, config: PlayedConfig) -> list[PlayedAsk]:
        return [
            PlayedAsk(question=f"How was it, {start.who}? It's the {n}.", timeout_seconds=60)
            for n in range(config.times)
        ]

    @step()
    async def end(
        self, answers: list[PlayedAsk.Answered | PlayedAsk.TimedOut], model: Answering, task: Predicting
    ) -> PlayedStop:
        texts = [answer.text if isinstance(answer, PlayedAsk.Answered) else "late" for answer in answers]
        prompt = [user_prompt("And?")]
        first = await model.answer(prompt)
        second = await model.answer(prompt)
        titles = [await task.text(prompt, purpose="title") for _ in range(2)]
        verdicts = [await task.predict(prompt, PlayedVerdict) for _ in range(2)]
        try:
            failed = (await model.answer(prompt)).text
        except Exception as error:
            failed = type(error).__name__
        told = [first.text, *calls_of(second), *titles, *(f"{v.good} {v.why}" for v in verdicts), failed]
        return PlayedStop(said="|".join([*texts, *told]))


def calls_of(answer: LLMEvent) -> list[str]:
    return [f"{call.tool_name} {call.args_as_json_str()} {call.tool_call_id}" for call in answer.response.tool_calls]


def played_model() -> ScriptedModel:
    return ScriptedModel(
        [
            Stream(Thought("hm"), "It's 'quoted' and\n\\n broken."),
            [ScriptedCall("look", {"at": "it's", "deep": {"n": [1, None, True]}}, call_id="c1"), ScriptedCall("go")],
            ConnectionError("cut"),
        ],
        tasks={
            "title": ["One", "Two's"],
            "PlayedVerdict": [{"good": True, "why": "it's so"}, PlayedVerdict(good=False, why="no \\ it is not")],
        },
    )


async def played() -> RunResult:
    answers = iter(["It's fine.", "''' \\u0041 ünï", None])
    config = PlayedConfig(times=3)
    start = PlayedStart(who="Anna's")
    return await run_workflow(Played, start, config=config, model=played_model(), respond=lambda request: next(answers))


async def test_the_test_of_a_run_passes(tmp_path: Path) -> None:
    result = await played()
    assert isinstance(result.stop, PlayedStop)

    source = as_test(result.journal, Played)

    assert result.stop.said.count("|") >= 8
    assert "ConnectionError" in source
    await module_test(source, tmp_path)()


async def test_the_test_of_a_run_fails_where_the_blueprint_does_something_else(tmp_path: Path) -> None:
    result = await played()
    source = as_test(result.journal, Played)

    other = source.replace("It is", "It was").replace("fine.", "bad.", 1)
    assert other != source
    with pytest.raises(AssertionError):
        await module_test(other, tmp_path)()


async def test_a_conversation_becomes_a_test(tmp_path: Path) -> None:
    model = ScriptedModel(["It costs 10.", "How do I upgrade?"], tasks={"title": "Prices"})
    asked = UserMessageEvent(messages=(user_prompt("What does it cost?"),), locale="en")
    result = await run_workflow(LLMWrappingAgent, asked, model=model)

    source = as_test(result.journal, LLMWrappingAgent)

    assert "assert result.stop.answer.text == 'It costs 10.'" in source
    await module_test(source, tmp_path)()


@pytest.mark.parametrize("case", CASES, ids=str)
async def test_every_simulated_run_becomes_a_test(case: Case, tmp_path: Path) -> None:
    result = await run_workflow(case.blueprint, case.start, respond=case.respond)

    await module_test(as_test(result.journal, case.blueprint), tmp_path)()


async def test_a_call_under_which_a_worker_died_is_not_played(tmp_path: Path) -> None:
    entries = (await played()).journal
    place = next(at for at, entry in enumerate(entries) if isinstance(entry, journal.ModelCalled))
    call = cast("journal.ModelCalled", entries[place])
    again: list[journal.Entry] = [call, journal.OwnershipTaken(2, 0), journal.ExecutionStarted(call.execution, 2, 0)]

    await module_test(as_test([*entries[:place], *again, *entries[place:]], Played), tmp_path)()


async def test_what_no_test_can_play_again_is_refused() -> None:
    entries = (await played()).journal
    end = cast("journal.RunEnded", entries[-1])

    with pytest.raises(NoTestOfRun, match="stopped by hand"):
        as_test([*entries[:-1], replace(end, status="stopped")], Played)
    with pytest.raises(NoTestOfRun, match="is a fork"):
        as_test([replace(opened(entries), forked_from="another"), *entries[1:]], Played)
    old: list[Any] = [replace(e, exchange=None) if isinstance(e, journal.ModelCalled) else e for e in entries]
    with pytest.raises(NoTestOfRun, match="not kept"):
        as_test(old, Played)
