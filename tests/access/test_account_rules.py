from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planwerk.access.accounts import (
    account_resource,
    change_disabled,
    change_password,
    change_role,
    check_password,
    clean_locale,
    clean_login,
    clean_name,
    parse_role,
)
from planwerk.access.actions import Role
from planwerk.access.errors import InvalidAccount, LastOwner
from tests.access.world import make_account


@pytest.mark.parametrize(
    ("written", "stored"),
    [("Ada", "ada"), ("  ada  ", "ada"), ("ADA@Example.ORG", "ada@example.org"), ("Ädä", "ädä"), ("ａｄａ", "ada")],
)
def test_a_login_is_compared_without_regard_to_case_and_width(written: str, stored: str) -> None:
    assert clean_login(written) == stored


@pytest.mark.parametrize(
    "written", ["", "   ", "a b", "a\x00b", "-ada", "@", "a/b", "a" * 129, "\ud800", "ada\n.", "a'--"]
)
def test_what_cannot_be_a_login_is_refused(written: str) -> None:
    with pytest.raises(InvalidAccount) as refused:
        clean_login(written)

    assert refused.value.field == "login"


@given(st.text())
def test_a_cleaned_login_stays_as_it_is_when_cleaned_again(text: str) -> None:
    try:
        once = clean_login(text)
    except InvalidAccount:
        return

    assert clean_login(once) == once


@pytest.mark.parametrize("written", ["", " ", "a\nb", "a\x00", "\udfff", "x" * 201])
def test_what_cannot_be_shown_as_a_name_is_refused(written: str) -> None:
    with pytest.raises(InvalidAccount):
        clean_name(written)


def test_a_name_keeps_its_letters_and_loses_the_space_around_it() -> None:
    assert clean_name("  Zoë Müller-O'Neil 李 ") == "Zoë Müller-O'Neil 李"


@pytest.mark.parametrize(
    ("tag", "fine"),
    [(None, True), ("de", True), ("de-CH", True), ("DE", False), ("de_CH", False), ("", False), ("d" * 40, False)],
)
def test_a_locale_is_a_language_tag_or_none(tag: str | None, fine: bool) -> None:
    if fine:
        assert clean_locale(tag) == tag
    else:
        with pytest.raises(InvalidAccount):
            clean_locale(tag)


@pytest.mark.parametrize(("length", "fine"), [(0, False), (7, False), (8, True), (1024, True), (1025, False)])
def test_a_password_has_8_to_1024_characters(length: int, fine: bool) -> None:
    if fine:
        check_password("x" * length)
    else:
        with pytest.raises(InvalidAccount, match=f"{length} characters"):
            check_password("x" * length)


def test_an_unknown_role_is_refused_with_the_roles_there_are() -> None:
    with pytest.raises(InvalidAccount, match="owner, admin, builder, member"):
        parse_role("root")

    assert parse_role("builder") is Role.BUILDER


@pytest.mark.parametrize(
    ("before", "after", "ends"),
    [
        (Role.ADMIN, Role.MEMBER, True),
        (Role.ADMIN, Role.BUILDER, True),
        (Role.ADMIN, Role.ADMIN, False),
        (Role.MEMBER, Role.OWNER, False),
    ],
)
def test_a_lesser_role_ends_the_sessions_and_a_mightier_one_does_not(before: Role, after: Role, ends: bool) -> None:
    change = change_role(make_account("ada", role=before), after, other_owners=1)

    assert (change.account.role, change.ends_sessions) == (after, ends)


def test_the_last_owner_stays_owner_and_enabled() -> None:
    owner = make_account("ada", role=Role.OWNER)

    with pytest.raises(LastOwner):
        change_role(owner, Role.ADMIN, other_owners=0)
    with pytest.raises(LastOwner):
        change_disabled(owner, True, other_owners=0)
    assert change_role(owner, Role.OWNER, other_owners=0).account == owner
    assert change_role(owner, Role.ADMIN, other_owners=1).account.role is Role.ADMIN
    assert change_disabled(owner, True, other_owners=1).account.disabled


def test_a_disabled_owner_may_lose_the_role_because_it_is_not_the_one_who_signs_in() -> None:
    disabled = dataclasses.replace(make_account("ada", role=Role.OWNER), disabled=True)

    assert change_role(disabled, Role.MEMBER, other_owners=0).account.role is Role.MEMBER


def test_disabling_and_a_new_password_end_the_sessions_and_enabling_does_not() -> None:
    ada = make_account("ada")

    assert change_disabled(ada, True, other_owners=0).ends_sessions
    assert not change_disabled(ada, False, other_owners=0).ends_sessions
    assert change_password(ada, "$new").ends_sessions


def test_an_account_counts_as_the_mightier_of_the_role_it_has_and_the_one_it_would_get() -> None:
    assert account_resource(make_account("a", role=Role.MEMBER), becoming=Role.OWNER).role is Role.OWNER
    assert account_resource(make_account("a", role=Role.OWNER), becoming=Role.MEMBER).role is Role.OWNER
    assert account_resource(make_account("a", role=Role.BUILDER)).role is Role.BUILDER


def test_an_accounts_password_hash_is_not_in_its_repr() -> None:
    account = dataclasses.replace(make_account("ada"), password_hash="$argon2id$secret")

    assert "argon2id" not in repr(account)
