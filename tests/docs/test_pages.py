"""What README and docs say is true: their Python runs, and the paths they name exist."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from tests.docs.pages import ROOT, missing_paths, pages, snippets

from planwerk.models import Answering, Predicting
from planwerk.workflow.blueprint import Agent

PAGES = pages()
PROVIDED = (Answering, Predicting)


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.fixture
def module() -> Iterator[ModuleType]:
    """The one module in which a page's snippets run, one after the other."""
    made = ModuleType("page_under_test")
    sys.modules[made.__name__] = made
    yield made
    del sys.modules[made.__name__]


def run_snippets(page: Path, module: ModuleType) -> None:
    for snippet in snippets(page, "python"):
        exec(compile(snippet.compiled_in_place, str(page), "exec"), vars(module))


@pytest.mark.parametrize("page", [page for page in PAGES if snippets(page, "python")], ids=name_of)
def test_the_python_of_a_page_runs_and_its_blueprints_are_sound(page: Path, module: ModuleType) -> None:
    run_snippets(page, module)

    defined = [found for found in vars(module).values() if isinstance(found, type) and issubclass(found, Agent)]
    for blueprint in defined:
        if blueprint.__module__ == module.__name__:
            assert [str(problem) for problem in blueprint.find_problems(provided=PROVIDED)] == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_path_a_page_names_exists(page: Path) -> None:
    assert missing_paths(page) == []


def test_a_snippet_that_fails_names_page_and_line(tmp_path: Path, module: ModuleType) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Page\n\n```python\nx = 1\nraise RuntimeError('no')\n```\n", "utf-8")

    with pytest.raises(RuntimeError) as caught:
        run_snippets(page, module)

    entry = caught.traceback[-1]
    assert (str(entry.path), entry.lineno + 1) == (str(page), 5)


def test_a_path_that_is_not_there_is_found_in_code_and_in_links(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "README.md").write_text(
        "`src/gone.py`, [a page](docs/gone.md#part), `src/`, [elsewhere](https://example.org), `a/b` and `pip`\n"
        "```sh\ncat src/also_gone.py\n```\n",
        "utf-8",
    )

    assert missing_paths(tmp_path / "README.md", tmp_path) == ["src/gone.py", "docs/gone.md"]
