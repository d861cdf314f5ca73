"""Timers at absolute times of CLOCK_MONOTONIC: a late one doesn't make the next ones late.

The event loop's own timers wait in whole milliseconds and from whenever they are set. A timerfd is a
file that becomes readable when it is due, to the accuracy of the kernel's clock. Where the system has
none, the loop's timers are set anew until the time has really come.
"""

import asyncio
import os
import struct
import sys
from collections.abc import Callable, Iterator
from functools import lru_cache
from time import CLOCK_MONOTONIC, monotonic_ns
from typing import Generic, Protocol, TypeVar

NS = 1_000_000_000
WAKING_NS = 50_000
"""How long it takes the system to wake a program: timers are set so long before each due time, and
the rest of it is waited for without sleeping."""
SPIN_NS = 1_500_000
"""The same with ``spin``, which no waking is ever late for."""
_NONBLOCK_CLOEXEC = os.O_NONBLOCK | os.O_CLOEXEC
_ABSOLUTE = 1

T = TypeVar("T")


class Timer(Protocol):
    """Calls back at an absolute time."""

    def arm(self, at_ns: int) -> None:
        """Call back at this time of CLOCK_MONOTONIC, at once if it is past; what was armed is void."""

    def close(self) -> None:
        """Never call back again."""


def absolute_timer(callback: Callable[[], None]) -> Timer:
    """A timer of the running loop, as exact as the system has one."""
    calls = _timerfd_calls()
    if calls is not None:
        try:
            return _TimerFd(calls, callback)
        except OSError:  # e.g. a sandbox without this system call
            pass
    return _LoopTimer(callback)


class _Calls(Protocol):
    """The system calls of timerfd."""

    def create(self) -> int:
        """A new one on CLOCK_MONOTONIC."""

    def arm(self, fd: int, at_ns: int) -> None:
        """Set its only expiry."""


class _LibcCalls:
    """Through the C library: Python before 3.13 has no name for them."""

    def __init__(self) -> None:
        import ctypes

        libc = ctypes.CDLL(None, use_errno=True)
        self._errno = ctypes.get_errno
        self._create, self._settime = libc.timerfd_create, libc.timerfd_settime
        self._settime.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)

    def create(self) -> int:
        """A new one on CLOCK_MONOTONIC."""
        return self._checked(self._create(CLOCK_MONOTONIC, _NONBLOCK_CLOEXEC))

    def arm(self, fd: int, at_ns: int) -> None:
        """Set its only expiry."""
        self._checked(self._settime(fd, _ABSOLUTE, struct.pack("@4l", 0, 0, *divmod(at_ns, NS)), None))

    def _checked(self, result: int) -> int:
        if result < 0:
            number = self._errno()
            raise OSError(number, os.strerror(number))
        return result


if sys.version_info >= (3, 13):

    class _OsCalls:
        """Through Python's own names."""

        def create(self) -> int:
            """A new one on CLOCK_MONOTONIC."""
            return os.timerfd_create(CLOCK_MONOTONIC, flags=os.TFD_NONBLOCK | os.TFD_CLOEXEC)

        def arm(self, fd: int, at_ns: int) -> None:
            """Set its only expiry."""
            os.timerfd_settime_ns(fd, flags=os.TFD_TIMER_ABSTIME, initial=at_ns)


@lru_cache(maxsize=1)
def _timerfd_calls() -> _Calls | None:
    if sys.version_info >= (3, 13):
        return _OsCalls() if hasattr(os, "timerfd_create") else None
    try:
        return _LibcCalls()
    except (AttributeError, OSError):  # a C library without them
        return None


class _TimerFd:
    def __init__(self, calls: _Calls, callback: Callable[[], None]) -> None:
        self._calls = calls
        self._callback = callback
        self._loop = asyncio.get_running_loop()
        self._fd = calls.create()
        self._loop.add_reader(self._fd, self._ready)

    def arm(self, at_ns: int) -> None:
        self._calls.arm(self._fd, max(at_ns, 1))  # 0 would disarm it

    def close(self) -> None:
        if self._fd >= 0:
            self._loop.remove_reader(self._fd)
            os.close(self._fd)
            self._fd = -1

    def _ready(self) -> None:
        try:
            os.read(self._fd, 8)
        except BlockingIOError:  # armed anew since it expired
            return
        self._callback()


class _LoopTimer:
    """The loop's own timer: whatever it makes of the time, it never calls back too early."""

    def __init__(self, callback: Callable[[], None]) -> None:
        self._callback = callback
        self._loop = asyncio.get_running_loop()
        self._at = 0
        self._handle: asyncio.TimerHandle | None = None

    def arm(self, at_ns: int) -> None:
        self.close()
        self._at = at_ns
        self._handle = self._loop.call_later(max(at_ns - monotonic_ns(), 0) / NS, self._ready)

    def close(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _ready(self) -> None:
        if monotonic_ns() < self._at:
            self.arm(self._at)
        else:
            self._handle = None
            self._callback()


AT_ONCE = 16
"""Late things that are fired in one turn of the loop: whoever is behind must still read what comes."""


class Pacer(Generic[T]):
    """Fires each thing of a schedule when it is due; what is late is fired at once, and nothing is moved.

    Args:
        schedule: Absolute times of CLOCK_MONOTONIC, ascending, each with its thing. One thing is
            fetched ahead.
        fire: Called with both, never before the time.
        spin: Wait without sleeping for longer before each time; the loop goes on serving meanwhile.
    """

    def __init__(
        self, schedule: Iterator[tuple[int, T]], fire: Callable[[int, T], None], *, spin: bool = False
    ) -> None:
        self._schedule = schedule
        self._fire = fire
        self._ahead_ns = SPIN_NS if spin else WAKING_NS
        self._loop = asyncio.get_running_loop()
        self._next: tuple[int, T] | None = None
        self._timer = absolute_timer(self._wake)
        self.over: asyncio.Future[None] = self._loop.create_future()
        """Done once everything was fired, or with what went wrong."""

    def start(self) -> None:
        """Begin to wait for the first."""
        try:
            self._next = next(self._schedule, None)
            self._go_on()
        except Exception as error:  # noqa: BLE001 - whoever awaits the end gets it
            self._end(error)

    def stop(self) -> None:
        """Fire nothing more."""
        self._end(None)

    def _wake(self) -> None:
        try:
            for _ in range(AT_ONCE):
                if self._next is None or self._next[0] > monotonic_ns() or self.over.done():
                    break
                self._fire(*self._next)
                self._next = next(self._schedule, None)
            self._go_on()
        except Exception as error:  # noqa: BLE001 - whoever awaits the end gets it
            self._end(error)

    def _go_on(self) -> None:
        if self.over.done():
            return
        if self._next is None:
            self._end(None)
            return
        at = self._next[0]
        if at - monotonic_ns() <= self._ahead_ns:
            self._loop.call_soon(self._wake)
        else:
            self._timer.arm(at - self._ahead_ns)

    def _end(self, error: Exception | None) -> None:
        self._timer.close()
        if self.over.done():
            return
        if error is None:
            self.over.set_result(None)
        else:
            self.over.set_exception(error)
