from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from planwerk.access.ports import Accounts
from planwerk.access.service import AccessService
from tests.access.world import ADAPTERS, Clock, open_accounts, service_over


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=ADAPTERS)
async def accounts(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Accounts]:
    async with open_accounts(request.param, tmp_path) as accounts:
        yield accounts


@pytest.fixture
async def access(accounts: Accounts, clock: Clock) -> AccessService:
    access = service_over(accounts, clock)
    await access.ensure_installation()
    return access
