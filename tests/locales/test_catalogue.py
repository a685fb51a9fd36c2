"""The locale files: the same keys and placeholders in every language, none missing, none left over."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import planwerk
from planwerk.locales import LOCALES, UnknownText, best_locale, catalogue, text, texts
from planwerk.locales.icu import read_message

SOURCES = Path(planwerk.__file__ or "").parent
KEY = re.compile(r"[a-z_]+(\.[a-z_]+)+")
KEY_BEGINNING = re.compile(r"([a-z_]+\.)+")
FORM = re.compile(r"\.(label|hint)$")
READERS = {"text", "texts", "form_field"}


def string_calls() -> Iterator[tuple[str, str]]:
    """Every call of a reader whose first text argument looks like a key, with its place."""
    for path in SOURCES.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            for argument in node.args[:2]:
                if name in READERS and isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                    key = argument.value
                    if KEY.fullmatch(key):
                        yield key, f"{path.name}:{node.lineno}"


def literals() -> tuple[set[str], set[str]]:
    """All string constants of the sources, and the beginnings of all f-strings."""
    whole: set[str] = set()
    beginnings: set[str] = set()
    for path in SOURCES.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                whole.add(node.value)
            if isinstance(node, ast.JoinedStr) and node.values and isinstance(first := node.values[0], ast.Constant):
                beginnings.add(str(first.value))
    return whole, beginnings


@pytest.mark.parametrize("locale", LOCALES)
def test_every_locale_has_the_same_keys(locale: str) -> None:
    assert catalogue(locale).keys() == catalogue("en").keys()


@pytest.mark.parametrize("locale", LOCALES)
def test_every_locale_has_the_same_placeholders(locale: str) -> None:
    ours = {key: read_message(source).placeholders for key, source in catalogue(locale).items()}

    assert ours == {key: read_message(source).placeholders for key, source in catalogue("en").items()}


@pytest.mark.parametrize("locale", LOCALES)
def test_no_text_is_blank(locale: str) -> None:
    assert [key for key, source in catalogue(locale).items() if not source.strip()] == []


def test_every_key_the_code_asks_for_exists() -> None:
    keys = catalogue("en").keys()
    fields = {FORM.sub("", key) for key in keys}

    missing = [f"{place}: {key}" for key, place in string_calls() if key not in keys and key not in fields]

    assert missing == []


def test_every_key_of_the_catalogue_is_used() -> None:
    whole, beginnings = literals()
    made = tuple(beginning for beginning in beginnings if KEY_BEGINNING.fullmatch(beginning))

    def is_used(key: str) -> bool:
        return key in whole or FORM.sub("", key) in whole or key.startswith(made)

    assert [key for key in catalogue("en") if not is_used(key)] == []


def test_an_unknown_key_is_an_error_that_names_it() -> None:
    with pytest.raises(UnknownText, match=r"no\.such\.key"):
        text("no.such.key", "en")


def test_a_locale_we_do_not_have_gets_english() -> None:
    assert text("threads.untitled", "pt-BR") == text("threads.untitled", "en")


@pytest.mark.parametrize(
    ("wanted", "found"), [("de-CH", "de"), ("FR_ca", "fr"), ("it", "it"), ("ja", "en"), ("", "en"), (None, "en")]
)
def test_a_region_gets_its_language(wanted: str | None, found: str) -> None:
    assert best_locale(wanted) == found


def test_a_label_has_its_text_in_every_locale() -> None:
    labels = texts("threads.untitled")

    assert list(labels) == list(LOCALES)
    assert labels["de"] == "Neues Gespräch"
