"""The kernel's stamps on the monotonic clock, and what becomes of them when somebody sets the wall clock."""

import asyncio
import struct

import pytest

from fairtrial.drive.lookout import Lookout
from fairtrial.drive.plain import PlainLink
from fairtrial.drive.stamps import KernelClock

SECOND, MS, US = 10**9, 10**6, 10**3
MONO = 5_000 * SECOND
WALL = 1_700_000_000 * SECOND


class Clocks:
    """Two clocks that tick a hundred nanoseconds at each reading; the wall clock can be set."""

    def __init__(self):
        self.true = 0
        self.set_by = 0
        self.stall_ns = 0

    def mono(self):
        self.true += 100
        return MONO + self.true

    def wall(self):
        self.true += 100
        now = WALL + self.true + self.set_by
        self.true += self.stall_ns  # the program stands still after it has read the wall clock
        self.stall_ns = 0
        return now

    def stamp(self, true):
        """What the kernel writes for bytes that arrive at a true instant, as the wall clock is set now."""
        at = WALL + true + self.set_by
        return [(1, 35, struct.pack("@ll", at // SECOND, at % SECOND))]


@pytest.fixture
def clocks():
    return Clocks()


@pytest.fixture
def clock(clocks):
    made = KernelClock(clocks.mono, clocks.wall)
    clocks.true = SECOND
    return made


def test_arrival_and_lag_are_those_of_the_kernel(clocks, clock):
    clocks.true = 2 * SECOND
    stamp, lag = clock.arrival(clocks.stamp(2 * SECOND - 3 * MS))
    assert abs(stamp - (MONO + 2 * SECOND - 3 * MS)) <= 200
    assert stamp + lag == MONO + clocks.true
    assert 3 * MS <= lag <= 3 * MS + 500


def test_a_read_without_a_stamp_has_the_programs(clocks, clock):
    assert clock.arrival([]) == (MONO + clocks.true, None)


@pytest.mark.parametrize("step", [3 * MS, -3 * MS, 3600 * SECOND, -3600 * SECOND, 40 * US, -40 * US])
def test_stamps_from_before_a_step_are_set_aside(clocks, clock, step):
    before = clocks.stamp(clocks.true)  # arrives, is not read yet, and the wall clock is set
    clocks.true += 1 * MS
    clocks.set_by += step
    read = clocks.true
    stamp, lag = clock.arrival(before)
    assert lag is None
    assert MONO + read <= stamp <= MONO + clocks.true
    # Another connection's bytes of the same time, read a little later:
    clocks.true += 1 * MS
    assert clock.arrival(before)[1] is None


@pytest.mark.parametrize("step", [3 * MS, -3 * MS, 3600 * SECOND, -3600 * SECOND])
def test_new_stamps_are_trusted_again_after_a_step(clocks, clock, step):
    clocks.set_by += step
    assert clock.arrival(clocks.stamp(clocks.true))[1] is None
    clocks.true += 11 * SECOND
    stamp, lag = clock.arrival(clocks.stamp(clocks.true - 2 * MS))
    assert abs(stamp - (MONO + clocks.true - 2 * MS)) <= 1 * US
    assert 2 * MS <= lag <= 2 * MS + 1 * US


def test_a_program_that_stands_still_between_two_readings_is_no_step(clocks, clock):
    arrived = clocks.true
    clocks.stall_ns = 20 * MS
    stamp, lag = clock.arrival(clocks.stamp(arrived))
    assert abs(stamp - (MONO + arrived)) <= 200
    assert 20 * MS <= lag <= 20 * MS + 1 * US
    stamp, lag = clock.arrival(clocks.stamp(clocks.true))
    assert lag is not None


def test_a_stamp_from_the_future_or_from_long_before_is_set_aside(clocks, clock):
    assert clock.arrival(clocks.stamp(clocks.true + 1 * MS))[1] is None
    clocks.true += 60 * SECOND
    clock.sent(MONO + clocks.true)
    assert clock.arrival(clocks.stamp(clocks.true - 11 * SECOND))[1] is None
    assert clock.arrival(clocks.stamp(clocks.true - 9 * SECOND))[1] is not None


class Wire:
    """A socket whose reads are told."""

    def __init__(self):
        self.reads = []

    def fileno(self):
        return 77

    def send(self, data):
        return len(data)

    def recvmsg(self, _size, _control):
        data, control = self.reads.pop(0)
        return data, control, 0, None

    def close(self):
        pass


class OddClock(KernelClock):
    def sent(self, _at_ns):
        """The link stamps its sends with the real clock, which says nothing of this one."""


def test_a_link_sets_aside_what_its_clock_does_not_trust(clocks, monkeypatch):
    """Its own quick way and the clock's agree: before a step, over it, and after."""
    clock = OddClock(clocks.mono, clocks.wall)

    async def go():
        loop, wire = asyncio.get_running_loop(), Wire()
        calls = {}
        for name in ("add_reader", "remove_reader", "remove_writer"):
            monkeypatch.setattr(loop, name, lambda fd, call=None, name=name: calls.setdefault(name, call))
        link = PlainLink(4, wire, clock, Lookout())
        future = link.send(b"x", 5, 10_000)
        head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

        def read(data, step=0):
            clocks.true += 10 * US
            arrived, control = clocks.true, clocks.stamp(clocks.true)
            clocks.true += 1 * MS
            clocks.set_by += step
            wire.reads.append((data, control))
            calls["add_reader"]()
            return MONO + arrived

        true = [read(head), read(b"1\r\na\r\n"), read(b"1\r\nb\r\n", step=-50 * MS)]
        clocks.true += 60 * MS
        true += [
            read(b"1\r\nc\r\n"),
            read(b"1\r\nd\r\n", step=7 * MS),
            read(b"1\r\ne\r\n"),
            read(b"0\r\n\r\n"),
        ]
        return await future, true

    with asyncio.Runner() as runner:
        exchange, true = runner.run(go())
    assert exchange.end == "complete"
    assert [lag is None for lag in exchange.lags] == [False, False, True, False, True, False, False]
    for stamp, lag, at in zip(exchange.stamps, exchange.lags, true, strict=True):
        if lag is None:
            assert at + 1 * MS <= stamp <= at + 1 * MS + 10 * US  # when the program read it
        else:
            assert abs(stamp - at) <= 1 * US
            assert 1 * MS <= lag <= 1 * MS + 10 * US
