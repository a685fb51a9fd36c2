"""Who moves a stored cursor, on SQLite: one row per cursor, whose fence grows with each lease (E7.9)."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from typing import Final

from planwerk.workspace.ports import CursorLease
from planwerk.workspace.rules.errors import CursorPassedOn

TAKE: Final = """
    INSERT INTO cursor_leases (name, owner, fence, lease_until) VALUES (?1, ?2, 1, ?3)
    ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, fence = fence + 1, lease_until = excluded.lease_until
    WHERE lease_until <= ?4 OR owner IS NULL OR owner IN (?2, ?5)
    RETURNING fence
"""
RENEW: Final = "UPDATE cursor_leases SET lease_until = ? WHERE name = ? AND fence = ?"
RELEASE: Final = "UPDATE cursor_leases SET owner = NULL, lease_until = 0 WHERE name = ? AND fence = ?"
OWNER: Final = "SELECT owner FROM cursor_leases WHERE name = ?"
FENCE: Final = "SELECT fence FROM cursor_leases WHERE name = ? AND fence > ?"


def take(
    connection: sqlite3.Connection, name: str, owner: str, until: int, now: int, heir_of: str | None
) -> CursorLease | None:
    """Lease a cursor that is free, has lapsed, or whose owner is known to be dead."""
    row = connection.execute(TAKE, (name, owner, until, now, heir_of)).fetchone()
    return CursorLease(name, owner, row[0], until) if row is not None else None


def renew(connection: sqlite3.Connection, lease: CursorLease, until: int) -> CursorLease | None:
    """Keep a lease longer, unless it has passed on."""
    kept = connection.execute(RENEW, (until, lease.name, lease.fence)).rowcount
    return replace(lease, until_microseconds=until) if kept else None


def release(connection: sqlite3.Connection, lease: CursorLease) -> None:
    """Give a lease back; its fence stays."""
    connection.execute(RELEASE, (lease.name, lease.fence))


def owner(connection: sqlite3.Connection, name: str) -> str | None:
    """Who holds the lease."""
    row = connection.execute(OWNER, (name,)).fetchone()
    return row[0] if row is not None else None


def refuse_passed_on(connection: sqlite3.Connection, name: str, fence: int | None) -> None:
    """Refuse a write under a lease that another owner has taken since.

    Raises:
        CursorPassedOn: It has.
    """
    row = connection.execute(FENCE, (name, fence)).fetchone() if fence is not None else None
    if row is not None:
        raise CursorPassedOn(name, carried=fence or 0, current=row[0])
