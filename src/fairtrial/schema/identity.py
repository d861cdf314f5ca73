"""What a server says it is. Plain records: bench makes one before its first request."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from fairtrial.schema.types import STRICT, Count, Digest, Positive, SafeInt, Text

IDENTITY_SCHEMA: Literal["fairtrial.identity/v1"] = "fairtrial.identity/v1"

Setting = SafeInt | bool | Text | None
"""One further thing that an engine states of itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Geometry:
    """How a host pool is split into state rows and KV pages."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = STRICT

    pool_bytes: Positive
    row_percent: Positive
    row_bytes: Positive
    page_bytes: Positive
    rows: Count
    pages: Count
    slack_bytes: Count


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """What a server says it is. Sealed at every launch, compared between launches."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = STRICT

    schema: Literal["fairtrial.identity/v1"] = IDENTITY_SCHEMA
    engine: Text
    version: Text | None
    model: Text | None
    model_sha256: Digest | None
    """Where the engine states one."""
    max_model_len: Count | None
    geometry: Geometry | None
    settings: dict[str, Setting]
    """Further settings the engine states, without addresses and process ids."""
