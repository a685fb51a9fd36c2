"""A text in several languages (E1.9, E2.1)."""

from __future__ import annotations

from typing import Any, Final

from pydantic import BaseModel, ConfigDict, model_validator

DEFAULT_LOCALE: Final = "en"


class LocaleString(BaseModel):
    """A text per language: `LocaleString(en="Search", de="Suche")`. A plain string counts for every locale."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    texts: dict[str, str]

    def __init__(self, text: str | None = None, /, **texts: Any) -> None:
        if text is not None:
            texts = {DEFAULT_LOCALE: text, **texts}
        super().__init__(**(texts if set(texts) == {"texts"} else {"texts": texts}))

    @model_validator(mode="before")
    @classmethod
    def _from_plain(cls, value: Any) -> Any:
        return {"texts": {DEFAULT_LOCALE: value}} if isinstance(value, str) else value

    def text(self, locale: str | None = None) -> str:
        """The text in this locale, else in its language, else in English, else in the first language given."""
        texts = self.texts
        for key in (locale, (locale or "").split("-")[0], DEFAULT_LOCALE):
            if key and key in texts:
                return texts[key]
        return next(iter(texts.values()), "")

    def __hash__(self) -> int:
        return hash(tuple(sorted(self.texts.items())))

    def __str__(self) -> str:
        return self.text()


def localized(text: LocaleString | str) -> LocaleString:
    """The text as a `LocaleString`."""
    return text if isinstance(text, LocaleString) else LocaleString(text)
