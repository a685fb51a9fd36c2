from __future__ import annotations

from typing import Any

import pytest
from tests.models.stub_server import StubServer

from planwerk.models.discovery import (
    ProviderSettings,
    ServedModel,
    named_servers,
    ollama_url,
    place_of,
    probe_server,
)


async def test_a_probe_reads_names_and_windows_and_leaves_out_what_cannot_chat(stub: StubServer) -> None:
    stub.models = {
        "data": [
            {"id": "big", "max_model_len": 8192},
            {"id": "nomic-embed-text"},
            {"id": "router", "context_length": 100},
            {"id": "plain", "meta": {"n_ctx_train": 4096}},
            {"name": "no id"},
            "nonsense",
        ]
    }

    models = await probe_server(ProviderSettings(stub.base_url, "sk-key"))

    assert models == (ServedModel("big", 8192), ServedModel("router", 100), ServedModel("plain"))
    assert stub.headers[0]["authorization"] == "Bearer sk-key"


@pytest.mark.parametrize("models", [[], {"data": "x"}, "<html>hello</html>", {"models": []}])
async def test_what_lists_no_models_is_no_model_server(stub: StubServer, models: Any) -> None:
    stub.models = models

    assert await probe_server(ProviderSettings(stub.base_url)) is None


async def test_a_port_nobody_listens_on_is_no_model_server() -> None:
    assert await probe_server(ProviderSettings("http://127.0.0.1:1/v1")) is None
    assert await probe_server(ProviderSettings("not a url")) is None


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1:11434", "http://127.0.0.1:11434/v1"),
        ("0.0.0.0", "http://127.0.0.1:11434/v1"),
        ("http://gpu.local:8000", "http://gpu.local:8000/v1"),
        ("https://ollama.example.org", "https://ollama.example.org:443/v1"),
        ("http://box:11434/v1", "http://box:11434/v1"),
        ("[::1]:11434", "http://[::1]:11434/v1"),
    ],
)
def test_ollamas_ways_to_name_a_host_are_understood(host: str, url: str) -> None:
    assert ollama_url(host) == url


def test_settings_come_before_the_environment() -> None:
    given = {"openai": ProviderSettings("http://settings/v1", "k")}

    servers = named_servers(given, {"OPENAI_BASE_URL": "http://environment/v1", "OLLAMA_HOST": "box"})

    assert [(server.provider, server.settings.base_url) for server in servers] == [
        ("openai", "http://settings/v1"),
        ("ollama", "http://box:11434/v1"),
    ]


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("http://127.0.0.1:8080/v1", "local"),
        ("http://192.168.1.5/v1", "local"),
        ("http://[::1]/v1", "local"),
        ("http://ollama:11434/v1", "local"),
        ("http://gpu.local/v1", "local"),
        ("https://api.example.com/v1", "remote"),
        ("http://8.8.8.8/v1", "remote"),
        (None, "remote"),
    ],
)
def test_an_address_says_whether_what_is_asked_stays_here(url: str | None, place: str) -> None:
    assert place_of(url) == place
