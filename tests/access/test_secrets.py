"""Passwords, keys, tokens and sessions as rules: how they are made, compared, and never shown."""

from __future__ import annotations

import asyncio
import dataclasses
from datetime import datetime, timedelta
from typing import Literal

import pytest
from argon2 import PasswordHasher
from hypothesis import given
from hypothesis import strategies as st

from planwerk.access.actions import Action
from planwerk.access.errors import InvalidAccount
from planwerk.access.ids import DEFAULT_TENANT, AccountId, KeyId
from planwerk.access.keys import (
    LOCAL_KEY,
    ApiKey,
    NewKey,
    check_fixed_key,
    is_guessable,
    is_valid_key,
    key_id_of,
    key_matches,
    make_key_text,
    narrow,
    parse_scopes,
)
from planwerk.access.passwords import Passwords
from planwerk.access.sessions import SessionLimits, begin_session, csrf_matches, csrf_token, is_live, slide
from planwerk.access.tokens import hash_secret, is_plausible, make_secret
from tests.access.world import BEGIN, cheap_passwords

ADA = AccountId("ada")
DAY = timedelta(days=1)
LIMITS = SessionLimits(idle=10 * DAY, longest=30 * DAY, slide_every=timedelta(minutes=10))
SCOPES = st.none() | st.frozensets(st.sampled_from(list(Action)))


def fixed_bytes(size: int) -> bytes:
    return bytes(range(size))


def key_of(text: str) -> ApiKey:
    return ApiKey(KeyId("k"), DEFAULT_TENANT, ADA, "k", hash_secret(text), BEGIN)


async def test_a_password_is_right_only_for_its_own_hash() -> None:
    passwords = cheap_passwords()
    stored = await passwords.hash("correct horse")

    assert await passwords.verify(stored, "correct horse")
    assert not await passwords.verify(stored, "correct horsf")
    assert not await passwords.verify("no hash at all", "correct horse")


async def test_the_hash_is_argon2id_with_the_parameters_of_rfc_9106() -> None:
    stored = await Passwords().hash("correct horse")

    assert stored.startswith("$argon2id$v=19$m=65536,t=3,p=4$")


async def test_a_password_typed_in_another_form_of_unicode_is_the_same() -> None:
    passwords = cheap_passwords()

    assert await passwords.verify(await passwords.hash("Zoe\u0308 12345"), "Zo\u00eb 12345")


async def test_half_a_character_in_a_password_is_no_error() -> None:
    passwords = cheap_passwords()

    assert not await passwords.verify(await passwords.hash("correct horse"), "\ud800")


class CountingHasher(PasswordHasher):
    """Counts what is really computed."""

    def __init__(self) -> None:
        super().__init__(time_cost=1, memory_cost=8, parallelism=1)
        self.verified: list[str] = []

    def verify(self, hash: str | bytes, password: str | bytes) -> Literal[True]:  # noqa: A002 # argon2's name
        self.verified.append(str(hash))
        return super().verify(hash, password)


async def test_without_a_hash_the_same_work_is_done_with_the_same_parameters_and_the_answer_is_no() -> None:
    hasher = CountingHasher()
    passwords = Passwords(hasher)

    right = await passwords.verify(None, "correct horse")

    real, decoy = (await passwords.hash("x")).split("$"), hasher.verified[0].split("$")
    assert not right
    assert [decoy[1:4], len(decoy[4]), len(decoy[5])] == [real[1:4], len(real[4]), len(real[5])]


async def test_a_burst_of_checks_is_done_two_at_a_time() -> None:
    working, most = 0, 0

    class Watching(CountingHasher):
        def verify(self, hash: str | bytes, password: str | bytes) -> Literal[True]:  # noqa: A002 # argon2's name
            nonlocal working, most
            working += 1
            most = max(most, working)
            try:
                return super().verify(hash, password)
            finally:
                working -= 1

    passwords = Passwords(Watching())
    await asyncio.gather(*(passwords.verify(None, "x") for _ in range(20)))

    assert 1 <= most <= 2


def test_a_secret_has_256_bits_and_is_found_by_its_hash() -> None:
    assert make_secret(fixed_bytes) == "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"
    assert len(hash_secret("x")) == 64
    assert hash_secret("x") != hash_secret("y")


@pytest.mark.parametrize(("secret", "plausible"), [("", False), ("x", True), ("x" * 512, True), ("x" * 513, False)])
def test_only_a_text_of_a_likely_length_is_looked_at(secret: str, plausible: bool) -> None:
    assert is_plausible(secret) is plausible


def test_a_key_is_made_of_mark_prefix_and_secret_and_found_by_its_prefix() -> None:
    key_id, text = make_key_text(fixed_bytes)

    assert text == "pw_000102030405_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"
    assert key_id == "000102030405" == key_id_of(text)
    assert key_matches(key_of(text), text)
    assert not key_matches(key_of(text), text[:-1] + "9")


@pytest.mark.parametrize(
    "text", ["", "pw", "pw_", "pw_abc", "pw_abc_", "pw__abc", "sk_abc_def", "secret", "pw_ä_x", "pw_a b_x"]
)
def test_a_text_that_is_no_key_of_ours_is_compared_with_the_local_key(text: str) -> None:
    assert key_id_of(text) == LOCAL_KEY


@given(st.text())
def test_any_text_can_be_looked_up_as_a_key(text: str) -> None:
    assert key_id_of(text)
    assert not key_matches(key_of("another" + text), text)


@pytest.mark.parametrize(
    ("expires", "revoked", "now", "valid"),
    [
        (None, None, BEGIN + 999 * DAY, True),
        (BEGIN + DAY, None, BEGIN + DAY - timedelta(microseconds=1), True),
        (BEGIN + DAY, None, BEGIN + DAY, False),
        (None, BEGIN, BEGIN, False),
    ],
)
def test_a_key_is_valid_until_it_expires_or_is_revoked(
    expires: datetime | None, revoked: datetime | None, now: datetime, valid: bool
) -> None:
    assert is_valid_key(dataclasses.replace(key_of("x"), expires=expires, revoked=revoked), now) is valid


@given(wanted=SCOPES, limit=SCOPES)
def test_a_key_never_gets_more_than_its_maker_has(
    wanted: frozenset[Action] | None, limit: frozenset[Action] | None
) -> None:
    everything = frozenset(Action)

    made = narrow(wanted, limit)

    effective = everything if made is None else made
    assert effective == (everything if wanted is None else wanted) & (everything if limit is None else limit)


def test_scopes_are_named_by_their_actions() -> None:
    assert parse_scopes(["v1.use", "run.stop"]) == {Action.V1_USE, Action.RUN_STOP}
    with pytest.raises(InvalidAccount, match=r"'v1\.abuse' is no scope"):
        parse_scopes(["v1.abuse"])


@pytest.mark.parametrize("text", ["", "a b", "a\n", "ä", "x" * 513, "\x7f"])
def test_a_fixed_key_must_fit_in_a_header(text: str) -> None:
    with pytest.raises(InvalidAccount):
        check_fixed_key(text)


def test_a_short_fixed_key_counts_as_guessable() -> None:
    assert is_guessable("secret")
    assert not is_guessable(make_key_text(fixed_bytes)[1])


def test_a_session_ends_after_idle_days_and_its_last_moment_is_not_part_of_it() -> None:
    session = begin_session("h", ADA, BEGIN, LIMITS)

    assert is_live(session, BEGIN + 10 * DAY - timedelta(microseconds=1))
    assert not is_live(session, BEGIN + 10 * DAY)


def test_use_moves_the_end_of_a_session_but_never_past_its_longest_life() -> None:
    session = begin_session("h", ADA, BEGIN, LIMITS)
    ends: list[timedelta] = []
    for day in (9, 18, 27):
        moved = slide(session, BEGIN + day * DAY, LIMITS)
        assert moved is not None
        session = moved
        ends.append(session.expires - BEGIN)

    assert ends == [19 * DAY, 28 * DAY, 30 * DAY]


def test_use_soon_after_the_last_writes_nothing() -> None:
    session = begin_session("h", ADA, BEGIN, LIMITS)

    assert slide(session, BEGIN + timedelta(minutes=9), LIMITS) is None
    assert slide(session, BEGIN + timedelta(minutes=10), LIMITS) is not None


def test_a_csrf_token_belongs_to_one_session_and_tells_nothing_of_its_secret() -> None:
    assert csrf_matches("session-a", csrf_token("session-a"))
    assert not csrf_matches("session-b", csrf_token("session-a"))
    assert "session-a" not in csrf_token("session-a")


@pytest.mark.parametrize("sent", [None, "", "x", "session", "ä", "\ud800"])
def test_anything_else_is_no_csrf_token(sent: str | None) -> None:
    assert not csrf_matches("session", sent)


def test_secrets_are_not_in_the_repr_of_what_carries_them() -> None:
    text = "pw_abc_verysecret"

    shown = repr(NewKey(key_of(text), text))

    assert "verysecret" not in shown
    assert hash_secret(text) not in shown
