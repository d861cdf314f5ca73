"""What requests may say. Strict: an unknown field, a wrong type or a wrong range is refused by name."""

from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from fairtrial.engine.api_errors import ApiError
from fairtrial.engine.sampling import SamplingParams

MAX_STOPS = 16
MAX_MESSAGES = 1_024
_MAX_TOKENS = 2**31
"""Far beyond every context: how many fit is checked when the prompt is known."""

R = TypeVar("R", bound=BaseModel)
_StopText = Annotated[str, Field(min_length=1, max_length=256)]


class _Request(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", allow_inf_nan=False)

    model: str | None = None
    """None asks for the one model that is served."""


class StreamOptions(BaseModel):
    """What a stream carries besides text."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    include_usage: bool = False
    """Whether one more chunk with the usage ends the stream."""


class _Generation(_Request):
    max_tokens: Annotated[int, Field(ge=1, le=_MAX_TOKENS)] | None = None
    min_tokens: Annotated[int, Field(ge=0, le=_MAX_TOKENS)] = 0
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] | None = None
    stop: _StopText | Annotated[list[_StopText], Field(max_length=MAX_STOPS)] | None = None
    n: Literal[1] | None = None
    ignore_eos: bool = False
    stream: bool | None = False
    stream_options: StreamOptions | None = None
    return_token_ids: bool | None = None

    @model_validator(mode="after")
    def _stream_options_need_a_stream(self) -> "_Generation":
        if self.stream_options is not None and not self.stream:
            raise ValueError("stream_options can only be set when stream is true")
        return self

    @property
    def include_usage(self) -> bool:
        """Whether a stream ends with a usage chunk."""
        return self.stream_options is not None and self.stream_options.include_usage

    def sampling(self, max_tokens: int) -> SamplingParams:
        """How the answer is made, with the given limit of tokens."""
        stop = (self.stop,) if isinstance(self.stop, str) else tuple(self.stop or ())
        return SamplingParams(
            max_tokens=max_tokens,
            min_tokens=self.min_tokens,
            temperature=1.0 if self.temperature is None else self.temperature,
            top_p=1.0 if self.top_p is None else self.top_p,
            seed=self.seed,
            ignore_eos=self.ignore_eos,
            stop=stop,
        )


class CompletionRequest(_Generation):
    """Body of ``POST /v1/completions``."""

    prompt: str | list[int]


class TextPart(BaseModel):
    """A part of a message; only text is known here."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    type: Literal["text"]
    text: str


class Message(BaseModel):
    """One message of a chat."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    role: Literal["system", "user", "assistant"]
    content: str | list[TextPart]

    @property
    def text(self) -> str:
        """The message as one text."""
        return self.content if isinstance(self.content, str) else "".join(part.text for part in self.content)


class ChatRequest(_Generation):
    """Body of ``POST /v1/chat/completions``."""

    messages: Annotated[list[Message], Field(min_length=1, max_length=MAX_MESSAGES)]
    max_completion_tokens: Annotated[int, Field(ge=1, le=_MAX_TOKENS)] | None = None

    @property
    def asked_tokens(self) -> int | None:
        """Asked limit of output tokens, by its new name or its old one."""
        return self.max_tokens if self.max_completion_tokens is None else self.max_completion_tokens


class TokenizeRequest(_Request):
    """Body of ``POST /tokenize``."""

    prompt: str


class DetokenizeRequest(_Request):
    """Body of ``POST /detokenize``."""

    tokens: list[int]


def read(kind: type[R], body: bytes) -> R:
    """Read a body.

    Raises:
        ApiError: 400 that names the first field that is wrong.
    """
    try:
        return kind.model_validate_json(body)
    except ValidationError as error:
        problems = [dict(problem) for problem in error.errors(include_url=False, include_context=False)]
        raise _refusal(problems) from None


def _refusal(problems: list[dict[str, Any]]) -> ApiError:
    # A field that may be text or a list has problems for both: the one that came furthest says most.
    first = max(problems, key=lambda problem: (not problem["type"].endswith("_type"), len(problem["loc"])))
    message = first["msg"].removeprefix("Value error, ")
    if first["type"] == "json_invalid":
        return ApiError(400, f"the body is not JSON: {message}", "Bad Request")
    path = first["loc"]
    if first["type"] == "extra_forbidden":
        message = "unknown field"
    else:
        path = [part for part in path if not _names_a_type(part)]
    where = ".".join(("body", *(str(part)[:100] for part in path)))
    return ApiError(400, f"{where}: {message}", "Bad Request", where)


def _names_a_type(part: str | int) -> bool:
    """Whether a part of a path is not a field, but one of the types that the field may have."""
    return isinstance(part, str) and (part in {"str", "constrained-str"} or "[" in part)
