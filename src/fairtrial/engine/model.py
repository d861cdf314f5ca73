"""The model (interface; the body follows)."""

from collections.abc import Sequence

from fairtrial.engine import threads  # noqa: F401 - before numpy

# isort: split
import numpy as np
from numpy.typing import NDArray

from fairtrial.engine.state import Floats, RequestState
from fairtrial.profiles.reference_models import ModelShape


class Model:
    """One hybrid model with weights made from a seed.

    Args:
        shape: Dimensions of the model.
        seed: Seed of its weights.
    """

    def __init__(self, shape: ModelShape, seed: int) -> None:
        self.shape = shape
        self.seed = seed
        self.sha256 = ""
        """Digest (hex) of shape, seed and weights: the identity of the model."""

    def prefill_chunk(self, tokens: NDArray[np.int64], position: int, state: RequestState) -> None:
        """Compute 1 to ``page_tokens`` prompt tokens; no logits.

        Args:
            tokens: Token ids; they must not cross a page boundary.
            position: Absolute position of the first one; must be ``state.length``.
            state: The request; its row, keys, values and length move on.

        Raises:
            ValueError: The chunk crosses a page boundary, starts elsewhere or doesn't fit.
        """
        raise NotImplementedError

    def decode(self, tokens: Sequence[int], states: Sequence[RequestState]) -> Floats:
        """One decode step for a batch of requests, dense layers stacked over the batch.

        Args:
            tokens: The newest token of each request.
            states: The requests; each moves on by one token.

        Returns:
            Logits [request, vocabulary]. One request alone always gives the same bits; in a batch
            the last bits may differ, as in any real engine.

        Raises:
            ValueError: The batch is empty, or a request is full.
        """
        raise NotImplementedError
