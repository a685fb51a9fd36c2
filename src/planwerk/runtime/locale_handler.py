"""The run's locale, and our texts in it (E1.9, E2.4)."""

from __future__ import annotations

from dataclasses import dataclass

from planwerk.locales import DEFAULT_LOCALE, text
from planwerk.locales.icu import Value
from planwerk.workflow.injection import injectable


@injectable
@dataclass(frozen=True, slots=True)
class LocaleHandler:
    """Gives steps our texts in the language of the person they work for."""

    locale: str = DEFAULT_LOCALE

    def text(self, key: str, /, **values: Value) -> str:
        """The text of this key (`src/planwerk/locales`) in the run's locale."""
        return text(key, self.locale, **values)
