"""The hybrid model: linear-attention layers with a state row, attention layers with paged keys and values.

Prompts are computed in chunks of a page, the last prompt token and every output token as a decode
step. A restored prefix is followed by the same chunks as a computed one, so both give the same bits.
"""

from collections.abc import Sequence

from fairtrial.engine import threads  # noqa: F401 - before numpy

# isort: split
import numpy as np
from numpy.typing import NDArray

from fairtrial.engine.layers import LayerWeights, feed_forward, make_weights, rms_norm, weights_digest
from fairtrial.engine.mixers import LinearAttention, PagedAttention
from fairtrial.engine.state import Floats, RequestState
from fairtrial.profiles.reference_models import ModelShape


class Model:
    """One model with weights made from a seed. Used by one thread at a time.

    Args:
        shape: Dimensions of the model.
        seed: Seed of its weights.
    """

    def __init__(self, shape: ModelShape, seed: int) -> None:
        self.shape = shape
        self.seed = seed
        self._weights = make_weights(shape, seed)
        self.sha256 = weights_digest(shape, seed, self._weights)
        """Digest (hex) of shape, seed and weights: the identity of the model."""
        self._linear = LinearAttention(shape)
        self._paged = PagedAttention(shape)
        # Which state or which cached layer each layer owns, counted by kind.
        self._own = [shape.layers[:index].count(letter) for index, letter in enumerate(shape.layers)]

    def prefill_chunk(self, tokens: NDArray[np.int64], position: int, state: RequestState) -> None:
        """Compute 1 to ``page_tokens`` prompt tokens; no logits.

        Args:
            tokens: Token ids; they must not cross a page boundary.
            position: Absolute position of the first one; must be ``state.length``.
            state: The request; its row, keys, values and length move on.

        Raises:
            ValueError: The chunk crosses a page boundary, starts elsewhere or doesn't fit.
        """
        n, page = len(tokens), self.shape.page_tokens
        if position != state.length:
            raise ValueError(f"the chunk starts at {position}, the request stands at {state.length}")
        if not 0 < n <= page - position % page:
            raise ValueError(f"{n} tokens from position {position} are not within one page of {page}")
        self._check_room(state, n)
        x: Floats = self._weights.embedding[tokens]
        last = len(self._weights.layers) - 1
        for index, layer in enumerate(self._weights.layers):
            # Without logits, nothing reads what the last layer says: its state or cache is all that counts.
            mixed = self._mix(index, rms_norm(x) @ layer.mix_in, state, output=index < last)
            if mixed is not None:
                x = _after_mixing(layer, x, mixed)
        state.length += n

    def decode(self, tokens: Sequence[int], states: Sequence[RequestState]) -> Floats:
        """One decode step for a batch of requests, dense layers stacked over the batch.

        Args:
            tokens: The newest token of each request.
            states: The requests; each moves on by one token.

        Returns:
            Logits [request, vocabulary]. One request alone always gives the same bits; in a batch
            the last bits may differ, as in any real engine.

        Raises:
            ValueError: The batch is empty or uneven, or a request is full.
        """
        if not states or len(tokens) != len(states):
            raise ValueError(f"{len(tokens)} tokens for {len(states)} requests")
        for state in states:
            self._check_room(state, 1)
        x: Floats = self._weights.embedding[np.asarray(tokens, np.int64)]
        for index, layer in enumerate(self._weights.layers):
            qkv = rms_norm(x) @ layer.mix_in
            rows = [
                self._mix(index, qkv[i : i + 1], state, output=True)  # each request sees only its own past
                for i, state in enumerate(states)
            ]
            x = _after_mixing(layer, x, np.concatenate([row for row in rows if row is not None]))
        for state in states:
            state.length += 1
        logits: Floats = rms_norm(x) @ self._weights.unembedding
        return logits

    def _mix(self, index: int, qkv: Floats, state: RequestState, *, output: bool) -> Floats | None:
        own = self._own[index]
        if self._weights.layers[index].attends:
            return self._paged.mix(qkv, state.kv[own], state.length, output=output)
        return self._linear.mix(qkv, state.row[own], output=output)

    def _check_room(self, state: RequestState, tokens: int) -> None:
        room = min(state.capacity, self.shape.max_positions)
        if state.length + tokens > room:
            raise ValueError(f"{tokens} tokens after {state.length} don't fit in {room}")


def _after_mixing(layer: LayerWeights, x: Floats, mixed: Floats) -> Floats:
    x = x + mixed @ layer.mix_out
    x += feed_forward(layer, x)
    return x
