"""Ends are handed over one a turn of the loop, in bounded memory, and a full disk is told once."""

import asyncio
import errno

from fairtrial.drive import backlog
from fairtrial.drive.backlog import Backlog
from fairtrial.drive.exchange import Exchange
from fairtrial.drive.order import Item

ITEMS = [Item(i, "c", f"r-{i}", 0, 0) for i in range(6)]


def test_between_two_ends_the_loop_serves_others():
    order = []

    async def go():
        loop = asyncio.get_running_loop()

        def on_end(item, _):
            order.append(item.sequence)
            loop.call_soon(order.append, "loop")

        over = Backlog(on_end, order.append)
        for item in ITEMS[:3]:
            over.add(item, Exchange(0))
        assert order == []
        await asyncio.sleep(0.01)

    asyncio.run(go())
    assert order == [0, "loop", 1, "loop", 2, "loop"]


def test_memory_matters_more_than_promptness(monkeypatch):
    monkeypatch.setattr(backlog, "MAX_BACKLOG", 2)
    monkeypatch.setattr(backlog, "MAX_BACKLOG_BYTES", 100)
    ended = []

    async def go():
        over = Backlog(lambda item, _: ended.append(item.sequence), ended.append)
        for item in ITEMS[:4]:
            over.add(item, Exchange(0))
        assert ended == [0, 1]  # no more than two may wait
        over.add(ITEMS[4], Exchange(0, size=101))
        assert ended == [0, 1, 2, 3, 4]  # nor more than 100 bytes
        over.add(ITEMS[5], Exchange(0))
        over.drain()
        assert ended == [0, 1, 2, 3, 4, 5]
        await asyncio.sleep(0.01)

    asyncio.run(go())
    assert ended == [0, 1, 2, 3, 4, 5]


def test_a_full_disk_is_told_once_and_nothing_more_is_written():
    asked, told = [], []

    def full(item, _):
        asked.append(item.sequence)
        raise OSError(errno.ENOSPC, "No space left on device")

    async def go():
        over = Backlog(full, told.append)
        for item in ITEMS[:3]:
            over.add(item, Exchange(0))
        await asyncio.sleep(0.01)
        over.drain()

    asyncio.run(go())
    assert asked == [0]
    assert [error.errno for error in told] == [errno.ENOSPC]
