"""Every table that adapters share: the one definition that migrations are compared with.

JSON is stored as text and times as ISO text in UTC, which sorts as the times do, so that SQLite and PostgreSQL hold the
same bytes. What is looked up by is a column; the rest of an entity is its `data`.
"""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from planwerk.runtime.ports import NEVER

metadata: Final = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)

GROWING: Final = BigInteger().with_variant(Integer, "sqlite")
"""A key that the database counts up; SQLite counts only a column of exactly this type."""


def _text(name: str, *args: Any, **options: Any) -> Column[str]:
    return Column(name, Text, *args, nullable=options.pop("nullable", False), **options)


def _number(name: str, *args: Any, **options: Any) -> Column[int]:
    return Column(name, BigInteger, *args, nullable=options.pop("nullable", False), **options)


# The workspace wing ---------------------------------------------------------------------------------------------------

workspaces: Final = Table(
    "workspaces",
    metadata,
    _text("id", primary_key=True),
    _text("tenant"),
    _text("sole", nullable=True),  # "private:ACCOUNT" or "admin": of these a tenant has one
    _number("head"),
    _text("data"),
    UniqueConstraint("tenant", "sole"),
)

log: Final = Table(
    "log",
    metadata,
    Column("position", GROWING, primary_key=True, autoincrement=True),
    _text("workspace", ForeignKey("workspaces.id")),
    _number("seq"),
    _text("id"),
    _text("time"),
    _text("thread", nullable=True),
    _text("run", nullable=True),
    _text("actor"),
    _text("traceparent", nullable=True),
    _text("type"),
    _number("v"),
    _text("data"),
    UniqueConstraint("workspace", "seq"),
    Index(None, "workspace", "thread", "seq"),
    sqlite_autoincrement=True,
)

threads: Final = Table(
    "threads",
    metadata,
    _text("workspace", ForeignKey("workspaces.id"), primary_key=True),
    _text("id", primary_key=True),
    _number("updated_seq"),
    _text("active_run", nullable=True),  # the first of the pending ones
    _text("data"),
    Index(None, "id"),
    Index(None, "workspace", "updated_seq"),
)

messages: Final = Table(
    "messages",
    metadata,
    _text("workspace", ForeignKey("workspaces.id"), primary_key=True),
    _text("id", primary_key=True),
    _text("thread"),
    _text("parent", nullable=True),
    _number("seq"),
    Column("retracted", Boolean, nullable=False),
    _text("data"),
    Index(None, "workspace", "thread", "seq"),
)

thread_runs: Final = Table(
    "thread_runs",
    metadata,
    _text("workspace", ForeignKey("workspaces.id"), primary_key=True),
    _text("id", primary_key=True),
    _text("thread"),
    _text("message"),
    Column("ended", Boolean, nullable=False),
    _number("requested_seq"),
    _text("data"),
    Index(None, "id"),
    Index(None, "workspace", "thread", "ended", "requested_seq"),
)

artifacts: Final = Table(
    "artifacts",
    metadata,
    _text("workspace", ForeignKey("workspaces.id"), primary_key=True),
    _text("id", primary_key=True),
    _text("type"),
    Column("archived", Boolean, nullable=False),
    _text("created"),
    _text("data"),
    Index(None, "workspace", "type", "created"),
)

revisions: Final = Table(
    "revisions",
    metadata,
    _text("workspace", ForeignKey("workspaces.id"), primary_key=True),
    _text("artifact", primary_key=True),
    Column("version", BigInteger, primary_key=True, autoincrement=False),
    Column("whole", Boolean, nullable=False),  # has a snapshot
    _text("data"),
)

contents: Final = Table(
    "contents",
    metadata,
    _text("scope", primary_key=True),  # whose contents these are: a tenant's turns, or a run's histories
    _text("hash", primary_key=True),
    Column("data", LargeBinary, nullable=False),
)

command_results: Final = Table(
    "command_results",
    metadata,
    _text("workspace", ForeignKey("workspaces.id"), primary_key=True),
    _text("sender", primary_key=True),
    _text("id", primary_key=True),
    _text("body_hash"),
    _text("outcome"),
    _text("time"),
    Index(None, "time"),
)

cursors: Final = Table("cursors", metadata, _text("name", primary_key=True), _number("position"))

cursor_leases: Final = Table(
    "cursor_leases",
    metadata,
    _text("name", primary_key=True),
    _text("owner", nullable=True),
    _number("fence"),
    _number("lease_until"),  # microseconds since the epoch
)

# Runs: journals, queue, records, contexts (owned by the runtime's adapters) -------------------------------------------

journal_appends: Final = Table(
    "journal_appends",
    metadata,
    Column("feed", GROWING, primary_key=True, autoincrement=True),
    _text("run"),
    _number("first_position"),
    _number("last_position"),
    _number("fence"),
    _text("entries"),
    UniqueConstraint("run", "first_position"),
    sqlite_autoincrement=True,
)

run_queue: Final = Table(
    "run_queue",
    metadata,
    _text("run", primary_key=True),
    _number("fence"),
    _text("lease_owner", nullable=True),
    _number("lease_until"),  # microseconds since the epoch; 0 where nobody holds it
    _number("not_before"),  # below 0 of a run that somebody holds: -1 where it was called since
    Index(None, "lease_until", "not_before", sqlite_where=text(f"not_before < {NEVER}")),
    Index("ix_run_queue_called", "lease_owner", sqlite_where=text("not_before = -1")),
)

run_records: Final = Table(
    "run_records",
    metadata,
    _text("run", primary_key=True),
    _text("tenant"),
    _text("workspace", nullable=True),
    _text("thread", nullable=True),
    _text("owner", nullable=True),  # the account of the person who started it
    _text("profile", nullable=True),
    _text("status"),
    _number("started"),  # microseconds since the epoch
    _number("expires", nullable=True),  # of a run that has ended and is to be forgotten
    _text("data"),
    Index(None, "expires", sqlite_where=text("expires IS NOT NULL")),
    Index(None, "tenant", "started"),
    Index(None, "tenant", "owner", "started"),
    Index(None, "thread", "started", sqlite_where=text("thread IS NOT NULL")),
)

run_requests: Final = Table(
    "run_requests",
    metadata,
    _text("id", primary_key=True),
    _text("run"),
    _number("asked"),  # position in the run's journal
    _text("waits_for", nullable=True),  # while open "workspace:ID" or "account:ID"; "answered:" before it once answered
    _number("due"),  # microseconds since the epoch, far away where it never times out; once answered, of its answer
    _text("data"),
    Index(None, "waits_for", "due", "id"),
    Index(None, "run", "asked"),
)

contexts: Final = Table(
    "contexts",
    metadata,
    _text("scope", primary_key=True),  # "run" or "thread"
    _text("owner", primary_key=True),
    _text("key", primary_key=True),
    _text("value"),
    _number("version"),
)

# Memories (owned by the memory's adapter) --------------------------------------------------------------------------

memories: Final = Table(
    "memories",
    metadata,
    Column("number", GROWING, primary_key=True, autoincrement=True),  # of its row in the full-text table
    _text("id", unique=True),
    _text("tenant"),
    _text("kind"),  # "user" or "organization"
    _text("owner"),  # the account, or the namespace
    _text("text"),
    _number("created"),  # microseconds since the epoch
    _number("updated"),
    _text("source_run", nullable=True),
    _text("author", nullable=True),
    _text("superseded_by", nullable=True),  # the id of the one that took its place
    Index(None, "tenant", "kind", "owner", "superseded_by", "updated", "id"),
    sqlite_autoincrement=True,
)

# Knowledge (owned by the knowledge's adapter) ------------------------------------------------------------------------

knowledge_collections: Final = Table(
    "knowledge_collections",
    metadata,
    _text("id", primary_key=True),
    _text("tenant"),
    _text("owner", nullable=True),
    _text("name"),
    _number("created"),  # microseconds since the epoch
    _text("data"),
    UniqueConstraint("tenant", "owner", "name"),
)

knowledge_documents: Final = Table(
    "knowledge_documents",
    metadata,
    _text("id", primary_key=True),
    _text("tenant"),
    _text("collection", ForeignKey("knowledge_collections.id")),
    _text("name"),
    _text("state"),
    _number("passages"),
    _number("created"),
    _number("updated"),
    _text("data"),
    UniqueConstraint("collection", "name"),
    Index(None, "state", "created"),
)

knowledge_texts: Final = Table(
    "knowledge_texts",
    metadata,
    _text("document", ForeignKey("knowledge_documents.id"), primary_key=True),
    _text("text"),
    _text("places"),  # JSON lists of start, end, kind, number and name
)

knowledge_passages: Final = Table(
    "knowledge_passages",
    metadata,
    Column("number", GROWING, primary_key=True, autoincrement=True),  # of its row in the full-text tables
    _text("tenant"),
    _text("collection"),
    _text("document", ForeignKey("knowledge_documents.id")),
    _text("id"),  # what it is cited by
    _text("identity"),
    _number("start"),
    _number("end"),
    _text("text"),
    _text("data"),
    UniqueConstraint("tenant", "id"),
    Index(None, "document", "start"),
    Index(None, "collection"),
    sqlite_autoincrement=True,
)

knowledge_vectors: Final = Table(
    "knowledge_vectors",
    metadata,
    Column("number", BigInteger, primary_key=True, autoincrement=False),  # of its passage
    _text("collection"),
    Column("vector", LargeBinary, nullable=False),  # float32, little-endian, of unit length
    Index(None, "collection"),
)

# Access: tenants, accounts, keys, sessions, sign-in tokens (owned by the access room's adapter) -----------------------

tenants: Final = Table(
    "tenants",
    metadata,
    _text("id", primary_key=True),
    _text("name"),
    _text("created"),
)

accounts: Final = Table(
    "accounts",
    metadata,
    _text("id", primary_key=True),
    _text("tenant", ForeignKey("tenants.id")),
    _text("login", unique=True),
    _text("name"),
    _text("role"),
    _text("locale", nullable=True),
    Column("disabled", Boolean, nullable=False),
    _text("sole", nullable=True, unique=True),  # "local_owner": of these an installation has one
    _text("password_hash", nullable=True),
    _text("created"),
    Index(None, "tenant", "created"),
)

api_keys: Final = Table(
    "api_keys",
    metadata,
    _text("id", primary_key=True),
    _text("tenant", ForeignKey("tenants.id")),
    _text("account", ForeignKey("accounts.id")),
    _text("name"),
    _text("hash"),
    _text("scopes", nullable=True),  # a JSON list; null is everything the account may do
    _text("created"),
    _text("expires", nullable=True),
    _text("last_used", nullable=True),
    _text("revoked", nullable=True),
    Index(None, "tenant", "created"),
)

sessions: Final = Table(
    "sessions",
    metadata,
    _text("hash", primary_key=True),
    _text("account", ForeignKey("accounts.id")),
    _text("created"),
    _text("last_used"),
    _text("expires"),
    Index(None, "account"),
    Index(None, "expires"),
)

sign_in_tokens: Final = Table(
    "sign_in_tokens",
    metadata,
    _text("hash", primary_key=True),
    _text("account", ForeignKey("accounts.id")),
    _text("expires"),
    Index(None, "account"),
)

# Full text, by the means of each database ----------------------------------------------------------------------------

FULL_TEXT_SQLITE: Final = {
    # `scope` is a word made of whose it is, so that a search reads the entries of that scope alone (CAP-11).
    "memories_words": (
        "CREATE VIRTUAL TABLE memories_words USING fts5"
        " (scope, text, tokenize = 'unicode61 remove_diacritics 2', prefix = '3')"
    ),
    "knowledge_words": (
        "CREATE VIRTUAL TABLE knowledge_words USING fts5"
        " (scope, headings, text, tokenize = 'unicode61 remove_diacritics 2', prefix = '4')"
    ),
    "knowledge_parts": "CREATE VIRTUAL TABLE knowledge_parts USING fts5 (text, tokenize = 'trigram')",
    "knowledge_vocabulary": "CREATE VIRTUAL TABLE knowledge_vocabulary USING fts5vocab ('knowledge_words', 'row')",
}
"""Virtual tables by name with the statements that make them; with the tables that FTS5 keeps beside each."""


def is_full_text(table: str) -> bool:
    """Whether a table of a SQLite file is a full-text table, or one that FTS5 keeps beside it."""
    return any(table == name or table.startswith(f"{name}_") for name in FULL_TEXT_SQLITE)
