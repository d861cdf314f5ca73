"""The model's numbers and the steps that don't look at other requests. float32 throughout."""

import math
from dataclasses import dataclass
from hashlib import sha256

from fairtrial.engine import threads  # noqa: F401 - before numpy

# isort: split
import numpy as np

from fairtrial.engine.state import Floats
from fairtrial.profiles.reference_models import ModelShape

_EPSILON = np.float32(1e-5)
_ROPE_BASE = 10_000.0


@dataclass(frozen=True, slots=True)
class LayerWeights:
    """Weights of one layer; every matrix is [in, out]."""

    attends: bool
    """Attention with a paged cache; otherwise linear attention with a state."""
    mix_in: Floats
    """To queries, keys and values, side by side."""
    mix_out: Floats
    gate_up: Floats
    """To the gate and the value of SwiGLU, side by side."""
    down: Floats


@dataclass(frozen=True, slots=True)
class Weights:
    """All weights of a model."""

    embedding: Floats
    layers: tuple[LayerWeights, ...]
    unembedding: Floats


def make_weights(shape: ModelShape, seed: int) -> Weights:
    """Draw the weights of a model: normal, scaled by the square root of the input width."""
    source = np.random.default_rng(seed)

    def matrix(rows: int, columns: int) -> Floats:
        drawn = source.standard_normal((rows, columns), dtype=np.float32)
        drawn *= np.float32(1 / math.sqrt(rows))
        return drawn

    d, ff = shape.d_model, shape.ff_dim
    embedding = source.standard_normal((shape.vocabulary, d), dtype=np.float32)
    layers = []
    for letter in shape.layers:
        attends = letter == "A"
        if attends:
            mixed = shape.query_heads * shape.head_dim
            inner = mixed + 2 * shape.kv_heads * shape.head_dim
        else:
            mixed = shape.row_heads * shape.value_dim
            inner = mixed + 2 * shape.row_heads * shape.key_dim
        layers.append(
            LayerWeights(attends, matrix(d, inner), matrix(mixed, d), matrix(d, 2 * ff), matrix(ff, d)),
        )
    return Weights(embedding, tuple(layers), matrix(d, shape.vocabulary))


def weights_digest(shape: ModelShape, seed: int, weights: Weights) -> str:
    """SHA-256 (hex) of what decides a model's numbers: dimensions, seed and every weight in order."""
    dimensions = (
        *(shape.layers, shape.d_model, shape.query_heads, shape.kv_heads, shape.head_dim),
        *(shape.row_heads, shape.key_dim, shape.value_dim, shape.ff_dim, shape.vocabulary, shape.page_tokens),
    )
    digest = sha256(f"{dimensions} {seed}".encode())
    digest.update(weights.embedding.data)
    for layer in weights.layers:
        for matrix in (layer.mix_in, layer.mix_out, layer.gate_up, layer.down):
            digest.update(matrix.data)
    digest.update(weights.unembedding.data)
    return digest.hexdigest()


def rms_norm(x: Floats) -> Floats:
    """Scale the last axis to a mean square of one."""
    squares = np.einsum("...i,...i->...", x, x)[..., None]
    squares *= np.float32(1 / x.shape[-1])
    squares += _EPSILON
    np.sqrt(squares, out=squares)
    scaled: Floats = x / squares
    return scaled


def feed_forward(layer: LayerWeights, x: Floats) -> Floats:
    """SwiGLU of the normalised input."""
    both = rms_norm(x) @ layer.gate_up
    half = both.shape[-1] // 2
    gate, value = both[:, :half], both[:, half:]
    swish = np.negative(gate)
    np.exp(swish, out=swish)
    swish += np.float32(1)
    np.divide(gate, swish, out=swish)
    swish *= value
    out: Floats = swish @ layer.down
    return out


class Rotation:
    """Rotary position embedding up to a longest position."""

    def __init__(self, width: int, positions: int) -> None:
        inverse = _ROPE_BASE ** (-np.arange(0, width, 2) / width)
        angles = np.arange(positions)[:, None] * inverse[None]
        self._cos = np.cos(angles).astype(np.float32)[:, None]
        self._sin = np.sin(angles).astype(np.float32)[:, None]

    def apply(self, x: Floats, position: int) -> Floats:
        """Rotate [token, head, width]; the first token is at ``position``."""
        end = position + x.shape[0]
        cos, sin = self._cos[position:end], self._sin[position:end]
        even, odd = x[..., ::2], x[..., 1::2]
        out = np.empty_like(x)
        out[..., ::2] = even * cos - odd * sin
        out[..., 1::2] = even * sin + odd * cos
        return out
