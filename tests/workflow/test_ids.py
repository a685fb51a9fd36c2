"""Ids are UUIDv7s that grow strictly, whatever the clock and the threads do (E1.7)."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor

from planwerk.workflow.ids import UUID7, IdSource


class Clock:
    """Nanoseconds that stand still until they are moved."""

    def __init__(self, milliseconds: int) -> None:
        self.now = milliseconds * 1_000_000

    def __call__(self) -> int:
        return self.now

    def move(self, milliseconds: int) -> None:
        self.now += milliseconds * 1_000_000


def millisecond_of(text: str) -> int:
    return int(text.replace("-", "")[:12], 16)


def test_ids_hold_their_millisecond_and_grow_within_it() -> None:
    clock = Clock(1_700_000_000_000)
    make = IdSource(clock)

    made = [make() for _ in range(1_000)]

    assert all(re.fullmatch(UUID7, one) for one in made)
    assert made == sorted(set(made))
    assert {millisecond_of(one) for one in made} == {1_700_000_000_000}
    assert len({one[-12:] for one in made}) == 1


def test_a_new_millisecond_draws_a_new_tail() -> None:
    clock = Clock(5_000)
    make = IdSource(clock)
    first = make()
    clock.move(1)
    second = make()

    assert (millisecond_of(first), millisecond_of(second)) == (5_000, 5_001)
    assert first < second
    assert first[-12:] != second[-12:]


def test_a_clock_that_goes_back_is_not_followed() -> None:
    clock = Clock(5_000)
    make = IdSource(clock)
    first = make()
    clock.move(-4_000)
    made = [make() for _ in range(20_000)]

    assert [first, *made] == sorted({first, *made})
    assert millisecond_of(made[-1]) == 5_000


def test_more_ids_than_a_millisecond_has_are_borrowed_from_the_next() -> None:
    clock = Clock(0)
    make = IdSource(clock, lambda size: b"\xff" * size)
    before = make()
    blocks = 0x1000
    for _ in range(blocks):
        list(make._block.counts)  # pyright: ignore[reportPrivateUsage]  # uses the block up at once
        last = make()
        assert before < last
        before = last

    assert millisecond_of(before) == 1


def test_threads_share_a_source_without_meeting() -> None:
    make = IdSource()

    def some(_: int) -> list[str]:
        return [make() for _ in range(20_000)]

    with ThreadPoolExecutor(8) as pool:
        batches = list(pool.map(some, range(8)))

    assert all(batch == sorted(batch) for batch in batches)
    assert len({one for batch in batches for one in batch}) == 160_000
