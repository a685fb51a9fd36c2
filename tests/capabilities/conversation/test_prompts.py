"""The prompts are there in every language, with the same placeholders and the same labels."""

from __future__ import annotations

import pytest

from planwerk.capabilities.conversation.gate import GateLabel
from planwerk.capabilities.conversation.prompts import PROMPTS
from planwerk.locales import LOCALES

TASKS = frozenset({"about", "condense", "follow_ups", "gate", "title"})


@pytest.mark.parametrize("locale", LOCALES)
def test_every_prompt_is_there_in_every_locale(locale: str) -> None:
    assert PROMPTS.names(locale) == TASKS


@pytest.mark.parametrize("locale", LOCALES)
@pytest.mark.parametrize("task", sorted(TASKS))
def test_a_prompt_has_the_same_placeholders_in_every_locale(task: str, locale: str) -> None:
    assert PROMPTS.placeholders(task, locale) == PROMPTS.placeholders(task, "en")


@pytest.mark.parametrize("locale", LOCALES)
def test_the_gate_names_every_label_in_every_locale(locale: str) -> None:
    assert [label for label in GateLabel if f"\n{label.value} –" not in PROMPTS.text("gate", locale)] == []


def test_a_locale_without_prompts_gets_the_english_ones() -> None:
    assert PROMPTS.text("title", "ja") == PROMPTS.text("title", "en")


def test_a_missing_value_is_named() -> None:
    with pytest.raises(KeyError, match="name"):
        PROMPTS.text("about", "en")
