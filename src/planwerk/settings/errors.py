"""What is refused about settings.

PlanwerkError
└── SettingError
    ├── UnknownSetting
    ├── SettingInvalid
    └── SettingsUnreadable
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from planwerk.workflow.errors import PlanwerkError


class SettingError(PlanwerkError):
    """Settings cannot be used as they are."""

    code = "setting_error"
    http_status = 400


class UnknownSetting(SettingError):
    """There is no setting of this name (S1.2)."""

    code = "unknown_setting"

    def __init__(self, key: str, known: Iterable[str], *, where: str = "", meant: str | None = None) -> None:
        place = f" ({where})" if where else ""
        names = list(known)
        close = [meant] if meant else get_close_matches(key, names, n=1, cutoff=0.55) or _by_last_word(key, names)
        super().__init__(
            f"there is no setting {key!r}{place}.",
            what_to_do=f"Did you mean {close[0]}?" if close else "'planwerk config explain' lists all settings.",
        )
        self.key = key


class SettingInvalid(SettingError):
    """A setting has a value that it cannot have."""

    code = "setting_invalid"

    def __init__(self, key: str, origin: str, why: str) -> None:
        super().__init__(
            f"{key} from {origin} is not valid: {why}.",
            what_to_do=f"Correct it there; 'planwerk config explain {key}' says what it takes.",
        )
        self.key = key


class SettingsUnreadable(SettingError):
    """A file with settings or with a secret cannot be read."""

    code = "settings_unreadable"


def _by_last_word(key: str, names: list[str]) -> list[str]:
    """A key given without its section: `message_bytes` for `limits.message_bytes`."""
    last = key.rpartition(".")[2]
    return [name for name in names if name.rpartition(".")[2] == last][:1]
