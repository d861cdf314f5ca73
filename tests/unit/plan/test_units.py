"""Quantities as people write them."""

import pytest

from fairtrial.plan.units import (
    QuantityError,
    duration_ns,
    percent_share,
    size_bytes,
    write_duration,
    write_percent,
    write_size,
)


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("60 s", 60_000_000_000),
        ("500 ms", 500_000_000),
        ("2 min", 120_000_000_000),
        ("2min", 120_000_000_000),
        ("1.5 s", 1_500_000_000),
        ("0.1 ms", 100_000),
        ("1 h", 3_600_000_000_000),
        ("7 ns", 7),
        ("0 s", 0),
    ],
)
def test_durations(text: str, ns: int) -> None:
    assert duration_ns(text) == ns
    assert duration_ns(write_duration(ns)) == ns


@pytest.mark.parametrize(
    ("text", "count"),
    [("316 MiB", 331_350_016), ("1 GB", 1_000_000_000), ("0.5 KiB", 512), ("7 B", 7), ("1 kB", 1000)],
)
def test_sizes(text: str, count: int) -> None:
    assert size_bytes(text) == count
    assert size_bytes(write_size(count)) == count


@pytest.mark.parametrize(("text", "share"), [("5%", 0.05), ("5 %", 0.05), ("0.1%", 0.001), ("100%", 1.0)])
def test_percents(text: str, share: float) -> None:
    assert percent_share(text) == share
    assert percent_share(write_percent(share)) == share


@pytest.mark.parametrize(
    "text", ["", "60", "s", "-1 s", "nan s", "1e9 s", "1 parsec", "0.1 ns", "1_0 s", "9" * 16 + " h", "٣ s"]
)
def test_bad_durations(text: str) -> None:
    with pytest.raises(QuantityError):
        duration_ns(text)


@pytest.mark.parametrize("text", ["5", "5 percent", "101%", "-1%", "inf%", "5%%", ""])
def test_bad_percents(text: str) -> None:
    with pytest.raises(QuantityError):
        percent_share(text)


@pytest.mark.parametrize("text", ["1 mb", "1 mib", "0.3 B", "10 s", "99999999 TiB"])
def test_bad_sizes(text: str) -> None:
    with pytest.raises(QuantityError):
        size_bytes(text)
