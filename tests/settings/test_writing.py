"""`config set` in files: comments stay, secrets are readable by their owner only, nonsense is not written."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from planwerk.settings.errors import SettingError, SettingInvalid, UnknownSetting
from planwerk.settings.loading import load
from planwerk.settings.writing import set_value, unset_value

COMMENTED = "# Ours.\nport = 9000  # behind the proxy\n\n[log]\n# Quiet.\nlevel = 'warning'\n"


def test_what_is_set_is_what_is_loaded(tmp_path: Path) -> None:
    for key, value in (("port", "9001"), ("limits.message_bytes", "2048"), ("provider.x.key", "sk"), ("locale", "de")):
        set_value(tmp_path, key, value)

    loaded = load({"data": tmp_path}, environment={}, folder=tmp_path)

    assert loaded.settings.port == 9001
    assert loaded.settings.limits.message_bytes == 2048
    assert loaded.settings.locale == "de"
    assert (loaded.source_of("port"), loaded.source_of("provider.x.key")) == ("file", "stored")


def test_comments_and_order_of_the_file_stay(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(COMMENTED, "utf-8")

    set_value(tmp_path, "port", "9001")
    set_value(tmp_path, "log.format", "json")

    expected = COMMENTED.replace("9000", "9001") + 'format = "json"\n'
    assert (tmp_path / "config.toml").read_text("utf-8") == expected


def test_numbers_are_written_as_numbers(tmp_path: Path) -> None:
    path = set_value(tmp_path, "demo.pace_seconds", "0.5")

    assert path.read_text("utf-8") == "[demo]\npace_seconds = 0.5\n"


def test_a_secret_goes_to_a_file_that_only_its_owner_reads(tmp_path: Path) -> None:
    path = set_value(tmp_path, "provider.openai.key", "sk")

    assert path == tmp_path / "stored.toml"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not (tmp_path / "config.toml").exists()


def test_a_stored_file_that_others_could_read_is_closed(tmp_path: Path) -> None:
    (tmp_path / "stored.toml").touch(0o644)

    assert stat.S_IMODE(set_value(tmp_path, "api_key", "k").stat().st_mode) == 0o600


def test_the_mode_of_the_config_file_stays(tmp_path: Path) -> None:
    (tmp_path / "config.toml").touch(0o640)
    (tmp_path / "config.toml").chmod(0o640)

    assert stat.S_IMODE(set_value(tmp_path, "port", "1").stat().st_mode) == 0o640


@pytest.mark.parametrize(("key", "value"), [("port", "x"), ("log.level", "loud"), ("provider.x.base_url", "no-url")])
def test_a_value_that_cannot_be_is_not_written(tmp_path: Path, key: str, value: str) -> None:
    with pytest.raises(SettingInvalid):
        set_value(tmp_path, key, value)

    assert list(tmp_path.iterdir()) == []


def test_an_unknown_name_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(UnknownSetting, match="Did you mean port"):
        set_value(tmp_path, "prot", "1")

    assert list(tmp_path.iterdir()) == []


def test_the_data_folder_is_not_set_in_itself(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="--data"):
        set_value(tmp_path, "data", "/elsewhere")


def test_what_is_unset_is_gone_and_the_rest_stays(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(COMMENTED, "utf-8")

    assert unset_value(tmp_path, "log.level")

    assert (tmp_path / "config.toml").read_text("utf-8") == COMMENTED.replace("level = 'warning'\n", "")
    assert not unset_value(tmp_path, "log.level")
    assert not unset_value(tmp_path, "provider.x.key")


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "config.toml").write_text(COMMENTED, "utf-8")

    def fail(_: int) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        set_value(tmp_path, "port", "1")

    assert (tmp_path / "config.toml").read_text("utf-8") == COMMENTED
    assert [path.name for path in tmp_path.iterdir()] == ["config.toml"]
