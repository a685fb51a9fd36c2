from __future__ import annotations

import pytest

from planwerk.locales.icu import MalformedMessage, Value, plural_form, read_message

FILES = "{count, plural, =0 {no file} one {# file} other {# files}}"


@pytest.mark.parametrize(
    ("source", "values", "expected"),
    [
        ("Hello", {}, "Hello"),
        ("Hello {name}!", {"name": "Ada"}, "Hello Ada!"),
        (FILES, {"count": 0}, "no file"),
        (FILES, {"count": 1}, "1 file"),
        (FILES, {"count": 12_345}, "12,345 files"),
        ("{kind, select, local {here} other {elsewhere}}", {"kind": "local"}, "here"),
        ("{kind, select, local {here} other {elsewhere}}", {"kind": "remote"}, "elsewhere"),
        ("{n, plural, one {{who} has # file} other {{who} has # files}}", {"n": 2, "who": "Ada"}, "Ada has 2 files"),
        ("It's '{'here'}' and ''there''", {}, "It's {here} and 'there'"),
        ("#1 of {n}", {"n": 1.5}, "#1 of 1.5"),
    ],
)
def test_a_message_is_filled_in(source: str, values: dict[str, Value], expected: str) -> None:
    assert read_message(source).format("en", values) == expected


@pytest.mark.parametrize(
    "source",
    [
        "{name",
        "{}",
        "name}",
        "{count, plural, one {#}}",
        "{when, date, short}",
        "{n, plural, other {#}",
        "{n, plural, other {#",
    ],
)
def test_a_malformed_message_is_refused(source: str) -> None:
    with pytest.raises(MalformedMessage):
        read_message(source)


def test_values_in_a_text_are_never_read_as_messages() -> None:
    assert read_message("Hello {name}").format("en", {"name": "{count, plural}"}) == "Hello {count, plural}"


def test_a_missing_value_is_named() -> None:
    with pytest.raises(KeyError, match="name"):
        read_message("Hello {name}").format("en", {})


def test_placeholders_are_found_at_any_depth() -> None:
    message = read_message("{n, plural, one {{who} alone} other {{kind, select, a {#} other {{what}}}}}")

    assert message.placeholders == {"n", "who", "kind", "what"}


@pytest.mark.parametrize(
    ("locale", "number", "form"),
    [("en", 0, "other"), ("en", 1, "one"), ("de", 2, "other"), ("fr", 0, "one"), ("fr", 1.5, "one"), ("it", 1, "one")],
)
def test_plural_forms_are_those_of_the_locale(locale: str, number: float, form: str) -> None:
    assert plural_form(locale, number) == form


def test_numbers_are_grouped_as_the_locale_groups_them() -> None:
    message = read_message("{n}")

    assert [message.format(locale, {"n": 1234567}) for locale in ("en", "de", "it")] == [
        "1,234,567",
        "1.234.567",
        "1.234.567",
    ]
    assert message.format("de", {"n": 1234.5}) == "1.234,5"
