"""The base of every document: frozen, strict, no unknown keys, no NaN, no infinity."""

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

MAX_SAFE_INTEGER = 2**53 - 1
"""Largest integer every JSON reader keeps exactly (RFC 8259 section 6, RFC 7493)."""


class Record(BaseModel):
    """Base of every document and of its parts."""

    model_config = ConfigDict(
        frozen=True,
        strict=True,
        extra="forbid",
        allow_inf_nan=False,
        use_attribute_docstrings=True,
        populate_by_name=True,
        serialize_by_alias=True,
    )


def _text_is_clean(text: str) -> str:
    if any(0xD800 <= ord(char) <= 0xDFFF for char in text):
        raise ValueError("text holds a lone surrogate")
    return text


SafeInt = Annotated[int, Field(ge=-MAX_SAFE_INTEGER, le=MAX_SAFE_INTEGER)]
Count = Annotated[int, Field(ge=0, le=MAX_SAFE_INTEGER)]
Positive = Annotated[int, Field(ge=1, le=MAX_SAFE_INTEGER)]
OffsetNs = Annotated[int, Field(ge=0, le=MAX_SAFE_INTEGER)]
"""Nanoseconds since the origin of the boot the document names."""
AbsoluteNs = Annotated[str, Field(pattern=r"^(0|[1-9][0-9]{0,19})$")]
"""An absolute clock value in nanoseconds, as a decimal string."""
UtcTime = Annotated[
    str, Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?Z$")
]
"""A wall-clock label in UTC; never used to measure a duration."""
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
"""A sha256 or an hmac-sha256 in lower-case hexadecimal."""
Identifier = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,99}$")]
"""A public name: safe as a file name on every system."""
ArmName = Annotated[str, Field(pattern=r"^[A-Z]$")]
"""``A`` is the baseline; ``B``, ``C``, ... are candidates."""
Percent = Annotated[float, Field(ge=0, le=100)]
Share = Annotated[float, Field(ge=0, le=1)]
Text = Annotated[str, AfterValidator(_text_is_clean)]
