"""Password hashes by argon2id, made and checked in threads so that the loop never waits for one (S5.1)."""

from __future__ import annotations

import asyncio
import base64
import secrets
import unicodedata
from typing import Final

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

AT_ONCE: Final = 2
"""Each check holds the hash's memory (64 MiB by default); a burst of sign-ins queues instead."""


class Passwords:
    """Hashes and checks passwords with the parameters of this installation.

    Args:
        hasher: argon2's own defaults follow RFC 9106; tests pass a cheap one.
    """

    def __init__(self, hasher: PasswordHasher | None = None) -> None:
        self._hasher = hasher or PasswordHasher()
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._decoy = _decoy(self._hasher)

    async def hash(self, password: str) -> str:
        """The hash to store."""
        async with self._turns:
            return await asyncio.to_thread(self._hasher.hash, _prepared(password))

    async def verify(self, password_hash: str | None, password: str) -> bool:
        """Whether the password belongs to the hash; without a hash the same work is done and the answer is no."""
        async with self._turns:
            right = await asyncio.to_thread(self._verify, password_hash or self._decoy, _prepared(password))
        return right and password_hash is not None

    def needs_rehash(self, password_hash: str) -> bool:
        """Whether the hash was made with other parameters than today's."""
        return self._hasher.check_needs_rehash(password_hash)

    def _verify(self, password_hash: str, password: bytes) -> bool:
        try:
            return self._hasher.verify(password_hash, password)
        except (VerificationError, InvalidHashError):
            return False


def _prepared(password: str) -> bytes:
    """One form for a password typed on different systems (NIST SP 800-63B); half characters pass as they are."""
    return unicodedata.normalize("NFKC", password).encode("utf-8", "surrogatepass")


def _decoy(hasher: PasswordHasher) -> str:
    """A hash with this hasher's parameters that no password has: checking it costs what a real check costs."""
    salt, digest = (
        base64.b64encode(secrets.token_bytes(size)).rstrip(b"=").decode() for size in (hasher.salt_len, hasher.hash_len)
    )
    cost = f"m={hasher.memory_cost},t={hasher.time_cost},p={hasher.parallelism}"
    return f"$argon2id$v=19${cost}${salt}${digest}"
