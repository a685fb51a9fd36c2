"""Tenants and accounts: what they are, which values they take, and which changes are allowed."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from planwerk.access.actions import Resource, Role
from planwerk.access.errors import InvalidAccount, LastOwner
from planwerk.access.ids import AccountId, TenantId

LONGEST_LOGIN: Final = 128
LONGEST_NAME: Final = 200
SHORTEST_PASSWORD: Final = 8
LONGEST_PASSWORD: Final = 1024

_LOGIN: Final = re.compile(r"\w[\w.@+-]*")
_TENANT: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
_LOCALE: Final = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*")
_MIGHT: Final = {Role.MEMBER: 0, Role.BUILDER: 1, Role.ADMIN: 2, Role.OWNER: 3}


@dataclass(frozen=True, slots=True)
class Tenant:
    """A closed world of accounts, workspaces and profiles; nothing crosses it (S5.2)."""

    id: TenantId
    name: str
    created: datetime


@dataclass(frozen=True, slots=True)
class Account:
    """A person's account in one tenant. The login is unique in the whole installation."""

    id: AccountId
    tenant: TenantId
    login: str
    name: str
    role: Role
    created: datetime
    locale: str | None = None
    disabled: bool = False
    is_local_owner: bool = False
    """The account the one-time local token signs in; one per installation."""
    password_hash: str | None = field(default=None, repr=False)
    """None: this account cannot sign in by password."""


@dataclass(frozen=True, slots=True)
class AccountChange:
    """What an account becomes, and whether its sessions end with the change."""

    account: Account
    ends_sessions: bool = False


def parse_tenant(text: str) -> TenantId:
    """The tenant with this slug.

    Raises:
        InvalidAccount: It is no slug.
    """
    if _TENANT.fullmatch(text) is None:
        raise InvalidAccount(
            "tenant",
            f"{text[:40]!r} cannot be a tenant (S5.2).",
            what_to_do="Take a slug of 1 to 63 of a-z, 0-9 and -, beginning with a letter or digit.",
        )
    return TenantId(text)


def clean_login(text: str) -> str:
    """The login in the form that is stored and compared: NFKC, without case.

    Raises:
        InvalidAccount: Empty, too long, or with characters other than letters, digits and `. @ + - _`.
    """
    login = unicodedata.normalize("NFKC", text.strip()).casefold()
    if len(login) > LONGEST_LOGIN or _LOGIN.fullmatch(login) is None:
        raise InvalidAccount(
            "login",
            f"{text[:40]!r} cannot be a login (S5.1).",
            what_to_do=f"Take 1 to {LONGEST_LOGIN} letters, digits or . @ + - _, beginning with a letter or digit.",
        )
    return login


def clean_name(text: str) -> str:
    """The name as it is shown: one line, trimmed.

    Raises:
        InvalidAccount: Empty, too long, or with control characters or half characters.
    """
    name = unicodedata.normalize("NFC", text.strip())
    if not 0 < len(name) <= LONGEST_NAME or any(unicodedata.category(char) in {"Cc", "Cs"} for char in name):
        raise InvalidAccount(
            "name",
            f"{text[:40]!r} cannot be a name.",
            what_to_do=f"Take one line of 1 to {LONGEST_NAME} characters.",
        )
    return name


def clean_locale(text: str | None) -> str | None:
    """The locale, or None to follow the browser.

    Raises:
        InvalidAccount: Not a language tag such as `de` or `de-CH`.
    """
    if text is not None and (len(text) > 35 or _LOCALE.fullmatch(text) is None):
        raise InvalidAccount(
            "locale", f"{text[:40]!r} is no language tag.", what_to_do="Take a tag such as 'de' or 'de-CH'."
        )
    return text


def parse_role(text: str) -> Role:
    """The role of this name.

    Raises:
        InvalidAccount: There is none.
    """
    try:
        return Role(text)
    except ValueError:
        names = ", ".join(Role)
        raise InvalidAccount("role", f"{text[:40]!r} is no role (S5.2).", what_to_do=f"Take one of {names}.") from None


def check_password(password: str) -> None:
    """Refuse a password that is too short to resist guessing, or too long to be one.

    Raises:
        InvalidAccount: It has fewer than 8 or more than 1,024 characters.
    """
    if not SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD:
        raise InvalidAccount(
            "password",
            f"The password has {len(password)} characters (S5.1: {SHORTEST_PASSWORD} to {LONGEST_PASSWORD}).",
            what_to_do="Take a longer one; a few random words are good."
            if len(password) < 9
            else "Take a shorter one.",
        )


def change_password(account: Account, password_hash: str) -> AccountChange:
    """A new password ends what was signed in with the old one."""
    return AccountChange(replace(account, password_hash=password_hash), ends_sessions=True)


def change_role(account: Account, role: Role, *, other_owners: int) -> AccountChange:
    """Another role; a lesser one ends the sessions, so that nothing opened with the old rights stays open.

    Args:
        other_owners: Enabled owners of the tenant beside this account.

    Raises:
        LastOwner: The tenant would have none.
    """
    if account.role is Role.OWNER and role is not Role.OWNER and not account.disabled and other_owners == 0:
        raise LastOwner(account.login)
    return AccountChange(replace(account, role=role), ends_sessions=_MIGHT[role] < _MIGHT[account.role])


def change_disabled(account: Account, disabled: bool, *, other_owners: int) -> AccountChange:
    """Disable or enable.

    Args:
        other_owners: Enabled owners of the tenant beside this account.

    Raises:
        LastOwner: The tenant would have none.
    """
    if disabled and account.role is Role.OWNER and other_owners == 0:
        raise LastOwner(account.login)
    return AccountChange(replace(account, disabled=disabled), ends_sessions=disabled)


def account_resource(account: Account, *, becoming: Role | None = None) -> Resource:
    """The account as `authorize` sees it.

    Args:
        becoming: The role a change would give it; the mightier of both decides who may make the change.
    """
    role = max(account.role, becoming or account.role, key=_MIGHT.__getitem__)
    return Resource("account", account.id, account.tenant, owner=account.id, role=role)
