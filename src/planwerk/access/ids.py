"""Ids of this room, one `NewType` per kind; the values are made by drivers, never by rules."""

from __future__ import annotations

from typing import Final, NewType

TenantId = NewType("TenantId", str)
"""A slug, such as `default`."""

AccountId = NewType("AccountId", str)
"""A UUIDv7; also the `id` of the account's `UserActor` and `UserIdentity`."""

KeyId = NewType("KeyId", str)
"""The public part of an API key: what stands between `pw_` and the second underscore."""

DEFAULT_TENANT: Final = TenantId("default")
"""The one tenant of a new installation (S5.2)."""
