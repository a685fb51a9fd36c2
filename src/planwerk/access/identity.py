"""The person a run answers, as blueprints see them."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class UserIdentity(BaseModel):
    """Who is asking: the account's id, which never changes, and the name shown to people."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    name: str
