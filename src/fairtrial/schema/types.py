"""The types of which every document is made, without what reads and checks documents.

Programs that must start quickly (the load worker, ``bench``) import records made of these; only
who reads a document back pays for its validation (:func:`fairtrial.evidence.documents.read`).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final

MAX_SAFE_INTEGER = 2**53 - 1
"""Largest integer every JSON reader keeps exactly (RFC 8259 section 6, RFC 7493)."""
_SURROGATE = re.compile("[\ud800-\udfff]")

STRICT: Final[Mapping[str, Any]] = {
    "strict": True,
    "extra": "forbid",
    "allow_inf_nan": False,
    "use_attribute_docstrings": True,
}
"""``__pydantic_config__`` of a plain record: how its JSON is validated when it is read."""


class Within:
    """Numbers within bounds. A library of such words takes longer to import than everything here.

    Args:
        ge: Least value.
        le: Largest value.
        gt: What every value is above.
    """

    __slots__ = ("_bounds",)

    def __init__(self, *, ge: float | None = None, le: float | None = None, gt: float | None = None) -> None:
        named = {"ge": ge, "le": le, "gt": gt}
        self._bounds = {name: bound for name, bound in named.items() if bound is not None}

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """Called by the validator when it is built."""
        return {**handler(source), **self._bounds}


@dataclass(frozen=True, slots=True)
class Pattern:
    """Text that a whole regular expression matches."""

    expression: str

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """Called by the validator when it is built."""
        return {**handler(source), "pattern": self.expression}


@dataclass(frozen=True, slots=True)
class WellFormed:
    """Text without a lone surrogate: only such text has UTF-8."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """Called by the validator when it is built."""
        return {
            "type": "function-after",
            "function": {"type": "no-info", "function": well_formed},
            "schema": handler(source),
        }


def well_formed(text: str) -> str:
    """The text.

    Raises:
        ValueError: It holds a lone surrogate.
    """
    if _SURROGATE.search(text):
        raise ValueError("text holds a lone surrogate")
    return text


SafeInt = Annotated[int, Within(ge=-MAX_SAFE_INTEGER, le=MAX_SAFE_INTEGER)]
Count = Annotated[int, Within(ge=0, le=MAX_SAFE_INTEGER)]
Positive = Annotated[int, Within(ge=1, le=MAX_SAFE_INTEGER)]
OffsetNs = Annotated[int, Within(ge=0, le=MAX_SAFE_INTEGER)]
"""Nanoseconds since the origin of the boot the document names."""
AbsoluteNs = Annotated[str, Pattern(r"^(0|[1-9][0-9]{0,19})$")]
"""An absolute clock value in nanoseconds, as a decimal string."""
UtcTime = Annotated[str, Pattern(r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?Z$")]
"""A wall-clock label in UTC; never used to measure a duration."""
Digest = Annotated[str, Pattern(r"^[0-9a-f]{64}$")]
"""A sha256 or an hmac-sha256 in lower-case hexadecimal."""
Identifier = Annotated[str, Pattern(r"^[a-z0-9][a-z0-9._-]{0,99}$")]
"""A public name: safe as a file name on every system."""
ArmName = Annotated[str, Pattern(r"^[A-Z]$")]
"""``A`` is the baseline; ``B``, ``C``, ... are candidates."""
Percent = Annotated[float, Within(ge=0, le=100)]
Share = Annotated[float, Within(ge=0, le=1)]
Rate = Annotated[float, Within(gt=0, le=1_000_000)]
"""Requests a second."""
Text = Annotated[str, WellFormed()]
