"""A model that was found: what people read of it, and the pydantic-ai model behind its name, made when first used."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Literal, TypeAlias

from planwerk.models.pricing import ModelFacts, cost_of, usage_of

if TYPE_CHECKING:
    from pydantic_ai.models import Model
    from pydantic_ai.usage import RequestUsage, RunUsage

    from planwerk.messages.events import Usage

Location: TypeAlias = Literal["local", "remote", "demo"]


@dataclass(frozen=True)
class ModelDescription:
    """What people may read of a model; nothing in it is secret.

    Attributes:
        name: `provider:name`, as profiles name it.
        location: Where what is asked goes: `local` stays on this machine or its network.
        facts: Context window and prices, as far as they are known.
        source: Where it was found: a flag, settings, an environment variable, a local port, built in.
        base_url: Address of an OpenAI-compatible server, without credentials.
        note: What `planwerk doctor` adds, such as that the server did not answer.
    """

    name: str
    location: Location
    facts: ModelFacts = field(default_factory=ModelFacts)
    source: str = "built in"
    base_url: str | None = None
    note: str = ""

    @property
    def provider(self) -> str:
        return self.name.partition(":")[0]

    @property
    def short_name(self) -> str:
        """The name without the provider."""
        return self.name.partition(":")[2]

    @property
    def context_window(self) -> int | None:
        return self.facts.context_window


class ResolvedModel:
    """A model ready to be asked."""

    def __init__(self, description: ModelDescription, make: Callable[[], Model]) -> None:
        self.description = description
        self._make = make

    @classmethod
    def of(cls, model: Model, *, name: str | None = None, location: Location = "local") -> ResolvedModel:
        """A pydantic-ai model that somebody made; by default named as it names itself."""
        description = ModelDescription(name or f"{model.system}:{model.model_name}", location, source="given")
        return cls(description, lambda: model)

    @property
    def name(self) -> str:
        return self.description.name

    @property
    def context_window(self) -> int | None:
        return self.description.context_window

    @cached_property
    def model(self) -> Model:
        """The pydantic-ai model; making it imports its provider, which can take a second."""
        return self._make()

    def usage_and_cost(self, usage: RequestUsage | RunUsage) -> tuple[Usage, Decimal | None]:
        """A provider's count in our words, and what it costs in USD; None when the price is unknown."""
        about = self.description
        reported: Decimal | None = getattr(usage, "cost", None)
        if about.location == "demo":
            cost: Decimal | None = Decimal(0)
        elif reported is not None:
            cost = reported
        elif about.location == "local" and about.facts.input_price is None:
            cost = None
        else:
            cost = cost_of(usage, about.facts, provider=about.provider, name=about.short_name, base_url=about.base_url)
        return usage_of(usage), cost
