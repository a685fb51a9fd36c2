"""One server for each data folder (S1.7)."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from planwerk.server.data_lock import LOCK_FILE, DataFolderHeld, DataLock, Holder, holder_of

HOLDER = Holder(pid=7, url="http://127.0.0.1:8321", key="pw_local_x")


def test_a_folder_has_one_holder_who_is_named_to_others(tmp_path: Path) -> None:
    lock = DataLock(tmp_path)
    lock.tell(HOLDER)

    with pytest.raises(DataFolderHeld, match=r"http://127\.0\.0\.1:8321 \(process 7\)") as caught:
        DataLock(tmp_path)

    assert caught.value.holder == HOLDER
    assert "pw_local_x" not in f"{caught.value}{caught.value.holder!r}"
    assert holder_of(tmp_path) == HOLDER
    lock.release()


def test_a_server_that_starts_holds_the_folder_before_it_can_say_where(tmp_path: Path) -> None:
    lock = DataLock(tmp_path)

    with pytest.raises(DataFolderHeld, match="is starting"):
        holder_of(tmp_path)

    lock.release()


def test_a_folder_that_is_released_is_free_and_its_key_forgotten(tmp_path: Path) -> None:
    lock = DataLock(tmp_path)
    lock.tell(HOLDER)
    lock.release()

    assert holder_of(tmp_path) is None
    assert (tmp_path / LOCK_FILE).read_bytes() == b""
    DataLock(tmp_path).release()


@pytest.mark.parametrize("left", [b"", b"no json", b'{"pid": 1}', b'{"pid": "x", "url": "u", "key": "k"}'])
def test_what_a_dead_server_left_holds_nothing(tmp_path: Path, left: bytes) -> None:
    (tmp_path / LOCK_FILE).write_bytes(left)

    assert holder_of(tmp_path) is None


def test_a_folder_that_is_not_there_has_no_holder(tmp_path: Path) -> None:
    assert holder_of(tmp_path / "none") is None


def test_the_file_is_its_owner_s_only_even_if_it_was_not(tmp_path: Path) -> None:
    (tmp_path / LOCK_FILE).touch(0o644)

    lock = DataLock(tmp_path)

    assert stat.S_IMODE((tmp_path / LOCK_FILE).stat().st_mode) == 0o600
    lock.release()


def test_a_longer_entry_leaves_nothing_behind_a_shorter_one(tmp_path: Path) -> None:
    lock = DataLock(tmp_path)
    lock.tell(Holder(1, "http://a-very-long-name.example:8321", "k" * 60))
    lock.tell(HOLDER)

    assert holder_of(tmp_path) == HOLDER
    lock.release()
