"""Brings a SQLite file to today's schema when it is opened, under the file's own write lock.

An up-to-date file costs one query, a new one a single transaction of DDL; only a file that is behind loads Alembic.

MigrationError
├── NewerData       the file was written by a later release
└── ForeignData     the file is not one of ours
"""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from planwerk.storage.migrations import HEAD, REVISIONS
from planwerk.workflow.errors import PlanwerkError

if TYPE_CHECKING:
    from alembic.config import Config

LOCK_WAIT_SECONDS: Final = 60.0
MIGRATIONS: Final = Path(__file__).parent / "migrations"


class MigrationError(PlanwerkError):
    """The data cannot be brought to today's schema; nothing was changed."""

    code = "migration_error"


class NewerData(MigrationError):
    """The data was written by a later release, which may have changed what this one relies on."""

    code = "newer_data"

    def __init__(self, path: Path, stamped: str) -> None:
        super().__init__(
            f"{path} is at schema {stamped}, but this release knows schemas up to {HEAD}.",
            what_to_do="Install the release that wrote it, or a later one; nothing was changed.",
        )
        self.path, self.stamped = path, stamped


class ForeignData(MigrationError):
    """The file is a database, but it carries no schema of ours."""

    code = "foreign_data"

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"{path} is a database of something else: it has tables, but no schema version of ours.",
            what_to_do="Name another data folder; nothing was changed.",
        )
        self.path = path


def upgrade(path: Path | str) -> None:
    """Create the file's schema or bring it up to date; safe when several processes open the file at once.

    Raises:
        NewerData: A later release wrote it.
        ForeignData: It is not one of our files.
    """
    file = Path(path)
    if _is_up_to_date(file):
        return
    with closing(sqlite3.connect(file, timeout=LOCK_WAIT_SECONDS, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("BEGIN IMMEDIATE")
        try:
            _upgrade_locked(connection, file)
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


def _is_up_to_date(file: Path) -> bool:
    """Looked up read-only: closing one that may write would first write back what a kill left in the WAL."""
    try:
        with closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            return _stamped(connection) == HEAD
    except sqlite3.OperationalError:
        return False  # there is no file yet, or it cannot be read: the way that may write says what is wrong


def _upgrade_locked(connection: sqlite3.Connection, path: Path) -> None:
    stamped = _stamped(connection)
    if stamped == HEAD:
        connection.execute("ROLLBACK")  # another process did it while we waited for the lock
    elif stamped in REVISIONS:
        _run_revisions(connection)
    elif stamped is not None:
        raise NewerData(path, stamped)
    elif connection.execute("SELECT 1 FROM sqlite_master").fetchone() is not None:
        raise ForeignData(path)
    else:
        _create(connection)
        connection.execute("COMMIT")


def _stamped(connection: sqlite3.Connection) -> str | None:
    try:
        row: tuple[str] | None = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    except sqlite3.OperationalError as error:
        if "no such table" not in str(error):
            raise
        return None
    return row[0] if row else None


def _create(connection: sqlite3.Connection) -> None:
    from sqlalchemy.dialects import sqlite
    from sqlalchemy.schema import CreateIndex, CreateTable

    from planwerk.storage.schema import FULL_TEXT_SQLITE, metadata

    dialect = sqlite.dialect()
    for table in metadata.sorted_tables:
        connection.execute(str(CreateTable(table).compile(dialect=dialect)))
        for index in sorted(table.indexes, key=lambda index: str(index.name)):
            connection.execute(str(CreateIndex(index).compile(dialect=dialect)))
    for statement in FULL_TEXT_SQLITE.values():
        connection.execute(statement)
    connection.execute(
        "CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL,"
        " CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num))"
    )
    connection.execute("INSERT INTO alembic_version VALUES (?)", (HEAD,))


def _run_revisions(connection: sqlite3.Connection) -> None:
    from alembic import command

    with alembic_on(connection) as config:
        command.upgrade(config, "head")


@contextmanager
def alembic_on(connection: sqlite3.Connection) -> Generator[Config]:
    """Alembic's configuration on an open connection; what it does is committed at the end, or not at all."""
    from alembic.config import Config
    from sqlalchemy import create_engine
    from sqlalchemy.pool import StaticPool

    engine = create_engine("sqlite://", creator=lambda: connection, poolclass=StaticPool)
    with engine.connect() as shared:
        config = Config()
        config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
        config.set_main_option("path_separator", "os")
        config.attributes["connection"] = shared
        yield config
        shared.commit()
