"""What the handles of this room share, and how a stored account becomes a principal."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from planwerk.access.accounts import Account
from planwerk.access.actions import Action
from planwerk.access.errors import NotFound
from planwerk.access.ids import AccountId, TenantId
from planwerk.access.passwords import Passwords
from planwerk.access.ports import Accounts
from planwerk.access.principal import Principal, Via
from planwerk.access.sessions import SessionLimits
from planwerk.access.throttle import SignInThrottle
from planwerk.access.tokens import SIGN_IN_TOKEN_LIFE, Entropy


def utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class AccessParts:
    """The port, and what drivers give: time, randomness, the work of hashing."""

    accounts: Accounts
    clock: Callable[[], datetime] = utc_now
    entropy: Entropy = secrets.token_bytes
    passwords: Passwords = field(default_factory=Passwords)
    throttle: SignInThrottle = field(default_factory=SignInThrottle)
    session_limits: SessionLimits = field(default_factory=SessionLimits)
    sign_in_token_life: timedelta = SIGN_IN_TOKEN_LIFE


def principal_of(
    account: Account, via: Via, credential: str = "", scopes: frozenset[Action] | None = None
) -> Principal:
    """The account as it is now, at work through this credential."""
    return Principal(
        account.tenant, account.id, account.name, account.role, account.locale, scopes, via=via, credential=credential
    )


async def account_in(parts: AccessParts, tenant: TenantId, account: AccountId) -> Account:
    """The account of this tenant.

    Raises:
        NotFound: There is none, or it is another tenant's.
    """
    found = await parts.accounts.account(account)
    if found is None or found.tenant != tenant:
        raise NotFound("account", account)
    return found
