"""From settings and MODULE to the installation that a command serves or works on."""

from __future__ import annotations

from planwerk.app import Planwerk
from planwerk.cli.errors import CommandError
from planwerk.models.catalogue import CatalogueSettings, ModelCatalogue
from planwerk.models.discovery import ProviderSettings
from planwerk.models.pricing import ModelFacts
from planwerk.module_loading import LoadedModule, load, ready_made
from planwerk.settings.model import Settings


class BlueprintsBroken(CommandError):
    """Blueprints of the module break their obligations, so nothing is started (E6.3)."""

    code = "workflow_error"


def installation(settings: Settings, module: str | None = None, *, only: bool = False) -> Planwerk:
    """The installation these settings describe, not started yet.

    Args:
        module: MODULE; the setting `app` if missing. Its blueprints come first (S1.5).
        only: Leave the ready-made blueprints out.

    Raises:
        ModuleError: The module cannot be used.
        BlueprintsBroken: Its blueprints would not run.
    """
    target = module or settings.app
    loaded = load(target) if target is not None else None
    if loaded is not None and target is not None:
        refuse_broken(loaded, target)
    models = ModelCatalogue(catalogue_settings(settings))
    if loaded is not None and loaded.app is not None:
        loaded.app.fill_in(storage=settings.database, models=models, durability=settings.durability)
        return _set(loaded.app, settings)
    own = loaded.blueprints if loaded is not None else ()
    made = Planwerk(
        blueprints=own if only and own else (*own, *ready_made()),
        storage=settings.database,
        durability=settings.durability,
        models=models,
    )
    return _set(made, settings)


def _set(made: Planwerk, settings: Settings) -> Planwerk:
    made.stateless_seconds = settings.stateless_seconds
    made.file_bytes = settings.limits.file_bytes
    made.lease_seconds = settings.lease_seconds
    made.max_runs = settings.max_runs
    made.park_seconds = settings.park_seconds
    made.max_agent_depth = settings.max_agent_depth
    made.schedule_min_seconds = settings.schedule_min_seconds
    return made


def catalogue_settings(settings: Settings) -> CatalogueSettings:
    """What the settings say about models."""
    return CatalogueSettings(
        model=settings.model,
        providers={
            name: ProviderSettings(given.base_url, given.key.get_secret_value() if given.key else None)
            for name, given in settings.provider.items()
        },
        facts={
            name: ModelFacts(given.context_window, given.input_price, given.output_price)
            for name, given in settings.facts.items()
        },
        demo_pace_seconds=settings.demo.pace_seconds,
    )


def refuse_broken(loaded: LoadedModule, target: str) -> None:
    """Refuse blueprints that could not run.

    Raises:
        BlueprintsBroken: There are some; the error names the first problem.
    """
    for blueprint in loaded.blueprints:
        problems = blueprint.find_problems(provided=loaded.provided)
        errors = [problem for problem in problems if problem.severity == "error"]
        if errors:
            more = f" and {len(errors) - 1} more" if len(errors) > 1 else ""
            raise BlueprintsBroken(
                f"{blueprint.__name__} cannot run: {errors[0].where}: {errors[0].message}{more} (E6.3).",
                what_to_do=f"'planwerk check {target}' lists every problem with its remedy.",
            )
