"""Every setting: its name, type, default and what it means. `docs/settings.md` is written from this file."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Annotated, Literal

import platformdirs
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, StringConstraints
from pydantic_settings import BaseSettings, SettingsConfigDict

Url = Annotated[str, StringConstraints(pattern=r"^https?://[^/\s]+(/\S*)?$")]


def _split(given: object) -> object:
    return [part.strip() for part in given.split(",") if part.strip()] if isinstance(given, str) else given


Names = Annotated[tuple[str, ...], BeforeValidator(_split)]
"""Names in a list, or separated by commas where only text can be written."""


class Section(BaseModel):
    """Settings that belong together."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class LimitSettings(Section):
    """Largest sizes of what is taken in; what is larger is refused before it is read (S5.4)."""

    message_bytes: int = Field(default=1_048_576, ge=1_024, description="Largest message of a person, in bytes.")
    file_bytes: int = Field(default=52_428_800, ge=1_024, description="Largest file that is taken in, in bytes.")


class LogSettings(Section):
    """The server's own log, on standard error."""

    level: Literal["debug", "info", "warning", "error"] = Field(
        default="info",
        description="Least grave entries that are written. Content of messages is written at `debug` only.",
    )
    format: Literal["auto", "pretty", "json"] = Field(
        default="auto", description="`auto` is `pretty` on a terminal and `json` otherwise."
    )


class DemoSettings(Section):
    """The built-in model that answers when no other is found."""

    pace_seconds: float = Field(default=0.03, ge=0, le=5, description="Pause of the demo model between two words.")


class ProviderSection(Section):
    """A provider of models; NAME is the part of a model's name before the colon."""

    base_url: Url | None = Field(
        default=None, description="Address of an OpenAI-compatible server, usually ending in `/v1`."
    )
    key: SecretStr | None = Field(
        default=None, description="Its API key. `planwerk config set provider.NAME.key` reads it from standard input."
    )


class FactsSection(Section):
    """What is known of a model, in place of what comes with Planwerk; NAME is `provider:name`, in quotation marks."""

    context_window: int | None = Field(default=None, ge=1, description="Tokens the model can read at once.")
    input_price: Decimal | None = Field(default=None, ge=0, description="USD per million tokens read.")
    output_price: Decimal | None = Field(default=None, ge=0, description="USD per million tokens written.")


class Settings(BaseSettings):
    """All settings of an installation."""

    model_config = SettingsConfigDict(extra="forbid", frozen=True, env_file=None)

    data: Path = Field(
        default_factory=lambda: Path(platformdirs.user_data_dir("planwerk", appauthor=False)),
        description="The data folder: database, `config.toml`, secrets, and the lock of the server that uses it. "
        "The default is this account's usual place for data.",
    )
    app: str | None = Field(
        default=None, description="MODULE where a command is given none: a file, or a dotted name importable from here."
    )
    host: str = Field(
        default="127.0.0.1",
        min_length=1,
        description="Address to listen on. Beyond this machine somebody needs a password.",
    )
    port: int = Field(default=8321, ge=0, le=65_535, description="Port to listen on; 0 takes a free one.")
    hosts: Names = Field(
        default=(),
        description="Host names under which a proxy on this machine passes requests on, separated by commas; others "
        "are refused, so that no page elsewhere can point its own name at this server.",
    )
    storage: str | None = Field(
        default=None,
        description="Where everything is kept: `sqlite:///FILE`, or `memory`. The default is `planwerk.db` in the data "
        "folder.",
    )
    durability: Literal["process", "power"] = Field(
        default="process",
        description="What a confirmed write outlives: the end of the process, or of the power as well (slower).",
    )
    model: str | None = Field(
        default=None,
        description="The default model, `provider:name`. Where it is missing, Planwerk looks around: provider keys and "
        "addresses in the environment, servers on this machine, and the demo model at last.",
    )
    api_key: SecretStr | None = Field(
        default=None, description="The API key of the local owner; a fresh one at each start where it is missing."
    )
    locale: Literal["en", "de", "fr", "it"] = Field(
        default="en",
        description="Language of what `run` and `chat` ask for in this process; the web client has its own.",
    )
    shutdown_seconds: float = Field(
        default=10.0, ge=0, le=3_600, description="How long a server that is told to end lets runs and requests end."
    )
    max_runs: int = Field(
        default=1_000,
        ge=0,
        description="Runs that one process drives at once; more wait, or go to another process. 0 leaves all of them "
        "to `planwerk worker`.",
    )
    lease_seconds: float = Field(
        default=30.0,
        ge=1,
        le=3_600,
        description="How long a run stays with a process that has stopped answering, before another one takes it. The "
        "same for all processes of a data folder.",
    )
    stateless_seconds: float = Field(
        default=86_400.0, ge=0, description="How long a run of `/v1` is kept whose request named no conversation."
    )
    park_seconds: float = Field(
        default=10.0,
        ge=0,
        le=3_600,
        description="How long a run that waits for people or timers alone stays in memory; after that it costs storage "
        "only, until it is answered.",
    )
    max_agent_depth: int = Field(
        default=4,
        ge=1,
        le=20,
        description="Runs in a chain of agents that ask each other, the first one counted; an agent at its end is "
        "refused to ask another one.",
    )
    schedule_min_seconds: float = Field(
        default=300.0,
        ge=60,
        le=86_400,
        description="How far apart two runs of a profile's schedule have to be; a schedule that is due more often is "
        "refused.",
    )
    limits: LimitSettings = Field(default_factory=LimitSettings)
    log: LogSettings = Field(default_factory=LogSettings)
    demo: DemoSettings = Field(default_factory=DemoSettings)
    provider: dict[str, ProviderSection] = Field(default_factory=dict[str, ProviderSection])
    facts: dict[str, FactsSection] = Field(default_factory=dict[str, FactsSection])

    @property
    def database(self) -> str:
        """The storage address, the default one resolved."""
        return self.storage or f"sqlite:///{self.data / 'planwerk.db'}"
