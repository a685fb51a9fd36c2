"""The installation, its accounts and its tenants, over both adapters."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

import pytest

from planwerk.access.actions import Role
from planwerk.access.errors import (
    InvalidAccount,
    LastOwner,
    LoginTaken,
    NotFound,
    NotSignedIn,
)
from planwerk.access.ids import DEFAULT_TENANT
from planwerk.access.ports import Accounts
from planwerk.access.service import AccessService
from tests.access.world import HERE, PASSWORD, Clock, service_over, signed_in


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
