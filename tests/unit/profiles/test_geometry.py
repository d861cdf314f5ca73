"""Pool geometry against the published record and hand arithmetic."""

import pytest

from fairtrial.profiles.geometry import GeometryError, split_pool
from fairtrial.profiles.reference_models import LAPTOP, MODELS, SMALL

RECORD = (34_359_738_368, 162_938_880, 3_538_944)


@pytest.mark.parametrize(
    ("percent", "rows", "pages", "slack"),
    [(25, 52, 7314, 3_080_192), (75, 158, 2434, 1_605_632)],
)
def test_the_published_record(percent: int, rows: int, pages: int, slack: int) -> None:
    pool, row, page = RECORD
    geometry = split_pool(pool, percent, row, page)
    assert (geometry.rows, geometry.pages, geometry.slack_bytes) == (rows, pages, slack)


@pytest.mark.parametrize(("percent", "rows", "pages"), [(25, 52, 3808), (75, 158, 1264)])
def test_the_laptop_pool_gives_the_records_rows(percent: int, rows: int, pages: int) -> None:
    geometry = split_pool(LAPTOP.default_pool_bytes, percent, LAPTOP.row_bytes, LAPTOP.page_bytes)
    assert (geometry.rows, geometry.pages, geometry.slack_bytes) == (rows, pages, 0)


@pytest.mark.parametrize(("percent", "rows", "pages"), [(25, 52, 1272), (75, 158, 424)])
def test_the_small_pool_gives_the_records_rows(percent: int, rows: int, pages: int) -> None:
    geometry = split_pool(SMALL.default_pool_bytes, percent, SMALL.row_bytes, SMALL.page_bytes)
    assert (geometry.rows, geometry.pages) == (rows, pages)


def test_model_sizes_by_hand() -> None:
    assert (LAPTOP.row_bytes, LAPTOP.page_bytes) == (6 * 8 * 64 * 128 * 4, 2 * 2 * 64 * 64 * 4)
    assert (LAPTOP.row_bytes, LAPTOP.page_bytes) == (1_572_864, 65_536)
    assert (SMALL.row_bytes, SMALL.page_bytes) == (262_144, 32_768)
    assert sorted(MODELS) == ["laptop", "small"]


@pytest.mark.parametrize("percent", [-1, 0, 100, 101])
def test_percent_out_of_range(percent: int) -> None:
    with pytest.raises(GeometryError, match="from 1 to 99"):
        split_pool(1000, percent, 10, 10)


def test_no_row_fits() -> None:
    with pytest.raises(GeometryError, match="no row"):
        split_pool(1000, 1, 11, 10)
    assert split_pool(1000, 1, 10, 10).rows == 1


def test_no_page_fits() -> None:
    with pytest.raises(GeometryError, match="less than one page"):
        split_pool(1000, 99, 10, 11)
    assert split_pool(1000, 99, 10, 10).pages == 1


@pytest.mark.parametrize("sizes", [(0, 1, 1), (10, 0, 1), (10, 1, 0), (-5, 1, 1)])
def test_sizes_must_be_positive(sizes: tuple[int, int, int]) -> None:
    pool, row, page = sizes
    with pytest.raises(GeometryError, match="at least 1 byte"):
        split_pool(pool, 50, row, page)


def test_integers_beyond_float_precision() -> None:
    # 29% of 2**53-1 in floats loses the last digits; in integers the floor is exact.
    pool = 2**53 - 1
    geometry = split_pool(pool, 29, 1, 1)
    assert geometry.rows == (pool * 29 - (pool * 29) % 100) // 100
    assert geometry.rows + geometry.pages == pool
