"""`python -m planwerk.storage.migrations.revise MESSAGE`: write the revision from the last one to the models.

`--again` writes the newest revision anew instead, as long as no release has it.
"""

from __future__ import annotations

import sqlite3
import sys
import tempfile
from pathlib import Path

from alembic import command

from planwerk.storage.migrate import alembic_on
from planwerk.storage.migrations import REVISIONS

VERSIONS = Path(__file__).parent / "versions"


def revise(message: str, *, again: bool) -> None:
    """Compare a database at the last revision with the models and write the difference as the next revision."""
    if again:
        for file in VERSIONS.glob(f"{REVISIONS[-1]}_*.py"):
            file.unlink()
    base = REVISIONS[-2:-1] if again else REVISIONS[-1:]
    number = REVISIONS[-1] if again else f"{len(REVISIONS) + 1:04d}"
    with tempfile.TemporaryDirectory() as folder:
        connection = sqlite3.connect(Path(folder) / "base.db", isolation_level=None)
        with alembic_on(connection) as config:
            if base:
                command.upgrade(config, base[0])
            command.revision(config, message, autogenerate=True, rev_id=number)
        connection.close()


if __name__ == "__main__":
    revise(sys.argv[-1], again="--again" in sys.argv)
