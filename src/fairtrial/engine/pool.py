"""The memory of a tier: one block of bytes, rows first, pages after."""

import mmap

from fairtrial.engine import threads  # noqa: F401 - before numpy

# isort: split
import numpy as np
from numpy.typing import NDArray

from fairtrial.engine.state import Floats
from fairtrial.profiles.reference_models import ModelShape
from fairtrial.schema.errors import UsageError
from fairtrial.schema.identity import Geometry


class Arena:
    """One block of ``total_bytes`` seen as rows and pages; every byte is written once at the start.

    A block that the system only promises would be as big as what was used of it, so two arms with
    the same pool would differ in memory. Writing it makes their size the same.

    Args:
        shape: The model's shape.
        rows: Number of rows.
        pages: Number of pages.
        total_bytes: Size of the block; what rows and pages leave over stays unused.
    """

    def __init__(self, shape: ModelShape, rows: int, pages: int, total_bytes: int) -> None:
        rows_end = rows * shape.row_bytes
        pages_end = rows_end + pages * shape.page_bytes
        if rows < 1 or pages < 1 or pages_end > total_bytes:
            raise UsageError(
                f"{rows} rows and {pages} pages need {pages_end} bytes of {total_bytes}",
                hint="a tier holds at least one row and one page",
            )
        self.block = _present(total_bytes)
        self.rows: Floats = self.block[:rows_end].view(np.float32).reshape(rows, *shape.row_shape)
        """[row, layer, head, key width, value width]"""
        self.pages: Floats = self.block[rows_end:pages_end].view(np.float32).reshape(pages, *shape.page_shape)
        """[page, layer, key or value, token, width]"""


def _present(total_bytes: int) -> NDArray[np.uint8]:
    """Zeroed memory that is there, not only promised.

    The kernel fills it in one call; touching each page from here takes several times as long.
    """
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_POPULATE", 0)
    block = np.frombuffer(mmap.mmap(-1, total_bytes, flags=flags), np.uint8)
    if not hasattr(mmap, "MAP_POPULATE"):
        block.fill(0)
    return block


def host_arena(shape: ModelShape, geometry: Geometry) -> Arena:
    """The host pool of a geometry.

    Raises:
        UsageError: The geometry was made for another model.
    """
    if (geometry.row_bytes, geometry.page_bytes) != (shape.row_bytes, shape.page_bytes):
        raise UsageError(
            f"the geometry has rows of {geometry.row_bytes} and pages of {geometry.page_bytes} bytes, "
            f"model {shape.name} has {shape.row_bytes} and {shape.page_bytes}",
        )
    return Arena(shape, geometry.rows, geometry.pages, geometry.pool_bytes)


def device_arena(shape: ModelShape, rows: int, pages: int) -> Arena:
    """A device tier of so many rows and pages, without slack."""
    return Arena(shape, rows, pages, rows * shape.row_bytes + pages * shape.page_bytes)
