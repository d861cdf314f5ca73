"""Shapes of the reference engine's models: the numbers that its caches and plans are made of.

Layers are letters: ``R`` is gated linear attention (its state is part of a row), ``A`` is
attention with a paged key-value cache (its keys and values are part of a page).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

FLOAT_BYTES = 4
"""Weights, states, keys and values are float32."""


@dataclass(frozen=True, slots=True)
class ModelShape:
    """Dimensions of one model and the default tiers it is served with."""

    name: str
    d_model: int
    layers: str
    query_heads: int
    """Query heads of each attention layer."""
    row_heads: int
    """Heads of each linear-attention layer."""
    ff_dim: int
    default_pool_bytes: int
    """Host pool in bytes."""
    head_dim: int = 64
    kv_heads: int = 1
    key_dim: int = 64
    """Key width of a linear-attention head."""
    value_dim: int = 128
    """Value width of a linear-attention head."""
    vocabulary: int = 2048
    page_tokens: int = 64
    max_positions: int = 16384
    """Longest prompt plus output, in tokens."""
    device_rows: int = 32
    """Default state rows of the device tier."""
    device_pages: int = 336
    """Default KV pages of the device tier."""
    seed: int = 7
    """Default seed of the weights."""

    @property
    def attention_layers(self) -> int:
        """Number of layers with a paged key-value cache."""
        return self.layers.count("A")

    @property
    def row_layers(self) -> int:
        """Number of layers with a state row."""
        return self.layers.count("R")

    @property
    def row_shape(self) -> tuple[int, int, int, int]:
        """One state row: layers, heads, key width, value width."""
        return (self.row_layers, self.row_heads, self.key_dim, self.value_dim)

    @property
    def page_shape(self) -> tuple[int, int, int, int]:
        """One page: layers, keys and values, tokens, width of all key-value heads."""
        return (self.attention_layers, 2, self.page_tokens, self.kv_heads * self.head_dim)

    @property
    def row_bytes(self) -> int:
        """Size of one state row in bytes."""
        return self.row_layers * self.row_heads * self.key_dim * self.value_dim * FLOAT_BYTES

    @property
    def page_bytes(self) -> int:
        """Size of one KV page in bytes."""
        return self.attention_layers * 2 * self.page_tokens * self.kv_heads * self.head_dim * FLOAT_BYTES


LAPTOP = ModelShape(
    name="laptop",
    d_model=256,
    layers="RRRARRRA",
    query_heads=4,
    row_heads=8,
    ff_dim=768,
    default_pool_bytes=331_350_016,
)
"""About ten million weights; its default pool gives 52 rows at 25 percent and 158 at 75."""

SMALL = ModelShape(
    name="small",
    d_model=128,
    layers="RRA",
    query_heads=2,
    row_heads=4,
    ff_dim=384,
    default_pool_bytes=55_312_384,
)
"""About one million weights, for CI; the same row counts as ``LAPTOP``."""

MODELS: Mapping[str, ModelShape] = MappingProxyType({shape.name: shape for shape in (LAPTOP, SMALL)})
"""Every shape by its name."""
DEFAULT_MODEL = LAPTOP.name
"""Served when no model is named."""
DEFAULT_ROW_PERCENT = 25
"""Share of the host pool for rows when none is declared."""
