"""The two ways in which a token sees the tokens before it: a recurrent state, and attention.

Linear attention of head h with decay g: S_t = g S_(t-1) + k_t v_t', y_t = S_t' q_t. A chunk of n
tokens computes the same in closed form, so its cost does not grow with the position.
"""

import math

from fairtrial.engine import threads  # noqa: F401 - before numpy

# isort: split
import numpy as np

from fairtrial.engine.layers import Rotation, rms_norm
from fairtrial.engine.state import Floats
from fairtrial.profiles.reference_models import ModelShape

_MASKED = np.float32(-1e30)


class LinearAttention:
    """Gated linear attention with one fixed decay a head."""

    def __init__(self, shape: ModelShape) -> None:
        self._heads, self._key, self._value = shape.row_heads, shape.key_dim, shape.value_dim
        page = shape.page_tokens
        self._decay = 1 - 2.0 ** (-5 - 0.5 * np.arange(self._heads))
        steps = np.arange(page)
        apart = steps[:, None] - steps[None, :]
        powers = self._decay[:, None, None] ** np.maximum(apart, 0)
        self._between = np.where(apart >= 0, powers, 0).astype(np.float32)
        """[head, later token, earlier token]"""
        self._since_start = (self._decay[:, None] ** (steps + 1)).astype(np.float32)[:, :, None]
        self._until_end = (self._decay[:, None] ** steps[::-1]).astype(np.float32)[:, :, None]
        """Decay until the end of a full chunk; the last n of them serve a chunk of n."""

    def mix(self, qkv: Floats, state: Floats, *, output: bool) -> Floats | None:
        """See the past and move the state on, in place.

        Args:
            qkv: [token, queries and keys and values of all heads].
            state: [head, key width, value width].
            output: Whether the result is wanted, or only the state.

        Returns:
            [token, values of all heads], normalised by head; None when not wanted.
        """
        n, width = len(qkv), self._heads * self._key
        keys = rms_norm(qkv[:, width : 2 * width].reshape(n, self._heads, self._key)).transpose(1, 0, 2)
        keys *= np.float32(1 / self._key)
        values = qkv[:, 2 * width :].reshape(n, self._heads, self._value).transpose(1, 0, 2)
        result = self._see(qkv[:, :width], keys, values, state) if output else None
        page = self._between.shape[1]
        state *= self._since_start[:, n - 1 : n]
        if n > 1:
            keys *= self._until_end[:, page - n :]
        state += keys.transpose(0, 2, 1) @ values
        return result

    def _see(self, q: Floats, keys: Floats, values: Floats, state: Floats) -> Floats:
        n = len(q)
        queries = rms_norm(q.reshape(n, self._heads, self._key)).transpose(1, 0, 2)
        seen = queries @ state
        seen *= self._since_start[:, :n]
        within = queries @ keys.transpose(0, 2, 1)
        within *= self._between[:, :n, :n]
        seen += within @ values
        return rms_norm(seen.transpose(1, 0, 2)).reshape(n, self._heads * self._value)


class PagedAttention:
    """Causal attention over keys and values kept by position; several query heads share one of them."""

    def __init__(self, shape: ModelShape) -> None:
        self._queries, self._heads, self._width = shape.query_heads, shape.kv_heads, shape.head_dim
        self._rotation = Rotation(shape.head_dim, shape.max_positions)
        steps = np.arange(shape.page_tokens)
        self._ahead = steps[None, :] > steps[:, None]
        """[token, token]: whether the second comes after the first."""

    def mix(self, qkv: Floats, kept: Floats, position: int, *, output: bool) -> Floats | None:
        """Keep the chunk's keys and values, and see every position up to each token.

        Args:
            qkv: [token, queries and keys and values of all heads].
            kept: [keys or values, token, width of all heads]; the chunk's part is written.
            position: Absolute position of the first token.
            output: Whether the result is wanted.

        Returns:
            [token, values of all query heads]; None when not wanted.
        """
        n, split = len(qkv), self._queries * self._width
        end, kv_width = position + n, self._heads * self._width
        new_keys = qkv[:, split : split + kv_width].reshape(n, self._heads, self._width)
        kept[0, position:end] = self._rotation.apply(new_keys, position).reshape(n, kv_width)
        kept[1, position:end] = qkv[:, split + kv_width :]
        if not output:
            return None
        queries = self._rotation.apply(qkv[:, :split].reshape(n, self._queries, self._width), position)
        queries *= np.float32(1 / math.sqrt(self._width))
        keys = kept[0, :end].reshape(end, self._heads, self._width).transpose(1, 2, 0)
        values = kept[1, :end].reshape(end, self._heads, self._width).transpose(1, 0, 2)
        group = self._queries // self._heads
        grouped = queries.transpose(1, 0, 2).reshape(self._heads, group * n, self._width)
        scores: Floats = grouped @ keys
        self._soften(scores.reshape(self._queries, n, end), position)
        per_head: Floats = scores @ values
        seen = per_head.reshape(self._queries, n, self._width)
        return seen.transpose(1, 0, 2).reshape(n, split)

    def _soften(self, scores: Floats, position: int) -> None:
        """Softmax over what each token may see, in place."""
        n = scores.shape[1]
        if n > 1:
            np.copyto(scores[:, :, position:], _MASKED, where=self._ahead[:n, :n])
        scores -= scores.max(-1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(-1, keepdims=True)
