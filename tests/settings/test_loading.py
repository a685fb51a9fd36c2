"""Where settings come from: one order, told for each of them, and nothing unknown accepted (S1.2, complaint 4.6)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from planwerk.settings.errors import SettingError, SettingInvalid, SettingsUnreadable, UnknownSetting
from planwerk.settings.loading import HIDDEN, Loaded, load

SOURCES = ("flag", "environment", "config.toml", "pyproject.toml", "stored", "default")


class Place:
    """A data folder and a working directory to put settings in."""

    def __init__(self, root: Path) -> None:
        self.data, self.work = root / "data", root / "work"
        self.data.mkdir()
        self.work.mkdir()
        self.environment: dict[str, str] = {}
        self.flags: dict[str, Any] = {"data": self.data}

    def put(self, source: str, key: str, value: str) -> None:
        match source:
            case "flag":
                self.flags[key] = value
            case "environment":
                self.environment[f"PLANWERK_{key.upper().replace('.', '__')}"] = value
            case "config.toml":
                (self.data / "config.toml").write_text(f"{key} = {value!r}\n", "utf-8")
            case "pyproject.toml":
                (self.work / "pyproject.toml").write_text(f"[tool.planwerk]\n{key} = {value!r}\n", "utf-8")
            case "stored":
                (self.data / "stored.toml").write_text(f"{key} = {value!r}\n", "utf-8")
            case _:
                pass

    def load(self, flags: Mapping[str, Any] | None = None) -> Loaded:
        return load({**self.flags, **(flags or {})}, environment=self.environment, folder=self.work)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.mark.parametrize("mightiest", range(len(SOURCES)))
def test_the_first_place_of_the_order_that_gives_a_value_counts(place: Place, mightiest: int) -> None:
    for number, source in enumerate(SOURCES[mightiest:]):
        place.put(source, "model", f"test:{number}")

    found = place.load().explain("model")

    assert found.value == ("(not set)" if SOURCES[mightiest] == "default" else "test:0")
    assert found.origin.source == {"config.toml": "file", "pyproject.toml": "file"}.get(
        SOURCES[mightiest], SOURCES[mightiest]
    )
    assert len(found.overridden) == len(SOURCES) - mightiest - 1


def test_an_origin_names_the_very_place(place: Place) -> None:
    for source in SOURCES[:5]:
        place.put(source, "model", "test:x")

    found = place.load().explain("model")

    places = [found.origin.place, *(origin.place for origin in found.overridden)]
    assert places == [
        "flag --model",
        "environment variable PLANWERK_MODEL",
        str(place.data / "config.toml"),
        f"[tool.planwerk] of {place.work / 'pyproject.toml'}",
        str(place.data / "stored.toml"),
        "default",
    ]


def test_values_of_one_section_may_come_from_different_places(place: Place) -> None:
    place.put("config.toml", "provider.x.base_url", "http://127.0.0.1:9/v1")
    place.put("environment", "provider.x.key", "sk-1")

    settings = place.load().settings

    assert settings.provider["x"].base_url == "http://127.0.0.1:9/v1"
    assert settings.provider["x"].key is not None
    assert settings.provider["x"].key.get_secret_value() == "sk-1"


@pytest.mark.parametrize(
    ("source", "key", "meant"),
    [
        ("environment", "potr", "PLANWERK_PORT"),
        ("environment", "limits.message_byte", "PLANWERK_LIMITS__MESSAGE_BYTES"),
        ("config.toml", "prot", "port"),
        ("config.toml", "message_bytes", "limits.message_bytes"),
        ("config.toml", "provider.openai.keys", "provider.openai.key"),
        ("pyproject.toml", "mdel", "model"),
        ("stored", "apikey", "api_key"),
    ],
)
def test_an_unknown_name_is_an_error_that_says_which_was_meant(place: Place, source: str, key: str, meant: str) -> None:
    place.put(source, key, "1")

    with pytest.raises(UnknownSetting, match=f"Did you mean {meant}") as caught:
        place.load()

    assert caught.value.code == "unknown_setting"


def test_a_name_like_no_other_is_refused_without_a_guess(place: Place) -> None:
    place.put("config.toml", "zzzzqqq", "1")

    with pytest.raises(UnknownSetting, match="config explain"):
        place.load()


@pytest.mark.parametrize("source", ["flag", "environment", "config.toml"])
def test_a_value_that_cannot_be_is_refused_with_its_place(place: Place, source: str) -> None:
    place.put(source, "port", "http")

    with pytest.raises(SettingInvalid) as caught:
        place.load()

    assert "port from" in caught.value.message
    assert {"flag": "--port", "environment": "PLANWERK_PORT", "config.toml": "config.toml"}[source] in str(caught.value)


@pytest.mark.parametrize("port", ["-1", "65536"])
def test_a_port_is_one(place: Place, port: str) -> None:
    with pytest.raises(SettingInvalid):
        place.load({"port": port})


def test_secrets_are_shown_nowhere(place: Place) -> None:
    place.put("environment", "api_key", "very-secret-1")
    place.put("config.toml", "api_key", "very-secret-2")
    place.put("stored", "provider.x.key", "very-secret-3")

    loaded = place.load()

    told = [repr(loaded.explain(name)) for name in loaded.names()]
    assert "very-secret" not in "".join([*told, repr(loaded.settings), str(loaded.settings)])
    assert loaded.explain("api_key").value == HIDDEN


def test_an_invalid_secret_is_not_repeated(place: Place) -> None:
    (place.data / "config.toml").write_text("api_key = [1, 'very-secret']\n", "utf-8")

    with pytest.raises(SettingError) as caught:
        place.load()

    assert "very-secret" not in str(caught.value)


def test_an_address_is_shown_without_its_password(place: Place) -> None:
    place.put("config.toml", "provider.x.base_url", "https://ada:hidden@example.org/v1")

    assert place.load().explain("provider.x.base_url").value == "https://example.org/v1"


def test_a_secret_may_come_from_a_file(place: Place) -> None:
    (place.data / "key.txt").write_text("sk-file\n", "utf-8")
    place.environment["PLANWERK_PROVIDER__X__KEY_FILE"] = str(place.data / "key.txt")
    (place.data / "config.toml").write_text("api_key_file = 'key.txt'\n", "utf-8")

    loaded = place.load()

    key, api_key = loaded.settings.provider["x"].key, loaded.settings.api_key
    assert key is not None
    assert api_key is not None
    assert (key.get_secret_value(), api_key.get_secret_value()) == ("sk-file", "sk-file")
    assert "PLANWERK_PROVIDER__X__KEY_FILE" in loaded.explain("provider.x.key").origin.place


def test_a_secret_file_that_is_not_there_says_who_named_it(place: Place) -> None:
    place.environment["PLANWERK_API_KEY_FILE"] = str(place.data / "none")

    with pytest.raises(SettingsUnreadable, match="PLANWERK_API_KEY_FILE says: No such file"):
        place.load()


def test_an_empty_secret_file_is_no_secret(place: Place) -> None:
    (place.data / "key.txt").write_text("\n", "utf-8")
    place.environment["PLANWERK_API_KEY_FILE"] = str(place.data / "key.txt")

    with pytest.raises(SettingInvalid, match="empty"):
        place.load()


def test_a_secret_given_by_value_and_by_file_is_ambiguous(place: Place) -> None:
    (place.data / "key.txt").write_text("a", "utf-8")
    place.environment |= {"PLANWERK_API_KEY": "b", "PLANWERK_API_KEY_FILE": str(place.data / "key.txt")}

    with pytest.raises(SettingError, match="given twice"):
        place.load()


def test_only_secrets_come_from_files(place: Place) -> None:
    place.environment["PLANWERK_PORT_FILE"] = str(place.data / "port")

    with pytest.raises(UnknownSetting):
        place.load()


def test_an_empty_variable_is_not_set(place: Place) -> None:
    place.environment["PLANWERK_MODEL"] = ""

    assert place.load().source_of("model") == "default"


def test_what_a_cluster_sets_for_a_service_of_our_name_is_not_taken_for_settings(place: Place) -> None:
    place.environment |= {
        "PLANWERK_SERVICE_HOST": "10.0.0.1",
        "PLANWERK_SERVICE_PORT": "8321",
        "PLANWERK_PORT": "tcp://10.0.0.1:8321",
        "PLANWERK_PORT_8321_TCP_ADDR": "10.0.0.1",
    }

    assert place.load().settings.port == 8321


def test_a_file_in_the_data_folder_cannot_move_the_data_folder(place: Place) -> None:
    place.put("config.toml", "data", "/elsewhere")

    with pytest.raises(SettingInvalid, match="cannot move it"):
        place.load()


def test_a_project_may_say_where_its_data_is(place: Place) -> None:
    place.flags.clear()
    place.put("pyproject.toml", "data", str(place.data))
    (place.data / "config.toml").write_text("port = 9\n", "utf-8")

    assert place.load().settings.port == 9


@pytest.mark.parametrize("text", ["port = ", "port = 1\nport = 2\n", "\xff"])
def test_a_file_that_is_no_toml_is_named(place: Place, text: str) -> None:
    (place.data / "config.toml").write_bytes(text.encode("latin-1"))

    with pytest.raises(SettingsUnreadable, match=r"config\.toml cannot be read"):
        place.load()


def test_a_project_without_our_table_sets_nothing(place: Place) -> None:
    (place.work / "pyproject.toml").write_text("[tool.other]\nport = 1\n", "utf-8")

    assert place.load().source_of("port") == "default"


@pytest.mark.parametrize("given", ["a.example, b.example", ["a.example", "b.example"]])
def test_names_are_a_list_or_text_with_commas(place: Place, given: object) -> None:
    loaded = place.load({"hosts": given})

    assert loaded.settings.hosts == ("a.example", "b.example")
    assert loaded.explain("hosts").value == "a.example, b.example"


def test_facts_of_a_model_are_named_in_quotation_marks(place: Place) -> None:
    (place.data / "config.toml").write_text('[facts."openai:gpt-9.1"]\ncontext_window = 5\n', "utf-8")

    loaded = place.load()

    assert loaded.settings.facts["openai:gpt-9.1"].context_window == 5
    assert loaded.explain('facts."openai:gpt-9.1".context_window').value == "5"
    assert 'facts."openai:gpt-9.1".context_window' in loaded.names()
