"""Where settings come from: each source as one layer of keys, values and the place each was found in."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, cast

from planwerk.settings.errors import SettingError, SettingInvalid, SettingsUnreadable
from planwerk.settings.keys import PREFIX, Key, flatten, info_of, names_a_file, plain_key, read_variable, write_key

Source: TypeAlias = Literal["flag", "environment", "file", "stored", "default"]

CONFIG_FILE: Final = "config.toml"
STORED_FILE: Final = "stored.toml"
LONGEST_SECRET_FILE: Final = 65_536

_OF_A_CLUSTER: Final = re.compile(r"PLANWERK_(SERVICE_(HOST|PORT)(_\w+)?|PORT_\d+_\w+)")
"""Variables that Kubernetes sets in every pod beside a service called `planwerk`; they are not meant for us."""
_OF_TESTS: Final = "PLANWERK_SOAK"


@dataclass(frozen=True, slots=True)
class Found:
    """A value and the place it was found in."""

    value: Any
    place: str


@dataclass(frozen=True, slots=True)
class Layer:
    """One source of settings."""

    source: Source
    values: Mapping[Key, Found] = field(default_factory=dict[Key, Found])


def flag_layer(flags: Mapping[str, Any]) -> Layer:
    """What the command line gave; None is not given. Keys in their written form."""
    return Layer(
        "flag",
        {
            tuple(name.split(".")): Found(value, f"flag --{name.replace('_', '-')}")
            for name, value in flags.items()
            if value is not None
        },
    )


def environment_layer(environment: Mapping[str, str]) -> Layer:
    """What `PLANWERK_…` variables give; empty ones are not set.

    Raises:
        UnknownSetting: A variable beginning with `PLANWERK_` names no setting.
    """
    values: dict[Key, Found] = {}
    for name, value in sorted(environment.items()):
        if not name.startswith(PREFIX) or name == _OF_TESTS or _OF_A_CLUSTER.fullmatch(name) or not value:
            continue
        if name == "PLANWERK_PORT" and value.startswith("tcp://"):
            continue  # a cluster's as well
        _put(values, read_variable(name), value, f"environment variable {name}", base=Path.cwd())
    return Layer("environment", values)


def file_layer(path: Path, source: Source = "file", *, table: Key = (), optional: bool = True) -> Layer:
    """What a TOML file gives, or one table of it.

    Raises:
        SettingsUnreadable: It is not TOML, or may not be read.
        UnknownSetting: It has a key that names no setting.
    """
    place = f"[{'.'.join(table)}] of {path}" if table else str(path)
    values: dict[Key, Found] = {}
    for key, value in flatten(_read_toml(path, table, optional=optional)):
        if plain_key(key) == key:
            info_of(key, where=place)
        if key == ("data",) and not table:
            raise SettingInvalid("data", place, "the data folder is where this file was found, so it cannot move it")
        _put(values, key, value, place, base=path.parent)
    return Layer(source, values)


def _read_toml(path: Path, table: Key, *, optional: bool) -> Mapping[str, Any]:
    try:
        data: Any = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        if optional:
            return {}
        raise SettingsUnreadable(f"there is no file {path}.", what_to_do="Check its path.") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsUnreadable(f"{path} cannot be read: {error}.", what_to_do="Correct the file.") from error
    for word in table:
        data = cast("Mapping[str, Any]", data).get(word, {}) if isinstance(data, Mapping) else {}
    if not isinstance(data, Mapping):
        raise SettingsUnreadable(f"[{'.'.join(table)}] of {path} is no table.", what_to_do="Make it one.")
    return cast("Mapping[str, Any]", data)


def _put(values: dict[Key, Found], key: Key, value: Any, place: str, *, base: Path) -> None:
    plain = plain_key(key)
    if names_a_file(key):
        value, place = _secret_in(base / str(value), plain, place), f"{place}, file {value}"
    if plain in values:
        raise SettingError(
            f"{write_key(plain)} is given twice: by {values[plain].place} and by {place}.",
            what_to_do="Take one of them away.",
        )
    values[plain] = Found(value, place)


def _secret_in(path: Path, key: Key, place: str) -> str:
    try:
        with path.open(encoding="utf-8") as file:
            text = file.read(LONGEST_SECRET_FILE).strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise SettingsUnreadable(
            f"{write_key(key)} is to be read from {path}, as {place} says: {reason}.",
            what_to_do="Check the path and who may read it.",
        ) from error
    if not text:
        raise SettingInvalid(write_key(key), f"{place}, file {path}", "the file is empty")
    return text
