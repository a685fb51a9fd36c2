"""The composition root: the only module that knows ports and adapters (design §2)."""

from __future__ import annotations

import asyncio
import logging
import os
import platform
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from planwerk.access.ids import TenantId
from planwerk.access.ports import Accounts
from planwerk.access.service import AccessService
from planwerk.documents.limits import FILE_BYTES
from planwerk.models.catalogue import CatalogueSettings, ModelCatalogue
from planwerk.providing import find_in, standard_providers
from planwerk.runtime.access_checker import AccessChecker, access_checker_from
from planwerk.runtime.agents import MAX_DEPTH, ServedAgents
from planwerk.runtime.answers import deliver_accepted
from planwerk.runtime.detaching import Detaching
from planwerk.runtime.execution import ExecutionContext
from planwerk.runtime.forks import Forks
from planwerk.runtime.host import Host
from planwerk.runtime.housekeeping import Housekeeping
from planwerk.runtime.live import LiveHub
from planwerk.runtime.ownership import LEASE_SECONDS as SERVICE_LEASE_SECONDS
from planwerk.runtime.ownership import SoleOwner
from planwerk.runtime.ports import ContextStore, Journal, RunRecords, RunRequests, WorkQueue
from planwerk.runtime.profiles import BlueprintRegistry, ProfileArtifact, ProfileDirectory
from planwerk.runtime.programs import Programs
from planwerk.runtime.projector import Projector
from planwerk.runtime.schedules import MIN_SECONDS
from planwerk.runtime.scheduling import Scheduler, Schedules
from planwerk.runtime.starter import Starter, who_stopped
from planwerk.runtime.stops import StopsFromElsewhere
from planwerk.runtime.worker import LEASE_SECONDS, MAX_RUNS, PARK_SECONDS, Worker, is_dead
from planwerk.workflow.blueprint import Agent
from planwerk.workflow.errors import PlanwerkError
from planwerk.workspace.ports import FileStore, Storage
from planwerk.workspace.workspaces import Workspaces

if TYPE_CHECKING:
    from pydantic_ai.models import Model

    from planwerk.capabilities.knowledge.ports import Embedder, KnowledgeIndex, Reranker
    from planwerk.capabilities.memory.ports import MemoryStore
    from planwerk.storage.sqlite.database import SqliteDatabase

log = logging.getLogger(__name__)

DEFAULT_TENANT: Final = TenantId("default")
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
DEMO_PACE_SECONDS: Final = 0.02
"""Pause of the demo model between two words, so that people see it stream."""
STATELESS_SECONDS: Final = 86_400.0
Provider = tuple[Any, Callable[[ExecutionContext], Any]]


class UnsupportedStorage(PlanwerkError):
    """The storage address names no adapter that is installed."""

    code = "unsupported_storage"

    def __init__(self, address: str) -> None:
        super().__init__(
            f"there is no storage for {address.split('@')[-1]!r}.",
            what_to_do="Use sqlite:///FILE, or leave it out to keep everything in memory.",
        )


class UnsupportedBus(PlanwerkError):
    """The bus address names no adapter that is installed."""

    code = "unsupported_bus"

    def __init__(self, address: str) -> None:
        super().__init__(
            f"there is no bus for {address.split('@')[-1]!r}.",
            what_to_do="Leave it out: one process needs none.",
        )


@dataclass(slots=True)
class Stores:
    """One adapter of each port."""

    accounts: Accounts
    workspace: Storage
    journal: Journal
    queue: WorkQueue
    contexts: ContextStore
    records: RunRecords
    requests: RunRequests
    memories: MemoryStore
    knowledge: KnowledgeIndex
    files: FileStore
    database: SqliteDatabase | None = None


class Planwerk:
    """An installation: blueprints, profiles, storage and models, ready to be served or used from code.

    Args:
        blueprints: The blueprints served, in order; the ready-made ones if missing.
        profiles: Profiles to make if there are none of their slug yet.
        storage: `sqlite+aiosqlite:///FILE`; None keeps everything in this process.
        bus: `nats://…` beyond one machine; None is this process.
        model: The default model: `provider:name`, or a pydantic-ai model. None looks around, and falls back to the
            offline demo model.
        providers: Pairs of a type and a function that makes it for an execution, for what your steps ask for.
        embedders: What collections of knowledge may be made vectors by; without any they are searched by words alone.
        reranker: Judges anew what a search of knowledge found.
    """

    def __init__(
        self,
        blueprints: Iterable[type[Agent]] | None = None,
        profiles: Iterable[ProfileArtifact] = (),
        storage: str | Path | None = None,
        bus: str | None = None,
        model: str | Model | None = None,
        providers: Iterable[Provider] = (),
        *,
        models: ModelCatalogue | None = None,
        embedders: Iterable[Embedder] = (),
        reranker: Reranker | None = None,
        durability: Literal["process", "power"] = "process",
        clock: Callable[[], int] | None = None,
    ) -> None:
        if bus is not None:
            raise UnsupportedBus(bus)
        if blueprints is None:
            from planwerk.blueprints.llm_wrapping_agent import LLMWrappingAgent

            blueprints = (LLMWrappingAgent,)
        from planwerk.capabilities.memory.writer import MemoryWriter

        self.blueprints = BlueprintRegistry(blueprints, of_capabilities=(MemoryWriter,))
        self._initial_profiles = tuple(profiles)
        self._given_model = model if model is not None and not isinstance(model, str) else None
        named = model if isinstance(model, str) else None
        self.models = models or ModelCatalogue(CatalogueSettings(model=named, demo_pace_seconds=DEMO_PACE_SECONDS))
        self._left_open = {name for name, given in (("storage", storage), ("models", models or model)) if given is None}
        self._storage_path = _path_of(storage)
        self._durability: Literal["process", "power"] = durability
        self._application_providers = tuple(providers)
        self._embedders, self._reranker = tuple(embedders), reranker
        self.clock = clock or _system_clock
        self.live = LiveHub()
        self.started = False
        self.stateless_seconds = STATELESS_SECONDS
        self.file_bytes = FILE_BYTES
        self.lease_seconds = LEASE_SECONDS
        self.max_runs = MAX_RUNS
        self.park_seconds = PARK_SECONDS
        self.max_agent_depth = MAX_DEPTH
        self.schedule_min_seconds = MIN_SECONDS
        self._tasks: list[asyncio.Task[None]] = []

    def fill_in(
        self, *, storage: str | Path | None, models: ModelCatalogue, durability: Literal["process", "power"]
    ) -> None:
        """Take from settings what the code that made this object left open; before the start."""
        if "storage" in self._left_open:
            self._storage_path, self._durability = _path_of(storage), durability
        if "models" in self._left_open:
            self.models = models

    @property
    def provided(self) -> tuple[Any, ...]:
        """The types that the application's own providers make."""
        return tuple(annotation for annotation, _ in self._application_providers)

    # Life -------------------------------------------------------------------------------------------------------------

    async def start(self, *, work: bool = True, is_helper: bool = False, keep_schedules: bool = True) -> None:
        """Open the storage, make what a new installation needs, and take up work.

        Args:
            work: Whether to drive runs here; False only reads and writes, as commands beside a server do.
            is_helper: Another process serves this storage: nothing new is made, such as profiles, and runs of
                blueprints that are not here are left to it, and so are schedules.
            keep_schedules: Whether profiles run by their schedules here; False for a command that soon ends.
        """
        if self.started:
            return
        self.stores = _open(self._storage_path, self._durability)
        self.started = True
        try:
            await self._set_up(work=work, is_helper=is_helper, keep_schedules=keep_schedules)
        except BaseException:
            await self.stop(seconds=0)
            raise

    async def _set_up(self, *, work: bool, is_helper: bool, keep_schedules: bool) -> None:
        self.access = AccessService.over(self.stores.accounts)
        self.memories = self.stores.memories
        self._make_knowledge()
        self.workspaces = Workspaces(self.stores.workspace, now=self._now)
        self.profiles = ProfileDirectory(
            self.workspaces, self.blueprints, schedule_min_seconds=self.schedule_min_seconds
        )
        if self._given_model is not None:
            self.models.give(self._given_model)
        else:
            await self.models.discover()
        self.programs = Programs(self._providers())
        self._make_runtime(is_helper=is_helper)
        if not is_helper:
            await self.access.ensure_installation()
            await self._ensure_profiles()
        if work:
            loop = asyncio.get_running_loop()
            for service in (self._projecting, self._starting, self.worker, self._stops, self.housekeeping):
                self._tasks.append(loop.create_task(service.run()))
            if not is_helper:
                self._tasks.append(loop.create_task(self.ingestion.run()))
            if keep_schedules and not is_helper:
                self._tasks.append(loop.create_task(self._scheduling.run()))
            # Imports of the default model take a second that no first answer should wait for.
            self._tasks.append(loop.create_task(self.models.warm_up()))

    async def stop(self, *, seconds: float = 5.0) -> None:
        """Take nothing more, let runs end or hand them over, and close the storage (S6.4)."""
        if not self.started:
            return
        self.started = False
        if self._tasks:
            await self.worker.shutdown(seconds=seconds)
            await self._report_last_facts()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()
        await self.models.close()
        if self.stores.database is not None:
            await self.stores.database.close()

    async def _report_last_facts(self) -> None:
        if not self._projecting.is_owner:
            return  # another process reports them
        try:
            await self.projector.catch_up()
        except Exception:
            log.exception("the last facts of runs were not recorded; the next start records them")

    def asgi(self) -> Any:
        """The ASGI application: REST, streams, `/v1` and the web client. It starts and stops this object."""
        from planwerk.server.application import create_app

        return create_app(self)

    async def __aenter__(self) -> Planwerk:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    def _now(self) -> datetime:
        return EPOCH + timedelta(microseconds=self.clock())

    # Parts ------------------------------------------------------------------------------------------------------------

    def _make_knowledge(self) -> None:
        from planwerk.capabilities.knowledge.ingestion import Ingestion
        from planwerk.capabilities.knowledge.library import Library
        from planwerk.documents.limits import ParseLimits
        from planwerk.documents.parsing import Parser

        stores = self.stores
        self.library = Library(stores.knowledge, stores.files, clock=self.clock, embedders=self._embedders)
        self.ingestion = Ingestion(self.library, Parser(ParseLimits(file_bytes=self.file_bytes)))
        self.library.received = self.ingestion.call

    def _providers(self) -> Any:
        from planwerk.capabilities.knowledge.shelf import KnowledgeShelf, shelf_from
        from planwerk.capabilities.memory.memories import Memories, memories_from

        providers = standard_providers(
            models=self.models,
            contexts=self.stores.contexts,
            find_blueprint=find_in(self.blueprints),
            clock=self.clock,
        )
        providers.register(Memories, memories_from(self.stores.memories, self.clock))
        providers.register(AccessChecker, access_checker_from(self.stores.accounts))
        providers.register(KnowledgeShelf, shelf_from(self.library, self._reranker))
        for annotation, provider in self._application_providers:
            providers.register(annotation, provider)
        return providers

    @property
    def process_name(self) -> str:
        """Names this process in leases and journals: host, process id, and when it began."""
        return self._process_name

    def _make_runtime(self, *, is_helper: bool) -> None:
        stores = self.stores
        agents = ServedAgents(self.profiles, stores.accounts)
        self._process_name = f"{platform.node()}:{os.getpid()}:{self.clock()}"
        self.worker = Worker(
            store=stores.journal,
            queue=stores.queue,
            contexts=stores.contexts,
            live=self.live,
            blueprints=self.blueprints,
            programs=self.programs,
            clock=self.clock,
            name=self._process_name,
            lease_seconds=self.lease_seconds,
            max_runs=self.max_runs,
            is_helper=is_helper,
            park_seconds=self.park_seconds,
            agents=agents,
            max_agent_depth=self.max_agent_depth,
        )
        self.worker.who_stopped = partial(who_stopped, self.workspaces)
        self.worker.accepted_answers = partial(deliver_accepted, self.workspaces)
        self.starter = Starter(
            workspaces=self.workspaces,
            profiles=self.profiles,
            store=stores.journal,
            queue=stores.queue,
            contexts=stores.contexts,
            worker=self.worker,
            clock=self.clock,
        )
        self.projector = Projector(stores.journal, stores.records, stores.requests, self.workspaces)
        self.projector.detaching = Detaching(
            stores.journal,
            stores.queue,
            stores.contexts,
            agents,
            clock=self.clock,
            max_depth=self.max_agent_depth,
        )
        self.schedules = Schedules(
            profiles=self.profiles,
            store=stores.journal,
            queue=stores.queue,
            contexts=stores.contexts,
            records=stores.records,
            clock=self.clock,
        )
        self.scheduler = Scheduler(
            self.schedules, self.profiles, self.workspaces, tenants=(DEFAULT_TENANT,), clock=self.clock
        )
        self._starting = self._owned(self.starter)
        self._scheduling = self._owned(self.scheduler)
        self._projecting = self._owned(self.projector)
        self._stops = StopsFromElsewhere(self.worker, stores.contexts)
        self.housekeeping = Housekeeping(
            stores.journal, stores.records, stores.requests, stores.queue, stores.contexts, clock=self.clock
        )
        self.forks = Forks(
            blueprints=self.blueprints,
            store=stores.journal,
            queue=stores.queue,
            records=stores.records,
            clock=self.clock,
        )
        self.host = Host(
            workspaces=self.workspaces,
            profiles=self.profiles,
            store=stores.journal,
            queue=stores.queue,
            records=stores.records,
            requests=stores.requests,
            contexts=stores.contexts,
            worker=self.worker,
            clock=self.clock,
        )

    def _owned(self, service: Starter | Projector | Scheduler) -> SoleOwner:
        """The service, run by one process at a time (E7.9)."""
        mine = self._process_name

        def is_gone(owner: str) -> bool:
            return owner != mine and is_dead(owner, mine)

        return SoleOwner(
            service,
            self.stores.workspace,
            name=mine,
            clock=self.clock,
            is_dead=is_gone,
            lease_seconds=min(SERVICE_LEASE_SECONDS, self.lease_seconds),
        )

    async def _ensure_profiles(self) -> None:
        from planwerk.runtime.profiles import PROFILES

        existing = {profile.slug for profile in await self.profiles.list(DEFAULT_TENANT)}
        for data in self._initial_profiles:
            if data.slug not in existing:
                await self.profiles.create(DEFAULT_TENANT, data, actor=PROFILES)
        await self.profiles.ensure_defaults(DEFAULT_TENANT)


def _system_clock() -> int:
    return time.time_ns() // 1000


def _path_of(storage: str | Path | None) -> Path | None:
    """The file of a storage address; None is in memory."""
    if storage is None or isinstance(storage, Path):
        return storage
    if storage in {"memory", "memory://"}:
        return None
    scheme, separator, rest = storage.partition(":///")
    if not separator and "://" not in storage:
        return Path(storage)
    if scheme.partition("+")[0] == "sqlite" and rest:
        return Path(rest)
    raise UnsupportedStorage(storage)


def _open(path: Path | None, durability: Literal["process", "power"]) -> Stores:
    if path is None:
        from planwerk.storage.folder_files import TemporaryFiles
        from planwerk.storage.in_memory.accounts import InMemoryAccounts
        from planwerk.storage.in_memory.contexts import InMemoryContexts
        from planwerk.storage.in_memory.journal import InMemoryJournal
        from planwerk.storage.in_memory.knowledge import InMemoryKnowledge
        from planwerk.storage.in_memory.memories import InMemoryMemories
        from planwerk.storage.in_memory.run_records import InMemoryRunRecords
        from planwerk.storage.in_memory.run_requests import InMemoryRunRequests
        from planwerk.storage.in_memory.work_queue import InMemoryWorkQueue
        from planwerk.storage.in_memory.workspace import InMemoryWorkspaceStorage

        return Stores(
            accounts=InMemoryAccounts(),
            workspace=InMemoryWorkspaceStorage(),
            journal=InMemoryJournal(),
            queue=InMemoryWorkQueue(),
            contexts=InMemoryContexts(),
            records=InMemoryRunRecords(),
            requests=InMemoryRunRequests(),
            memories=InMemoryMemories(),
            knowledge=InMemoryKnowledge(),
            files=TemporaryFiles(),
        )
    from planwerk.storage.folder_files import FolderFiles
    from planwerk.storage.migrate import upgrade
    from planwerk.storage.sqlite.accounts import SqliteAccounts
    from planwerk.storage.sqlite.contexts import SqliteContexts
    from planwerk.storage.sqlite.database import SqliteDatabase
    from planwerk.storage.sqlite.journal import SqliteJournal
    from planwerk.storage.sqlite.knowledge import SqliteKnowledge
    from planwerk.storage.sqlite.memories import SqliteMemories
    from planwerk.storage.sqlite.run_records import SqliteRunRecords
    from planwerk.storage.sqlite.run_requests import SqliteRunRequests
    from planwerk.storage.sqlite.work_queue import SqliteWorkQueue
    from planwerk.storage.sqlite.workspace import SqliteWorkspaceStorage

    path.parent.mkdir(parents=True, exist_ok=True)
    upgrade(path)
    database = SqliteDatabase(path, durability=durability)
    return Stores(
        accounts=SqliteAccounts(database),
        workspace=SqliteWorkspaceStorage(database),
        journal=SqliteJournal(database),
        queue=SqliteWorkQueue(database),
        contexts=SqliteContexts(database),
        records=SqliteRunRecords(database),
        requests=SqliteRunRequests(database),
        memories=SqliteMemories(database),
        knowledge=SqliteKnowledge(database),
        files=FolderFiles(path.parent / "files"),
        database=database,
    )
