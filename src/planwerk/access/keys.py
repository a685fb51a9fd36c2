"""API keys: `pw_<prefix>_<secret>`, stored as prefix and hash, shown once (S5.1).

One key is special: the **local key**, which `planwerk serve` prints for the local owner at each start. It has the
fixed id `local`, so a new one replaces it, and `--api-key` may give it any text: a text that names no stored prefix is
compared with it.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from planwerk.access.actions import Action, Resource
from planwerk.access.errors import InvalidAccount
from planwerk.access.ids import AccountId, KeyId, TenantId
from planwerk.access.tokens import LONGEST_SECRET, Entropy, hash_secret, make_secret

LOCAL_KEY: Final = KeyId("local")
MARK: Final = "pw"
PREFIX_BYTES: Final = 6
SAFE_LENGTH: Final = 20


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key as it is stored and listed."""

    id: KeyId
    tenant: TenantId
    account: AccountId
    name: str
    hash: str = field(repr=False)
    created: datetime
    scopes: frozenset[Action] | None = None
    """None: everything its account may do."""
    expires: datetime | None = None
    last_used: datetime | None = None
    revoked: datetime | None = None


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key just made: the only time its text is known."""

    key: ApiKey
    text: str = field(repr=False)


def make_key_text(entropy: Entropy, prefix: KeyId | None = None) -> tuple[KeyId, str]:
    """A new key's id and its whole text."""
    prefix = KeyId(entropy(PREFIX_BYTES).hex()) if prefix is None else prefix
    return prefix, f"{MARK}_{prefix}_{make_secret(entropy)}"


def key_id_of(text: str) -> KeyId:
    """Under which id a presented key is looked up first."""
    mark, _, rest = text.partition("_")
    prefix, parted, secret = rest.partition("_")
    return KeyId(prefix) if mark == MARK and parted and prefix.isascii() and prefix.isalnum() and secret else LOCAL_KEY


def key_matches(key: ApiKey, text: str) -> bool:
    """Whether the text is this key; takes the same time wherever they differ."""
    return hmac.compare_digest(key.hash, hash_secret(text))


def is_valid_key(key: ApiKey, now: datetime) -> bool:
    """Whether the key may be used now; the moment it expires it may not."""
    return key.revoked is None and (key.expires is None or now < key.expires)


def check_fixed_key(text: str) -> str:
    """The text as a key that an operator chose.

    Raises:
        InvalidAccount: It cannot be sent in a header, or is too long.
    """
    if not 0 < len(text) <= LONGEST_SECRET or not text.isascii() or not text.isprintable() or " " in text:
        raise InvalidAccount(
            "api_key",
            "The fixed API key cannot be sent in an HTTP header (S5.1).",
            what_to_do=f"Take 1 to {LONGEST_SECRET} visible ASCII characters without spaces, best made at random.",
        )
    return text


def is_guessable(text: str) -> bool:
    """Whether a fixed key is so short that it must not be served beyond this machine (S1.3)."""
    return len(text) < SAFE_LENGTH


def parse_scopes(names: Iterable[str]) -> frozenset[Action]:
    """The scopes of these names.

    Raises:
        InvalidAccount: One of them is none.
    """
    scopes: set[Action] = set()
    for name in names:
        try:
            scopes.add(Action(name))
        except ValueError:
            known = ", ".join(Action)
            raise InvalidAccount(
                "scopes", f"{name[:40]!r} is no scope (S5.1).", what_to_do=f"Take some of {known}."
            ) from None
    return frozenset(scopes)


def narrow(wanted: frozenset[Action] | None, limit: frozenset[Action] | None) -> frozenset[Action] | None:
    """The scopes of a key made by somebody who is limited: never more than the maker's own."""
    if limit is None:
        return wanted
    return limit if wanted is None else wanted & limit


def key_resource(key: ApiKey) -> Resource:
    """The key as `authorize` sees it."""
    return Resource("key", key.id, key.tenant, owner=key.account)
