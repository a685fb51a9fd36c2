"""Staying in, and being shut out: sessions over both adapters."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from planwerk.access.actions import Role
from planwerk.access.errors import (
    SessionEnded,
)
from planwerk.access.ids import DEFAULT_TENANT
from planwerk.access.principal import Principal
from planwerk.access.service import AccessService
from tests.access.world import HERE, PASSWORD, Clock, signed_in


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
