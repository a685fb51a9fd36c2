"""A file gets today's schema when it is opened, whatever it had before (A6)."""

from __future__ import annotations

import re
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine
from sqlalchemy.pool import NullPool

from planwerk.storage.migrate import ForeignData, NewerData, alembic_on, upgrade
from planwerk.storage.migrations import HEAD, REVISIONS
from planwerk.storage.schema import is_full_text, metadata


def schema_of(path: Path) -> dict[str, str]:
    """The statements of the file's tables and indexes by name, blanks and the order of clauses aside."""
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    return {name: " ".join(sorted(re.sub(r"[(),]", " ", sql).split())) for name, sql in rows}


def migrated(path: Path, revision: str = "head") -> Path:
    """A file that went through the revisions one by one."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection, alembic_on(connection) as config:
        command.upgrade(config, revision)
    return path


def differences(path: Path) -> list[Any]:
    engine = create_engine(f"sqlite:///{path}", poolclass=NullPool)
    with engine.connect() as connection:
        opts = {"compare_type": True, "compare_server_default": True, "include_name": is_compared}
        context = MigrationContext.configure(connection, opts=opts)
        return compare_metadata(context, metadata)


def is_compared(name: str | None, kind: str, _: object) -> bool:
    return kind != "table" or name is None or not is_full_text(name)


def test_migrations_lead_to_the_models(tmp_path: Path) -> None:
    assert differences(migrated(tmp_path / "migrated.db")) == []


def test_a_new_file_is_what_the_migrations_lead_to(tmp_path: Path) -> None:
    upgrade(tmp_path / "new.db")

    assert schema_of(tmp_path / "new.db") == schema_of(migrated(tmp_path / "migrated.db"))
    assert differences(tmp_path / "new.db") == []


def test_looking_whether_a_file_is_up_to_date_leaves_what_a_kill_left_behind_to_the_server(tmp_path: Path) -> None:
    path = tmp_path / "killed.db"
    upgrade(path)
    kill = "import os, sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('PRAGMA user_version=7'); os._exit(9)"
    subprocess.run([sys.executable, "-c", kill, str(path)], check=False)
    left = path.with_name("killed.db-wal").stat().st_size

    upgrade(path)

    assert left > 0
    assert path.with_name("killed.db-wal").stat().st_size == left


def test_every_released_schema_upgrades_and_keeps_its_rows(tmp_path: Path) -> None:
    for revision in REVISIONS:
        path = migrated(tmp_path / f"{revision}.db", revision)
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("INSERT INTO cursors (name, position) VALUES ('starter', 7)")

        upgrade(path)

        assert differences(path) == []
        with closing(sqlite3.connect(path)) as connection:
            assert connection.execute("SELECT position FROM cursors").fetchall() == [(7,)]


def test_the_list_of_revisions_is_that_of_the_files() -> None:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection, alembic_on(connection) as config:
        scripts = ScriptDirectory.from_config(config)

    assert tuple(script.revision for script in scripts.walk_revisions())[::-1] == REVISIONS
    assert scripts.get_heads() == [HEAD]


def test_data_of_a_later_release_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "planwerk.db"
    upgrade(path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    before = schema_of(path)

    with pytest.raises(NewerData, match="9999") as refused:
        upgrade(path)

    assert (refused.value.code, schema_of(path)) == ("newer_data", before)


def test_a_file_of_something_else_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE recipes (name TEXT)")

    with pytest.raises(ForeignData):
        upgrade(path)

    assert list(schema_of(path)) == ["recipes"]


def test_several_who_open_a_new_file_at_once_make_one_schema(tmp_path: Path) -> None:
    path = tmp_path / "planwerk.db"

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(upgrade, [path] * 8))

    assert differences(path) == []


def test_an_upgrade_that_fails_leaves_the_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "planwerk.db"

    def fail_after_writing(connection: sqlite3.Connection) -> None:
        connection.execute("CREATE TABLE half_done (name TEXT)")
        raise KeyboardInterrupt

    monkeypatch.setattr("planwerk.storage.migrate._create", fail_after_writing)
    with pytest.raises(KeyboardInterrupt):
        upgrade(path)
    monkeypatch.undo()
    upgrade(path)

    assert differences(path) == []


def test_a_new_file_loads_no_alembic_and_an_up_to_date_one_no_sqlalchemy(tmp_path: Path) -> None:
    script = """
import sys
from planwerk.storage.migrate import upgrade
upgrade(sys.argv[1])
print(*(name in sys.modules for name in ("alembic", "sqlalchemy")))
"""

    def loaded() -> list[str]:
        arguments = [sys.executable, "-c", script, str(tmp_path / "planwerk.db")]
        return subprocess.run(arguments, capture_output=True, text=True, check=True).stdout.split()

    assert loaded() == ["False", "True"]
    assert loaded() == ["False", "False"]
