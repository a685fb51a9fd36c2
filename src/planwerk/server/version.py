"""The version, from the installed package's metadata alone."""

from __future__ import annotations

from functools import cache
from importlib.metadata import version as installed


@cache
def version() -> str:
    """The version of `planwerk` that is installed."""
    return installed("planwerk")
