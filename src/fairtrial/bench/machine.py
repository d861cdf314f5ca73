"""Facts about this machine that matter to a measurement, read and not guessed."""

import os
import resource
import socket
import time
from collections.abc import Iterator
from pathlib import Path

from fairtrial.drive.stamps import ask_for_stamps
from fairtrial.schema.doctor import MachineFact

WANTED_DESCRIPTORS = 4096
_CLOCK = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")
_GOVERNOR = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
_CPU = Path("/proc/cpuinfo")
_PRODUCT = Path("/sys/class/dmi/id/product_name")
_QUOTA = Path("/sys/fs/cgroup/cpu.max")


def machine_facts() -> tuple[MachineFact, ...]:
    """Everything that could be read."""
    return tuple(_facts())


def kernel_stamps() -> bool:
    """Whether the kernel stamps what arrives on a socket."""
    with socket.socket() as sock:
        return ask_for_stamps(sock)


def _facts() -> Iterator[MachineFact]:
    yield _cores()
    yield _load()
    yield _stamps()
    yield _clock()
    yield _descriptors()
    quota = _read(_QUOTA)
    if quota and not quota.startswith("max"):
        yield _quota(quota)
    governor = _read(_GOVERNOR)
    if governor:
        slow = governor not in ("performance", "schedutil")
        problem = "clock speeds change while it measures: cpupower frequency-set -g performance"
        yield _fact("governor", governor, problem if slow else "")
    yield _virtual()


def _cores() -> MachineFact:
    usable, there = len(os.sched_getaffinity(0)), os.cpu_count() or 1
    of = "" if usable == there else f" of {there}"
    problem = "client and server share one processor: measure from another machine" if usable == 1 else ""
    return _fact("processors", f"{usable}{of}", problem)


def _load() -> MachineFact:
    load, cores = os.getloadavg()[0], len(os.sched_getaffinity(0))
    busy = load > cores / 2
    problem = "other programs want the processors: end them, or wait" if busy else ""
    return _fact("load average", f"{load:.1f} over the last minute", problem)


def _stamps() -> MachineFact:
    if kernel_stamps():
        return _fact("receive stamps", "by the kernel (SO_TIMESTAMPNS)")
    return _fact(
        "receive stamps", "by the program", "stamps are as late as the program: expect larger errors"
    )


def _clock() -> MachineFact:
    source = _read(_CLOCK) or "unknown"
    resolution = time.clock_getres(time.CLOCK_MONOTONIC) * 1e9
    slow = source in ("hpet", "acpi_pm", "jiffies")
    problem = f"reading {source} takes microseconds: see whether the kernel distrusts the tsc (dmesg)"
    return _fact("clock", f"{source}, {resolution:.0f} ns", problem if slow else "")


def _descriptors() -> MachineFact:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = float("inf") if hard == resource.RLIM_INFINITY else hard
    said = "unlimited" if hard == resource.RLIM_INFINITY else str(hard)
    few = most < WANTED_DESCRIPTORS
    problem = f"fewer connections than {WANTED_DESCRIPTORS}: ulimit -n {WANTED_DESCRIPTORS}" if few else ""
    return _fact("open files", f"{soft}, up to {said}", problem)


def _quota(text: str) -> MachineFact:
    allowed, _, period = text.partition(" ")
    cores = int(allowed) / int(period) if allowed.isdigit() and period.isdigit() else 0.0
    problem = "the control group stops all of its processes once that is used up: raise the limit"
    return _fact("processor limit", f"{cores:g} processors", problem)


def _virtual() -> MachineFact:
    virtual = " hypervisor" in (_read(_CPU) or "")
    product = _read(_PRODUCT)
    name = f" ({product})" if product else ""
    return _fact("machine", f"virtual{name}: its host may take its processors" if virtual else f"real{name}")


def _fact(name: str, value: str, problem: str = "") -> MachineFact:
    return MachineFact(name=name, value=value, problem=problem)


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None
