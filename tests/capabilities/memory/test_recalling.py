"""What is remembered reaches a turn, and nothing of others; a failing store never fails it (C2.1)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import cast

import pytest
from tests.capabilities.memory.remembering import (
    ADA,
    BEN,
    OF_BEN,
    Remembering,
    recalled,
    say,
    store_with,
    stored,
)

from planwerk.capabilities import Memory
from planwerk.capabilities.memory.memories import memories_from
from planwerk.capabilities.memory.ports import MemoryQuery, MemoryScope, StoredMemory
from planwerk.messages.events import UserMessageEvent
from planwerk.messages.prompts import user_prompt
from planwerk.runtime.execution import ExecutionContext, ExecutionSink
from planwerk.storage.in_memory.memories import InMemoryMemories
from planwerk.testing.runs import run_workflow
from planwerk.workflow.blueprint import AgentConfig
from planwerk.workflow.entries import RunOpened
from planwerk.workflow.events import StepWarningEvent
from planwerk.workflow.ids import ExecutionId, RunId

TRAVEL = MemoryScope.of_organization("default", "travel")
HR = MemoryScope.of_organization("default", "hr")


class Watched(InMemoryMemories):
    """Notes what is searched; fails or waits for the scopes it is told to."""

    def __init__(self, *, failing: str | None = None, waiting: str | None = None) -> None:
        super().__init__()
        self.failing, self.waiting = failing, waiting
        self.searched: list[tuple[str, ...]] = []

    async def search(
        self, scopes: Sequence[MemoryScope], queries: Sequence[MemoryQuery], *, limit: int
    ) -> list[StoredMemory]:
        kinds = {scope.kind for scope in scopes}
        if scopes and limit:
            self.searched.append(tuple(query.text for query in queries))
        if self.failing in kinds:
            raise OSError("the disk is gone")
        if self.waiting in kinds:
            await asyncio.sleep(3600)
        return await super().search(scopes, queries, limit=limit)


def test_the_blueprint_of_these_tests_is_sound() -> None:
    assert Remembering.find_problems() == []


async def test_a_persons_memories_come_back_as_one_data_block() -> None:
    store = await store_with("Has a dog named Rex.", "Lives in Bern.\nMoves soon.")

    found = recalled(await say(store, "What does my dog eat?"))

    assert found.found == 2
    assert found.user.kind == "data"
    assert found.user.text == "- Has a dog named Rex.\n- Lives in Bern.\n  Moves soon."
    assert found.user.title == "What is remembered about the person"
    assert found.user.note != ""
    assert found.blocks == (found.user, found.organization)
    assert found.organization.is_blank
    assert found.organization.note == ""


async def test_what_fits_comes_first_and_the_newest_fill_the_rest() -> None:
    store = await store_with("Has a dog.", "Lives in Bern.", "Plays chess.", "Likes tea.")

    found = recalled(await say(store, "dog", number_of_memories=2))

    assert found.user.text == "- Has a dog.\n- Likes tea."


async def test_nobody_recalls_what_is_somebody_elses() -> None:
    store = await store_with("Has a dog.")
    await store.add(stored("b", "Has a cat and a dog.", OF_BEN))

    assert recalled(await say(store, "dog", user=BEN)).user.text == "- Has a cat and a dog."
    assert "cat" not in recalled(await say(store, "dog", user=ADA)).user.text


async def test_query_and_literal_words_are_both_looked_for_where_they_differ() -> None:
    store = Watched()

    for words, literal in (("What does a beagle eat?", "And what does it eat?"), ("dog", "dog"), ("cat", "  ")):
        await say(store, words, literal=literal, store_memories=False)

    assert store.searched == [("What does a beagle eat?", "And what does it eat?"), ("dog",), ("cat",)]


@pytest.mark.parametrize(
    ("words", "user", "config"),
    [
        ("   ", ADA, {}),
        ("dog", None, {}),
        ("dog", ADA, {"recall_memories": False}),
    ],
)
async def test_without_a_question_a_person_or_the_setting_nothing_is_recalled(
    words: str, user: object, config: dict[str, object]
) -> None:
    store = Watched()
    await store.add(stored("m", "Has a dog."))
    await store.add(stored("o", "Dogs may come to the office.", TRAVEL))

    run = await say(
        store,
        words,
        user=ADA if user is ADA else None,
        namespaces=("travel",),
        store_memories=False,
        **config,
    )

    found = recalled(run)
    assert (found.found, [block.is_blank for block in found.blocks]) == (0, [True, True])
    assert store.searched == []


async def test_who_a_start_event_names_is_not_believed_over_who_started_the_run() -> None:
    # A client writes start events; the run's actor comes from its account.
    actor = {"kind": "user", "id": "ben", "name": "Ben"}
    opened = RunOpened(run=RunId("run"), at=0, blueprint="B", fingerprint="", config={}, actor=actor, tenant="default")
    start = UserMessageEvent(messages=(user_prompt("dog"),), user=ADA)
    sink = cast("ExecutionSink", None)
    context = ExecutionContext(opened, start, AgentConfig(), ExecutionId("x"), 1, "search", (), sink)

    assert memories_from(InMemoryMemories(), lambda: 0)(context).account == "ben"


async def test_the_organisations_memory_is_read_as_far_as_the_profile_allows() -> None:
    store = await store_with("Trains are booked by Olga.", scope=TRAVEL)
    await store.add(stored("h", "Trains of thought are HR's.", HR))

    of_all_allowed = recalled(await say(store, "trains", namespaces=("travel",)))
    of_one = recalled(await say(store, "trains", namespaces=("travel", "hr"), asked_namespaces=("hr",)))
    of_none = recalled(await say(store, "trains"))

    assert of_all_allowed.organization.text == "- Trains are booked by Olga."
    assert of_all_allowed.organization.title == "What the organisation keeps"
    assert of_one.organization.text == "- Trains of thought are HR's."
    assert of_none.organization.is_blank


async def test_a_namespace_the_profile_does_not_allow_is_an_error() -> None:
    run = await say(InMemoryMemories(), "trains", namespaces=("travel",), asked_namespaces=("travel", "hr"))

    assert run.error is not None
    assert run.error.code == "namespace_not_allowed"
    assert "hr" in run.error.message
    assert run.error.http_status == 403


@pytest.mark.parametrize(("failing", "left"), [("user", "organization"), ("organization", "user")])
async def test_a_scope_that_fails_is_left_out_with_a_warning(failing: str, left: str) -> None:
    store = Watched(failing=failing)
    await store.add(stored("m", "Has a dog."))
    await store.add(stored("o", "Dogs may come.", TRAVEL))

    run = await say(store, "dog", namespaces=("travel",), store_memories=False)

    found = recalled(run)
    [warning] = run.of(StepWarningEvent)
    assert getattr(found, failing).is_blank
    assert not getattr(found, left).is_blank
    assert (warning.step, warning.code) == ("Memory.search", "memory_failed")
    assert "disk" not in warning.message


async def test_a_scope_that_takes_too_long_is_left_out_with_a_warning() -> None:
    store = Watched(waiting="organization")
    await store.add(stored("m", "Has a dog."))

    run = await say(store, "dog", namespaces=("travel",), store_memories=False)

    assert recalled(run).user.text == "- Has a dog."
    assert [warning.code for warning in run.of(StepWarningEvent)] == ["timeout"]


async def test_texts_come_in_the_language_of_the_run() -> None:
    store = await store_with("Hat einen Hund.")
    start = UserMessageEvent(messages=(user_prompt("Hund"),), user=ADA, locale="de-CH")

    run = await run_workflow(Remembering, start, memories=store)

    assert recalled(run).user.title == "Was über den Menschen bekannt ist"


def test_requests_are_made_by_helpers() -> None:
    request = Memory.recall("dog", "it", ["travel"])

    assert (request.query, request.literal, request.namespaces) == ("dog", "it", ("travel",))
    assert isinstance(request, Memory.RecallRequest)
