"""Prompts: Markdown files per locale beside the capability that uses them, `prompts/title.de.md`."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import Final

from planwerk.locales import best_locale

_PLACEHOLDER: Final = re.compile(r"\{\{(\w+)\}\}")


class PromptFiles:
    """The prompts in one package; each file is read once."""

    def __init__(self, package: str) -> None:
        self._package = package

    def text(self, name: str, locale: str | None = None, /, **values: str) -> str:
        """A prompt with its `{{placeholders}}` filled in; braces inside the values are left alone.

        Raises:
            KeyError: The prompt wants a value that is not given.
        """
        template = _read(self._package, name, best_locale(locale))
        return _PLACEHOLDER.sub(lambda match: values[match.group(1)], template)

    def placeholders(self, name: str, locale: str) -> frozenset[str]:
        """Names of the values a prompt wants."""
        return frozenset(_PLACEHOLDER.findall(_read(self._package, name, locale)))

    def names(self, locale: str) -> frozenset[str]:
        """Names of all prompts there are in this locale."""
        ending = f".{locale}.md"
        return frozenset(
            item.name.removesuffix(ending) for item in files(self._package).iterdir() if item.name.endswith(ending)
        )


@cache
def _read(package: str, name: str, locale: str) -> str:
    return files(package).joinpath(f"{name}.{locale}.md").read_text(encoding="utf-8").strip()
