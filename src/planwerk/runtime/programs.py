"""Programs by blueprint, start class and config class: validated, composed and bound once, shared by their runs."""

from __future__ import annotations

from planwerk.runtime.program import Program
from planwerk.runtime.providers import Providers
from planwerk.workflow.blueprint import Agent, AgentConfig
from planwerk.workflow.events import Event

Key = tuple[type[Agent], type[Event], type[AgentConfig]]


class Programs:
    """Makes each program once."""

    def __init__(self, providers: Providers) -> None:
        self.providers = providers
        self._programs: dict[Key, Program] = {}

    def get(self, blueprint: type[Agent], start: type[Event], config_class: type[AgentConfig] | None = None) -> Program:
        """The program of a blueprint for a start class.

        Raises:
            WorkflowError: The workflow breaks an obligation; every problem is named (E6.3).
        """
        settings = config_class or blueprint.config
        key = (blueprint, start, settings)
        if key not in self._programs:
            blueprint.validate_workflow(settings, provided=self.providers.types)
            self._programs[key] = Program.of(blueprint, start, self.providers, settings)
        return self._programs[key]
