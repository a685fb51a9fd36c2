"""Our texts in every language we speak: one JSON file per locale, ICU messages under dotted keys.

Texts of blueprint authors are `LocaleString`s and need no file; prompts are files beside their capability (`prompts`).
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any, Final, cast

from planwerk.locales.icu import Message, Value, read_message

DEFAULT_LOCALE: Final = "en"
LOCALES: Final = ("en", "de", "fr", "it")


class UnknownText(LookupError):
    """There is no text of this key; a mistake of ours, found by the tests of the catalogue."""

    def __init__(self, key: str) -> None:
        super().__init__(f"no text has the key {key!r}: add it to every file of src/planwerk/locales.")
        self.key = key


def best_locale(wanted: str | None) -> str:
    """The locale we have for a wanted one (`de-CH` gives `de`), else English."""
    language = (wanted or "").replace("_", "-").split("-")[0].lower()
    return language if language in LOCALES else DEFAULT_LOCALE


def text(key: str, locale: str | None = None, /, **values: Value) -> str:
    """The text of this key in this locale, with its values filled in.

    Raises:
        UnknownText: There is no such key.
        KeyError: The text wants a value that is not given.
    """
    chosen = best_locale(locale)
    return _message(chosen, key).format(chosen, values)


def texts(key: str) -> dict[str, str]:
    """A text without values in every locale, as a `LocaleString` takes it."""
    return {locale: text(key, locale) for locale in LOCALES}


@cache
def catalogue(locale: str) -> dict[str, str]:
    """All messages of a locale by dotted key, as written."""
    content = files(__name__).joinpath(f"{locale}.json").read_text(encoding="utf-8")
    return _flat(json.loads(content))


@cache
def _message(locale: str, key: str) -> Message:
    source = catalogue(locale).get(key)
    if source is None:
        raise UnknownText(key)
    return read_message(source)


def _flat(tree: dict[str, Any], above: str = "") -> dict[str, str]:
    found: dict[str, str] = {}
    for name, item in tree.items():
        if isinstance(item, dict):
            found |= _flat(cast("dict[str, Any]", item), f"{above}{name}.")
        else:
            found[f"{above}{name}"] = item
    return found
