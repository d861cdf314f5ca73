"""How one reference engine is started. Fixed for its life."""

import os
import re
from dataclasses import dataclass

from fairtrial.engine.snapshots import MID_END, snapshot_policy
from fairtrial.profiles.geometry import split_pool
from fairtrial.profiles.reference_models import DEFAULT_MODEL, DEFAULT_ROW_PERCENT, MODELS, ModelShape
from fairtrial.schema.errors import UsageError
from fairtrial.schema.identity import Geometry

MAX_MODEL_LEN = 8_192
"""Longest prompt plus output in tokens."""
MAX_BATCH = 64
_MAX_POOL_BYTES = 64 * 2**30
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,99}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """Options of one engine; a wrong one is a UsageError that names it.

    None stands for the model's own default.
    """

    port: int
    """TCP port; 0 takes any free one."""
    host: str = "127.0.0.1"
    host_row_percent: int = DEFAULT_ROW_PERCENT
    """Share of the host pool that holds state rows; the rest holds KV pages."""
    host_pool_bytes: int | None = None
    """Size of the whole host pool."""
    model: str = DEFAULT_MODEL
    """Shape of the model: ``laptop`` or ``small``."""
    device_rows: int | None = None
    """State rows of the device tier."""
    device_pages: int | None = None
    """KV pages of the device tier."""
    snapshot: str = MID_END
    """Where along a prompt state rows are kept."""
    audit: bool = False
    """Whether every copy between tiers is checked byte by byte."""
    seed: int | None = None
    """Seed of the weights."""
    max_batch: int = 8
    """Most requests that run at the same time."""
    served_model_name: str | None = None
    token_env: str | None = None
    """Name of the environment variable that holds the bearer token clients must send."""

    def __post_init__(self) -> None:
        _within("port", self.port, 0, 65_535)
        if self.model not in MODELS:
            raise _wrong("model", f"no model {self.model!r}", f"one of: {', '.join(sorted(MODELS))}")
        snapshot_policy(self.snapshot)  # refuses an unknown policy
        _within("host-row-percent", self.host_row_percent, 1, 99)
        _within("host-pool-bytes", self.pool_bytes, 1, _MAX_POOL_BYTES)
        _within("device-rows", self.rows_on_device, 1, 100_000)
        _within("device-pages", self.pages_on_device, 1, 1_000_000)
        _within("seed", self.weight_seed, 0, 2**32 - 1)
        _within("max-batch", self.max_batch, 1, MAX_BATCH)
        if not _NAME.fullmatch(self.served_name):
            raise _wrong("served-model-name", "letters, digits and ._/- only", "at most 100 characters")
        if self.token_env is not None and not _VARIABLE.fullmatch(self.token_env):
            raise _wrong(
                "token-env", "not the name of an environment variable", "give the name, not the token"
            )
        _ = self.geometry  # refuses a pool without a row or a page

    @property
    def shape(self) -> ModelShape:
        """Dimensions of the model."""
        return MODELS[self.model]

    @property
    def pool_bytes(self) -> int:
        """Size of the host pool in bytes."""
        return self.shape.default_pool_bytes if self.host_pool_bytes is None else self.host_pool_bytes

    @property
    def rows_on_device(self) -> int:
        """State rows of the device tier."""
        return self.shape.device_rows if self.device_rows is None else self.device_rows

    @property
    def pages_on_device(self) -> int:
        """KV pages of the device tier."""
        return self.shape.device_pages if self.device_pages is None else self.device_pages

    @property
    def weight_seed(self) -> int:
        """Seed of the weights."""
        return self.shape.seed if self.seed is None else self.seed

    @property
    def served_name(self) -> str:
        """Name under which the model is served."""
        return f"reference-{self.model}" if self.served_model_name is None else self.served_model_name

    @property
    def geometry(self) -> Geometry:
        """How the host pool is split."""
        shape = self.shape
        return split_pool(self.pool_bytes, self.host_row_percent, shape.row_bytes, shape.page_bytes)

    def token(self) -> bytes | None:
        """The bearer token, read from the environment; None if none is asked for."""
        if self.token_env is None:
            return None
        value = os.environ.get(self.token_env, "")
        if not value:
            raise _wrong(
                "token-env", f"the variable {self.token_env} is not set", "export it before the start"
            )
        return value.encode("utf-8", errors="surrogateescape")


def _within(name: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise _wrong(name, f"{value} is out of range", f"from {low} to {high}")


def _wrong(name: str, message: str, hint: str) -> UsageError:
    return UsageError(message, where=f"--{name}", hint=hint)
