"""A field of a profile's form with its label and explanation in every locale."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from pydantic import Field

from planwerk.locales import text, texts

Widget: TypeAlias = Literal["text", "long_text", "number", "switch", "model", "list"]


def form_field(default: Any, key: str, widget: Widget, *, least: int | None = None) -> Any:
    """A pydantic field whose JSON schema tells a form how to show it.

    Args:
        key: Where its texts are: `KEY.label` and `KEY.hint` in the locale files.
        widget: How people enter it; `model` offers the models the server knows, `list` takes several
            texts.
        least: Smallest number allowed.
    """
    label, hint = f"{key}.label", f"{key}.hint"
    shown: dict[str, Any] = {"x-form": {"widget": widget, "labels": texts(label), "hints": texts(hint)}}
    return Field(default=default, title=text(label), description=text(hint), json_schema_extra=shown, ge=least)
