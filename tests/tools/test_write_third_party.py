"""THIRD_PARTY.md names everything we ship or install, and only under licences that allow it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tools.write_third_party import (
    LOCK,
    TARGET,
    UI,
    bundled_packages,
    document,
    is_allowed,
    licence_of,
    python_packages,
)


def test_the_file_fits_the_locks() -> None:
    assert TARGET.read_text("utf-8") == document(python_packages(LOCK.read_text("utf-8")), bundled_packages(UI))


def test_everything_installed_or_bundled_is_under_an_allowed_licence() -> None:
    packages = [*python_packages(LOCK.read_text("utf-8")), *bundled_packages(UI)]

    assert [package for package in packages if not is_allowed(package.licence)] == []


def test_everything_bundled_brings_its_licence_text() -> None:
    packages = bundled_packages(UI)

    assert [package.name for package in packages if not package.text] == []
    assert {"react", "@fontsource-variable/inter"} <= {package.name for package in packages}


@pytest.mark.parametrize(
    ("licence", "allowed"),
    [
        ("MIT", True),
        ("AGPL-3.0-only", False),
        ("unknown", False),
        ("GPL-3.0-only OR MIT", True),
        ("Apache-2.0 AND CNRI-Python", True),
        ("MIT AND LGPL-3.0-only", False),
        ("(MIT OR GPL-2.0-only)", False),
        ("(MIT OR Apache-2.0)", True),
    ],
)
def test_a_licence_counts_by_its_spdx_expression(licence: str, allowed: bool) -> None:
    assert is_allowed(licence) is allowed


@pytest.mark.parametrize(
    ("about", "licence"),
    [
        ({"license_expression": "BSD-3-Clause", "license": "see file"}, "BSD-3-Clause"),
        ({"classifier": ["License :: OSI Approved :: MIT License", "Topic :: Software"]}, "MIT"),
        (
            {"classifier": ["License :: OSI Approved :: MIT License", "License :: Other/Proprietary License"]},
            "MIT OR Other/Proprietary License",
        ),
        ({"license": "MIT License\n\nCopyright (c) somebody"}, "MIT"),
        ({}, "unknown"),
    ],
)
def test_a_licence_is_read_from_wherever_a_distribution_says_it(
    about: dict[str, str | list[str]], licence: str
) -> None:
    assert licence_of(about) == licence


def test_a_package_for_platforms_we_do_not_support_is_left_out() -> None:
    lock = "idna==3.20 \\\n    --hash=sha256:00\n    # via httpx2\ncolorama==0.4.6 ; sys_platform == 'win32' \\\n"

    assert [package.name for package in python_packages(lock)] == ["idna"]


def test_tools_and_types_are_not_bundled(tmp_path: Path) -> None:
    packages = {
        "": {},
        "node_modules/shown": {"version": "1.0.0", "license": "MIT"},
        "node_modules/builds": {"version": "1.0.0", "license": "MIT", "dev": True},
        "node_modules/@types/shown": {"version": "1.0.0", "license": "MIT"},
        "node_modules/shown/node_modules/inner": {"version": "2.0.0", "license": "ISC"},
    }
    (tmp_path / "package-lock.json").write_text(json.dumps({"packages": packages}), "utf-8")
    for path in packages:
        (tmp_path / path).mkdir(parents=True, exist_ok=True)
        (tmp_path / path / "LICENSE.md").write_text(f"Text of {path}\n", "utf-8")

    found = bundled_packages(tmp_path)

    assert [(package.name, package.licence) for package in found] == [("inner", "ISC"), ("shown", "MIT")]
    assert found[1].text == "Text of node_modules/shown"
