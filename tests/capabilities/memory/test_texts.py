"""Prompts and the profile's form are there in every language (C2)."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from planwerk.capabilities import MemoryFields
from planwerk.capabilities.memory.prompts import PROMPTS
from planwerk.locales import LOCALES
from planwerk.workflow.blueprint import AgentConfig


class WithMemory(MemoryFields, AgentConfig):
    """A profile's config as blueprints write it."""


@pytest.mark.parametrize("locale", LOCALES)
def test_the_writers_prompt_names_every_action_in_every_locale(locale: str) -> None:
    prompt = PROMPTS.text("write", locale)

    assert PROMPTS.names(locale) == {"write"}
    assert [action for action in ("add", "update", "delete") if f"\n- {action}" not in prompt] == []
    assert "forget" in prompt


def test_a_profile_starts_from_nothing() -> None:
    assert WithMemory().model_dump() == {
        "recall_memories": True,
        "store_memories": True,
        "number_of_memories": 10,
        "namespaces": (),
    }


@pytest.mark.parametrize("fields", [{"number_of_memories": 0}, {"namespaces": ["a/b"]}, {"namespaces": ["a\n"]}])
def test_what_cannot_be_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        WithMemory.model_validate(fields)


def test_every_field_says_in_every_locale_what_it_is_and_how_it_is_entered() -> None:
    properties: dict[str, Any] = WithMemory.model_json_schema()["properties"]

    forms = {name: field["x-form"] for name, field in properties.items()}

    assert {name: form["widget"] for name, form in forms.items()} == {
        "recall_memories": "switch",
        "store_memories": "switch",
        "number_of_memories": "number",
        "namespaces": "list",
    }
    for form in forms.values():
        assert sorted(form["labels"]) == sorted(form["hints"]) == sorted(LOCALES)
