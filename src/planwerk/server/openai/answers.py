"""What we send: chunks, whole completions and lists of models in the protocol's shapes (W1, W2)."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from planwerk.server.openai.turns import Usage
from planwerk.workflow.ids import new_id

Object = dict[str, Any]


def completion_id() -> str:
    """An id of a completion."""
    return f"chatcmpl-{new_id().replace('-', '')}"


@dataclass(slots=True)
class Chunks:
    """Makes the chunks of one streamed completion; all have its id, time and model."""

    model: str
    include_usage: bool
    id: str = field(default_factory=completion_id)
    created: int = field(default_factory=lambda: int(time.time()))

    def first(self) -> Object:
        return self._delta({"role": "assistant", "content": ""})

    def text(self, text: str) -> Object:
        return self._delta({"content": text})

    def reasoning(self, text: str) -> Object:
        return self._delta({"reasoning_content": text})

    def refusal(self, text: str) -> Object:
        return self._delta({"refusal": text})

    def last(self, finish_reason: str = "stop", waiting: Mapping[str, str] | None = None) -> Object:
        """The end of the answer; with `x_run` where its run waits for a person (W1)."""
        return {**self._delta({}, finish_reason), **({"x_run": dict(waiting)} if waiting is not None else {})}

    def usage(self, usage: Usage) -> Object:
        return {**self._base(), "choices": [], "usage": usage_object(usage)}

    def _delta(self, delta: Object, finish_reason: str | None = None) -> Object:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        return {**self._base(), "choices": [choice], **({"usage": None} if self.include_usage else {})}

    def _base(self) -> Object:
        return {"id": self.id, "object": "chat.completion.chunk", "created": self.created, "model": self.model}


def event(kind: str, data: Object) -> Object:
    """A frame that Open WebUI passes on to its page (W2)."""
    return {"event": {"type": kind, "data": data}}


def completion(
    model: str,
    text: str,
    *,
    usage: Usage,
    refusal: str | None = None,
    reasoning: str = "",
    finish_reason: str = "stop",
    waiting: Mapping[str, str] | None = None,
) -> Object:
    """A whole completion; with `x_run` where its run waits for a person (W1)."""
    message: Object = {
        "role": "assistant",
        "content": text if refusal is None else (text or None),
        "refusal": refusal,
        "annotations": [],
    }
    if reasoning:
        message["reasoning_content"] = reasoning
    return {
        "id": completion_id(),
        "object": "chat.completion",
        "created": int(time.time()),
        "model": model,
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": finish_reason}],
        "usage": usage_object(usage),
        **({"x_run": dict(waiting)} if waiting is not None else {}),
    }


def usage_object(usage: Usage) -> Object:
    """Tokens, summed over all model calls of the run."""
    return {
        "prompt_tokens": usage.prompt,
        "completion_tokens": usage.completion,
        "total_tokens": usage.prompt + usage.completion,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
    }


def model_object(slug: str, name: str, created: int) -> Object:
    """A profile as a model; `name` is what clients show that know it, such as Open WebUI."""
    return {"id": slug, "object": "model", "created": created, "owned_by": "planwerk", "name": name}
