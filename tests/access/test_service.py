"""The handle, over both adapters: signing in, staying in, and being shut out."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest
from argon2 import PasswordHasher

from planwerk.access.actions import Action, Role
from planwerk.access.errors import (
    AccountDisabled,
    InvalidAccount,
    KeyRefused,
    LastOwner,
    LoginTaken,
    NotFound,
    NotSignedIn,
    SessionEnded,
    SignInLinkExpired,
    TooManyAttempts,
    WrongCredentials,
)
from planwerk.access.ids import DEFAULT_TENANT
from planwerk.access.keys import LOCAL_KEY
from planwerk.access.parts import AccessParts
from planwerk.access.passwords import Passwords
from planwerk.access.ports import Accounts
from planwerk.access.principal import Principal
from planwerk.access.service import AccessService
from tests.access.world import Clock, service_over

HERE = "192.0.2.1"
PASSWORD = "correct horse"


async def signed_in(access: AccessService, login: str = "ada", role: Role = Role.BUILDER) -> tuple[str, Principal]:
    """The token of a new session of a new account, and its principal."""
    await access.create_account(login, password=PASSWORD, role=role, name=login.title(), locale="de")
    session = await access.sign_in(login, PASSWORD, HERE)
    return session.token, session.principal


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


async def test_a_session_lives_on_while_it_is_used_and_ends_when_it_is_not(access: AccessService, clock: Clock) -> None:
    token, _ = await signed_in(access)
    for _ in range(3):
        clock.pass_(days=13)
        await access.principal_of_session(token)

    clock.pass_(days=14)

    with pytest.raises(SessionEnded):
        await access.principal_of_session(token)


async def test_no_session_outlives_ninety_days_however_much_it_is_used(access: AccessService, clock: Clock) -> None:
    token, _ = await signed_in(access)
    for _ in range(89):
        clock.pass_(days=1)
        await access.principal_of_session(token)

    clock.pass_(days=1)

    with pytest.raises(SessionEnded):
        await access.principal_of_session(token)


async def test_looking_after_an_open_stream_is_no_use_of_its_session(access: AccessService, clock: Clock) -> None:
    token, ada = await signed_in(access)
    for _ in range(13):
        clock.pass_(days=1)
        await access.recheck(ada)

    clock.pass_(days=1)

    with pytest.raises(SessionEnded):
        await access.recheck(ada)
    with pytest.raises(SessionEnded):
        await access.principal_of_session(token)


async def test_signing_out_ends_this_session_and_no_other(access: AccessService) -> None:
    token, _ = await signed_in(access)
    other = (await access.sign_in("ada", PASSWORD, HERE)).token

    await access.sign_out(token)
    await access.sign_out(token)

    with pytest.raises(SessionEnded):
        await access.principal_of_session(token)
    assert await access.principal_of_session(other)


async def test_signing_out_everywhere_ends_all_sessions_of_the_account(access: AccessService) -> None:
    token, ada = await signed_in(access)
    bobs, _ = await signed_in(access, "bob")

    await access.end_sessions(DEFAULT_TENANT, ada.account)

    with pytest.raises(SessionEnded):
        await access.principal_of_session(token)
    assert await access.principal_of_session(bobs)


Withdraw = Callable[[AccessService, Principal], Awaitable[object]]


WITHDRAWALS: dict[str, Withdraw] = {
    "disabled": lambda access, who: access.disable(who.tenant, who.account),
    "lesser role": lambda access, who: access.set_role(who.tenant, who.account, Role.MEMBER),
    "new password": lambda access, who: access.set_password(who.tenant, who.account, "new horses"),
}


@pytest.mark.parametrize("withdrawal", WITHDRAWALS)
async def test_rights_withdrawn_close_the_sessions(access: AccessService, withdrawal: str) -> None:
    token, ada = await signed_in(access)

    await WITHDRAWALS[withdrawal](access, ada)

    with pytest.raises(SessionEnded):
        await access.principal_of_session(token)
    with pytest.raises(SessionEnded):
        await access.recheck(ada)


async def test_a_mightier_role_another_name_and_language_count_at_once(access: AccessService) -> None:
    token, ada = await signed_in(access)

    await access.set_role(DEFAULT_TENANT, ada.account, Role.ADMIN)
    await access.set_name(DEFAULT_TENANT, ada.account, "Ada L.")
    await access.set_locale(DEFAULT_TENANT, ada.account, None)

    principal = await access.principal_of_session(token)
    assert (principal.role, principal.name, principal.locale) == (Role.ADMIN, "Ada L.", None)
    assert await access.recheck(ada) == principal


async def test_a_session_token_is_no_key_and_a_key_is_no_session_token(access: AccessService) -> None:
    token, ada = await signed_in(access)
    key = await access.create_key(ada, "laptop")

    with pytest.raises(KeyRefused):
        await access.principal_of_key(token)
    with pytest.raises(SessionEnded):
        await access.principal_of_session(key.text)


async def test_a_key_stands_for_its_account_narrowed_to_its_scopes(access: AccessService) -> None:
    _, ada = await signed_in(access)

    made = await access.create_key(ada, "laptop", scopes=frozenset({Action.V1_USE}))

    principal = await access.principal_of_key(made.text)
    assert (principal.account, principal.via, principal.credential) == (ada.account, "key", made.key.id)
    assert principal.scopes == frozenset({Action.V1_USE})
    assert await access.recheck(principal) == principal


async def test_a_narrow_key_makes_only_keys_as_narrow(access: AccessService) -> None:
    _, ada = await signed_in(access)
    made = await access.create_key(ada, "narrow", scopes=frozenset({Action.KEY_MANAGE}))
    narrow = await access.principal_of_key(made.text)

    whole = await access.create_key(narrow, "whole?")
    wider = await access.create_key(narrow, "wider?", scopes=frozenset({Action.KEY_MANAGE, Action.PROFILE_EDIT}))

    assert whole.key.scopes == wider.key.scopes == frozenset({Action.KEY_MANAGE})


async def test_a_key_is_refused_from_the_moment_it_expires(access: AccessService, clock: Clock) -> None:
    _, ada = await signed_in(access)
    made = await access.create_key(ada, "laptop", expires=clock() + timedelta(days=1))
    principal = await access.principal_of_key(made.text)

    clock.pass_(days=1)

    with pytest.raises(KeyRefused):
        await access.principal_of_key(made.text)
    with pytest.raises(KeyRefused):
        await access.recheck(principal)
    with pytest.raises(InvalidAccount):
        await access.create_key(ada, "late", expires=clock())


async def test_a_revoked_key_is_refused_and_stays_in_the_list(access: AccessService, clock: Clock) -> None:
    _, ada = await signed_in(access)
    made = await access.create_key(ada, "laptop")

    revoked = await access.revoke_key(DEFAULT_TENANT, made.key.id)

    assert revoked.revoked == clock()
    assert [key.revoked for key in await access.list_keys(DEFAULT_TENANT, ada.account)] == [clock()]
    with pytest.raises(KeyRefused):
        await access.principal_of_key(made.text)


async def test_a_disabled_accounts_keys_are_refused_until_it_is_enabled(access: AccessService) -> None:
    _, ada = await signed_in(access)
    made = await access.create_key(ada, "laptop")

    await access.disable(DEFAULT_TENANT, ada.account)
    with pytest.raises(KeyRefused):
        await access.principal_of_key(made.text)
    await access.disable(DEFAULT_TENANT, ada.account, disabled=False)

    assert await access.principal_of_key(made.text)


async def test_the_last_use_of_a_key_is_kept_to_the_minute(access: AccessService, clock: Clock) -> None:
    _, ada = await signed_in(access)
    made = await access.create_key(ada, "laptop")
    seen: list[object] = []
    for _ in range(4):
        await access.principal_of_key(made.text)
        seen.append((await access.key(DEFAULT_TENANT, made.key.id)).last_used)
        clock.pass_(seconds=30)

    begin = clock() - timedelta(minutes=2)
    assert seen == [begin, begin, begin + timedelta(minutes=1), begin + timedelta(minutes=1)]


@pytest.mark.parametrize("text", ["", "pw_", "pw_local_guess", "pw_000000000000_x", "x" * 100_000, "\ud800", "local"])
async def test_what_is_no_key_is_refused(access: AccessService, text: str) -> None:
    await access.set_local_key()

    with pytest.raises(KeyRefused):
        await access.principal_of_key(text)


async def test_the_key_printed_at_start_stands_for_the_local_owner_until_the_next_start(access: AccessService) -> None:
    first = await access.set_local_key()
    assert (await access.principal_of_key(first.text)).role is Role.OWNER

    second = await access.set_local_key()

    assert first.text.startswith("pw_local_")
    with pytest.raises(KeyRefused):
        await access.principal_of_key(first.text)
    assert (await access.principal_of_key(second.text)).credential == LOCAL_KEY


@pytest.mark.parametrize("text", ["secret", "pw_mine_secret", "sk-proj-123", "pw_local_x"])
async def test_the_operator_may_fix_the_printed_key_to_any_text(access: AccessService, text: str) -> None:
    await access.set_local_key(text)

    principal = await access.principal_of_key(text)

    assert (principal.name, principal.via) == ("Owner", "key")
    with pytest.raises(KeyRefused):
        await access.principal_of_key(text + "x")


async def test_the_installation_is_made_once_however_often_it_is_ensured(access: AccessService) -> None:
    again = await access.ensure_installation(owner_name="Somebody else")

    assert [account.id for account in await access.list_accounts()] == [again.id]
    assert (again.name, again.login, again.role) == ("Owner", "owner", Role.OWNER)
    assert (await access.local_principal()).account == again.id


async def test_before_the_installation_nobody_is_local(accounts: Accounts, clock: Clock) -> None:
    access = service_over(accounts, clock)

    for refused in (access.local_principal(), access.issue_local_token(), access.set_local_key()):
        with pytest.raises(NotSignedIn, match="planwerk serve"):
            await refused


async def test_serving_others_needs_an_enabled_account_with_a_password(access: AccessService) -> None:
    before = await access.can_sign_in_remotely()
    account = await access.create_account("ada", password=PASSWORD)
    with_account = await access.can_sign_in_remotely()
    await access.disable(DEFAULT_TENANT, account.id)

    assert (before, with_account, await access.can_sign_in_remotely()) == (False, True, False)


async def test_a_login_is_taken_whatever_its_case(access: AccessService) -> None:
    await access.create_account("ada")

    with pytest.raises(LoginTaken):
        await access.create_account(" ADA ")


UNACCEPTABLE: dict[str, Callable[[AccessService], Awaitable[object]]] = {
    "login": lambda access: access.create_account("a b"),
    "password": lambda access: access.create_account("ada", password="short"),
    "name": lambda access: access.create_account("ada", name="\n"),
    "locale": lambda access: access.create_account("ada", locale="klingon!"),
    "tenant": lambda access: access.ensure_tenant("No Slug"),
}


@pytest.mark.parametrize("field", UNACCEPTABLE)
async def test_what_is_not_acceptable_makes_nothing(access: AccessService, field: str) -> None:
    with pytest.raises(InvalidAccount) as refused:
        await UNACCEPTABLE[field](access)

    assert refused.value.field == field
    assert [account.login for account in await access.list_accounts()] == ["owner"]


async def test_the_last_owner_stays(access: AccessService) -> None:
    owner = (await access.local_principal()).account

    with pytest.raises(LastOwner):
        await access.set_role(DEFAULT_TENANT, owner, Role.MEMBER)
    with pytest.raises(LastOwner):
        await access.disable(DEFAULT_TENANT, owner)


async def test_nothing_of_another_tenant_can_be_named(access: AccessService) -> None:
    _, ada = await signed_in(access)
    made = await access.create_key(ada, "laptop")
    other = await access.ensure_tenant("other")
    bob = await access.create_account("bob", password=PASSWORD, role=Role.OWNER, tenant=other)
    bobs = (await access.sign_in("bob", PASSWORD, HERE)).principal

    for refused in (
        access.account(other, ada.account),
        access.account_by_login(other, "ada"),
        access.set_password(other, ada.account, "new horses"),
        access.set_role(other, ada.account, Role.MEMBER),
        access.disable(other, ada.account),
        access.set_locale(other, ada.account, "fr"),
        access.set_name(other, ada.account, "Bob"),
        access.end_sessions(other, ada.account),
        access.key(other, made.key.id),
        access.revoke_key(other, made.key.id),
        access.create_key(bobs, "as Ada", account=ada.account),
    ):
        with pytest.raises(NotFound):
            await refused

    assert bobs.tenant == other
    assert [account.id for account in await access.list_accounts(other)] == [bob.id]
    assert await access.list_keys(other) == []
    assert await access.recheck(ada) == ada
    assert await access.principal_of_key(made.text)


async def test_a_hundred_pairs_of_two_tenants_at_once_each_get_their_own(access: AccessService) -> None:
    other = await access.ensure_tenant("other")
    _, ada = await signed_in(access)
    bob = await access.create_account("bob", password=PASSWORD, tenant=other)
    adas = (await access.create_key(ada, "a")).text
    bobs = (await access.create_key((await access.sign_in("bob", PASSWORD, HERE)).principal, "b")).text

    got = await asyncio.gather(*(access.principal_of_key(text) for _ in range(100) for text in (adas, bobs)))

    assert [(who.tenant, who.account) for who in got] == [(DEFAULT_TENANT, ada.account), (other, bob.id)] * 100


async def test_no_secret_shows_in_a_repr_an_error_or_the_log(
    access: AccessService, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    await access.create_account("ada", password=PASSWORD)
    session = await access.sign_in("ada", PASSWORD, HERE)
    key = await access.create_key(session.principal, "laptop")
    token = await access.issue_local_token()
    shown = [repr(session), repr(key), repr(await access.list_accounts()), repr(session.principal)]
    for refused in (
        access.sign_in("ada", "wrong-horse", HERE),
        access.sign_in_with_token(token + "x"),
        access.principal_of_key(key.text + "x"),
        access.principal_of_session(session.token + "x"),
    ):
        with pytest.raises(NotSignedIn) as error:
            await refused
        shown += [str(error.value), repr(error.value)]

    text = " ".join([*shown, caplog.text])

    assert not [
        secret for secret in (PASSWORD, "wrong-horse", session.token, session.csrf, key.text, token) if secret in text
    ]
    assert "argon2" not in text
