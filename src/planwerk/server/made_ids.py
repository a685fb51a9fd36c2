"""Ids of ours for what clients name in their own way: conversations of a chat program, keys against doing twice."""

from __future__ import annotations

import hashlib

from planwerk.access.principal import Principal


def made_id(principal: Principal, source: str, text: str) -> str:
    """A UUIDv7 for a foreign name: always the same for this account, and never another account's."""
    digest = hashlib.sha256(f"{principal.tenant}/{principal.account}/{source}/{text}".encode()).hexdigest()
    variant = "89ab"[int(digest[16], 16) % 4]
    return f"{digest[:8]}-{digest[8:12]}-7{digest[13:16]}-{variant}{digest[17:20]}-{digest[20:32]}"
