"""What the modules of `src/planwerk` import, read from their source without importing them."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "src"


@dataclass(frozen=True, slots=True)
class Import:
    """One name imported by one module; `name` is empty where a whole module is imported."""

    importer: str
    module: str
    name: str
    line: int

    @property
    def root(self) -> str:
        return self.module.split(".")[0]

    @property
    def is_ours(self) -> bool:
        return self.root == "planwerk"

    @property
    def is_standard_library(self) -> bool:
        return self.root in sys.stdlib_module_names

    def __str__(self) -> str:
        return f"{self.importer}:{self.line} imports {self.module}{'.' if self.name else ''}{self.name}"


def is_within(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


def imports_of(package: str, source: Path = SOURCE) -> list[Import]:
    """Every import in the package or module of this dotted name, those inside functions included."""
    return [found for file in files_of(package, source) for found in _imports_in(file, source)]


def calls_of(package: str, names: set[str], source: Path = SOURCE) -> list[str]:
    """Every place in the package that calls a built-in function of these names."""
    return [
        f"{file.relative_to(source)}:{node.lineno} calls {node.func.id}()"
        for file in files_of(package, source)
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names
    ]


def files_of(package: str, source: Path = SOURCE) -> list[Path]:
    start = source.joinpath(*package.split("."))
    files = sorted(start.rglob("*.py")) if start.is_dir() else [start.with_suffix(".py")]
    return [file for file in files if file.exists()]


def _imports_in(file: Path, source: Path) -> Iterator[Import]:
    parts = file.relative_to(source).with_suffix("").parts
    importer = ".".join(parts).removesuffix(".__init__")
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(importer, alias.name, "", node.lineno)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            for alias in node.names:
                yield _import_from(importer, node.module, alias.name, node.lineno, source)


def _import_from(importer: str, module: str, name: str, line: int, source: Path) -> Import:
    """`from package import submodule` imports a module, not a name of the package."""
    inside = source.joinpath(*module.split("."), name)
    if inside.is_dir() or inside.with_suffix(".py").exists():
        return Import(importer, f"{module}.{name}", "", line)
    return Import(importer, module, name, line)
