"""Change settings in files: `config.toml` keeps its comments, secrets go to a file that only their owner reads."""

from __future__ import annotations

import os
import tempfile
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any, Final, cast

import tomlkit
from pydantic import ValidationError
from tomlkit.exceptions import TOMLKitError

from planwerk.settings.errors import SettingError, SettingInvalid, SettingsUnreadable
from planwerk.settings.keys import Key, info_of, nest, read_key, write_key
from planwerk.settings.layers import CONFIG_FILE, STORED_FILE
from planwerk.settings.model import Settings

_ONLY_MINE: Final = 0o600
_READABLE: Final = 0o644


def file_of(data: Path, text: str) -> Path:
    """The file in which `config set` keeps a setting.

    Raises:
        UnknownSetting: There is no such setting.
    """
    return data / (STORED_FILE if info_of(read_key(text)).is_secret else CONFIG_FILE)


def set_value(data: Path, text: str, value: str) -> Path:
    """Keep a value for a setting, and return the file it is in now.

    Raises:
        UnknownSetting: There is no such setting.
        SettingInvalid: It cannot have this value; nothing was written.
    """
    key = read_key(text)
    path = file_of(data, text)
    if key == ("data",):
        raise SettingError(
            "the data folder cannot be moved by a file in it.",
            what_to_do="Use --data, PLANWERK_DATA, or data in [tool.planwerk] of pyproject.toml.",
        )
    parsed = _parsed(key, value)
    document = _read(path)
    table = cast("MutableMapping[str, Any]", document)
    for word in key[:-1]:
        if word not in table:
            table[word] = tomlkit.table()
        table = cast("MutableMapping[str, Any]", table[word])
    table[key[-1]] = parsed
    _write(path, tomlkit.dumps(document))
    return path


def unset_value(data: Path, text: str) -> bool:
    """Forget the value that `config set` kept; whether there was one."""
    key = read_key(text)
    path = file_of(data, text)
    document = _read(path)
    table = cast("MutableMapping[str, Any]", document)
    for word in key[:-1]:
        if word not in table:
            return False
        table = cast("MutableMapping[str, Any]", table[word])
    if key[-1] not in table:
        return False
    del table[key[-1]]
    _write(path, tomlkit.dumps(document))
    return True


def _parsed(key: Key, value: str) -> bool | int | float | str:
    """The value in the type that the setting has, so that the file reads as a person would have written it."""
    try:
        settings = Settings.model_validate(nest({key: value}))
    except ValidationError as error:
        message = error.errors(include_url=False, include_input=False)[0]["msg"]
        raise SettingInvalid(write_key(key), "the command line", message[:1].lower() + message[1:]) from None
    found: Any = settings
    for word in key:
        found = cast("dict[str, Any]", found)[word] if isinstance(found, dict) else getattr(found, word)
    return found if isinstance(found, bool | int | float) else value


def _read(path: Path) -> tomlkit.TOMLDocument:
    try:
        return tomlkit.parse(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return tomlkit.document()
    except (OSError, UnicodeDecodeError, TOMLKitError) as error:
        raise SettingsUnreadable(f"{path} cannot be read: {error}.", what_to_do="Correct the file.") from error


def _write(path: Path, text: str) -> None:
    """Replace the file in one step; readers see the old or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    mode = _ONLY_MINE if path.name == STORED_FILE else path.stat().st_mode & 0o777 if path.exists() else _READABLE
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        os.fchmod(handle, mode)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
