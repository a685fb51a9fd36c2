"""Agents that ask people: the message says what they ask; and the profiles that use them."""

from __future__ import annotations

from contextlib import aclosing
from typing import Final

from planwerk.app import DEFAULT_TENANT
from planwerk.blueprints.llm_wrapping_agent import LLMWrappingAgent
from planwerk.messages.events import UserMessageEvent
from planwerk.messages.prompts import first_user_prompt
from planwerk.runtime.profiles import ProfileArtifact
from planwerk.workflow.blueprint import Agent
from planwerk.workflow.events import StopEvent
from planwerk.workflow.ids import MessageId, ThreadId, new_id
from planwerk.workflow.locale_string import LocaleString
from planwerk.workflow.people import Choice, HumanInTheLoop
from planwerk.workflow.steps import step
from planwerk.workspace.rules.commands import CreateThread
from planwerk.workspace.rules.events import RunPaused
from tests.e2e.served import Served

HOUR: Final = 3600.0


class DeskStop(StopEvent):
    text: str


class AskCostCentre(HumanInTheLoop.Input, label=LocaleString(en="Asks for the cost centre", de="Fragt die Stelle")):
    """Who pays."""


class AskWords(HumanInTheLoop.Input, label=LocaleString(en="Asks for words", de="Fragt nach Worten")):
    """A text in the person's own words."""


class ConfirmOrder(HumanInTheLoop.Confirmation, label=LocaleString(en="Asks for a yes", de="Fragt um ein Ja")):
    """Whether it is ordered."""


class AskBack(HumanInTheLoop.Chat):
    """Asks in the conversation."""


COST_CENTRE: Final = AskCostCentre(
    question=LocaleString(
        en="Which cost centre pays for the night train?", de="Welche Kostenstelle zahlt den Nachtzug?"
    ),
    choices=(
        Choice(value="4410", label=LocaleString(en="4410 Network planning", de="4410 Netzplanung")),
        Choice(value="4720", label=LocaleString(en="4720 Depots", de="4720 Depots")),
    ),
    only_choices=False,
)
WORDS: Final = AskWords(
    question=LocaleString(en="What shall stand on the card?", de="Was soll auf der Karte stehen?"),
    default="All the best",
)
ORDER: Final = ConfirmOrder(
    question=LocaleString(en="Order these for €\u00a0418.00?", de="Für 418.00\u00a0€ bestellen?"),
    subject=LocaleString(en="1 monitor, 27 inch\n1 docking station", de="1 Bildschirm, 27 Zoll\n1 Dockingstation"),
    details=LocaleString(
        en="The supplier delivers **within five days**. It goes to cost centre 4410.",
        de="Der Händler liefert **innert fünf Tagen**. Es geht auf die Kostenstelle 4410.",
    ),
    confirm_label=LocaleString(en="Order", de="Bestellen"),
    timeout_seconds=5 * HOUR,
)
BACK: Final = AskBack(question=LocaleString(en="For how many people?", de="Für wie viele Personen?"))


class DeskAgent(Agent):
    """Asks once, and says what it was told."""

    @step()
    async def read(self, message: UserMessageEvent) -> AskCostCentre | AskWords | ConfirmOrder | AskBack:
        prompt = first_user_prompt(message.messages).casefold()
        if "train" in prompt or "zug" in prompt:
            return COST_CENTRE
        if "card" in prompt:
            return WORDS
        return BACK if "table" in prompt else ORDER

    @step()
    async def told(self, answer: AskCostCentre.Answered | AskWords.Answered | AskBack.Answered) -> DeskStop:
        return DeskStop(text=f"Noted: {answer.text}.")

    @step()
    async def decided(self, answer: ConfirmOrder.Answered) -> DeskStop:
        return DeskStop(text="It is ordered." if answer.confirmed else f"Not ordered: {answer.reason or 'no reason'}.")

    @step()
    async def late(self, late: ConfirmOrder.TimedOut) -> DeskStop:
        return DeskStop(text="Nobody decided, so nothing was ordered.")


BLUEPRINTS: Final = (DeskAgent, LLMWrappingAgent)
PROFILES: Final = (
    ProfileArtifact(slug="orders", blueprint="DeskAgent", name=LocaleString(en="Order desk", de="Bestellungen")),
    ProfileArtifact(slug="travel", blueprint="DeskAgent", name=LocaleString(en="Travel desk", de="Reisestelle")),
)


async def begin(served: Served, profile: str, words: str, title: str | None = None) -> ThreadId:
    """A thread of the owner in which this was asked, and the run waits."""
    principal = await served.planwerk.access.local_principal()
    actor = principal.actor()
    workspace = await served.planwerk.workspaces.private_of(DEFAULT_TENANT, actor)
    space = served.planwerk.workspaces.of(DEFAULT_TENANT, workspace, actor)
    thread = ThreadId(new_id())
    async with aclosing(space.subscribe(await space.head_seq())) as log:
        await space.send(CreateThread(thread_id=thread, title=title or words, profile=profile))
        await served.planwerk.host.post_message(
            tenant=DEFAULT_TENANT,
            workspace=workspace,
            thread=thread,
            message_id=MessageId(new_id()),
            content=words,
            actor=actor,
        )
        async for envelope in log:
            if envelope.thread == thread and isinstance(envelope.event, RunPaused):
                break
    return thread
