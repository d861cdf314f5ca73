"""What a kept request asked for."""

from dataclasses import dataclass

from fairtrial.decode.answer import model_name
from fairtrial.decode.values import ShapeError, count_of, load_object

_LIMITS = (
    (None, "max_tokens"),
    (None, "max_completion_tokens"),
    (None, "max_output_tokens"),
    (None, "n_predict"),
    ("sampling_params", "max_new_tokens"),
    ("options", "num_predict"),
)
"""Where a body says how many tokens it wants at most: OpenAI's older and newer routes, llama.cpp's own,
SGLang's own, Ollama's own. The first that is there counts."""

_ONE = (None, 1)
_NUMBERS = frozenset({int, bool})
"""What a prompt in token ids holds; lists of text or of lists are several prompts."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The parts of a request that its answer is held against."""

    body: bytes
    model: str
    """Cut as the names in answers are; empty where the body names none."""
    output_tokens: int | None
    one_answer: bool
    """It asks for one answer, and not for several choices or to several prompts."""

    def exceeded_by(self, tokens: int) -> bool:
        """Whether an answer of so many tokens is longer than it may be."""
        return more_than_asked(tokens, self.output_tokens)


def more_than_asked(tokens: int, asked: int | None) -> bool:
    """Whether an answer is longer than its limit. Of none at all, llama.cpp still makes one token."""
    return asked is not None and 0 < asked < tokens


def asked_of(sent: bytes) -> Asked:
    """Read a whole HTTP request; a body that is no JSON object asks for nothing."""
    body = sent.partition(b"\r\n\r\n")[2]
    try:
        document = load_object(body)
    except ShapeError:
        return Asked(body, "", None, one_answer=False)
    limits = (_limit(document, *place) for place in _LIMITS)
    return Asked(
        body,
        model_name(document.get("model")),
        next((limit for limit in limits if limit is not None), None),
        one_answer=_asks_once(document),
    )


def _asks_once(document: dict[str, object]) -> bool:
    prompt = document.get("prompt")
    several = isinstance(prompt, list) and not _NUMBERS.issuperset(map(type, prompt))
    return document.get("n") in _ONE and not several


def _limit(document: dict[str, object], parent: str | None, key: str) -> int | None:
    place = document if parent is None else document.get(parent)
    return count_of(place.get(key)) if isinstance(place, dict) else None
