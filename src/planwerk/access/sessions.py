"""Cookie sessions: how long they live, and the CSRF token that belongs to each (S5.1).

A session is idle-limited and age-limited: each use moves its end, but never past `longest` after sign-in. Its CSRF
token is derived from the secret in the cookie, so it needs no storage and is worth nothing with another session.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

from planwerk.access.ids import AccountId
from planwerk.access.principal import Principal

_CSRF_PURPOSE: Final = b"planwerk csrf"


@dataclass(frozen=True, slots=True)
class SessionLimits:
    """How long a session lives."""

    idle: timedelta = timedelta(days=14)
    """Without use."""
    longest: timedelta = timedelta(days=90)
    """Since sign-in, however much it is used."""
    slide_every: timedelta = timedelta(minutes=10)
    """Use within this time of the last one writes nothing."""


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """A session as it is stored: found by the hash of its token."""

    hash: str
    account: AccountId
    created: datetime
    last_used: datetime
    expires: datetime


@dataclass(frozen=True, slots=True)
class Session:
    """A session as its browser gets it; the token goes into an HttpOnly cookie and nowhere else."""

    token: str = field(repr=False)
    csrf: str = field(repr=False)
    principal: Principal
    expires: datetime


def begin_session(token_hash: str, account: AccountId, now: datetime, limits: SessionLimits) -> SessionRecord:
    """A session that begins now."""
    return SessionRecord(token_hash, account, now, now, now + min(limits.idle, limits.longest))


def is_live(record: SessionRecord, now: datetime) -> bool:
    """Whether the session may still be used; its last moment is not part of it."""
    return now < record.expires


def slide(record: SessionRecord, now: datetime, limits: SessionLimits) -> SessionRecord | None:
    """The session with its end moved by this use, or None where nothing is worth writing."""
    if now - record.last_used < limits.slide_every:
        return None
    return replace(record, last_used=now, expires=min(now + limits.idle, record.created + limits.longest))


def csrf_token(token: str) -> str:
    """The CSRF token that belongs to a session's token."""
    digest = hmac.new(token.encode("utf-8", "surrogatepass"), _CSRF_PURPOSE, hashlib.sha256).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def csrf_matches(token: str, sent: str | None) -> bool:
    """Whether the CSRF token sent is this session's; takes the same time wherever they differ."""
    return hmac.compare_digest(csrf_token(token).encode(), (sent or "").encode("utf-8", "surrogatepass"))
