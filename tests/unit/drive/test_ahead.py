"""Requests made ready ahead: in their order, in bounded memory, and a failure is told when it is met."""

import asyncio

import pytest

from fairtrial.drive import ahead
from fairtrial.drive.ahead import Ahead
from fairtrial.drive.order import Item


def items(count):
    return iter([Item(i, "c", f"r-{i}", 0, 10) for i in range(count)])


def taken(depth, count, read):
    async def go():
        asked, found = Ahead(items(count), read, depth), []
        asked.fill()
        while (one := asked.take()) is not None:
            found.append((one[0].sequence, one[1]))
            await asyncio.sleep(0)
        assert asked.take() is None
        return found

    return asyncio.run(go())


@pytest.mark.parametrize("depth", [1, 3, 100])
def test_everything_comes_once_and_in_order(depth):
    found = taken(depth, 40, lambda item: item.request_id.encode())
    assert found == [(i, f"r-{i}".encode()) for i in range(40)]


def test_no_more_than_the_depth_and_the_bytes_are_ready(monkeypatch):
    read = []

    def reading(item):
        read.append(item.sequence)
        return b"x" * 10

    Ahead(items(50), reading, 7).fill()
    assert read == list(range(7))
    read.clear()
    monkeypatch.setattr(ahead, "MOST_BYTES", 25)
    Ahead(items(50), reading, 7).fill()
    assert read == [0, 1, 2]  # the third passes 25 bytes


def test_more_is_made_ready_in_quiet_moments():
    read = []

    async def go():
        asked = Ahead(items(50), lambda item: read.append(item.sequence) or b"x", 4)
        asked.fill()
        asked.take()
        asked.take()
        assert read == [0, 1, 2, 3]
        await asyncio.sleep(0.05)
        assert read == [0, 1, 2, 3, 4, 5]

    asyncio.run(go())


def test_what_can_be_read_before_a_failure_is_sent_and_the_failure_is_told():
    def reading(item):
        if item.sequence == 2:
            raise OSError("gone")
        return b"x"

    async def go():
        asked = Ahead(items(5), reading, 10)
        asked.fill()
        assert [asked.take()[0].sequence for _ in range(2)] == [0, 1]
        with pytest.raises(OSError, match="gone"):
            asked.take()

    asyncio.run(go())
