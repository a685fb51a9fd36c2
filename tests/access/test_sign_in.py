"""Coming in by password and by one-time token, over both adapters."""

from __future__ import annotations

import asyncio

import pytest
from argon2 import PasswordHasher

from planwerk.access.actions import Role
from planwerk.access.errors import (
    AccountDisabled,
    SessionEnded,
    SignInLinkExpired,
    TooManyAttempts,
    WrongCredentials,
)
from planwerk.access.ids import DEFAULT_TENANT
from planwerk.access.parts import AccessParts
from planwerk.access.passwords import Passwords
from planwerk.access.ports import Accounts
from planwerk.access.service import AccessService
from tests.access.world import HERE, PASSWORD, Clock, service_over, signed_in


async def test_a_right_password_opens_a_session_that_names_the_account(access: AccessService) -> None:
    account = await access.create_account("Ada", password=PASSWORD, role=Role.BUILDER, locale="de")

    session = await access.sign_in("  ADA ", PASSWORD, HERE)

    principal = await access.principal_of_session(session.token)
    assert principal == session.principal
    assert (principal.account, principal.tenant, principal.role) == (account.id, DEFAULT_TENANT, Role.BUILDER)
    assert (principal.locale, principal.scopes, principal.via) == ("de", None, "session")
    assert principal.actor().id == account.id == principal.identity().id


@pytest.mark.parametrize(
    ("login", "password"),
    [
        ("ada", "wrong horse"),
        ("nobody", PASSWORD),
        ("owner", PASSWORD),  # has no password yet
        ("ada", ""),
        ("", PASSWORD),
        ("\ud800", "\ud800"),
        ("ada", "x" * 10_000_000),
        ("a'; DROP TABLE accounts; --", PASSWORD),
    ],
)
async def test_whatever_is_wrong_the_answer_is_the_same(access: AccessService, login: str, password: str) -> None:
    await access.create_account("ada", password=PASSWORD)

    with pytest.raises(WrongCredentials) as refused:
        await access.sign_in(login, password, HERE)

    assert str(refused.value) == str(WrongCredentials())


async def test_an_unknown_login_costs_a_hash_as_a_known_one_does(accounts: Accounts, clock: Clock) -> None:
    hashed: list[str] = []

    class Counting(Passwords):
        async def verify(self, password_hash: str | None, password: str) -> bool:
            hashed.append(password)
            return await super().verify(password_hash, password)

    cheap = Counting(PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
    access = AccessService(AccessParts(accounts, clock=clock, passwords=cheap))
    await access.ensure_installation()

    for login in ("owner", "nobody", "not a login"):
        with pytest.raises(WrongCredentials):
            await access.sign_in(login, PASSWORD, HERE)

    assert hashed == [PASSWORD] * 3


async def test_guessing_is_slowed_down_and_opens_again_by_itself(access: AccessService, clock: Clock) -> None:
    await access.create_account("ada", password=PASSWORD)
    for _ in range(5):
        with pytest.raises(WrongCredentials):
            await access.sign_in("ada", "guess", HERE)

    with pytest.raises(TooManyAttempts) as refused:
        await access.sign_in("ADA", PASSWORD, HERE)

    clock.pass_(seconds=refused.value.retry_after_seconds)
    assert (await access.sign_in("ada", PASSWORD, HERE)).principal.name == "ada"


async def test_a_hundred_guesses_at_once_are_not_all_looked_at(access: AccessService) -> None:
    await access.create_account("ada", password=PASSWORD)

    results = await asyncio.gather(
        *(access.sign_in("ada", f"guess {number}", HERE) for number in range(100)), return_exceptions=True
    )

    assert [type(result) for result in results].count(WrongCredentials) == 5
    assert [type(result) for result in results].count(TooManyAttempts) == 95


async def test_a_disabled_account_is_told_so_only_with_the_right_password(access: AccessService) -> None:
    account = await access.create_account("ada", password=PASSWORD)
    await access.disable(DEFAULT_TENANT, account.id)

    with pytest.raises(WrongCredentials):
        await access.sign_in("ada", "guess", HERE)
    with pytest.raises(AccountDisabled):
        await access.sign_in("ada", PASSWORD, HERE)


async def test_a_password_hashed_at_an_older_cost_is_hashed_anew_at_sign_in(accounts: Accounts, clock: Clock) -> None:
    old = service_over(accounts, clock)
    await old.ensure_installation()
    await old.create_account("ada", password=PASSWORD)
    dearer = Passwords(PasswordHasher(time_cost=2, memory_cost=16, parallelism=1))
    access = AccessService(AccessParts(accounts, clock=clock, passwords=dearer))

    token = (await access.sign_in("ada", PASSWORD, HERE)).token

    stored = await accounts.account_by_login("ada")
    assert stored is not None
    assert "m=16,t=2,p=1" in str(stored.password_hash)
    assert await access.principal_of_session(token)
    assert await access.sign_in("ada", PASSWORD, HERE)


async def test_a_password_changed_while_the_old_one_is_checked_lets_nobody_in(accounts: Accounts, clock: Clock) -> None:
    checked, go_on = asyncio.Event(), asyncio.Event()

    class Slow(Passwords):
        async def verify(self, password_hash: str | None, password: str) -> bool:
            right = await super().verify(password_hash, password)
            checked.set()
            await go_on.wait()
            return right

    slow = Slow(PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
    access = AccessService(AccessParts(accounts, clock=clock, passwords=slow))
    await access.ensure_installation()
    account = await access.create_account("ada", password=PASSWORD)
    signing_in = asyncio.create_task(access.sign_in("ada", PASSWORD, HERE))
    await checked.wait()

    await access.set_password(DEFAULT_TENANT, account.id, "another horse")
    go_on.set()

    with pytest.raises(SessionEnded):
        await signing_in


async def test_the_one_time_token_signs_in_the_local_owner_once(access: AccessService) -> None:
    token = await access.issue_local_token()

    session = await access.sign_in_with_token(token)

    assert (session.principal.role, session.principal.name) == (Role.OWNER, "Owner")
    with pytest.raises(SignInLinkExpired):
        await access.sign_in_with_token(token)
    assert await access.principal_of_session(session.token) == session.principal


async def test_a_newer_one_time_token_replaces_the_one_before(access: AccessService) -> None:
    first = await access.issue_local_token()
    second = await access.issue_local_token()

    with pytest.raises(SignInLinkExpired):
        await access.sign_in_with_token(first)
    assert await access.sign_in_with_token(second)


async def test_a_one_time_token_lives_an_hour(access: AccessService, clock: Clock) -> None:
    token = await access.issue_local_token()

    clock.pass_(hours=1)

    with pytest.raises(SignInLinkExpired):
        await access.sign_in_with_token(token)


@pytest.mark.parametrize("token", ["", "x", "x" * 10_000, "\ud800"])
async def test_what_is_no_one_time_token_is_refused(access: AccessService, token: str) -> None:
    with pytest.raises(SignInLinkExpired):
        await access.sign_in_with_token(token)


async def test_a_disabled_local_owner_gets_no_token_and_no_way_in(access: AccessService) -> None:
    _, ada = await signed_in(access, role=Role.OWNER)
    token = await access.issue_local_token()
    owner = await access.account_by_login(DEFAULT_TENANT, "owner")

    await access.disable(DEFAULT_TENANT, owner.id)

    with pytest.raises(AccountDisabled):
        await access.sign_in_with_token(token)
    for refused in (access.issue_local_token(), access.local_principal(), access.set_local_key()):
        with pytest.raises(AccountDisabled):
            await refused
    assert await access.recheck(ada) == ada
