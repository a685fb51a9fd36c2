"""Where an execution of a served run shows things: its run's journal, and the live channel."""

from __future__ import annotations

from planwerk.runtime.driver import RunDriver
from planwerk.runtime.execution import FrameType
from planwerk.runtime.live import LiveChannel
from planwerk.workflow import entries as journal
from planwerk.workflow.events import DisplayEvent
from planwerk.workflow.seen import Execution


class HubSink:
    """What an execution of a served run shows: durable events to its journal, pieces to the live channel."""

    __slots__ = ("_attempt", "_driver", "_execution", "_live")

    def __init__(self, driver: RunDriver, execution: Execution, attempt: int, live: LiveChannel) -> None:
        self._driver = driver
        self._execution = execution
        self._attempt = attempt
        self._live = live

    def displayed(self, event: DisplayEvent) -> None:
        self._driver.displayed(self._execution, event)

    def next_response(self) -> int:
        return self._driver.next_response()

    def frame(self, kind: FrameType, *, response: int, part: int, part_kind: str = "", text: str = "") -> None:
        if self._driver.is_over:
            return  # a step that was abandoned still streams
        self._live.publish(
            self._driver.run,
            attempt=self._attempt,
            response=response,
            part=part,
            frame=kind,
            kind=part_kind,
            text=text,
        )

    def model_called(self, call: journal.ModelCalled) -> None:
        self._driver.model_called(call)
