"""How a host pool is split into state rows and KV pages. Integers only."""

from fairtrial.schema.errors import UsageError
from fairtrial.schema.identity import Geometry


class GeometryError(UsageError):
    """A pool that can't be split as asked: the server must refuse to start."""


def split_pool(pool_bytes: int, row_percent: int, row_bytes: int, page_bytes: int) -> Geometry:
    """Split a pool: rows get their share rounded down to whole rows, pages get what rows leave.

    Args:
        pool_bytes: Size of the whole pool in bytes.
        row_percent: Share of the pool for state rows, 1 to 99.
        row_bytes: Size of one state row in bytes.
        page_bytes: Size of one KV page in bytes.

    Returns:
        The geometry, with the bytes that neither rows nor pages use.

    Raises:
        GeometryError: The percent is out of range, a size is below 1, or not even one row or one
            page fits.
    """
    if not 1 <= row_percent <= 99:
        raise GeometryError(f"host row percent must be from 1 to 99, not {row_percent}")
    for name, value in (("pool", pool_bytes), ("row", row_bytes), ("page", page_bytes)):
        if value < 1:
            raise GeometryError(f"{name} size must be at least 1 byte, not {value}")
    rows = pool_bytes * row_percent // 100 // row_bytes
    if rows < 1:
        raise GeometryError(
            f"{row_percent}% of a pool of {pool_bytes} bytes holds no row of {row_bytes} bytes",
            hint="raise the pool size or the row percent",
        )
    left = pool_bytes - rows * row_bytes
    pages = left // page_bytes
    if pages < 1:
        raise GeometryError(
            f"{rows} rows leave {left} bytes of the pool, less than one page of {page_bytes} bytes",
            hint="raise the pool size or lower the row percent",
        )
    return Geometry(
        pool_bytes=pool_bytes,
        row_percent=row_percent,
        row_bytes=row_bytes,
        page_bytes=page_bytes,
        rows=rows,
        pages=pages,
        slack_bytes=left - pages * page_bytes,
    )
