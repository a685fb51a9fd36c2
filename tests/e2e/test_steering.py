"""Saying something into a run that works: it is heard there, stands in its turn, and the next turn knows it (S2.3)."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import expect

from planwerk.blueprints.llm_wrapping_agent import LLMWrappingAgent
from planwerk.messages.events import LLMEvent, LLMStopEvent, SteeringMessageEvent, UserMessageEvent
from planwerk.models.answering import Answering
from planwerk.runtime.profiles import ProfileArtifact
from planwerk.workflow.blueprint import Agent
from planwerk.workflow.events import ControlEvent
from planwerk.workflow.locale_string import LocaleString
from planwerk.workflow.steps import step
from tests.e2e.live_model import LiveModel
from tests.e2e.person import PHONE, Person
from tests.e2e.served import Served


class WrittenTwice(ControlEvent):
    """A first draft, to be written again with what was said meanwhile."""

    draft: LLMEvent
    message: UserMessageEvent


class Rewriter(Agent):
    """Writes a draft, then the answer, with what was said while it wrote."""

    @step()
    async def begin(self, message: UserMessageEvent, answering: Answering) -> WrittenTwice:
        return WrittenTwice(draft=await answering.answer(message.messages), message=message)

    @step()
    async def finish(
        self, written: WrittenTwice, said: list[SteeringMessageEvent], answering: Answering
    ) -> LLMStopEvent:
        heard = [message for one in said for message in one.messages]
        return LLMStopEvent(answer=await answering.answer([*written.message.messages, *heard]))


@pytest_asyncio.fixture(loop_scope="session")
async def served(tmp_path: Path, model: LiveModel) -> AsyncGenerator[Served]:
    """One that can be steered is asked first."""
    profile = ProfileArtifact(slug="rewriter", blueprint="Rewriter", name=LocaleString("Rewriter"))
    served = Served(tmp_path, model, blueprints=[Rewriter, LLMWrappingAgent], profiles=[profile])
    await served.start()
    await served.set_up_owner()
    try:
        yield served
    finally:
        await served.stop()


@pytest.mark.parametrize("size", [None, PHONE], ids=["wide", "phone"])
async def test_what_is_said_now_is_heard_by_the_run_that_works(
    anna: Person, model: LiveModel, size: tuple[int, int] | None
) -> None:
    if size is not None:
        await anna.page.set_viewport_size({"width": size[0], "height": size[1]})
    await anna.ask("A poem?")
    draft = await model.next_answer()
    draft.says("Roses ")
    await expect(anna.answers.last).to_contain_text("Roses")

    await anna.composer.fill("Only two lines.")
    when = anna.page.get_by_role("radiogroup", name="When")
    await when.get_by_role("radio", name="now").click()
    await anna.button("Add").click()
    await expect(anna.page.get_by_text("Said meanwhile, on its way")).to_be_visible()
    draft.ends()
    whole = await model.answer("Roses are red, violets are blue.")

    assert whole.question == "Only two lines."
    await expect(anna.page.get_by_text("Said meanwhile", exact=True)).to_be_visible()
    await expect(anna.answers).to_have_count(1)
    await expect(anna.answers.first).to_contain_text("violets")
    await anna.page.reload()
    await expect(anna.page.get_by_text("Said meanwhile", exact=True)).to_be_visible()
    await expect(anna.answers).to_have_count(1)
