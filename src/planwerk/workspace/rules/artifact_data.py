"""Between an artifact's stored data and the objects of its type: validated going in, lifted coming out (A1.3)."""

from __future__ import annotations

from pydantic import ValidationError

from planwerk.workspace.rules.artifacts import Artifact
from planwerk.workspace.rules.errors import ArtifactUnreadable, ValidationFailed
from planwerk.workspace.rules.json_values import JSONObject, impossible_number
from planwerk.workspace.rules.state import ArtifactEntity


def to_new_data(type_: type[Artifact], data: JSONObject) -> JSONObject:
    """What the type makes of this data: that is what is stored.

    Raises:
        ValidationFailed: It is not valid data of this type.
    """
    place = impossible_number(data)
    if place is not None:
        raise ValidationFailed.of(type_.type_name, place, "JSON has no NaN and no infinity", type_="finite_number")
    try:
        return type_.model_validate(data).to_data()
    except ValidationError as error:
        raise ValidationFailed(type_.type_name, error.errors(include_url=False, include_context=False)) from None


def to_readable_data(type_: type[Artifact], stored: ArtifactEntity) -> JSONObject:
    """Stored data as today's class has it: lifted by upcasters where its schema is older (A1.3).

    Raises:
        ArtifactUnreadable: There is no way from its schema to today's, or the result is not valid.
    """
    return to_object(type_, stored).to_data()


def to_object(type_: type[Artifact], stored: ArtifactEntity) -> Artifact:
    """The object of stored data.

    Raises:
        ArtifactUnreadable: There is no way from its schema to today's, or the result is not valid.
    """
    data = stored.data
    if stored.schema_version > type_.schema_version:
        reason = f"it has schema {stored.schema_version}, newer than the class's {type_.schema_version}"
        raise ArtifactUnreadable(stored.id, stored.type, reason)
    for version in range(stored.schema_version, type_.schema_version):
        if version not in type_.upcasters:
            raise ArtifactUnreadable(stored.id, stored.type, f"no upcaster leads on from schema {version}")
        data = type_.upcasters[version](dict(data))
    try:
        return type_.model_validate(data)
    except ValidationError as error:
        raise ArtifactUnreadable(stored.id, stored.type, str(error)) from None
