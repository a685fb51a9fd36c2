"""Which models are here: named by a person, in the environment, or served on this machine (S1.1, S1.6).

Nothing is asked of the network beyond a short question to a server that somebody named, or that runs on this machine.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from ipaddress import ip_address
from typing import Any, Final, Literal, TypeAlias, cast
from urllib.parse import urlsplit, urlunsplit

import httpx2

LOCAL_SERVERS: Final = (
    ("ollama", "http://127.0.0.1:11434/v1"),
    ("llamacpp", "http://127.0.0.1:8080/v1"),
    ("lmstudio", "http://127.0.0.1:1234/v1"),
)
"""Where people's own servers usually listen."""

PROBE_SECONDS: Final = 1.5
LARGEST_LIST: Final = 50
_NO_CHAT: Final = ("embed", "rerank", "whisper", "tts", "clip")


@dataclass(frozen=True)
class ProviderSettings:
    """A provider as settings or the environment give it; the key is never printed."""

    base_url: str | None = None
    key: str | None = field(default=None, repr=False)


@dataclass(frozen=True)
class ServedModel:
    """A model in a server's list."""

    name: str
    context_window: int | None = None


@dataclass(frozen=True)
class Server:
    """An OpenAI-compatible server; `models` is None when it did not answer."""

    provider: str
    settings: ProviderSettings
    source: str
    models: tuple[ServedModel, ...] | None = None


@dataclass(frozen=True)
class KeyedProvider:
    """A provider whose key is in the environment: its usual model, and the module pydantic-ai needs for it."""

    provider: str
    variables: tuple[str, ...]
    usual_model: str
    module: str = "openai"


KEYED_PROVIDERS: Final = (
    KeyedProvider("openai", ("OPENAI_API_KEY",), "gpt-5.6-luna"),
    KeyedProvider("anthropic", ("ANTHROPIC_API_KEY",), "claude-sonnet-5-5", "anthropic"),
    KeyedProvider("google", ("GOOGLE_API_KEY", "GEMINI_API_KEY"), "gemini-3.8-flash", "google.genai"),
    KeyedProvider("mistral", ("MISTRAL_API_KEY",), "mistral-medium-latest", "mistralai"),
    KeyedProvider("groq", ("GROQ_API_KEY",), "openai/gpt-oss-120b", "groq"),
    KeyedProvider("deepseek", ("DEEPSEEK_API_KEY",), "deepseek-flash"),
    KeyedProvider("openrouter", ("OPENROUTER_API_KEY",), "openai/gpt-5-mini"),
)

Probe: TypeAlias = Callable[[ProviderSettings], Awaitable[tuple[ServedModel, ...] | None]]


async def probe_server(settings: ProviderSettings) -> tuple[ServedModel, ...] | None:
    """The models this server lists, or None if nothing that lists models answers in time."""
    headers = {"Authorization": f"Bearer {settings.key}"} if settings.key else {}
    try:
        proxied = place_of(settings.base_url) == "remote"
        async with httpx2.AsyncClient(timeout=PROBE_SECONDS, trust_env=proxied, follow_redirects=True) as client:
            answer = await client.get(f"{settings.base_url}/models", headers=headers)
            answer.raise_for_status()
            return _read_list(answer.json())
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError):
        return None


def _read_list(data: Any) -> tuple[ServedModel, ...] | None:
    if not isinstance(data, dict) or not isinstance(cast("dict[str, Any]", data).get("data"), list):
        return None
    entries = cast("list[Any]", data["data"])
    models = [_read_model(cast("dict[str, Any]", entry)) for entry in entries if isinstance(entry, dict)]
    return tuple(model for model in models if model is not None)[:LARGEST_LIST]


def _read_model(entry: Mapping[str, Any]) -> ServedModel | None:
    name = entry.get("id")
    if not isinstance(name, str) or not name or any(word in name.lower() for word in _NO_CHAT):
        return None
    windows = (entry.get(key) for key in ("max_model_len", "context_length", "max_context_length", "context_window"))
    return ServedModel(name, next((window for window in windows if isinstance(window, int) and window > 0), None))


def named_servers(settings: Mapping[str, ProviderSettings], environment: Mapping[str, str]) -> list[Server]:
    """Servers somebody named: in settings, by `OPENAI_BASE_URL`, by `OLLAMA_HOST`; settings first."""
    servers = [Server(name, given, "settings") for name, given in settings.items() if given.base_url]
    if url := environment.get("OPENAI_BASE_URL"):
        key = environment.get("OPENAI_API_KEY")
        servers.append(Server("openai", ProviderSettings(url.rstrip("/"), key), "OPENAI_BASE_URL"))
    for variable in ("OLLAMA_BASE_URL", "OLLAMA_HOST"):
        if host := environment.get(variable):
            key = environment.get("OLLAMA_API_KEY")
            servers.append(Server("ollama", ProviderSettings(ollama_url(host), key), variable))
            break
    seen: set[str] = set()
    return [server for server in servers if not (server.provider in seen or seen.add(server.provider))]


def ollama_url(host: str) -> str:
    """The OpenAI-compatible base URL for Ollama's way of naming a host; a server for all addresses is asked here."""
    parts = urlsplit(host if "://" in host else f"http://{host}")
    name = "127.0.0.1" if parts.hostname in {None, "", "0.0.0.0", "::"} else parts.hostname
    name = f"[{name}]" if name and ":" in name else name
    port = parts.port or (443 if parts.scheme == "https" else 11434)
    path = parts.path.rstrip("/")
    return urlunsplit((parts.scheme, f"{name}:{port}", path if path.endswith("/v1") else f"{path}/v1", "", ""))


async def find_servers(named: list[Server], local: tuple[tuple[str, str], ...], probe: Probe) -> list[Server]:
    """The named servers, with the models they list, and those on their usual ports that answered."""
    known = {server.provider for server in named}
    guessed = [
        Server(name, ProviderSettings(url), f"port {urlsplit(url).port}") for name, url in local if name not in known
    ]
    asked = [*named, *guessed]
    answers = await asyncio.gather(*(probe(server.settings) for server in asked))
    found = [
        Server(server.provider, server.settings, server.source, models)
        for server, models in zip(asked, answers, strict=True)
    ]
    return found[: len(named)] + [server for server in found[len(named) :] if server.models]


def keyed_providers(
    settings: Mapping[str, ProviderSettings], environment: Mapping[str, str]
) -> tuple[list[tuple[KeyedProvider, ProviderSettings, str]], list[str]]:
    """Providers whose key is at hand and whose package is installed, and hints for those whose package is not."""
    found: list[tuple[KeyedProvider, ProviderSettings, str]] = []
    hints: list[str] = []
    for provider in KEYED_PROVIDERS:
        given = settings.get(provider.provider)
        variable = next((name for name in provider.variables if environment.get(name)), None)
        key = given.key if given and given.key else environment.get(variable or "")
        if not key:
            continue
        source = "settings" if given and given.key else variable or ""
        if _installed(provider.module):
            found.append((provider, ProviderSettings(given.base_url if given else None, key), source))
        else:
            package = f"pydantic-ai-slim[{provider.provider}]"
            hints.append(
                f'{source} has a key for {provider.provider}, but its package is missing: pip install "{package}"'
            )
    return found, hints


def _installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def place_of(base_url: str | None) -> Literal["local", "remote"]:
    """Whether this address is on this machine or its private network."""
    host = urlsplit(base_url or "").hostname
    if host is None:
        return "remote"
    try:
        return "local" if ip_address(host).is_private else "remote"
    except ValueError:
        return "local" if "." not in host or host.endswith((".local", ".localhost", ".internal")) else "remote"
