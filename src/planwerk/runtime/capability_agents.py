"""Blueprints that capabilities start for themselves, as detached runs (E8.4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planwerk.workflow.blueprint import Agent


class CapabilityAgent(Agent):
    """A blueprint that works for a capability: it has no profile, and takes over settings of the run that asks for it.

    It is found by its name wherever runs are driven, and is never offered to people.
    """

    @classmethod
    def settings_of(cls, config: Mapping[str, Any]) -> dict[str, Any]:
        """Of the settings of the run that asks, those that this blueprint's config has too."""
        return {name: value for name, value in config.items() if name in cls.config.model_fields}
