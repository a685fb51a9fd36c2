from __future__ import annotations

from decimal import Decimal

import pytest
from pydantic_ai.usage import RequestUsage

from planwerk.models.budgets import input_budget
from planwerk.models.pricing import ModelFacts, cost_of, known_facts, usage_of
from planwerk.models.resolved import ModelDescription, ResolvedModel
from planwerk.testing.scripted_model import ScriptedModel

USAGE = RequestUsage(input_tokens=1_000_000, output_tokens=100_000, cache_read_tokens=5, output_reasoning_tokens=7)


def test_a_known_model_has_a_window_and_a_price() -> None:
    assert known_facts("openai", "gpt-5-mini").context_window == 400_000
    cost = cost_of(
        RequestUsage(input_tokens=1_000_000, output_tokens=100_000), ModelFacts(), provider="openai", name="gpt-5-mini"
    )
    assert cost == Decimal("0.45")


def test_what_nobody_knows_has_neither() -> None:
    assert known_facts("openai", "a-model-nobody-knows") == ModelFacts()
    assert cost_of(USAGE, ModelFacts(), provider="nobody", name="nothing") is None


def test_prices_of_settings_count_first() -> None:
    facts = ModelFacts(input_price=Decimal(2), output_price=Decimal(10))

    assert cost_of(USAGE, facts, provider="openai", name="gpt-5-mini") == Decimal(3)


def test_usage_that_was_only_estimated_has_no_price() -> None:
    estimated = RequestUsage(input_tokens=10, output_tokens=10, unmeasured_requests=1)

    assert (
        cost_of(estimated, ModelFacts(input_price=Decimal(1), output_price=Decimal(1)), provider="a", name="b") is None
    )


def test_a_providers_count_is_read_in_our_words() -> None:
    usage = usage_of(USAGE)

    assert (usage.cached_tokens, usage.reasoning_tokens) == (5, 7)


@pytest.mark.parametrize(
    ("location", "facts", "cost"),
    [
        ("demo", ModelFacts(), Decimal(0)),
        ("local", ModelFacts(), None),
        ("local", ModelFacts(input_price=Decimal(1), output_price=Decimal(0)), Decimal(1)),
    ],
)
def test_a_local_model_costs_what_settings_say(location: str, facts: ModelFacts, cost: Decimal | None) -> None:
    description = ModelDescription("openai:gpt-5-mini", location, facts)  # type: ignore[arg-type]
    resolved = ResolvedModel(description, ScriptedModel)

    assert resolved.usage_and_cost(USAGE)[1] == cost


@pytest.mark.parametrize(
    ("field", "windows", "budget"),
    [
        (128_000, [], 115_200),
        (128_000, [None], 115_200),
        (128_000, [8_192, None, 32_000], 7_372),
        (1_000, [8_192], 900),
        (1, [], 1),
    ],
)
def test_the_budget_is_the_smaller_of_field_and_narrowest_window_times_a_factor(
    field: int, windows: list[int | None], budget: int
) -> None:
    assert input_budget(field, windows) == budget
