"""The screens as they are photographed: the same installation, hour and words each time."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from playwright.async_api import Route, expect

from planwerk.app import DEFAULT_TENANT
from planwerk.capabilities.knowledge.ports import Document, DocumentText, Failure, NewPassage
from planwerk.capabilities.memory.ports import MemoryScope, StoredMemory
from planwerk.documents.parsed import Place
from planwerk.workflow.ids import ThreadId, new_id
from planwerk.workspace.rules.commands import CreateThread
from tests.e2e.asking import begin
from tests.e2e.live_model import LiveAnswer, LiveModel
from tests.e2e.person import Person
from tests.e2e.served import Served

MORNING: Final = datetime(2026, 3, 10, 8, 12, tzinfo=UTC)
HELD: Final = ("gate", "title", "follow_ups")


class HandClock:
    """The installation's clock, moved by hand; the browser's stands beside it."""

    def __init__(self, start: datetime = MORNING) -> None:
        self.now = start

    def __call__(self) -> int:
        return int((self.now - datetime(1970, 1, 1, tzinfo=UTC)) / timedelta(microseconds=1))

    def passes(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


@dataclass(frozen=True, slots=True)
class Words:
    """What is asked and answered in one language."""

    question: str
    title: str
    answer: str
    follow_ups: str
    earlier: tuple[str, ...]
    second: str
    begun: str
    broken: str
    orders: tuple[str, str]
    """What the order desk is asked, and the title."""
    travel: tuple[str, str]
    memories: tuple[str, ...]
    """What is remembered, the newest last."""
    composer: str = "Message"


EN: Final = Words(
    question="How do swifts sleep while they fly?",
    title="How swifts sleep in flight",
    answer=(
        "Swifts stay in the air for up to **ten months** without landing, so they have to rest on the wing. "
        "Three things make that possible:\n\n"
        "1. **They climb at dusk and dawn.** A swift rises to 2,500 m, then glides down slowly for an hour or more.\n"
        "2. **Half of the brain rests at a time.** One half stays awake to steer, and they change over.\n"
        "3. **Naps are short.** In frigatebirds, where it was measured, they last about ten seconds each.\n\n"
        "| Bird | Longest time in the air | Sleep in a day of flight |\n|---|---|---|\n"
        "| Common swift | 10 months | not measured yet |\n| Great frigatebird | 2 months | 42 minutes |\n\n"
        "> Direct measurements of swifts asleep in flight are still missing; the rise at dusk is well documented."
    ),
    follow_ups="How do they find their way at night?\nWhere do swifts spend the winter?\n"
    "Do other birds sleep like this?",
    earlier=("Plan for the spring clean-up", "Words for the invitation", "Which train to Chur", "Bread without yeast"),
    second="And where do they spend the winter?",
    begun="Common swifts leave Europe in August and spend the winter **south of the Sahara**, mostly over the Congo",
    broken="Common swifts leave Europe in August and spend the winter south of the Sahara, mostly",
    orders=("I need a second monitor and a docking station for the desk in Olten.", "A second monitor"),
    travel=("Please book the night train to Hamburg for Tuesday.", "Night train to Hamburg"),
    memories=(
        "Lives in Olten and travels by train.",
        "Leads the team for bird protection, four people, and reports to the canton every spring.",
        "Prefers short answers with figures.",
    ),
)
DE: Final = Words(
    question="Wie schlafen Mauersegler im Flug?",
    title="Wie Mauersegler im Flug schlafen",
    answer=(
        "Mauersegler bleiben bis zu **zehn Monate** ohne Landung in der Luft, also müssen sie im Flug ruhen. "
        "Drei Dinge machen das möglich:\n\n"
        "1. **Sie steigen in der Dämmerung auf.** Ein Segler steigt auf 2500 m und gleitet dann lange hinab.\n"
        "2. **Eine Hirnhälfte ruht.** Die andere bleibt wach und steuert, dann wechseln sie sich ab.\n"
        "3. **Der Schlaf ist kurz.** Bei Fregattvögeln dauert er jeweils etwa zehn Sekunden.\n\n"
        "| Vogel | Längste Zeit in der Luft | Schlaf je Flugtag |\n|---|---|---|\n"
        "| Mauersegler | 10 Monate | nicht gemessen |\n| Bindenfregattvogel | 2 Monate | 42 Minuten |\n\n"
        "> Direkte Messungen an schlafenden Mauerseglern fehlen noch."
    ),
    follow_ups="Wie finden sie nachts ihren Weg?\nWo verbringen Mauersegler den Winter?\n"
    "Schlafen andere Vögel auch so?",
    earlier=("Plan für den Frühjahrsputz", "Worte für die Einladung", "Welcher Zug nach Chur", "Brot ohne Hefe"),
    second="Und wo verbringen sie den Winter?",
    begun="Mauersegler verlassen Europa im August und überwintern **südlich der Sahara**, meist über dem Kongo",
    broken="Mauersegler verlassen Europa im August und überwintern südlich der Sahara, meist",
    orders=("Ich brauche einen zweiten Bildschirm und eine Dockingstation für Olten.", "Ein zweiter Bildschirm"),
    travel=("Bitte buche den Nachtzug nach Hamburg für Dienstag.", "Nachtzug nach Hamburg"),
    memories=(
        "Wohnt in Olten und reist mit der Bahn.",
        "Leitet das Team für Vogelschutz, vier Leute, und berichtet jeden Frühling dem Kanton.",
        "Mag kurze Antworten mit Zahlen.",
    ),
    composer="Nachricht",
)
WORDS: Final = {"en": EN, "de": DE}


@dataclass(frozen=True, slots=True)
class Stage:
    """Everything a scene plays with."""

    person: Person
    served: Served
    model: LiveModel
    clock: HandClock
    words: Words

    async def shows(self, text: str) -> None:
        """Wait until the newest answer has this text."""
        await expect(self.person.page.get_by_role("article").last).to_contain_text(text)

    async def give(self, words: str, title: str) -> ThreadId:
        """A chat in which an agent was asked this, and asks back."""
        profile = "orders" if (words, title) == self.words.orders else "travel"
        thread = await begin(self.served, profile, words, title)
        await self.passes(95)
        return thread

    async def passes(self, seconds: float) -> None:
        """Let time pass for the server and in the page."""
        self.clock.passes(seconds)
        await self.person.page.clock.set_fixed_time(self.clock.now)

    async def ask(self, question: str) -> LiveAnswer:
        """Send a question, let the agent read it, and be asked for the answer."""
        box = self.person.page.get_by_role("textbox", name=re.compile(f"^{self.words.composer}"))
        await box.fill(question)
        await self.person.page.get_by_role("button", name=re.compile("^(Send|Senden)$")).click()
        gate = await self.model.next_task("gate")
        await self.passes(0.61)
        gate.set()
        return await self.model.next_answer()

    async def end(self, answer: LiveAnswer, seconds: float) -> None:
        """End an answer after so long a time, with its follow-up questions."""
        await self.passes(seconds)
        answer.ends()
        follow_ups = await self.model.next_task("follow_ups")
        await self.passes(0.74)
        follow_ups.set()

    async def first_turn(self) -> None:
        """A whole question and answer, with its title."""
        answer = await self.ask(self.words.question)
        title = await self.model.next_task("title")
        await self.passes(0.52)
        title.set()
        await expect(self.person.heading(self.words.title)).to_be_visible()
        answer.says(self.words.answer)
        await self.shows("42")
        await self.end(answer, 3.18)
        await expect(self.person.page.locator(".further button")).to_have_count(3)
        await self.passes(48)


async def give_history(served: Served, clock: HandClock, words: Words) -> None:
    """Conversations of the days before."""
    principal = await served.planwerk.access.local_principal()
    actor = principal.actor()
    workspace = await served.planwerk.workspaces.private_of(DEFAULT_TENANT, actor)
    space = served.planwerk.workspaces.of(DEFAULT_TENANT, workspace, actor)
    now = clock.now
    for title, days in zip(words.earlier, (6.2, 4.1, 0.9, 0.02), strict=True):
        clock.now = now - timedelta(days=days)
        await space.send(CreateThread(thread_id=ThreadId(new_id()), title=title, profile="assistant"))
    clock.now = now


async def sign_in_page(stage: Stage) -> None:
    await stage.person.page.context.clear_cookies()
    await stage.person.page.goto(stage.served.url)
    await expect(stage.person.heading(re.compile("Sign in|Anmelden"))).to_be_visible()
    await expect(stage.person.page.get_by_role("radio")).to_have_count(4)


async def home(stage: Stage) -> None:
    await expect(stage.person.page.get_by_text(stage.words.earlier[0])).to_have_count(1)
    await expect(stage.person.page.get_by_role("button", name=re.compile("Assistant|Assistent"))).to_be_visible()


async def thread_done(stage: Stage) -> None:
    await stage.first_turn()


async def thread_working(stage: Stage) -> None:
    await stage.first_turn()
    answer = await stage.ask(stage.words.second)
    await stage.passes(4.2)
    answer.says(stage.words.begun)
    await stage.shows(stage.words.begun.replace("**", ""))
    await expect(stage.person.page.get_by_role("article").last.get_by_role("button").first).to_contain_text("4 s")


async def thread_with_error(stage: Stage) -> None:
    await stage.first_turn()
    answer = await stage.ask(stage.words.second)
    await stage.passes(2.4)
    answer.says(stage.words.broken)
    await stage.shows(stage.words.broken)
    answer.breaks_off(ConnectionError("cut"))
    await expect(stage.person.page.get_by_role("article").last.get_by_role("alert")).to_be_visible()


async def run_view(stage: Stage) -> None:
    await stage.first_turn()
    link = stage.person.page.get_by_role("link", name=re.compile("Open run|Lauf öffnen"))
    address = await link.get_attribute("href")
    await stage.person.page.route(re.compile(r"/timeline\?"), with_held_clock)
    await stage.person.page.route(re.compile(r"/stream\?.*runs="), without_runs)
    await stage.person.page.goto(f"{stage.served.url}{address}")
    await expect(stage.person.page.get_by_role("row")).to_have_count(9)
    await stage.person.page.get_by_role("row", name=re.compile(r"^Conversation\.gate ")).click()
    await stage.person.page.evaluate("document.activeElement.blur()")


async def run_closely(stage: Stage) -> None:
    """The same run with the chat in place of the graph, the time of its first half, and a prompt as it was sent."""
    await run_view(stage)
    page = stage.person.page
    await page.get_by_role("tab", name=re.compile("^Prompt ")).click()
    await expect(page.get_by_role("tabpanel").locator("pre").first).to_be_visible()
    await page.get_by_role("radio", name="Chat").click()
    await expect(page.get_by_role("region", name="Chat").get_by_role("article")).to_be_visible()
    for _ in range(2):
        await page.get_by_role("button", name=re.compile("^(More detail|Mehr Einzelheiten)$")).click()
    await page.evaluate("document.activeElement.blur()")


async def fork_dialog(stage: Stage) -> None:
    """The dialog that forks a run from a step, with a setting changed."""
    await run_view(stage)
    buttons = stage.person.page.get_by_role("button", name=re.compile("^(Fork from here|Von hier abzweigen)$"))
    await buttons.and_(stage.person.page.locator(":visible")).click()
    await stage.person.page.get_by_label(re.compile("^(Instructions|Anweisungen)$")).fill("Answer in one sentence.")
    await stage.person.page.get_by_role("spinbutton").first.focus()


async def run_list(stage: Stage) -> None:
    """The list of runs: one done, one failed, one that works."""
    await stage.first_turn()
    broken = await stage.ask(stage.words.second)
    broken.says(stage.words.broken)
    await stage.passes(1.4)
    broken.breaks_off(ConnectionError("cut"))
    await expect(stage.person.page.get_by_role("article").last.get_by_role("alert")).to_be_visible()
    await stage.passes(95)
    await stage.ask(stage.words.question)
    await stage.passes(2)
    await stage.person.page.goto(f"{stage.served.url}/runs")
    await expect(stage.person.page.locator("a.run-row")).to_have_count(3)


async def compared(stage: Stage) -> None:
    """The one that is done beside the one that failed."""
    await run_list(stage)
    page = stage.person.page
    await page.get_by_role("button", name=re.compile("^(Compare|Vergleichen)$")).click()
    for place in (2, 1):
        await page.get_by_role("checkbox").nth(place).check()
    await page.route(re.compile(r"/api/runs/[^/]+/timeline"), with_held_clock)
    await page.get_by_role("link", name=re.compile("^(Compare these two|Diese beiden vergleichen)$")).click()
    await expect(page.get_by_role("listitem").first).to_be_visible()
    await page.get_by_role("group").get_by_text(re.compile("^(Show what differs|Unterschiede zeigen)$")).first.click()
    await page.evaluate("document.activeElement.blur()")


async def with_held_clock(route: Route) -> None:
    """A model's time is taken by the machine's clock, which no test holds: here it is what the held clock says."""
    response = await route.fetch()
    page = await response.json()
    due: dict[str, datetime] = {}
    for entry in page["items"]:
        time = datetime.fromisoformat(entry["time"])
        if entry["type"] == "execution_due":
            due[entry["data"]["execution"]] = time
        if entry["type"] == "model_called":
            entry["data"]["duration_seconds"] = (time - due[entry["data"]["execution"]]).total_seconds()
    await route.fulfill(response=response, json=page)


async def without_runs(route: Route) -> None:
    """The run's entries come by `with_held_clock` alone."""
    await route.continue_(url=re.sub(r"[?&]runs=[^&]*", "", route.request.url))


async def inbox(stage: Stage) -> None:
    await stage.give(*stage.words.orders)
    await stage.give(*stage.words.travel)
    await stage.person.page.goto(f"{stage.served.url}/inbox")
    await expect(stage.person.heading(re.compile("^2 "))).to_be_visible()
    await expect(stage.person.page.get_by_role("article")).to_be_visible()


async def thread_that_asks(stage: Stage) -> None:
    thread = await stage.give(*stage.words.orders)
    await stage.person.page.goto(f"{stage.served.url}/threads/{thread}")
    await expect(stage.person.page.get_by_role("article").get_by_role("article")).to_be_visible()
    await expect(stage.person.page.locator(".rail .count")).to_have_text("1")
    await stage.person.page.evaluate("document.activeElement.blur()")


async def memory(stage: Stage) -> None:
    """What is remembered: of a chat, and of long ago."""
    await stage.first_turn()
    planwerk = stage.served.planwerk
    account = (await planwerk.access.local_principal()).account
    [run] = await planwerk.host.newest(DEFAULT_TENANT, limit=1)
    now = planwerk.clock()
    for place, (text, days) in enumerate(zip(stage.words.memories, (140, 30, 0), strict=True)):
        at = now - int(timedelta(days=days) / timedelta(microseconds=1))
        source = run.run if days == 0 else None
        of_her = MemoryScope.of_user(DEFAULT_TENANT, account)
        await planwerk.memories.add(StoredMemory(f"m{place}", of_her, text, at, at, source_run=source))
    await stage.person.page.goto(f"{stage.served.url}/settings/memory")
    await expect(stage.person.page.get_by_role("listitem").filter(has_text=stage.words.memories[0])).to_be_visible()
    await stage.person.page.get_by_role("button", name=re.compile("^(Edit|Bearbeiten): .*(team|Team)")).click()
    await stage.person.page.evaluate("document.activeElement.blur()")


SHELVED: Final = (
    ("reisekosten.pdf", "Die Reisekostenabrechnung braucht alle Belege. Bahnfahrten werden erstattet.", "ready", None),
    ("urlaub.docx", "Der Antrag auf Urlaub geht zwei Wochen vorher an die Vorgesetzte.", "ready", None),
    (
        "vertrag-alt.pdf",
        "",
        "failed",
        Failure("document_encrypted", "The PDF is protected by a password.", "Save it without a password."),
    ),
)


async def knowledge(stage: Stage) -> None:
    """A collection: documents that are ready, one that failed, and a question tried."""
    planwerk = stage.served.planwerk
    owner = await planwerk.access.local_principal()
    collection = await planwerk.library.create(DEFAULT_TENANT, "Handbuch", owner=owner.account)
    now = planwerk.clock()
    for name, text, state, failure in SHELVED:
        document = Document(
            *(new_id(), DEFAULT_TENANT, collection.id, name, new_id(), 52_480, "hash", now, now),
            state="failed" if state == "failed" else "ready",
            stage="received" if state == "failed" else "chunked",
            failure=failure,
        )
        await planwerk.library.index.put_document(document)
        if text:
            passage = NewPassage(name.encode().hex()[:32], 0, len(text), text, ("Handbuch",))
            place = (Place(0, len(text), "page", 3),)
            await planwerk.library.index.keep_passages(document, DocumentText(text, place), [passage])
    await stage.person.page.goto(f"{stage.served.url}/knowledge/{collection.id}")
    await stage.person.page.get_by_role("searchbox").fill("Wohin mit dem Urlaubsantrag?")
    await stage.person.page.get_by_role("searchbox").press("Enter")
    await expect(stage.person.page.locator(".hits li").first).to_contain_text("Vorgesetzte")
    await stage.person.page.evaluate("document.activeElement.blur()")


async def collections(stage: Stage) -> None:
    """No collection yet."""
    await stage.person.page.goto(f"{stage.served.url}/knowledge")
    await expect(stage.person.page.locator(".empty")).to_be_visible()


ASKING: Final[frozenset[str]] = frozenset({"inbox", "thread-asks"})
"""Scenes of an installation whose agents ask people."""
SCENES: Final[dict[str, Callable[[Stage], Awaitable[None]]]] = {
    "sign-in": sign_in_page,
    "home": home,
    "thread-done": thread_done,
    "thread-working": thread_working,
    "thread-error": thread_with_error,
    "run": run_view,
    "run-closely": run_closely,
    "inbox": inbox,
    "thread-asks": thread_that_asks,
    "fork": fork_dialog,
    "runs": run_list,
    "compare": compared,
    "memory": memory,
    "knowledge": knowledge,
    "knowledge-empty": collections,
}
