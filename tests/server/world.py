"""What tests of the server say often: a thread with answers, a run that has ended, somebody else."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final

import httpx2

from planwerk.access.actions import Role
from planwerk.access.ids import DEFAULT_TENANT, AccountId, TenantId
from planwerk.access.principal import Principal
from planwerk.app import Planwerk
from planwerk.workflow.ids import new_id

PATIENCE_SECONDS: Final = 20


async def until(wanted: Callable[[], Awaitable[bool]]) -> None:
    """Wait for what only asking can tell."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not await wanted():  # noqa: ASYNC110 - REST has no event for it
            await asyncio.sleep(0.005)


async def new_thread(client: httpx2.AsyncClient, **fields: Any) -> dict[str, Any]:
    """An empty thread of the person's private workspace."""
    made = await client.post("/api/threads", json={"id": new_id(), "profile": "assistant", **fields})
    assert made.status_code == 201, made.text
    return made.json()


async def post(client: httpx2.AsyncClient, thread: str, content: str, **fields: Any) -> dict[str, Any]:
    """Post a message; what comes back names its run."""
    body = {"message_id": new_id(), "content": content, **fields}
    posted = await client.post(f"/api/threads/{thread}/messages", json=body)
    assert posted.status_code == 202, posted.text
    return posted.json()


async def ended(client: httpx2.AsyncClient, run: str) -> dict[str, Any]:
    """The run's record once it has ended and its thread knows it."""
    record: dict[str, Any] = {}

    async def has_ended() -> bool:
        nonlocal record
        record = (await client.get(f"/api/runs/{run}")).json()
        if record["ended"] is None:
            return False
        thread = record["thread"]
        return thread is None or (await client.get(f"/api/threads/{thread}")).json()["active_run"] != run

    await until(has_ended)
    return record


async def answered(client: httpx2.AsyncClient, thread: str, question: str) -> dict[str, Any]:
    """The record of the run that answered this question."""
    return await ended(client, (await post(client, thread, question))["run_id"])


async def chat(client: httpx2.AsyncClient, *questions: str) -> dict[str, Any]:
    """A thread with these questions answered."""
    thread = (await new_thread(client))["id"]
    for question in questions:
        await answered(client, thread, question)
    return (await client.get(f"/api/threads/{thread}")).json()


async def key_of(planwerk: Planwerk, login: str, role: Role, tenant: TenantId = DEFAULT_TENANT) -> str:
    """An API key of a new account."""
    access = planwerk.access
    if tenant != DEFAULT_TENANT:
        await access.ensure_tenant(tenant, tenant)
        await planwerk.profiles.ensure_defaults(tenant)
    account = await access.create_account(login, role=role, name=login.title(), tenant=tenant)
    maker = Principal(tenant, AccountId(account.id), account.name, role)
    return (await access.create_key(maker, "test", account=account.id)).text
