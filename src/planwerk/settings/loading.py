"""Read all sources, put them over each other, and tell where each value comes from (S1.2)."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

from pydantic import SecretStr, ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import PydanticBaseSettingsSource

from planwerk.settings.errors import SettingInvalid
from planwerk.settings.keys import Key, info_of, known_keys, nest, read_key, write_key
from planwerk.settings.layers import (
    CONFIG_FILE,
    STORED_FILE,
    Layer,
    Source,
    environment_layer,
    file_layer,
    flag_layer,
)
from planwerk.settings.model import Settings

HIDDEN = "(set, not shown)"


@dataclass(frozen=True, slots=True)
class Origin:
    """One place that gives a value to a setting, the value as it may be shown."""

    source: Source
    place: str
    value: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """A setting's value, where it comes from, and what lies under it without effect."""

    key: str
    value: str
    origin: Origin
    overridden: tuple[Origin, ...]
    description: str
    variable: str


@dataclass(frozen=True, slots=True)
class Loaded:
    """The settings of this process, with their origins."""

    settings: Settings
    layers: tuple[Layer, ...]
    """The mightiest first."""

    def explain(self, text: str) -> Explanation:
        """Where a setting comes from; secrets are not shown.

        Raises:
            UnknownSetting: There is no such setting; the error suggests one.
        """
        key = read_key(text)
        info = info_of(key)
        origins = [
            Origin(layer.source, layer.values[key].place, shown(key, layer.values[key].value))
            for layer in self.layers
            if key in layer.values
        ]
        default = Origin("default", "default", shown(key, _default(info.field)))
        current, *overridden = [*origins, default]
        return Explanation(
            key=write_key(key),
            value=current.value,
            origin=current,
            overridden=tuple(overridden),
            description=info.field.description or "",
            variable=info.variable.replace("NAME", key[1].upper()) if len(key) > 2 else info.variable,
        )

    def names(self) -> list[str]:
        """Every setting there is; of sections with names, those that are set."""
        named = {key for layer in self.layers for key in layer.values}
        listed = [key for key in known_keys() if "NAME" not in key]
        return [write_key(key) for key in dict.fromkeys([*listed, *sorted(named)])]

    def source_of(self, text: str) -> Source:
        """The kind of place a setting comes from."""
        return self.explain(text).origin.source


def load(
    flags: Mapping[str, Any] | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> Loaded:
    """Read every source and check what comes of it.

    Args:
        flags: What the command line gave, None where it did not.
        environment: This process's environment by default.
        folder: Where `pyproject.toml` is looked for; the working directory by default.

    Raises:
        SettingError: Something is unknown, invalid or unreadable; the error says where.
    """
    given = flag_layer(flags or {})
    around = environment_layer(os.environ if environment is None else environment)
    project = file_layer((folder or Path.cwd()) / "pyproject.toml", table=("tool", "planwerk"))
    data = _settings((given, around, project)).data
    layers = (
        given,
        around,
        file_layer(data / CONFIG_FILE),
        project,
        file_layer(data / STORED_FILE, "stored"),
    )
    return Loaded(_settings(layers), layers)


class _LayerSource(PydanticBaseSettingsSource):
    """A layer as pydantic-settings takes it."""

    def __init__(self, layer: Layer) -> None:
        super().__init__(Settings)
        self._data = nest({key: found.value for key, found in layer.values.items()})

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        return self._data.get(field_name), field_name, False

    def __call__(self) -> dict[str, Any]:
        return self._data


def _settings(layers: tuple[Layer, ...]) -> Settings:
    class Sourced(Settings):
        @classmethod
        def settings_customise_sources(cls, *_: Any, **__: Any) -> tuple[PydanticBaseSettingsSource, ...]:
            return tuple(_LayerSource(layer) for layer in layers)

    try:
        return Sourced()
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise _invalid(tuple(str(word) for word in first["loc"]), first["msg"], layers) from None


def _invalid(location: Key, message: str, layers: tuple[Layer, ...]) -> SettingInvalid:
    for layer in layers:
        for key, found in layer.values.items():
            if key == location[: len(key)] or location == key[: len(location)]:
                return SettingInvalid(write_key(key), found.place, _lowered(message))
    return SettingInvalid(write_key(location), "its default", _lowered(message))


def _lowered(message: str) -> str:
    return message[:1].lower() + message[1:]


def _default(field: FieldInfo) -> Any:
    return field.get_default(call_default_factory=True, validated_data={})


def shown(key: Key, value: Any) -> str:
    """A value as people may see it: secrets never, addresses without credentials."""
    if value is None:
        return "(not set)"
    if info_of(key).is_secret or isinstance(value, SecretStr):
        return HIDDEN
    if isinstance(value, list | tuple):
        return ", ".join(map(str, cast("Sequence[object]", value))) or "(not set)"
    return without_credentials(str(value))


def without_credentials(text: str) -> str:
    """An address without its user and password; other texts as they are."""
    if "://" not in text or "@" not in text:
        return text
    parts = urlsplit(text)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
