"""MODULE of the command line: a file or a dotted name, and what of it is served (S1.5)."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import traceback
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any, Final

from planwerk.app import Planwerk
from planwerk.workflow.blueprint import Agent
from planwerk.workflow.errors import PlanwerkError

APP: Final = "app"
"""Name of the module-level `Planwerk` object that takes the place of the module's blueprints."""


class ModuleError(PlanwerkError):
    """MODULE cannot be used."""

    code = "module_error"


class ModuleMissing(ModuleError):
    """There is no file and no module of this name."""

    code = "module_not_found"


class ModuleBroken(ModuleError):
    """Importing the module raised an error; the message names file and line (S1.5)."""

    code = "module_broken"

    def __init__(self, file: str, line: int | None, error: BaseException) -> None:
        place = file if line is None else f"{file}, line {line}"
        what = " ".join(str(error.msg if isinstance(error, SyntaxError) else error).split())
        told = f"{place}: {type(error).__name__}{f': {what}' if what else ''}"
        super().__init__(told if told.endswith((".", "!", "?")) else f"{told}.", what_to_do="Correct it and try again.")
        self.file, self.line = file, line


class NothingToServe(ModuleError):
    """The module defines no blueprint."""

    code = "nothing_to_serve"


@dataclass(frozen=True, slots=True)
class LoadedModule:
    """A module and what of it is served: its own blueprints in order of definition, or its `app`."""

    name: str
    file: Path | None
    blueprints: tuple[type[Agent], ...]
    app: Planwerk | None

    @property
    def provided(self) -> tuple[Any, ...]:
        """Types that the module's `app` has providers for, beside the ready-made ones."""
        return self.app.provided if self.app is not None else ()

    def blueprint(self, name: str) -> type[Agent]:
        """The blueprint of this name.

        Raises:
            ModuleMissing: The module has none of this name.
        """
        found = {blueprint.__name__: blueprint for blueprint in self.blueprints}
        if name not in found:
            listed = ", ".join(found)
            raise ModuleMissing(f"{self.name} has no blueprint {name!r}.", what_to_do=f"It has {listed}.")
        return found[name]


def load(target: str) -> LoadedModule:
    """Import MODULE and find its blueprints.

    Args:
        target: A file's path, or a dotted name that is importable from the working directory.

    Raises:
        ModuleMissing: There is no such file or module.
        ModuleBroken: Importing it failed.
        NothingToServe: It defines no blueprint and no `app`.
    """
    module = _import_file(target) if is_file(target) else _import_name(target)
    given = getattr(module, APP, None)
    app = given if isinstance(given, Planwerk) else None
    blueprints = tuple(app.blueprints) if app is not None else blueprints_of(module)
    if not blueprints:
        raise NothingToServe(
            f"{target} defines no blueprint (S1.5).",
            what_to_do="Write a subclass of planwerk.Agent in it; 'planwerk new my_agent' makes one to start from.",
        )
    return LoadedModule(module.__name__, Path(module.__file__) if module.__file__ else None, blueprints, app)


def ready_made() -> tuple[type[Agent], ...]:
    """The blueprints that come with Planwerk, the default one first."""
    from planwerk import blueprints

    return tuple(getattr(blueprints, name) for name in blueprints.__all__ if _is_blueprint(getattr(blueprints, name)))


def blueprints_of(module: ModuleType) -> tuple[type[Agent], ...]:
    """The `Agent` subclasses defined in the module itself, in order; names with an underscore are its own affair."""
    found = (
        value
        for name, value in vars(module).items()
        if _is_blueprint(value) and value.__module__ == module.__name__ and not name.startswith("_")
    )
    return tuple(dict.fromkeys(found))


def _is_blueprint(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, Agent) and value is not Agent


def is_file(target: str) -> bool:
    """Whether MODULE is meant as a file's path rather than a dotted name."""
    return target.endswith(".py") or "/" in target or Path(target).is_file()


def _import_file(target: str) -> ModuleType:
    path = Path(target).resolve()
    if not path.is_file():
        raise ModuleMissing(f"there is no file {target!r}.", what_to_do=_meant_file(path))
    name = path.stem.replace("-", "_")
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ModuleMissing(f"{target!r} is not a Python file.", what_to_do="Give a file that ends in .py.")
    _importable_from(path.parent)
    module = importlib.util.module_from_spec(spec)
    known = sys.modules.get(name)
    sys.modules[name] = module  # what is defined in it is looked up here, by annotations among others
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        _restore(name, known)
        raise _broken(error, path) from error
    return module


def _import_name(target: str) -> ModuleType:
    _importable_from(Path.cwd())
    try:
        return importlib.import_module(target)
    except ModuleNotFoundError as error:
        if error.name and (target == error.name or target.startswith(f"{error.name}.")):
            hint = f"Did you mean the file {target}.py?" if Path(f"{target}.py").is_file() else _HOW_TO_NAME
            raise ModuleMissing(f"there is no module {target!r}.", what_to_do=hint) from None
        raise _broken(error, None) from error
    except (Exception, SystemExit) as error:
        raise _broken(error, None) from error


_HOW_TO_NAME: Final = "Give a file such as my_agent.py, or a dotted name that is importable from here."


def _importable_from(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def _restore(name: str, known: ModuleType | None) -> None:
    if known is None:
        sys.modules.pop(name, None)
    else:
        sys.modules[name] = known


def _meant_file(path: Path) -> str:
    beside = [other.name for other in path.parent.glob("*.py")] if path.parent.is_dir() else []
    close = get_close_matches(path.name, beside, n=1)
    return f"Did you mean {close[0]}?" if close else _HOW_TO_NAME


def _broken(error: BaseException, file: Path | None) -> ModuleBroken:
    if isinstance(error, SyntaxError) and error.filename:
        return ModuleBroken(_shown(error.filename), error.lineno, error)
    frame = _frame_of(error.__traceback__, file)
    return ModuleBroken(_shown(frame.filename), frame.lineno, error) if frame else ModuleBroken("import", None, error)


def _frame_of(trace: TracebackType | None, file: Path | None) -> traceback.FrameSummary | None:
    """Where a person should look: the last line of their own file, else the last line outside the import machinery."""
    frames = [frame for frame in traceback.extract_tb(trace) if not frame.filename.startswith("<frozen")]
    own = [frame for frame in frames if file is not None and Path(frame.filename) == file]
    if own:
        return own[-1]
    outside = [frame for frame in frames if frame.filename not in {__file__, importlib.__file__}]
    theirs = [frame for frame in outside if not _is_of_a_package(frame.filename)]
    return (theirs or outside or [None])[-1]


def _is_of_a_package(file: str) -> bool:
    """Whether the file is Planwerk's own or an installed package's, not the person's."""
    return "site-packages" in file or Path(file).is_relative_to(Path(__file__).parent)


def _shown(file: str) -> str:
    """The path as short as it can be told from here."""
    path = Path(file)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else file
