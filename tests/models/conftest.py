from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from tests.models.stub_server import StubServer, stub_server

from planwerk.models.catalogue import CatalogueSettings, ModelCatalogue
from planwerk.models.discovery import ProviderSettings
from planwerk.models.resolved import ResolvedModel


@pytest.fixture
async def stub() -> AsyncIterator[StubServer]:
    async with stub_server() as server:
        yield server


@pytest.fixture
async def model(stub: StubServer) -> AsyncIterator[ResolvedModel]:
    """A model on the stub server, as the catalogue makes it."""
    settings = CatalogueSettings(
        model="stub:stub-model", providers={"stub": ProviderSettings(stub.base_url, "sk-secret-key-123")}
    )
    catalogue = ModelCatalogue(settings, environment={}, local_servers=())
    await catalogue.discover()
    yield catalogue.resolve()
    await catalogue.close()
