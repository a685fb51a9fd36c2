"""The schema's history, shipped in the package; the names of its revisions, so that comparing needs no Alembic."""

from __future__ import annotations

from typing import Final

REVISIONS: Final = ("0001", "0002", "0003", "0004", "0005", "0006", "0007")
"""All revisions, oldest first; a test compares them with the files in `versions/`."""

HEAD: Final = REVISIONS[-1]
