"""The names of settings: `limits.message_bytes`, `provider.NAME.key`, and how each is written in the environment."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, TypeAlias, cast, get_args, get_origin

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from planwerk.settings.errors import UnknownSetting
from planwerk.settings.model import Section, Settings

Key: TypeAlias = tuple[str, ...]
ANY_NAME: Final = "NAME"
PREFIX: Final = "PLANWERK_"
FILE: Final = "_file"
"""Ending of a setting that names the file a secret is in."""

_WORD: Final = re.compile(r'"([^"]+)"|([^."\s]+)')
_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class KeyInfo:
    """One setting as it is documented; `NAME` in the path stands for any name."""

    path: Key
    field: FieldInfo
    section: str = ""
    """What its section is about."""

    @property
    def is_secret(self) -> bool:
        return SecretStr in (self.field.annotation, *get_args(self.field.annotation))

    @property
    def variable(self) -> str:
        """The environment variable; empty where a name cannot be written in one."""
        return "" if self.path[0] == "facts" else PREFIX + "__".join(self.path).upper()


@cache
def known_keys() -> dict[Key, KeyInfo]:
    """All settings in the order in which they are documented."""
    return {info.path: info for info in _walk(Settings, (), "")}


def _walk(model: type[BaseModel], path: Key, section: str) -> Iterator[KeyInfo]:
    for name, field in model.model_fields.items():
        inner = _section_of(field)
        if inner is None:
            yield KeyInfo((*path, name), field, section)
        else:
            named = (ANY_NAME,) if get_origin(field.annotation) is dict else ()
            yield from _walk(inner, (*path, name, *named), (inner.__doc__ or "").strip())


def _section_of(field: FieldInfo) -> type[Section] | None:
    candidates = (field.annotation, *get_args(field.annotation))
    return next((each for each in candidates if isinstance(each, type) and issubclass(each, Section)), None)


def pattern_of(key: Key) -> Key:
    """The documented form of a key: the name in it as `NAME`."""
    return (key[0], ANY_NAME, *key[2:]) if len(key) > 2 else key


def info_of(key: Key, *, where: str = "") -> KeyInfo:
    """What is documented of a setting.

    Raises:
        UnknownSetting: There is none of this name; the error suggests one.
    """
    info = known_keys().get(pattern_of(key))
    if info is None:
        raise UnknownSetting(write_key(key), names_near(key), where=where)
    return info


def names_near(key: Key) -> list[str]:
    """All names, with the name the key gives in place of `NAME`."""
    named = key[1] if len(key) > 2 else ANY_NAME
    return [write_key(tuple(named if word == ANY_NAME else word for word in path)) for path in known_keys()]


def read_key(text: str) -> Key:
    """A key from its written form; a name with dots or colons stands in quotation marks.

    Raises:
        UnknownSetting: There is no such setting.
    """
    words: Key = tuple(quoted or bare for quoted, bare in _WORD.findall(text))
    info_of(words)
    return words


def write_key(key: Key) -> str:
    """The key as people write it."""
    return ".".join(word if _BARE.fullmatch(word) else f'"{word}"' for word in key)


def read_variable(name: str, known: Mapping[str, Key] | None = None) -> Key:
    """The key that an environment variable sets, `_file` at its end if it names a file.

    Raises:
        UnknownSetting: It begins with `PLANWERK_`, and there is no such setting.
    """
    key: Key = tuple(name.removeprefix(PREFIX).lower().split("__"))
    if plain_key(key) not in known_or_named(key):
        variables = [info.variable for info in known_keys().values() if info.variable]
        raise UnknownSetting(name, variables, where="environment")
    return key


def known_or_named(key: Key) -> set[Key]:
    """All keys, with the second word of this one in place of `NAME`."""
    named = key[1] if len(key) > 2 else ANY_NAME
    return {tuple(named if word == ANY_NAME else word for word in path) for path in known_keys()}


def names_a_file(key: Key) -> bool:
    """Whether the key ends in `_file` and what is before it is a secret."""
    base = (*key[:-1], key[-1].removesuffix(FILE))
    info = known_keys().get(pattern_of(base))
    return key[-1].endswith(FILE) and info is not None and info.is_secret


def plain_key(key: Key) -> Key:
    """The setting that a key is about, without `_file`."""
    return (*key[:-1], key[-1].removesuffix(FILE)) if names_a_file(key) else key


def flatten(data: Mapping[str, Any], path: Key = ()) -> Iterator[tuple[Key, Any]]:
    """Nested tables as keys with their values."""
    for name, value in data.items():
        if isinstance(value, Mapping):
            yield from flatten(cast("Mapping[str, Any]", value), (*path, name))
        else:
            yield (*path, name), value


def nest(values: Mapping[Key, Any]) -> dict[str, Any]:
    """Keys with their values as nested tables."""
    tables: dict[str, Any] = {}
    for key, value in values.items():
        table = tables
        for word in key[:-1]:
            table = table.setdefault(word, {})
        table[key[-1]] = value
    return tables
