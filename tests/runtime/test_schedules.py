"""A profile's schedule is checked when it is stored, and says what to do where it cannot be kept (E8.3)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from pydantic import ValidationError

from planwerk.access.actors import UserActor
from planwerk.app import DEFAULT_TENANT, Planwerk
from planwerk.blueprints.llm_wrapping_agent import LLMWrappingAgent
from planwerk.messages.events import UserMessageEvent
from planwerk.runtime.occurrences import CronInvalid, ScheduleTooOften, ZoneUnknown
from planwerk.runtime.profiles import Profile, ProfileInvalid
from planwerk.runtime.schedules import ProfileSchedule, ScheduleStartInvalid, check_schedule, start_of
from planwerk.workflow.blueprint import Agent
from planwerk.workflow.events import StartEvent, StopEvent
from planwerk.workflow.steps import step

ADA = UserActor(id="ada", name="Ada")


class ScheduledStart(StartEvent):
    topic: str


class OtherScheduledStart(StartEvent):
    number: int = 0


class Scheduled(Agent):
    """Is started in two ways, and not by a message."""

    @step()
    async def write(self, start: ScheduledStart | OtherScheduledStart) -> StopEvent:
        return StopEvent()


def schedule(**fields: Any) -> ProfileSchedule:
    return ProfileSchedule.model_validate({"cron": "0 7 * * *", **fields})


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        ({}, "either `message` or `event`"),
        ({"message": "Hello", "event": {}}, "either `message` or `event`"),
        ({"message": "Hello", "locale": "tlh"}, "locale is one of en, de, fr, it"),
        ({"message": "Hello", "catch_up_seconds": 8 * 86_400}, "less than or equal to 604800"),
        ({"message": "Hello", "while_running": "wait"}, "'skip' or 'start'"),
        ({"message": ""}, "at least 1 character"),
        ({"message": "Hello", "timezone": "UTC"}, "Extra inputs"),
    ],
)
def test_fields_that_do_not_fit_are_refused(fields: dict[str, Any], wrong: str) -> None:
    with pytest.raises(ValidationError, match=wrong):
        schedule(**fields)


def test_a_schedule_that_is_due_too_often_names_the_setting() -> None:
    often = schedule(cron="0,4 7 * * *", message="Hello")

    with pytest.raises(ScheduleTooOften, match="every 240 s at its densest, and 300 s") as refused:
        check_schedule(often, LLMWrappingAgent)

    assert "schedule_min_seconds" in refused.value.what_to_do
    check_schedule(often, LLMWrappingAgent, least_seconds=240)


def test_a_message_starts_a_chat_blueprint_in_the_language_of_the_schedule() -> None:
    start = start_of(schedule(message="What is new?", locale="fr"), LLMWrappingAgent)

    assert isinstance(start, UserMessageEvent)
    assert (start.locale, start.user, len(start.messages)) == ("fr", None, 1)


def test_a_message_starts_nothing_else() -> None:
    with pytest.raises(ScheduleStartInvalid, match="not started by a message") as refused:
        start_of(schedule(message="Hello"), Scheduled)

    assert "ScheduledStart or OtherScheduledStart" in refused.value.what_to_do


def test_an_event_is_of_the_first_start_class_or_of_the_one_it_names() -> None:
    assert start_of(schedule(event={"topic": "news"}), Scheduled) == ScheduledStart(topic="news")
    named = schedule(event={"type": "OtherScheduledStart", "number": 7})
    assert start_of(named, Scheduled) == OtherScheduledStart(number=7)


@pytest.mark.parametrize(
    ("event", "wrong"),
    [({"topic": 7}, "topic: Input should be a valid string"), ({"type": "StopEvent"}, "does not start Scheduled")],
)
def test_an_event_that_starts_nothing_is_refused(event: dict[str, Any], wrong: str) -> None:
    with pytest.raises(ScheduleStartInvalid, match=wrong):
        start_of(schedule(event=event), Scheduled)


@pytest.fixture
async def app() -> AsyncIterator[Planwerk]:
    async with Planwerk((Scheduled,)) as app:
        yield app


async def change(app: Planwerk, schedule: dict[str, Any] | None) -> Profile:
    return await app.profiles.edit(DEFAULT_TENANT, "scheduled", {"schedule": schedule}, actor=ADA)


async def test_what_a_change_does_not_name_stays(app: Planwerk) -> None:
    await change(app, {"cron": "0 7 * * *", "zone": "Europe/Zurich", "event": {"topic": "news"}})

    edited = await change(app, {"enabled": False})

    assert edited.data.schedule == schedule(zone="Europe/Zurich", event={"topic": "news"}, enabled=False)
    assert (await change(app, None)).data.schedule is None


async def test_other_fields_are_changed_although_the_schedule_has_become_too_dense(app: Planwerk) -> None:
    await change(app, {"cron": "*/5 * * * *", "event": {"topic": "news"}})
    strict = type(app.profiles)(app.workspaces, app.blueprints, schedule_min_seconds=3_600)

    edited = await strict.edit(DEFAULT_TENANT, "scheduled", {"icon": "clock"}, actor=ADA)

    assert edited.data.icon == "clock"
    with pytest.raises(ScheduleTooOften):
        await strict.edit(DEFAULT_TENANT, "scheduled", {"schedule": {"catch_up_seconds": 60}}, actor=ADA)


@pytest.mark.parametrize(
    ("fields", "refusal"),
    [
        ({"cron": "0 25 * * *", "event": {"topic": "news"}}, CronInvalid),
        ({"cron": "0 7 * * *", "zone": "Nowhere", "event": {"topic": "news"}}, ZoneUnknown),
        ({"cron": "0 7 * * *", "message": "Hello"}, ScheduleStartInvalid),
        ({"event": {"topic": "news"}}, ProfileInvalid),
    ],
)
async def test_what_cannot_be_kept_is_not_stored(
    app: Planwerk, fields: dict[str, Any], refusal: type[Exception]
) -> None:
    with pytest.raises(refusal):
        await change(app, fields)

    assert (await app.profiles.get(DEFAULT_TENANT, "scheduled")).data.schedule is None
