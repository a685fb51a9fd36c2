"""What can go wrong with a model, each with a code that is the same in UI, REST, `/v1` and CLI (E4.4).

ModelError
├── ModelUnreachable        no connection, no answer in time, or the server is down
├── ModelRefused            the provider rejects the request: key, model name, content
├── ModelRateLimited        too many requests; `retry_after_seconds` if the provider said
├── ModelBrokeOff           the stream ended early; `text` is what had come by then
├── ModelEmpty              the answer has neither text nor a tool call
├── ModelContextExceeded    the prompt is larger than the model's window
├── ModelOutputInvalid      the answer is not of the form that was asked for, also not at the second try
└── UnknownModel            no model of this name can be made here
"""

from __future__ import annotations

from planwerk.workflow.errors import PlanwerkError


class ModelError(PlanwerkError):
    """A call of a model failed; `model` is the name it was asked under, `cause` the provider's words, shortened."""

    code = "model_error"
    http_status = 502
    happened = "failed"
    remedy = "Try again."

    def __init__(self, model: str, cause: str = "", *, what_to_do: str | None = None) -> None:
        detail = f": {cause.rstrip('.')}" if cause else ""
        message = f"The model {model} {self.happened}{detail}."
        super().__init__(message, what_to_do=self.remedy if what_to_do is None else what_to_do)
        self.model, self.cause = model, cause


class ModelUnreachable(ModelError):
    """The model's server cannot be reached, does not answer in time, or answers that it is down."""

    code = "model_unreachable"
    http_status = 503
    happened = "cannot be reached"
    remedy = "Check that its server runs and that its base URL is right (`planwerk doctor`), then try again."


class ModelRefused(ModelError):
    """The provider rejects the request: the key, the model's name, or what was asked."""

    code = "model_refused"
    happened = "refused the request"
    remedy = "Check the provider's key and the model's name (`planwerk doctor`), or ask differently."


class ModelRateLimited(ModelError):
    """Too many requests; the provider asks to wait."""

    code = "model_rate_limited"
    http_status = 429
    happened = "is asked too often"
    remedy = "Wait a moment and try again."

    def __init__(self, model: str, cause: str = "", *, retry_after_seconds: float | None = None) -> None:
        wait = f"Wait {retry_after_seconds:g} seconds and try again." if retry_after_seconds else None
        super().__init__(model, cause, what_to_do=wait)
        self.retry_after_seconds = retry_after_seconds


class ModelBrokeOff(ModelError):
    """The stream ended before the answer did; `text` is what had come by then."""

    code = "model_broke_off"
    happened = "broke off in the middle of its answer"
    remedy = "What was said is kept and marked as incomplete; ask again from here."

    def __init__(self, model: str, cause: str = "", *, text: str = "") -> None:
        super().__init__(model, cause)
        self.text = text


class ModelEmpty(ModelError):
    """The model answered nothing: no text, no tool call."""

    code = "model_empty"
    happened = "answered nothing"
    remedy = "Ask again, or rephrase the question; if it happens often, choose another model."


class ModelContextExceeded(ModelError):
    """The prompt is larger than the model's context window."""

    code = "model_context_exceeded"
    http_status = 400
    happened = "cannot take a prompt of this size"
    remedy = (
        "Lower `number_of_input_tokens` in the profile, start a new thread, or choose a model with a larger window."
    )


class ModelOutputInvalid(ModelError):
    """The model does not keep to the form that was asked for, also after it was told the error."""

    code = "model_output_invalid"
    happened = "did not keep to the form asked for"
    remedy = "Choose a model that follows schemas as `task_llm`, or make the form simpler."


class UnknownModel(ModelError):
    """No model of this name can be made here."""

    code = "unknown_model"
    http_status = 400
    happened = "is not known here"
    remedy = "Name it as `provider:name`; `planwerk doctor` lists the models found."
