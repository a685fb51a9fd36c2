"""The wheel is the product: it holds the built web client and runs in an environment of its own."""

from __future__ import annotations

import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOLS = Path(sys.executable).parent


def run(*command: str | Path, cwd: Path = ROOT) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run(TOOLS / "uv", "build", "--offline", "--quiet", "--wheel", "--no-build-isolation", "--out-dir", folder)
    (built,) = folder.glob("*.whl")
    return built


def test_the_wheel_holds_client_licences_texts_and_types(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()

    assert "planwerk/server/static/index.html" in names
    assert any(name.startswith("planwerk/server/static/assets/") and name.endswith(".woff2") for name in names)
    assert {"planwerk/py.typed", "planwerk/locales/en.json"} <= set(names)
    assert {name.rpartition("/")[2] for name in names if "dist-info/licenses/" in name} == {
        "LICENSE",
        "THIRD_PARTY.md",
    }


def test_the_wheel_holds_neither_tests_nor_tools(wheel: Path) -> None:
    roots = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}

    assert {root for root in roots if not root.endswith(".dist-info")} == {"planwerk"}


@pytest.mark.soak
def test_the_installed_wheel_says_its_version(wheel: Path, tmp_path: Path) -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    run(TOOLS / "uv", "venv", "--quiet", "--python", sys.executable, tmp_path / "venv")
    python = tmp_path / "venv/bin/python"
    run(TOOLS / "uv", "pip", "sync", "--quiet", "--python", python, "requirements/core.txt")
    run(TOOLS / "uv", "pip", "install", "--quiet", "--python", python, "--no-deps", wheel)

    printed = run(tmp_path / "venv/bin/planwerk", "--version", cwd=tmp_path)

    assert version in printed
