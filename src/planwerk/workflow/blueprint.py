"""A blueprint: a workflow as a class whose async steps are matched to typed events (E2, E6)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

from planwerk.workflow.errors import Problem, WorkflowError
from planwerk.workflow.locale_string import LocaleString
from planwerk.workflow.steps import StepSpec, steps_of

if TYPE_CHECKING:
    from planwerk.workflow.graph import Graph


class StepConfig(BaseModel):
    """Settings of one step: a field of the config, injected into steps by its class (E2.4)."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class AgentConfig(BaseModel):
    """The profile's form. Subclass it with the mixins of the capabilities called, then with fields of one's own.

    Every field needs a default: a profile starts from nothing (E6.2).
    """

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)


class SecretRef(str):
    """The name of a secret; its value is set by `planwerk config` or the environment and never stored (S2.1)."""

    __slots__ = ()

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(cls, core_schema.str_schema(pattern=r"^[A-Za-z0-9_.-]*$"))

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {**handler(schema), "format": "secret-ref"}


@dataclass(frozen=True, slots=True)
class ProfileTemplate:
    """A ready profile a blueprint comes with (S2.1)."""

    name: LocaleString
    description: LocaleString = field(default_factory=lambda: LocaleString(""))
    icon: str | None = None
    starters: tuple[LocaleString, ...] = ()
    config: Mapping[str, Any] = field(default_factory=dict[str, Any])
    is_default: bool = False


class Agent:
    """A workflow as code. Subclass it, set `config`, and write steps; see README."""

    config: ClassVar[type[AgentConfig]] = AgentConfig
    templates: ClassVar[tuple[ProfileTemplate, ...]] = ()

    @classmethod
    def steps(cls) -> list[StepSpec]:
        """The blueprint's own steps in order of declaration, inherited ones first."""
        return steps_of(cls)

    @classmethod
    def summary(cls) -> str:
        """First paragraph of the docstring."""
        return (cls.__doc__ or "").strip().split("\n\n")[0].strip()

    @classmethod
    def find_problems(
        cls, config: type[AgentConfig] | AgentConfig | None = None, *, provided: Collection[Any] = ()
    ) -> list[Problem]:
        """Every problem of the composed workflow at once, warnings among them (E6.3).

        Args:
            config: The config class to compose with, or an instance of it; the blueprint's own if missing.
            provided: Types an application registered providers for, beside the marked ones.
        """
        from planwerk.workflow.validation import find_problems

        return find_problems(cls, config, provided=provided)

    @classmethod
    def validate_workflow(
        cls, config: type[AgentConfig] | AgentConfig | None = None, *, provided: Collection[Any] = ()
    ) -> type[Self]:
        """Refuse a workflow that could not run.

        Raises:
            WorkflowError: One error that names every problem; `.problems` has them.
        """
        errors = [problem for problem in cls.find_problems(config, provided=provided) if problem.severity == "error"]
        if errors:
            raise WorkflowError.of(cls.__name__, errors)
        return cls

    @classmethod
    def graph(cls) -> Graph:
        """The composed workflow as nodes and edges, capabilities as groups."""
        from planwerk.workflow.graph import graph_of

        return graph_of(cls)
