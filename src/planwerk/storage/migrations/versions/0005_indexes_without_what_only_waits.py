"""Indexes without what only waits"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

QUEUE = "ix_run_queue_lease_until_not_before"
EXPIRES = "ix_run_records_expires"
THREAD = "ix_run_records_thread_started"


def upgrade() -> None:
    with op.batch_alter_table("run_queue", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f(QUEUE))
        called = sa.text("not_before < 4611686018427387904")
        batch_op.create_index(batch_op.f(QUEUE), ["lease_until", "not_before"], unique=False, sqlite_where=called)
    with op.batch_alter_table("run_records", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f(EXPIRES))
        batch_op.drop_index(batch_op.f(THREAD))
        expires, thread = sa.text("expires IS NOT NULL"), sa.text("thread IS NOT NULL")
        batch_op.create_index(batch_op.f(EXPIRES), ["expires"], unique=False, sqlite_where=expires)
        batch_op.create_index(batch_op.f(THREAD), ["thread", "started"], unique=False, sqlite_where=thread)


def downgrade() -> None:
    with op.batch_alter_table("run_records", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f(THREAD))
        batch_op.drop_index(batch_op.f(EXPIRES))
        batch_op.create_index(batch_op.f(THREAD), ["thread", "started"], unique=False)
        batch_op.create_index(batch_op.f(EXPIRES), ["expires"], unique=False)
    with op.batch_alter_table("run_queue", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f(QUEUE))
        batch_op.create_index(batch_op.f(QUEUE), ["lease_until", "not_before"], unique=False)
