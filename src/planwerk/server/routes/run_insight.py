"""What builders look at of one run: the prompts its models were sent, and the run as a test (U8)."""

from __future__ import annotations

from fastapi import APIRouter, Request
from pydantic import BaseModel

from planwerk.access.actions import Action
from planwerk.access.authorize import authorize
from planwerk.runtime.as_test import as_test
from planwerk.runtime.errors import UnknownRun
from planwerk.runtime.forks import RunNotEnded
from planwerk.server.authentication import SignedIn
from planwerk.server.parts import Installed, find_run, locale_of, may_inspect, run_resource
from planwerk.server.prompt_views import PromptView, prompt_view
from planwerk.workflow.ids import RunId

router = APIRouter(tags=["runs"])


class RunTestView(BaseModel):
    """The source of a test that plays a run again."""

    name: str
    """What its file may be called."""
    source: str


@router.get("/api/runs/{run}/prompts/{position}", operation_id="read_prompt")
async def read_prompt(request: Request, parts: Installed, principal: SignedIn, run: str, position: int) -> PromptView:
    """What a model was sent, and what it said: of the `model_called` entry at a position of the run's journal.

    Who may not see the profile's configuration is shown what people and models said, and a notice for the rest.
    """
    record = await find_run(parts, principal, run, Action.RUN_READ)
    entries = await parts.host.entries(RunId(record.run))
    inspects = may_inspect(principal, record)
    return prompt_view(record.run, entries, position, masked=not inspects, locale=locale_of(request, principal))


@router.get("/api/runs/{run}/test", operation_id="read_run_test")
async def read_run_test(parts: Installed, principal: SignedIn, run: str) -> RunTestView:
    """The run as the source of a test for pytest: what models and people said is in it, and how it has to end."""
    record = await find_run(parts, principal, run, Action.RUN_READ)
    authorize(principal, Action.RUN_INSPECT, run_resource(record))
    entries = await parts.host.entries(RunId(record.run))
    if not entries:
        raise UnknownRun(record.run)
    if record.ended_microseconds is None:
        raise RunNotEnded(record.run)
    source = as_test(entries, parts.blueprints.get(record.blueprint))
    return RunTestView(name=f"test_run_{record.run[-12:]}.py", source=source)
