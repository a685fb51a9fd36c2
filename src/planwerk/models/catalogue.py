"""The models this server knows, by name, and the pydantic-ai model behind each (S1.1, S1.6)."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

from planwerk.models.discovery import (
    LOCAL_SERVERS,
    Probe,
    ProviderSettings,
    Server,
    find_servers,
    keyed_providers,
    named_servers,
    place_of,
    probe_server,
)
from planwerk.models.errors import UnknownModel
from planwerk.models.pricing import ModelFacts, known_facts
from planwerk.models.resolved import ModelDescription, ResolvedModel

if TYPE_CHECKING:
    import httpx2
    from pydantic_ai.models import Model

DEMO_MODEL: Final = "demo:planwerk"
DEMO_WINDOW: Final = 32_000


@dataclass(frozen=True)
class CatalogueSettings:
    """What a person set about models.

    Attributes:
        model: The default model, `provider:name`, from `--model` or settings.
        providers: Base URL and key by provider name.
        facts: Windows and prices by model name, in place of what genai-prices knows.
        demo_pace_seconds: Pause of the demo model between two words, so that people see it stream.
    """

    model: str | None = None
    providers: Mapping[str, ProviderSettings] = field(default_factory=dict[str, ProviderSettings])
    facts: Mapping[str, ModelFacts] = field(default_factory=dict[str, ModelFacts])
    demo_pace_seconds: float = 0.0


class ModelCatalogue:
    """Finds models and makes them. `await discover()` first; `await close()` at the end.

    Args:
        environment: Where keys and addresses are looked up; the process's own by default.
        local_servers: Ports to look at on this machine; `()` looks at none.
        probe: Asks a server for its models.
    """

    def __init__(
        self,
        settings: CatalogueSettings | None = None,
        *,
        environment: Mapping[str, str] | None = None,
        local_servers: tuple[tuple[str, str], ...] = LOCAL_SERVERS,
        probe: Probe = probe_server,
    ) -> None:
        self._settings = settings or CatalogueSettings()
        self._environment = os.environ if environment is None else environment
        self._local_servers, self._probe = local_servers, probe
        self._providers: dict[str, ProviderSettings] = dict(self._settings.providers)
        self._found: dict[str, ModelDescription] = {}
        self._given: dict[str, Model] = {}
        self._resolved: dict[str, ResolvedModel] = {}
        self._default = DEMO_MODEL
        self._client: httpx2.AsyncClient | None = None
        self.hints: tuple[str, ...] = ()
        """What would make more models usable, for `planwerk doctor`; without keys."""
        self._add(self._demo())

    @property
    def default(self) -> ModelDescription:
        """The model of profiles that name none."""
        return self.describe(self._default)

    @property
    def is_demo(self) -> bool:
        """Whether only the demo model answers."""
        return self._default == DEMO_MODEL

    @property
    def models(self) -> tuple[ModelDescription, ...]:
        """All models found, the default first and the demo model last."""
        others = [name for name in self._found if name not in {self._default, DEMO_MODEL}]
        last = [] if self.is_demo else [DEMO_MODEL]
        return tuple(self.describe(name) for name in (self._default, *others, *last))

    async def discover(self) -> tuple[ModelDescription, ...]:
        """Look for models: named ones, servers, keys; with none the demo model is the default."""
        named = named_servers(self._settings.providers, self._environment)
        servers = await find_servers(named, self._local_servers, self._probe)
        await asyncio.to_thread(self._learn, servers)
        return self.models

    def give(self, model: Model, name: str | None = None) -> ModelDescription:
        """Take a pydantic-ai model that somebody made, as the default."""
        resolved = ResolvedModel.of(model, name=name)
        self._resolved[resolved.name] = resolved
        self._add(resolved.description)
        self._default = resolved.name
        return resolved.description

    def describe(self, name: str) -> ModelDescription:
        """What is known of a model of this name, found or not.

        Raises:
            UnknownModel: The name is not `provider:name`.
        """
        name = self._full_name(name)
        return self._found.get(name) or self._describe(name, source="named")

    def resolve(self, name: str | None = None) -> ResolvedModel:
        """The model of this name, the default for None; making it waits for its first use.

        Raises:
            UnknownModel: The name is not `provider:name`.
        """
        description = self.describe(name or self._default)
        known = self._resolved.get(description.name)
        if known is None:
            known = ResolvedModel(description, lambda: self._make(description))
            self._resolved[description.name] = known
        return known

    async def warm_up(self) -> None:
        """Make the default model now, in a thread: its imports take a second that no answer should wait for."""
        resolved = self.resolve()
        await asyncio.to_thread(lambda: resolved.model)

    async def close(self) -> None:
        """Close connections to servers."""
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    def _learn(self, servers: list[Server]) -> None:
        for server in servers:
            self._providers[server.provider] = server.settings
            for served in server.models or ():
                name = f"{server.provider}:{served.name}"
                self._add(self._describe(name, source=server.source, window=served.context_window))
            if not server.models and (name := self._only_name(server)):
                self._add(self._describe(name, source=server.source, note="its server did not list any model"))
        keyed, hints = keyed_providers(self._settings.providers, self._environment)
        for provider, given, source in keyed:
            if self._providers.setdefault(provider.provider, given).base_url is None:
                self._providers[provider.provider] = given
                self._add(self._describe(f"{provider.provider}:{provider.usual_model}", source=source))
        self.hints = tuple(hints)
        self._choose()

    def _only_name(self, server: Server) -> str | None:
        """A name for a server that lists none; servers for one model take any."""
        if server.source != "OPENAI_BASE_URL":
            return None
        return f"{server.provider}:{self._environment.get('OPENAI_MODEL') or 'default'}"

    def _choose(self) -> None:
        if self._settings.model:
            name = self._full_name(self._settings.model)
            found = self._found.get(name) or self._describe(name, source="settings")
            self._found[name] = found
            self._default = name
            return
        wanted = self._environment.get("OPENAI_MODEL")
        if wanted and f"openai:{wanted}" in self._found:
            self._default = f"openai:{wanted}"
            return
        self._default = next((name for name in self._found if name != DEMO_MODEL), DEMO_MODEL)

    def _full_name(self, name: str) -> str:
        if name in {"demo", DEMO_MODEL}:
            return DEMO_MODEL
        if name in self._found or name in self._resolved:
            return name
        provider, _, short = name.partition(":")
        if provider and short:
            return name
        endings = [known for known in self._found if known.partition(":")[2] == name]
        if len(endings) == 1:
            return endings[0]
        close = get_close_matches(name, list(self._found), n=1, cutoff=0.5)
        raise UnknownModel(name, f"did you mean {close[0]}?" if close else "it names no provider")

    def _add(self, description: ModelDescription) -> None:
        self._found.setdefault(description.name, description)

    def _demo(self) -> ModelDescription:
        return ModelDescription(DEMO_MODEL, "demo", ModelFacts(context_window=DEMO_WINDOW))

    def _describe(self, name: str, *, source: str, window: int | None = None, note: str = "") -> ModelDescription:
        provider, _, short = name.partition(":")
        base_url = self._providers.get(provider, ProviderSettings()).base_url
        location = place_of(base_url) if base_url else "remote"
        facts = known_facts(provider, short, base_url) if location == "remote" else ModelFacts()
        facts = _overlaid(replace(facts, context_window=window or facts.context_window), self._settings.facts.get(name))
        return ModelDescription(name, location, facts, source, _shown(base_url), note)

    def _make(self, description: ModelDescription) -> Model:
        if description.location == "demo":
            from planwerk.models.demo.model import DemoModel

            return DemoModel(pace_seconds=self._settings.demo_pace_seconds)
        given = self._providers.get(description.provider, ProviderSettings())
        if given.base_url is not None:
            return self._compatible(description, given.base_url, given.key)
        return _hosted(description, given.key)

    def _compatible(self, description: ModelDescription, base_url: str, key: str | None) -> Model:
        from planwerk.models.openai_compatible import compatible_model, http_client

        self._client = self._client or http_client()
        return compatible_model(
            description.provider,
            description.short_name,
            base_url=base_url,
            key=key,
            client=self._client,
            retries=0 if description.location == "local" else 2,
        )


def _hosted(description: ModelDescription, key: str | None) -> Model:
    """A model of a provider that pydantic-ai knows by name."""
    from pydantic_ai.exceptions import UserError
    from pydantic_ai.models import infer_model
    from pydantic_ai.providers import infer_provider, infer_provider_class

    def provider_of(name: str):
        return infer_provider_class(name)(api_key=key) if key else infer_provider(name)  # pyright: ignore[reportCallIssue]

    try:
        return infer_model(description.name, provider_factory=provider_of)
    except (UserError, ValueError, ImportError) as error:
        raise UnknownModel(description.name, " ".join(str(error).split())[:300]) from error


def _overlaid(facts: ModelFacts, given: ModelFacts | None) -> ModelFacts:
    if given is None:
        return facts
    return ModelFacts(
        context_window=given.context_window or facts.context_window,
        input_price=facts.input_price if given.input_price is None else given.input_price,
        output_price=facts.output_price if given.output_price is None else given.output_price,
    )


def _shown(base_url: str | None) -> str | None:
    """The address without user and password."""
    if base_url is None or "@" not in base_url:
        return base_url
    scheme, _, rest = base_url.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}"
