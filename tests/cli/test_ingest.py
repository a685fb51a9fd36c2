"""`planwerk ingest`: a folder into a collection, by this process or by the server that runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.world import Shell
from tests.documents.making import write_docx, write_pdf


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "documents"
    (folder / "sub" / ".hidden").mkdir(parents=True)
    write_pdf(folder / "travel.pdf", [["Die Pauschale ist 28 Euro."]])
    write_docx(folder / "sub" / "leave.docx", [("Heading1", "Urlaub"), ("", "Der Antrag geht an die Vorgesetzte.")])
    (folder / ".secret.md").write_text("hidden")
    (folder / "sub" / ".hidden" / "x.md").write_text("hidden")
    return folder


def ingest(shell: Shell, folder: Path, *more: str) -> dict[str, Any]:
    return shell.json("ingest", str(folder), "--collection", "Handbook", "--data", str(shell.data), *more)


def test_a_folder_is_read_once_and_what_changed_again(shell: Shell, folder: Path) -> None:
    first = ingest(shell, folder)
    second = ingest(shell, folder)
    (folder / "travel.pdf").unlink()
    (folder / "note.md").write_text("Neu.")
    third = ingest(shell, folder, "--prune")

    assert (first["read"], first["unchanged"], first["failed"]) == (2, 0, [])
    assert (second["read"], second["unchanged"], second["collection"]) == (0, 2, first["collection"])
    assert (third["read"], third["unchanged"], third["deleted"]) == (1, 1, 1)


def test_a_broken_file_is_told_with_its_reason_and_stops_no_other(shell: Shell, folder: Path) -> None:
    (folder / "broken.pdf").write_bytes(b"%PDF-1.4 nothing")

    result = shell.run("ingest", str(folder), "--collection", "Handbook", "--data", str(shell.data))

    assert result.exit_code == 1
    assert result.stdout.splitlines()[0] == "2 documents read, 0 unchanged, 1 failed."
    assert "  broken.pdf: The PDF is damaged" in result.stdout
    assert "1 document could not be read" in result.stderr


def test_one_file_is_a_folder_of_one(shell: Shell, folder: Path) -> None:
    assert ingest(shell, folder / "travel.pdf")["read"] == 1


def test_the_server_that_runs_reads_it(shell: Shell, folder: Path) -> None:
    shell.serve("--data", str(shell.data))

    told = ingest(shell, folder)

    assert told["read"] == 2


@pytest.mark.parametrize("there", [False, True])
def test_a_folder_without_files_is_a_mistake(shell: Shell, tmp_path: Path, there: bool) -> None:
    folder = tmp_path / "nothing"
    if there:
        folder.mkdir()

    result = shell.run("ingest", str(folder), "--collection", "Handbook", "--data", str(shell.data))

    assert result.exit_code == 2
    assert "no files" in result.stderr if there else "no folder" in result.stderr
