from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planwerk.access.errors import TooManyAttempts
from planwerk.access.throttle import SignInThrottle
from tests.access.world import Clock

HERE, THERE = "192.0.2.1", "192.0.2.2"


def attempt(throttle: SignInThrottle, clock: Clock, login: str = "ada", address: str = HERE) -> int:
    """How long the attempt has to wait; 0 where it was let through."""
    try:
        throttle.begin(login, address, clock())
    except TooManyAttempts as refused:
        return refused.retry_after_seconds
    return 0


def test_five_attempts_are_free_and_then_the_waits_double_up_to_five_minutes() -> None:
    clock, throttle = Clock(), SignInThrottle()
    free = [attempt(throttle, clock) for _ in range(5)]

    waits: list[int] = []
    for _ in range(12):
        wait = attempt(throttle, clock)
        waits.append(wait)
        clock.pass_(seconds=wait)
        assert attempt(throttle, clock) == 0

    assert free == [0] * 5
    assert waits == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300]


def test_attempts_that_are_refused_do_not_lengthen_the_wait() -> None:
    clock, throttle = Clock(), SignInThrottle()
    for _ in range(8):
        attempt(throttle, clock)

    waits = {attempt(throttle, clock) for _ in range(1_000)}

    assert waits == {1}


def test_a_hundred_attempts_at_once_do_not_all_slip_through() -> None:
    clock, throttle = Clock(), SignInThrottle()

    assert [attempt(throttle, clock) for _ in range(100)].count(0) == 5


def test_one_address_is_slowed_down_whatever_logins_it_tries() -> None:
    clock, throttle = Clock(), SignInThrottle()

    through = [attempt(throttle, clock, login=f"user{number}") for number in range(100)].count(0)

    assert through == 20


def hammer(throttle: SignInThrottle, clock: Clock, attempts: int) -> int:
    """Attempts on one login, each from another address, one a second; how many were let through."""
    through = 0
    for number in range(attempts):
        through += attempt(throttle, clock, address=f"198.51.{number // 250}.{number % 250}") == 0
        clock.pass_(seconds=1)
    return through


def test_a_login_hammered_from_everywhere_is_opened_every_thirty_seconds() -> None:
    clock, throttle = Clock(), SignInThrottle()
    hammer(throttle, clock, 200)

    assert hammer(throttle, clock, 3_000) == 100


def test_strangers_who_hammer_a_login_do_not_keep_its_person_out() -> None:
    clock, throttle = Clock(), SignInThrottle()
    attempt(throttle, clock, address=THERE)
    throttle.succeeded("ada", THERE, clock())

    hammer(throttle, clock, 1_000)

    assert attempt(throttle, clock, address=THERE) == 0


def test_an_address_where_a_login_succeeded_is_trusted_for_that_login_only_and_not_for_ever() -> None:
    clock, throttle = Clock(), SignInThrottle()
    throttle.succeeded("bob", THERE, clock())
    throttle.succeeded("ada", HERE, clock())
    clock.pass_(days=30)
    hammer(throttle, clock, 60)
    attempt(throttle, clock, address="203.0.113.9")

    assert attempt(throttle, clock, address=THERE) > 0
    assert attempt(throttle, clock, address=HERE) > 0


def test_a_success_starts_the_count_of_that_login_at_that_address_anew() -> None:
    clock, throttle = Clock(), SignInThrottle()
    for _ in range(5):
        attempt(throttle, clock)

    throttle.succeeded("ada", HERE, clock())

    assert [attempt(throttle, clock) for _ in range(6)] == [0, 0, 0, 0, 0, 1]


def test_an_attackers_own_successes_do_not_free_the_address() -> None:
    clock, throttle = Clock(), SignInThrottle()
    through = 0
    for number in range(100):
        through += attempt(throttle, clock, login=f"victim{number}") == 0
        if attempt(throttle, clock, login="attacker") == 0:
            throttle.succeeded("attacker", HERE, clock())

    assert through == 20


def test_signing_in_rightly_however_often_is_never_slowed_down() -> None:
    clock, throttle = Clock(), SignInThrottle()
    for _ in range(500):
        assert attempt(throttle, clock) == 0
        throttle.succeeded("ada", HERE, clock())


def test_failures_are_forgotten_after_a_quiet_while() -> None:
    clock, throttle = Clock(), SignInThrottle()
    for _ in range(5):
        attempt(throttle, clock)

    clock.pass_(minutes=30)

    assert [attempt(throttle, clock) for _ in range(5)] == [0] * 5


@pytest.mark.parametrize(
    ("address", "same", "other"),
    [
        ("2001:db8::1", "2001:db8::ffff", "2001:db8:0:1::1"),
        ("fe80::1%eth0", "fe80::2%eth1", "fe80:0:0:1::1"),
        ("192.0.2.1", "::ffff:192.0.2.1", "192.0.2.2"),
        ("testclient", "testclient", "unix"),
    ],
)
def test_addresses_count_as_one_where_one_subscriber_has_them_all(address: str, same: str, other: str) -> None:
    clock, throttle = Clock(), SignInThrottle()
    for _ in range(5):
        attempt(throttle, clock, address=address)

    assert attempt(throttle, clock, address=same) == 1
    assert attempt(throttle, clock, address=other) == 0


def test_memory_stays_bounded_however_many_addresses_come() -> None:
    clock, throttle = Clock(), SignInThrottle(most_counters=10)
    for number in range(1_000):
        attempt(throttle, clock, login=f"user{number}", address=f"198.51.{number // 250}.{number % 250}")
        throttle.succeeded(f"user{number}", f"198.51.{number // 250}.{number % 250}", clock())

    assert len(throttle) <= 20


@given(st.lists(st.integers(0, 400), max_size=60))
def test_whoever_waits_as_long_as_told_is_always_let_through(pauses: list[int]) -> None:
    clock, throttle = Clock(), SignInThrottle()
    for pause in pauses:
        attempt(throttle, clock)
        clock.pass_(seconds=pause)

    wait = attempt(throttle, clock)
    clock.pass_(seconds=wait)

    assert wait <= 300
    assert wait == 0 or attempt(throttle, clock) == 0
