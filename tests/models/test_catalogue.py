from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from decimal import Decimal

import pytest
from tests.models.stub_server import StubServer, said

from planwerk.messages.prompts import user_prompt
from planwerk.models import Answering
from planwerk.models.catalogue import DEMO_MODEL, CatalogueSettings, ModelCatalogue
from planwerk.models.demo.model import DemoModel
from planwerk.models.discovery import ProviderSettings, ServedModel
from planwerk.models.errors import UnknownModel
from planwerk.models.pricing import ModelFacts
from planwerk.testing.scripted_model import ScriptedModel

Make = Callable[..., ModelCatalogue]


@pytest.fixture
async def make() -> AsyncIterator[Make]:
    made: list[ModelCatalogue] = []

    def make_one(
        settings: CatalogueSettings | None = None,
        environment: Mapping[str, str] | None = None,
        served: Mapping[str, tuple[ServedModel, ...]] | None = None,
        local: tuple[tuple[str, str], ...] = (),
    ) -> ModelCatalogue:
        async def probe(server: ProviderSettings) -> tuple[ServedModel, ...] | None:
            return (served or {}).get(server.base_url or "")

        catalogue = ModelCatalogue(settings, environment=environment or {}, local_servers=local, probe=probe)
        made.append(catalogue)
        return catalogue

    yield make_one
    for catalogue in made:
        await catalogue.close()


async def test_with_nothing_set_the_demo_model_answers(make: Make) -> None:
    catalogue = make()

    await catalogue.discover()

    assert catalogue.is_demo
    assert [model.name for model in catalogue.models] == [DEMO_MODEL]
    assert catalogue.default.location == "demo"
    assert isinstance(catalogue.resolve().model, DemoModel)


async def test_a_model_named_by_a_person_comes_before_all_others(make: Make) -> None:
    settings = CatalogueSettings(model="anthropic:claude-sonnet-5-5")
    catalogue = make(settings, {"OPENAI_API_KEY": "sk-x"})

    await catalogue.discover()

    assert catalogue.default.name == "anthropic:claude-sonnet-5-5"
    assert catalogue.default.location == "remote"
    assert catalogue.default.context_window == 1_000_000


async def test_an_openai_compatible_url_in_the_environment_is_asked_for_its_models(make: Make) -> None:
    url = "http://127.0.0.1:9/v1"
    catalogue = make(
        environment={"OPENAI_BASE_URL": f"{url}/", "OPENAI_API_KEY": "sk-x"},
        served={url: (ServedModel("qwen", 32_768), ServedModel("llama"))},
    )

    await catalogue.discover()

    assert [model.name for model in catalogue.models] == ["openai:qwen", "openai:llama", DEMO_MODEL]
    assert catalogue.default.location == "local"
    assert catalogue.default.context_window == 32_768
    assert catalogue.default.source == "OPENAI_BASE_URL"
    assert catalogue.describe("openai:llama").context_window is None


async def test_a_named_server_that_does_not_answer_is_not_replaced_by_the_demo_model(make: Make) -> None:
    catalogue = make(environment={"OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "OPENAI_MODEL": "mine"})

    await catalogue.discover()

    assert catalogue.default.name == "openai:mine"
    assert catalogue.default.note
    assert not catalogue.is_demo


async def test_a_model_on_its_usual_local_port_is_found_and_offered(make: Make) -> None:
    url = "http://127.0.0.1:11434/v1"
    catalogue = make(
        served={url: (ServedModel("qwen3:4b"),)}, local=(("ollama", url), ("llamacpp", "http://127.0.0.1:1/v1"))
    )

    await catalogue.discover()

    assert [model.name for model in catalogue.models] == ["ollama:qwen3:4b", DEMO_MODEL]
    assert catalogue.default.source == "port 11434"
    assert catalogue.default.location == "local"


async def test_a_provider_key_is_enough_for_its_usual_model(make: Make) -> None:
    catalogue = make(environment={"OPENAI_API_KEY": "sk-very-secret"})

    await catalogue.discover()

    assert catalogue.default.name.startswith("openai:gpt-")
    assert catalogue.default.source == "OPENAI_API_KEY"
    assert catalogue.resolve().model.model_name == catalogue.default.short_name


async def test_a_key_whose_package_is_missing_gives_a_hint_without_the_key(make: Make) -> None:
    catalogue = make(environment={"GROQ_API_KEY": "gsk-very-secret"})

    await catalogue.discover()

    assert catalogue.is_demo
    assert 'pip install "pydantic-ai-slim[groq]"' in catalogue.hints[0]
    assert "secret" not in catalogue.hints[0]


async def test_keys_are_never_printed(make: Make) -> None:
    settings = CatalogueSettings(providers={"mine": ProviderSettings("http://user:pass@10.0.0.1/v1", "sk-very-secret")})
    catalogue = make(settings, served={"http://user:pass@10.0.0.1/v1": (ServedModel("m"),)})

    await catalogue.discover()

    shown = repr(settings) + repr(catalogue.models) + repr(catalogue.hints) + repr(vars(catalogue))
    assert "sk-very-secret" not in shown
    assert catalogue.describe("mine:m").base_url == "http://10.0.0.1/v1"


async def test_settings_take_the_place_of_known_windows_and_prices(make: Make) -> None:
    facts = {"openai:gpt-5-mini": ModelFacts(context_window=1_000, input_price=Decimal(1), output_price=Decimal(2))}
    catalogue = make(CatalogueSettings(model="openai:gpt-5-mini", facts=facts))

    await catalogue.discover()

    assert catalogue.default.context_window == 1_000
    assert catalogue.default.facts.output_price == Decimal(2)


async def test_an_unknown_window_stays_unknown(make: Make) -> None:
    assert make().describe("openai:a-model-nobody-knows").context_window is None


async def test_a_name_without_provider_is_completed_where_only_one_model_ends_so(make: Make) -> None:
    url = "http://127.0.0.1:9/v1"
    catalogue = make(environment={"OPENAI_BASE_URL": url}, served={url: (ServedModel("qwen"),)})
    await catalogue.discover()

    assert catalogue.resolve("qwen").name == "openai:qwen"
    assert catalogue.resolve("demo").name == DEMO_MODEL
    with pytest.raises(UnknownModel, match=r"provider:name"):
        catalogue.resolve("nonsense")


@pytest.mark.parametrize("name", ["noprovider:x", "groq:openai/gpt-oss-120b"])
async def test_a_model_that_cannot_be_made_says_so_when_it_is_used(make: Make, name: str) -> None:
    resolved = make().resolve(name)

    with pytest.raises(UnknownModel, match=name):
        await Answering(resolved).answer([user_prompt("Hello?")])


async def test_a_missing_key_is_told_when_the_model_is_used(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    with pytest.raises(UnknownModel, match="OPENAI_API_KEY"):
        await Answering(make().resolve("openai:gpt-5-mini")).answer([user_prompt("Hello?")])


async def test_a_model_is_made_once(make: Make) -> None:
    catalogue = make()

    assert catalogue.resolve() is catalogue.resolve(DEMO_MODEL)
    await catalogue.warm_up()
    assert catalogue.resolve().model is catalogue.resolve().model


async def test_a_given_model_becomes_the_default(make: Make) -> None:
    catalogue = make()
    script = ScriptedModel(["Hi"])

    description = catalogue.give(script)

    assert catalogue.default == description
    assert catalogue.resolve().model is script


async def test_a_server_is_found_and_asked_for_real(stub: StubServer) -> None:
    stub.answer(said("Hi"))
    catalogue = ModelCatalogue(environment={"OPENAI_BASE_URL": stub.base_url}, local_servers=())
    await catalogue.discover()

    event = await Answering(catalogue.resolve()).answer([user_prompt("Hello?")])

    assert catalogue.default.name == "openai:stub-model"
    assert event.text == "Hi"
    await catalogue.close()
