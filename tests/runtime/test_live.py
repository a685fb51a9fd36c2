"""The live channel: late watchers get a snapshot, slow ones are told of their loss, nobody is remembered (A8)."""

from __future__ import annotations

from planwerk.runtime.live import FramesLost, LiveFrame, LiveHub, LiveSnapshot

RUN, OTHER = "run", "other"


def say(hub: LiveHub, text: str, *, run: str = RUN, response: int = 1) -> None:
    hub.publish(run, attempt=1, response=response, part=0, frame="text_delta", text=text)


def begin(hub: LiveHub, *, run: str = RUN, response: int = 1) -> None:
    hub.publish(run, attempt=1, response=response, part=0, frame="part_started", kind="text")


def test_a_late_watcher_gets_what_was_said_in_one_snapshot_and_then_the_rest() -> None:
    hub = LiveHub()
    begin(hub)
    say(hub, "Hel")
    say(hub, "lo")

    watch = hub.watch([RUN])
    say(hub, " you")

    snapshot, rest = watch.drain()
    assert isinstance(snapshot, LiveSnapshot)
    assert snapshot.n == 3
    assert snapshot.responses[0]["parts"] == [{"part": 0, "kind": "text", "text": "Hello", "ended": False}]
    assert isinstance(rest, LiveFrame)
    assert (rest.n, rest.text) == (4, " you")


def test_deltas_of_a_part_that_follow_each_other_are_one_frame() -> None:
    hub = LiveHub()
    watch = hub.watch([RUN])
    begin(hub)
    for text in "abc":
        say(hub, text)
    begin(hub, response=2)
    say(hub, "d", response=2)

    frames = [item for item in watch.drain() if isinstance(item, LiveFrame)]

    assert [(frame.type, frame.text, frame.n) for frame in frames] == [
        ("part_started", "", 1),
        ("text_delta", "abc", 4),
        ("part_started", "", 5),
        ("text_delta", "d", 6),
    ]


def test_a_watcher_that_does_not_read_loses_the_oldest_is_told_and_gets_the_whole() -> None:
    hub = LiveHub(max_waiting=3)
    watch = hub.watch([RUN, OTHER])
    begin(hub)
    for number in range(10):
        say(hub, str(number))
    say(hub, "fine", run=OTHER)

    items = watch.drain()

    assert [type(item) for item in items if item.run == RUN] == [FramesLost, LiveSnapshot]
    whole = next(item for item in items if isinstance(item, LiveSnapshot))
    assert whole.n == 11
    assert whole.responses[0]["parts"][0]["text"] == "0123456789"
    assert [item.text for item in items if isinstance(item, LiveFrame)] == ["fine"]
    assert watch.drain() == []


def test_a_run_that_ended_is_forgotten() -> None:
    hub = LiveHub()
    begin(hub)

    hub.ended(RUN)

    assert hub.snapshot(RUN) is None
    assert hub.watch([RUN]).drain() == []


def test_a_run_that_was_let_go_tells_its_watchers_to_begin_anew() -> None:
    hub = LiveHub()
    watch = hub.watch([RUN])
    begin(hub)
    watch.drain()

    hub.restarted(RUN)
    begin(hub)

    snapshot, frame = watch.drain()
    assert snapshot == LiveSnapshot(RUN, 0, ())
    assert isinstance(frame, LiveFrame)
    assert frame.n == 1


def test_a_run_no_longer_followed_gives_nothing_more_and_a_closed_watch_is_forgotten() -> None:
    hub = LiveHub()
    watch = hub.watch([RUN, OTHER])
    begin(hub)
    begin(hub, run=OTHER)

    watch.unfollow(RUN)
    say(hub, "unseen")

    assert {item.run for item in watch.drain()} == {OTHER}
    watch.close()
    say(hub, "unseen", run=OTHER)
    assert watch.drain() == []
    assert hub._watchers == {}  # pyright: ignore[reportPrivateUsage] - what would leak
