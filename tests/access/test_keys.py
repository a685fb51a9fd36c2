"""API keys over both adapters."""

from __future__ import annotations

from datetime import timedelta

import pytest

from planwerk.access.actions import Action, Role
from planwerk.access.errors import (
    InvalidAccount,
    KeyRefused,
    SessionEnded,
)
from planwerk.access.ids import DEFAULT_TENANT
from planwerk.access.keys import LOCAL_KEY
from planwerk.access.service import AccessService
from tests.access.world import Clock, signed_in


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
