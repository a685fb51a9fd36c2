from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, TypeAdapter, create_model

from planwerk.models.demo.schemas import Texts, instance

TEXTS = Texts("Is this spam?", "A title", "Some prose.")


class Kind(StrEnum):
    HAM = "ham"
    SPAM = "spam"


class Leaf(BaseModel):
    kind: Literal["leaf"] = "leaf"
    value: int = Field(gt=3, lt=10, multiple_of=2)


class Tree(BaseModel):
    kind: Literal["tree"]
    title: Annotated[str, Field(min_length=3, max_length=5)]
    children: list[Tree | Leaf] = Field(min_length=1)
    parent: Tree | None = None


class Everything(BaseModel):
    title: str
    query: str
    reason: str
    sure: bool
    kind: Kind
    day: date
    at: datetime
    id: UUID
    price: Decimal
    share: float = Field(gt=0, lt=1)
    pair: tuple[int, str]
    names: set[str]
    by_name: dict[str, int]
    code: Annotated[str, Field(pattern=r"^[A-Z]{3}-\d{4}$")]
    maybe: int | None
    either: int | str
    tree: Tree
    extra: str = "default"


@pytest.mark.parametrize(
    "wanted",
    [Everything, Tree, list[Everything], Kind, bool, dict[str, Leaf], Annotated[list[int], Field(min_length=5)]],
)
def test_an_instance_is_valid_and_always_the_same(wanted: Any) -> None:
    adapter = TypeAdapter[Any](wanted)
    schema = adapter.json_schema()

    made = instance(schema, TEXTS)

    adapter.validate_python(made) if not isinstance(made, dict) else adapter.validate_json(_json(made))
    assert instance(schema, TEXTS) == made


def _json(data: Any) -> str:
    return TypeAdapter(Any).dump_json(data).decode()


def test_the_name_of_a_property_says_what_it_is_filled_with() -> None:
    made = instance(Everything.model_json_schema(), TEXTS)

    assert made["title"] == "A title"
    assert made["query"] == "Is this spam?"
    assert made["reason"] == "Some prose."
    assert "extra" not in made


def test_a_choice_follows_the_question_else_is_neutral_else_the_first() -> None:
    def chosen(values: list[str], question: str) -> str:
        return instance({"enum": values}, Texts(question, "", ""))

    assert chosen(["ham", "spam"], "Is this spam?") == "spam"
    assert chosen(["bad", "normal"], "Hello") == "normal"
    assert chosen(["bad", "good"], "Hello") == "bad"


FIELDS: list[Any] = [
    int,
    str,
    bool,
    float,
    date,
    Kind,
    Leaf,
    list[Leaf],
    int | None,
    dict[str, Leaf],
    Literal["a", "b"],
    tuple[int, Leaf],
    Annotated[int, Field(ge=-5, le=-2)],
    Annotated[float, Field(gt=100)],
    Annotated[str, Field(min_length=30, max_length=40)],
    Annotated[list[Kind], Field(min_length=2, max_length=2)],
    Annotated[dict[str, int], Field(min_length=2)],
]


@given(st.dictionaries(st.sampled_from(["title", "query", "items", "x", "y"]), st.sampled_from(FIELDS), min_size=1))
def test_whatever_the_model_has_for_fields_its_instance_is_valid(fields: dict[str, Any]) -> None:
    made_up: dict[str, Any] = {name: (annotation, ...) for name, annotation in fields.items()}
    model: type[BaseModel] = create_model("MadeUp", **made_up)

    model.model_validate_json(_json(instance(model.model_json_schema(), TEXTS)))


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"const": 7}, 7),
        ({"type": "null"}, None),
        ({"type": ["null", "integer"]}, 1),
        ({"oneOf": [{"type": "null"}, {"type": "boolean"}]}, True),
        ({"allOf": [{"properties": {"a": {"type": "integer"}}}, {"required": ["a"]}]}, {"a": 1}),
        ({"type": "object", "required": ["free"]}, {"free": "A title"}),
        ({"type": "array", "uniqueItems": True, "items": {"const": 1}}, [1]),
        ({}, "A title"),
    ],
)
def test_schemas_written_by_hand_are_followed(schema: dict[str, Any], expected: Any) -> None:
    assert instance(schema, TEXTS) == expected
