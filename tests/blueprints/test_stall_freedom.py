"""Every blueprint we ship is proven free of stalls (E6.4)."""

from __future__ import annotations

import importlib
import pkgutil

import pytest

import planwerk.blueprints
from planwerk.workflow.blueprint import Agent
from planwerk.workflow.composition import compose, start_classes
from planwerk.workflow.exploration import explore
from planwerk.workflow.exploring.search import Limits


def shipped() -> list[type[Agent]]:
    """The blueprints of each module of the room."""
    found: dict[type[Agent], None] = {}
    for module in pkgutil.iter_modules(planwerk.blueprints.__path__):
        for member in vars(importlib.import_module(f"planwerk.blueprints.{module.name}")).values():
            if isinstance(member, type) and issubclass(member, Agent) and member.__module__.endswith(module.name):
                found[member] = None
    return list(found)


def test_there_are_blueprints() -> None:
    assert shipped()


@pytest.mark.parametrize("blueprint", shipped(), ids=lambda blueprint: blueprint.__name__)
def test_a_shipped_blueprint_cannot_stall(blueprint: type[Agent]) -> None:
    for start in start_classes(blueprint):
        exploration = explore(compose(blueprint, start), Limits(clock=lambda: 0.0))

        assert [str(problem) for problem in exploration.problems if problem.severity != "warning"] == []
        assert all(scope.is_proven for scope in exploration.scopes)
        assert exploration.states < 1_000
