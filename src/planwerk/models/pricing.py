"""What a call costs, and how large a model's window is: from genai-prices, which works offline, and from settings."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from pydantic_ai.usage import RequestUsage, RunUsage

from planwerk.messages.events import Usage

MILLION: Final = Decimal(1_000_000)


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What is known of a model: window in tokens, prices in USD per million tokens; None is unknown.

    From settings these take the place of what genai-prices knows.
    """

    context_window: int | None = None
    input_price: Decimal | None = None
    output_price: Decimal | None = None


def usage_of(usage: RequestUsage | RunUsage) -> Usage:
    """A provider's count in our words."""
    return Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cached_tokens=usage.cache_read_tokens,
        reasoning_tokens=usage.output_reasoning_tokens,
    )


def known_facts(provider: str, name: str, base_url: str | None = None) -> ModelFacts:
    """What genai-prices knows of this model; a model on a person's own machine is looked up by no one."""
    from genai_prices.data_snapshot import get_snapshot

    references = [(None, base_url), (provider, None)] if base_url else [(provider, None)]
    for provider_id, provider_url in references:
        try:
            _, found = get_snapshot().find_provider_model(name, None, provider_id, provider_url)
        except LookupError:
            continue
        return ModelFacts(context_window=found.context_window)
    return ModelFacts()


def cost_of(
    usage: RequestUsage | RunUsage, facts: ModelFacts, *, provider: str, name: str, base_url: str | None = None
) -> Decimal | None:
    """USD for this usage: by the settings' prices, else by genai-prices, else None."""
    if usage.unmeasured_requests:
        return None
    if facts.input_price is not None and facts.output_price is not None:
        return (usage.input_tokens * facts.input_price + usage.output_tokens * facts.output_price) / MILLION
    return _market_price(usage, provider, name, base_url)


def _market_price(usage: RequestUsage | RunUsage, provider: str, name: str, base_url: str | None) -> Decimal | None:
    from genai_prices import calc_price

    if base_url:
        try:
            return calc_price(usage, name, provider_api_url=base_url).total_price
        except (LookupError, ValueError):
            pass
    try:
        return calc_price(usage, name, provider_id=provider).total_price
    except (LookupError, ValueError):
        return None
