"""What a client sends: a chat completion's request, read tolerantly (W1).

Fields that are not used are ignored, known and unknown ones: clients send several by default, and a refusal of them is
the usual "does not work". Refused is only what would be answered wrongly: two choices, tools of the client.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, cast

from planwerk.messages.sanitise import sanitise_json
from planwerk.server.openai.errors import BadRequest

Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A chat completion that is asked for; what we do not use is left out."""

    model: str
    messages: list[Object]
    stream: bool = False
    include_usage: bool = False
    metadata: Object = field(default_factory=dict[str, Any])

    @property
    def features(self) -> tuple[str, ...]:
        """Chat toggles in the metadata: a list, or names separated by commas."""
        given = self.metadata.get("features", ())
        names: list[Any] = given.split(",") if isinstance(given, str) else as_list(given)
        return tuple(name for name in (str(name).strip() for name in names) if name)

    @property
    def question_place(self) -> int:
        """Place of the last message of the person.

        Raises:
            BadRequest: There is none.
        """
        for place in range(len(self.messages) - 1, -1, -1):
            if self.messages[place].get("role") == "user":
                return place
        raise BadRequest("there must be a message of the role user.", param="messages")


def read_request(body: bytes) -> ChatRequest:
    """The request of this body, half characters replaced (SRV-25).

    Raises:
        BadRequest: It is no JSON object, or asks for what is not offered.
    """
    given = _object_of(body)
    model = given.get("model")
    if not isinstance(model, str) or not model:
        raise BadRequest("you must name a model; GET /v1/models lists them.", param="model")
    messages = given.get("messages")
    if not isinstance(messages, list) or not messages:
        raise BadRequest("`messages` must be a list with at least one message.", param="messages")
    _refuse_what_is_not_offered(given)
    options = given.get("stream_options")
    return ChatRequest(
        model=model,
        messages=[as_object(message, f"messages[{n}]") for n, message in enumerate(cast("list[Any]", messages))],
        stream=bool(given.get("stream")),
        include_usage=isinstance(options, dict) and bool(cast("Object", options).get("include_usage")),
        metadata=cast("Object", given["metadata"]) if isinstance(given.get("metadata"), dict) else {},
    )


def _object_of(body: bytes) -> Object:
    try:
        data: Any = json.loads(body)
    except (ValueError, RecursionError) as error:  # also numbers of too many digits
        raise BadRequest(f"the body is not valid JSON: {error}.", code="malformed_json") from error
    if not isinstance(data, dict):
        raise BadRequest("the body is not a JSON object.")
    return cast("Object", sanitise_json(data))


def _refuse_what_is_not_offered(given: Object) -> None:
    choices = given.get("n")
    if choices is not None and (isinstance(choices, bool) or choices != 1):
        raise BadRequest("only one choice can be asked for.", param="n")
    for name in ("tools", "functions"):
        if given.get(name):
            raise BadRequest(
                "this model brings its own tools and takes none from clients.",
                param=name,
                code="client_tools_not_allowed",
            )


def as_object(value: Any, param: str) -> Object:
    """The value, which must be an object.

    Raises:
        BadRequest: It is none.
    """
    if not isinstance(value, dict):
        raise BadRequest(f"{param} must be an object.", param=param)
    return cast("Object", value)


def as_list(value: Any) -> list[Any]:
    """The value if it is a list, else an empty one."""
    return cast("list[Any]", value) if isinstance(value, list) else []
