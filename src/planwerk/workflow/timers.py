"""Durable timers: a step returns `Timer.after(60)`, another takes `Timer.Fired` (E8.3)."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Self

from pydantic import AwareDatetime, Field, model_validator

from planwerk.workflow.events import ControlAndDisplayEvent, Event
from planwerk.workflow.locale_string import LocaleString
from planwerk.workflow.requests import OutsideRequest

LONGEST_WAIT = timedelta(days=3650)


class TimerFiredEvent(
    ControlAndDisplayEvent,
    label=LocaleString(en="Time is up", de="Zeit abgelaufen", fr="Temps écoulé", it="Tempo scaduto"),
    icon="clock",
):
    """The time of a timer has come."""


class Timer(
    OutsideRequest, label=LocaleString(en="Waiting", de="Wartet", fr="En attente", it="In attesa"), icon="clock"
):
    """Waits without holding a worker: the run goes on with `Timer.Fired`, on any worker, also after a restart.

    Make one with `Timer.after` or `Timer.at`; a second, distinct use is a subclass: `class Reminder(Timer): ...` is
    taken as `Reminder.Fired`.

    Attributes:
        seconds: From the moment it is returned.
        until: Or a point in time; one that has passed fires at once.
    """

    if TYPE_CHECKING:
        Fired = TimerFiredEvent

    seconds: Annotated[float, Field(ge=0, le=LONGEST_WAIT.total_seconds(), allow_inf_nan=False)] | None = None
    until: AwareDatetime | None = None

    @model_validator(mode="after")
    def _one_of_them(self) -> Self:
        if (self.seconds is None) == (self.until is None):
            raise ValueError("give either seconds or until: Timer.after(60), Timer.at(time)")
        return self

    @classmethod
    def after(cls, seconds: float) -> Self:
        """A timer that fires this many seconds after the step has returned it; at most ten years."""
        return cls(seconds=seconds)

    @classmethod
    def at(cls, until: datetime) -> Self:
        """A timer that fires at this time, which has a time zone."""
        return cls(until=until)

    def due_microseconds(self, asked: int) -> int:
        if self.until is not None:
            return round(self.until.timestamp() * 1e6)
        return asked + round((self.seconds or 0) * 1e6)

    def overdue_answer(self) -> Event:
        return self.responses["Fired"]()


Timer.answer_with({"Fired": TimerFiredEvent})
