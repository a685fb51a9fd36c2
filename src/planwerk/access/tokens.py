"""Secrets that are shown once and stored as hashes only, and the one-time sign-in token (S5.1).

All of them carry 256 random bits, so a fast hash is enough to store: there is nothing to guess. They are found by
that hash, never compared character by character.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, TypeAlias

from planwerk.access.ids import AccountId

Entropy: TypeAlias = Callable[[int], bytes]
"""Gives this many random bytes, such as `secrets.token_bytes`."""

SECRET_BYTES: Final = 32
LONGEST_SECRET: Final = 512
SIGN_IN_TOKEN_LIFE: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class SignInToken:
    """A one-time token as it is stored."""

    hash: str
    account: AccountId
    expires: datetime


def make_secret(entropy: Entropy) -> str:
    """A new secret in URL-safe text of 43 characters."""
    return base64.urlsafe_b64encode(entropy(SECRET_BYTES)).rstrip(b"=").decode()


def hash_secret(secret: str) -> str:
    """The SHA-256 of a secret in hex, which is what is stored of it."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def is_plausible(secret: str) -> bool:
    """Whether the text can be a secret at all, so that megabytes of cookie are not hashed."""
    return 0 < len(secret) <= LONGEST_SECRET
