"""One behaviour suite for every adapter of the `Accounts` port."""

from __future__ import annotations

import asyncio
import dataclasses
from datetime import timedelta
from pathlib import Path

import pytest

from planwerk.access.accounts import Account, AccountChange, change_disabled
from planwerk.access.actions import Action, Role
from planwerk.access.errors import LastOwner, LoginTaken
from planwerk.access.ids import DEFAULT_TENANT, AccountId, KeyId
from planwerk.access.keys import ApiKey
from planwerk.access.ports import Accounts
from planwerk.access.sessions import SessionRecord
from planwerk.access.tokens import SignInToken
from planwerk.storage.migrate import upgrade
from planwerk.storage.sqlite.accounts import SqliteAccounts
from planwerk.storage.sqlite.database import SqliteDatabase
from tests.access.world import BEGIN, OTHER_TENANT, make_account, tenant

HOUR = timedelta(hours=1)
OWNER = dataclasses.replace(make_account("owner", role=Role.OWNER), is_local_owner=True)


@pytest.fixture
async def installed(accounts: Accounts) -> Accounts:
    await accounts.install(tenant(), OWNER)
    return accounts


def session(account: Account, token_hash: str = "h1") -> SessionRecord:
    return SessionRecord(token_hash, account.id, BEGIN, BEGIN, BEGIN + HOUR)


def key(account: Account, name: str = "k1") -> ApiKey:
    return ApiKey(KeyId(name), account.tenant, account.id, name, "hash", BEGIN)


async def test_of_many_installations_at_once_one_makes_the_owner_and_all_get_the_same(accounts: Accounts) -> None:
    candidates = [dataclasses.replace(OWNER, id=AccountId(f"a{number}")) for number in range(5)]

    made = await asyncio.gather(*(accounts.install(tenant(), candidate) for candidate in candidates))

    assert len({account.id for account in made}) == 1
    assert await accounts.accounts(DEFAULT_TENANT) == [made[0]]
    assert await accounts.local_owner() == made[0]


async def test_installing_again_keeps_the_owner_as_it_was_changed(installed: Accounts) -> None:
    await installed.change_account(OWNER.id, lambda stored, _: AccountChange(dataclasses.replace(stored, name="Ada")))

    again = await installed.install(tenant(), dataclasses.replace(OWNER, id=AccountId("new"), login="new"))

    assert (again.id, again.name) == (OWNER.id, "Ada")


async def test_an_account_is_read_back_as_it_was_added(installed: Accounts) -> None:
    account = dataclasses.replace(make_account("ada", role=Role.BUILDER), locale="de-CH", password_hash="$argon2")

    await installed.add_account(account)

    assert await installed.account(account.id) == account
    assert await installed.account_by_login("ada") == account
    assert await installed.accounts(DEFAULT_TENANT) == [OWNER, account]


async def test_a_login_is_taken_once_in_the_installation(installed: Accounts) -> None:
    with pytest.raises(LoginTaken):
        await installed.add_account(make_account("owner"))

    assert await installed.accounts(DEFAULT_TENANT) == [OWNER]


async def test_a_tenant_has_its_own_accounts_and_being_made_again_changes_nothing(installed: Accounts) -> None:
    stranger = make_account("stranger", tenant=OTHER_TENANT)
    await installed.add_tenant(tenant(OTHER_TENANT))
    await installed.add_account(stranger)

    await installed.add_tenant(tenant(OTHER_TENANT))

    assert await installed.accounts(OTHER_TENANT) == [stranger]
    assert await installed.accounts(DEFAULT_TENANT) == [OWNER]


async def test_what_is_not_there_is_none(installed: Accounts) -> None:
    nobody = AccountId("nobody")

    assert await installed.account(nobody) is None
    assert await installed.account_by_login("nobody") is None
    assert await installed.accounts(OTHER_TENANT) == []
    assert await installed.change_account(nobody, lambda stored, _: AccountChange(stored)) is None
    assert await installed.key(KeyId("none")) is None
    assert await installed.session("none") is None


async def test_a_change_that_is_refused_changes_nothing(installed: Accounts) -> None:
    await installed.put_session(session(OWNER))

    with pytest.raises(LastOwner):
        await installed.change_account(
            OWNER.id, lambda stored, others: change_disabled(stored, True, other_owners=others)
        )

    assert await installed.account(OWNER.id) == OWNER
    assert await installed.session("h1") is not None


async def test_two_owners_who_disable_each_other_at_once_leave_one(installed: Accounts) -> None:
    second = make_account("second", role=Role.OWNER)
    await installed.add_account(second)

    results = await asyncio.gather(
        *(
            installed.change_account(who.id, lambda stored, others: change_disabled(stored, True, other_owners=others))
            for who in (OWNER, second)
        ),
        return_exceptions=True,
    )

    assert [type(result) for result in results] == [Account, LastOwner]


async def test_disabled_lesser_and_other_accounts_do_not_count_as_other_owners(installed: Accounts) -> None:
    counts: list[int] = []
    for account in (
        make_account("admin", role=Role.ADMIN),
        dataclasses.replace(make_account("off", role=Role.OWNER), disabled=True),
    ):
        await installed.add_account(account)

    def count(stored: Account, others: int) -> AccountChange:
        counts.append(others)
        return AccountChange(stored)

    await installed.change_account(OWNER.id, count)
    await installed.add_account(make_account("second", role=Role.OWNER))
    await installed.change_account(OWNER.id, count)

    assert counts == [0, 1]


async def test_a_change_may_end_the_sessions_of_its_account_and_of_no_other(installed: Accounts) -> None:
    other = make_account("other")
    await installed.add_account(other)
    await installed.put_session(session(OWNER, "h1"))
    await installed.put_session(session(other, "h2"))

    await installed.change_account(OWNER.id, lambda stored, _: AccountChange(stored, ends_sessions=True))

    assert await installed.session("h1") is None
    assert await installed.session("h2") == session(other, "h2")


@pytest.mark.parametrize("scopes", [None, frozenset[Action](), frozenset({Action.V1_USE, Action.PROFILE_USE})])
async def test_a_key_is_read_back_as_it_was_stored(installed: Accounts, scopes: frozenset[Action] | None) -> None:
    stored = dataclasses.replace(key(OWNER), scopes=scopes, expires=BEGIN + HOUR, last_used=BEGIN)

    await installed.put_key(stored)

    assert await installed.key(stored.id) == stored


async def test_a_key_stored_under_the_same_id_replaces_the_one_before(installed: Accounts) -> None:
    await installed.put_key(key(OWNER))
    await installed.put_key(dataclasses.replace(key(OWNER), hash="another"))

    assert [each.hash for each in await installed.keys(DEFAULT_TENANT)] == ["another"]


async def test_keys_are_listed_by_tenant_and_by_account_in_it(installed: Accounts) -> None:
    other = make_account("other")
    await installed.add_account(other)
    await installed.put_key(key(OWNER, "k1"))
    await installed.put_key(key(other, "k2"))

    assert [each.id for each in await installed.keys(DEFAULT_TENANT)] == ["k1", "k2"]
    assert [each.id for each in await installed.keys(DEFAULT_TENANT, other.id)] == ["k2"]
    assert await installed.keys(OTHER_TENANT) == []
    assert await installed.keys(OTHER_TENANT, other.id) == []


async def test_a_key_is_revoked_once(installed: Accounts) -> None:
    await installed.put_key(key(OWNER))

    await installed.revoke_key(KeyId("k1"), BEGIN)
    await installed.revoke_key(KeyId("k1"), BEGIN + HOUR)
    await installed.revoke_key(KeyId("unknown"), BEGIN)

    assert await installed.key(KeyId("k1")) == dataclasses.replace(key(OWNER), revoked=BEGIN)


async def test_the_last_use_of_a_key_never_moves_back(installed: Accounts) -> None:
    await installed.put_key(key(OWNER))

    await installed.touch_key(KeyId("k1"), BEGIN + HOUR)
    await installed.touch_key(KeyId("k1"), BEGIN)

    assert await installed.key(KeyId("k1")) == dataclasses.replace(key(OWNER), last_used=BEGIN + HOUR)


async def test_a_session_is_extended_but_not_brought_back(installed: Accounts) -> None:
    longer = dataclasses.replace(session(OWNER), last_used=BEGIN + HOUR, expires=BEGIN + 2 * HOUR)
    await installed.put_session(session(OWNER))

    await installed.extend_session(longer)
    extended = await installed.session("h1")
    await installed.end_session("h1")
    await installed.extend_session(longer)

    assert extended == longer
    assert await installed.session("h1") is None


async def test_all_sessions_of_an_account_end_together(installed: Accounts) -> None:
    for token_hash in ("h1", "h2"):
        await installed.put_session(session(OWNER, token_hash))

    await installed.end_sessions(OWNER.id)

    assert [await installed.session(token_hash) for token_hash in ("h1", "h2")] == [None, None]


async def test_of_many_who_show_a_one_time_token_one_gets_in(installed: Accounts) -> None:
    await installed.put_sign_in_token(SignInToken("t1", OWNER.id, BEGIN + HOUR))

    got = await asyncio.gather(*(installed.take_sign_in_token("t1", BEGIN) for _ in range(5)))

    assert sorted(str(account) for account in got) == sorted([OWNER.id, "None", "None", "None", "None"])


async def test_a_newer_one_time_token_replaces_those_before_it(installed: Accounts) -> None:
    await installed.put_sign_in_token(SignInToken("t1", OWNER.id, BEGIN + HOUR))
    await installed.put_sign_in_token(SignInToken("t2", OWNER.id, BEGIN + HOUR))

    assert await installed.take_sign_in_token("t1", BEGIN) is None
    assert await installed.take_sign_in_token("t2", BEGIN) == OWNER.id


async def test_a_one_time_token_is_worth_nothing_from_the_moment_it_expires(installed: Accounts) -> None:
    await installed.put_sign_in_token(SignInToken("t1", OWNER.id, BEGIN + HOUR))

    assert await installed.take_sign_in_token("t1", BEGIN + HOUR) is None


async def test_purging_forgets_what_expired_and_nothing_else(installed: Accounts) -> None:
    living = dataclasses.replace(session(OWNER, "h2"), expires=BEGIN + 3 * HOUR)
    await installed.put_session(session(OWNER, "h1"))
    await installed.put_session(living)
    await installed.put_sign_in_token(SignInToken("t1", OWNER.id, BEGIN + 3 * HOUR))

    await installed.purge(BEGIN + HOUR)

    assert await installed.session("h1") is None
    assert await installed.session("h2") == living
    assert await installed.take_sign_in_token("t1", BEGIN + HOUR) == OWNER.id


async def test_a_file_opened_again_still_has_everything(tmp_path: Path) -> None:
    path = tmp_path / "planwerk.db"
    upgrade(path)
    database = SqliteDatabase(path)
    first = SqliteAccounts(database)
    await first.install(tenant(), OWNER)
    await first.put_key(key(OWNER))
    await first.put_session(session(OWNER))
    await database.close()

    database = SqliteDatabase(path)
    second = SqliteAccounts(database)

    assert await second.local_owner() == OWNER
    assert await second.keys(DEFAULT_TENANT) == [key(OWNER)]
    assert await second.session("h1") == session(OWNER)
    await database.close()


async def test_a_scope_that_only_a_later_release_knows_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "planwerk.db"
    upgrade(path)
    database = SqliteDatabase(path)
    accounts = SqliteAccounts(database)
    await accounts.install(tenant(), OWNER)
    await accounts.put_key(dataclasses.replace(key(OWNER), scopes=frozenset({Action.V1_USE})))
    await database.write(
        lambda connection: connection.execute("""UPDATE api_keys SET scopes = '["v1.use", "moon.fly"]'""")
    )

    stored = await accounts.key(KeyId("k1"))

    assert stored is not None
    assert stored.scopes == frozenset({Action.V1_USE})
    await database.close()
