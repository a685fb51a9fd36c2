"""What a run cost is shown to who may inspect it, and to nobody else (S2.4)."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pytest
from pydantic_ai.messages import ModelResponse, TextPart

from planwerk.access.actions import Role
from planwerk.access.actors import SystemActor
from planwerk.access.ids import AccountId, TenantId
from planwerk.access.principal import Principal
from planwerk.messages.events import LLMEvent, LLMStopEvent, Usage
from planwerk.server.log_entries import LogReader
from planwerk.server.run_entries import without_costs
from planwerk.workflow.codec import write_event
from planwerk.workflow.ids import EventId, RunId, ThreadId, WorkspaceId, new_id
from planwerk.workspace.rules.envelope import LogEnvelope
from planwerk.workspace.rules.events import RunEnded, RunUsage

ANSWER = LLMEvent(
    response=ModelResponse(parts=[TextPart("Hello.")]), model="m", usage=Usage(input_tokens=3), cost=Decimal("0.25")
)


def test_an_answers_cost_is_left_out_wherever_the_answer_stands() -> None:
    hidden = without_costs({"nested": [write_event(LLMStopEvent(answer=ANSWER))], "flat": write_event(ANSWER)})

    assert "0.25" not in str(hidden)
    assert hidden["flat"]["usage"]["input_tokens"] == 3
    assert hidden["nested"][0]["answer"]["model"] == "m"


def test_a_field_of_a_blueprints_own_event_that_is_named_cost_stays() -> None:
    assert without_costs({"order": {"cost": 12, "of": "a book"}}) == {"order": {"cost": 12, "of": "a book"}}


@pytest.mark.parametrize(
    ("role", "cost"), [(Role.MEMBER, None), (Role.BUILDER, "0.25"), (Role.ADMIN, "0.25"), (Role.OWNER, "0.25")]
)
def test_the_log_tells_the_cost_of_a_run_by_right(role: Role, cost: str | None) -> None:
    principal = Principal(TenantId("default"), AccountId(new_id()), "Ada", role)
    ended = RunEnded(
        run_id=RunId(new_id()), status="completed", usage=RunUsage(), cost=Decimal("0.25"), duration_seconds=1, steps=1
    )
    envelope = LogEnvelope(
        seq=1,
        id=EventId(new_id()),
        time=datetime(2026, 1, 1, tzinfo=UTC),
        workspace=WorkspaceId(new_id()),
        thread=ThreadId(new_id()),
        actor=SystemActor(name="projector"),
        event=ended,
    )

    data = LogReader(principal, "en").wire(envelope)["data"]

    assert (data["cost"], data["status"]) == (cost, "completed")
