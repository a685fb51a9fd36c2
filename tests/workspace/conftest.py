"""Every storage of shared work, and a world on each."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from planwerk.storage.in_memory.workspace import InMemoryWorkspaceStorage
from planwerk.workspace.ports import Storage
from tests.workspace.world import World, open_storage


@pytest.fixture(params=["in_memory", "sqlite"])
async def storage(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Storage]:
    async with open_storage(request.param, tmp_path) as storage:
        yield storage


@pytest.fixture
async def world() -> World:
    """A world in memory, for what does not depend on the storage."""
    return await World.begin(InMemoryWorkspaceStorage())


@pytest.fixture
async def stored_world(storage: Storage) -> World:
    """A world on each storage."""
    return await World.begin(storage)
