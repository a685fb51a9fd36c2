"""What a step may ask for beside events (E2.4).

A type is injectable when a room marks it so; a host then needs a provider for it. The rules only need to know the
marks, so that a parameter nobody can provide is found by validation and not by a crash in mid-run.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final, TypeVar

ClassT = TypeVar("ClassT", bound=type)

_MARK: Final = "__planwerk_injectable__"


def injectable(cls: ClassT) -> ClassT:
    """Mark a class as one that steps may name as a parameter; the runtime must have a provider for it."""
    setattr(cls, _MARK, True)
    return cls


def is_injectable(annotation: Any, provided: Collection[Any] = ()) -> bool:
    """Whether a parameter of this type can be provided: it is marked, or an application registered a provider."""
    return annotation in provided or getattr(annotation, _MARK, False) is True
