"""Runs revisions on the connection that `migrate.upgrade` hands over, inside its transaction."""

from __future__ import annotations

from alembic import context

from planwerk.storage.schema import is_full_text, metadata


def _is_compared(name: str | None, kind: str, _: object) -> bool:
    """Full-text tables are no models: revisions make them by statements of the database."""
    return kind != "table" or name is None or not is_full_text(name)


# The transaction belongs to the caller, who also holds the lock: revisions and stamp are committed together by it.
context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    transactional_ddl=False,
    render_as_batch=True,
    include_name=_is_compared,
)
context.run_migrations()
