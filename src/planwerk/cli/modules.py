"""MODULE as commands take it: the one given, else the setting `app` (S1.5)."""

from __future__ import annotations

from planwerk.cli.errors import UsageFault
from planwerk.module_loading import LoadedModule, load
from planwerk.settings.loading import load as load_settings


def load_module(given: str | None) -> LoadedModule:
    """The module a command is about.

    Raises:
        UsageFault: None is given, and no setting names one.
        ModuleError: It cannot be used.
    """
    target = given or load_settings().settings.app
    if target is None:
        raise UsageFault(
            "no MODULE is given.", what_to_do="Give a file such as my_agent.py, or set app in [tool.planwerk]."
        )
    return load(target)
