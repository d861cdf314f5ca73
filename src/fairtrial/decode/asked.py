"""What a kept request asked for."""

from dataclasses import dataclass

from fairtrial.decode.answer import model_name
from fairtrial.decode.values import ShapeError, count_of, load_object

_LIMITS = ("max_tokens", "max_completion_tokens")
"""Where a body says how many tokens it wants at most; the newer name counts where the older is absent."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The parts of a request that its answer is held against."""

    body: bytes
    model: str
    """Cut as the names in answers are; empty where the body names none."""
    output_tokens: int | None


def asked_of(sent: bytes) -> Asked:
    """Read a whole HTTP request; a body that is no JSON object asks for nothing."""
    body = sent.partition(b"\r\n\r\n")[2]
    try:
        document = load_object(body)
    except ShapeError:
        return Asked(body, "", None)
    limits = (count_of(document.get(key)) for key in _LIMITS)
    return Asked(
        body,
        model_name(document.get("model")),
        next((limit for limit in limits if limit is not None), None),
    )
