"""What `planwerk doctor` looks at (S1.3): each check says how it stands, and what to do where it does not."""

from __future__ import annotations

import asyncio
import platform
import shutil
import socket
import sqlite3
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from pathlib import Path
from typing import Final, Literal

import httpx2

from planwerk.cli.installation import catalogue_settings
from planwerk.models.catalogue import ModelCatalogue
from planwerk.models.discovery import probe_server
from planwerk.models.resolved import ModelDescription
from planwerk.server.data_lock import DataFolderHeld, Holder, holder_of
from planwerk.settings.loading import Loaded, without_credentials
from planwerk.settings.model import Settings

State = Literal["ok", "note", "trouble"]

LITTLE_SPACE: Final = 1 << 30
NO_SPACE: Final = 100 << 20
EARLIEST: Final = datetime(2026, 1, 1, tzinfo=UTC)
DRIFT: Final = timedelta(minutes=5)
STATIC: Final = Path(__file__).resolve().parents[1] / "server" / "static" / "index.html"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report."""

    name: str
    state: State
    text: str
    what_to_do: str = ""


def examine(loaded: Loaded) -> Iterator[Finding]:
    """Everything but models, which are asked for over the network."""
    settings = loaded.settings
    yield Finding("version", "ok", f"planwerk {version('planwerk')}, {_platform()}")
    yield _settings(loaded)
    yield from _data_folder(settings.data)
    yield _database(settings)
    yield _disk(settings.data)
    yield _clock(settings.data)
    yield _web_client()
    yield _server(settings)


async def examine_models(settings: Settings) -> list[Finding]:
    """The models found, the default first; trouble where a named one does not answer."""
    catalogue = ModelCatalogue(catalogue_settings(settings))
    try:
        models = await catalogue.discover()
        found = [_model(model, is_default=number == 0) for number, model in enumerate(models)]
    finally:
        await catalogue.close()
    found += await _silent_servers(settings, models[0].provider)
    found += [Finding("model", "note", hint) for hint in catalogue.hints]
    if catalogue.is_demo:
        found.append(
            Finding(
                "model",
                "note",
                "only the built-in demo model answers",
                "Set OPENAI_API_KEY or another provider's key, OPENAI_BASE_URL, or start Ollama; or give --model.",
            )
        )
    return found


async def _silent_servers(settings: Settings, default: str) -> list[Finding]:
    """The providers whose address is set and where nobody answers."""
    named = [(name, given) for name, given in catalogue_settings(settings).providers.items() if given.base_url]
    answers = await asyncio.gather(*(probe_server(given) for _, given in named))
    what_to_do = "Start its server, or correct address and key: planwerk config explain provider.{}.base_url"
    return [
        Finding(
            "model",
            "trouble" if name == default else "note",
            f"{without_credentials(given.base_url or '')} of provider {name} lists no models",
            what_to_do.format(name),
        )
        for (name, given), answer in zip(named, answers, strict=True)
        if answer is None
    ]


def _model(model: ModelDescription, *, is_default: bool) -> Finding:
    where = f", {model.base_url}" if model.base_url else ""
    told = f"{model.name} ({model.location}{where}; from {model.source}){' is the default' if is_default else ''}"
    if model.note:
        state: State = "trouble" if is_default else "note"
        return Finding("model", state, f"{told}; {model.note}", "Check that its server runs, and its address and key.")
    return Finding("model", "ok", told)


def _platform() -> str:
    return (
        f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, {platform.system()} {platform.machine()}"
    )


def _settings(loaded: Loaded) -> Finding:
    explained = [loaded.explain(name) for name in loaded.names()]
    given = [each for each in explained if each.origin.source != "default"]
    told = ", ".join(f"{each.key} from {each.origin.place}" for each in given)
    return Finding("settings", "ok", told or "all at their defaults")


def _data_folder(data: Path) -> Iterator[Finding]:
    if not data.exists():
        yield Finding("data", "ok", f"{data} will be made")
        return
    probe = data / ".doctor"
    try:
        probe.write_bytes(b"")
        probe.unlink()
    except OSError as error:
        what_to_do = "Give this account the folder, or another one with --data."
        yield Finding("data", "trouble", f"{data} cannot be written: {error.strerror}", what_to_do)
        return
    yield Finding("data", "ok", str(data))
    for name in ("stored.toml", "server.lock"):
        file = data / name
        if file.exists() and file.stat().st_mode & 0o077:
            yield Finding("data", "trouble", f"{file} holds secrets, and others may read it", f"chmod 600 {file}")


def _database(settings: Settings) -> Finding:
    address = settings.database
    if not address.startswith("sqlite"):
        return Finding("database", "ok", without_credentials(address))
    path = Path(address.partition(":///")[2])
    if not path.exists():
        return Finding("database", "ok", f"{path} will be made")
    try:
        connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=5)
        try:
            answer = str(connection.execute("PRAGMA quick_check(1)").fetchone()[0])
        finally:
            connection.close()
    except sqlite3.Error as error:
        answer = str(error)
    if answer != "ok":
        return Finding("database", "trouble", f"{path}: {answer}", "Restore it from a backup; keep the damaged file.")
    return Finding("database", "ok", f"{path}, {path.stat().st_size / 1e6:.1f} MB, undamaged")


def _disk(data: Path) -> Finding:
    folder = next(each for each in (data, *data.absolute().parents) if each.exists())
    free = shutil.disk_usage(folder).free
    told = f"{free / (1 << 30):.1f} GiB free"
    if free < NO_SPACE:
        return Finding("disk", "trouble", told, "Make room: writes will soon fail.")
    return Finding("disk", "note" if free < LITTLE_SPACE else "ok", told, "Make room." if free < LITTLE_SPACE else "")


def _clock(data: Path, now: Callable[[], float] = time.time) -> Finding:
    current = datetime.fromtimestamp(now(), UTC)
    files = [file.stat().st_mtime for file in data.glob("*")] if data.is_dir() else []
    newest = datetime.fromtimestamp(max(files, default=0), UTC)
    told = f"{current:%Y-%m-%d %H:%M:%S} UTC"
    if current < EARLIEST or newest > current + DRIFT:
        return Finding("clock", "trouble", f"{told} is in the past", "Set the clock; ids and times depend on it.")
    return Finding("clock", "ok", told)


def _web_client() -> Finding:
    if STATIC.is_file():
        return Finding("web client", "ok", "built")
    return Finding("web client", "trouble", "is not built", "Run 'make setup' in a checkout, or install the package.")


def _server(settings: Settings) -> Finding:
    try:
        holder = holder_of(settings.data)
    except DataFolderHeld as error:
        return Finding("server", "note", error.message)
    if holder is not None:
        return _running(holder)
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((settings.host, settings.port))
        except OSError as error:
            told = f"port {settings.port} on {settings.host} cannot be used: {error.strerror}"
            return Finding("server", "trouble", told, "Stop what uses it, or take another port with --port.")
    return Finding("server", "ok", f"none runs; port {settings.port} on {settings.host} is free")


def _running(holder: Holder) -> Finding:
    try:
        answer = httpx2.get(f"{holder.url}/health/live", timeout=3, trust_env=False)
        answer.raise_for_status()
    except httpx2.HTTPError as error:
        told = f"process {holder.pid} holds the data folder, but {holder.url} does not answer: {type(error).__name__}"
        return Finding("server", "trouble", told, "Look at its log, or end it and start it anew.")
    return Finding("server", "ok", f"runs at {holder.url} (process {holder.pid})")
