"""What one request works on: its recurrent state and its keys and values so far."""

from fairtrial.engine import threads  # noqa: F401 - before numpy

# isort: split
import numpy as np
from numpy.typing import NDArray

from fairtrial.profiles.reference_models import ModelShape

Floats = NDArray[np.float32]


class RequestState:
    """The working memory of one request, outside both cache tiers.

    Args:
        shape: The model's shape.
        capacity: Prompt plus output tokens that must fit; rounded up to whole pages.
    """

    def __init__(self, shape: ModelShape, capacity: int) -> None:
        self._page_tokens = shape.page_tokens
        layers, two, page, width = shape.page_shape
        pages = max(1, -(-capacity // page))
        self.row: Floats = np.zeros(shape.row_shape, np.float32)
        """Recurrent state after ``length`` tokens; changed in place."""
        self.kv: Floats = np.zeros((layers, two, pages * page, width), np.float32)
        """Keys and values by attention layer: [layer, key or value, token, width]."""
        self.length = 0
        """Tokens computed or restored so far."""

    @property
    def capacity(self) -> int:
        """Tokens that fit."""
        return int(self.kv.shape[2])

    def page(self, index: int) -> Floats:
        """A view of one page: [layer, key or value, token, width]."""
        start = index * self._page_tokens
        return self.kv[:, :, start : start + self._page_tokens]
