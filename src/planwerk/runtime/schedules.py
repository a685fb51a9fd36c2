"""The schedule of a profile: when it runs by itself, and with what (E8.3)."""

from __future__ import annotations

from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from planwerk.locales import LOCALES
from planwerk.messages.events import UserMessageEvent
from planwerk.messages.prompts import user_prompt
from planwerk.runtime.occurrences import ScheduleInvalid, ScheduleTooOften, read_rule
from planwerk.workflow.blueprint import Agent
from planwerk.workflow.composition import start_classes
from planwerk.workflow.events import StartEvent

CATCH_UP_SECONDS: Final = 3_600.0
LONGEST_CATCH_UP_SECONDS: Final = 7 * 86_400.0
MIN_SECONDS: Final = 300.0
"""How far apart two occurrences have to be."""


class ScheduleStartInvalid(ScheduleInvalid):
    """What a schedule starts its profile with is no start of the blueprint."""

    code = "schedule_start_invalid"


class ProfileSchedule(BaseModel):
    """A cron schedule with a time zone; each occurrence starts at most one run, with the profile's own rights."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    cron: str = Field(max_length=200)
    """Minute, hour, day of the month, month, day of the week."""
    zone: str = Field(default="UTC", max_length=100)
    """IANA name of the time zone by whose clocks the expression is read."""
    message: str | None = Field(default=None, min_length=1)
    """What a chat blueprint is asked; either this or `event`."""
    event: dict[str, Any] | None = None
    """Fields of a start event of the blueprint, its class as `type`; its first where that is missing."""
    locale: str | None = None
    """Language of the run; the server's default if missing (E1.9)."""
    catch_up_seconds: float = Field(default=CATCH_UP_SECONDS, ge=0, le=LONGEST_CATCH_UP_SECONDS)
    """How late an occurrence is still run: of those missed while nothing ran here only the newest is. 0 is a minute."""
    while_running: Literal["skip", "start"] = "skip"
    """What an occurrence does while the run of an earlier one has not ended."""
    enabled: bool = True
    """False pauses it: what is due meanwhile is not caught up later."""

    @model_validator(mode="after")
    def _says_what_to_start_with(self) -> ProfileSchedule:
        if (self.message is None) == (self.event is None):
            raise ValueError("give either `message` or `event` to say what the run starts with")
        if self.locale is not None and self.locale not in LOCALES:
            raise ValueError(f"locale is one of {', '.join(LOCALES)}")
        return self


def changed_schedule(current: ProfileSchedule | None, changes: dict[str, Any] | None) -> dict[str, Any] | None:
    """A schedule's fields with some of them changed: None takes it away, what is not named stays.

    A new `message` takes the place of an `event`, and the other way round.
    """
    if changes is None:
        return None
    fields = current.model_dump(mode="json", exclude_defaults=True) if current is not None else {}
    for one, other in (("message", "event"), ("event", "message")):
        if changes.get(one) is not None:
            fields.pop(other, None)
    fields.update(changes)
    return {name: value for name, value in fields.items() if value is not None}


def check_schedule(schedule: ProfileSchedule, blueprint: type[Agent], *, least_seconds: float = MIN_SECONDS) -> None:
    """Refuse a schedule that cannot be kept.

    Args:
        least_seconds: How far apart two occurrences have to be.

    Raises:
        ScheduleInvalid: And its kinds: the expression, the zone, how often it is due, or what it starts with.
    """
    rule = read_rule(schedule.cron, schedule.zone)
    if rule.shortest_seconds < least_seconds:
        raise ScheduleTooOften(rule.cron, found_seconds=rule.shortest_seconds, least_seconds=least_seconds)
    start_of(schedule, blueprint)


def start_of(schedule: ProfileSchedule, blueprint: type[Agent]) -> StartEvent:
    """The event that a run of the schedule begins with.

    Raises:
        ScheduleStartInvalid: The blueprint is not started by it, or its fields do not fit.
    """
    classes = {cls.__name__: cls for cls in start_classes(blueprint)}
    if schedule.message is not None:
        if UserMessageEvent.__name__ not in classes:
            raise ScheduleStartInvalid(
                f"{blueprint.__name__} is not started by a message (E8.3).",
                what_to_do=f"Give `event` with the fields of {' or '.join(classes)} instead.",
            )
        return UserMessageEvent(messages=(user_prompt(schedule.message),), user=None, locale=schedule.locale)
    fields = {name: value for name, value in (schedule.event or {}).items() if name not in {"type", "family"}}
    name = str((schedule.event or {}).get("type") or next(iter(classes)))
    cls = classes.get(name)
    if cls is None or not issubclass(cls, StartEvent):
        raise ScheduleStartInvalid(
            f"{name[:80]} does not start {blueprint.__name__} (E8.3).", what_to_do=f"Use one of: {', '.join(classes)}."
        )
    try:
        return cls.model_validate(fields)
    except ValidationError as error:
        shown = "; ".join(f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors())
        raise ScheduleStartInvalid(
            f"the schedule's start event is not valid: {shown} (E8.3).", what_to_do="Correct the fields named."
        ) from error
