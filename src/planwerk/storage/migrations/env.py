"""Runs revisions on the connection that `migrate.upgrade` hands over, inside its transaction."""

from __future__ import annotations

from alembic import context

from planwerk.storage.schema import metadata

# The transaction belongs to the caller, who also holds the lock: revisions and stamp are committed together by it.
context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    transactional_ddl=False,
    render_as_batch=True,
)
context.run_migrations()
