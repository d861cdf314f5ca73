"""Public-safe facts of the host: what bears on speed, nothing that names the machine."""

import os
import platform
from pathlib import Path

import psutil

from fairtrial.schema.base import Count, Positive, Record, Text

_GOVERNOR = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
_CPUINFO = Path("/proc/cpuinfo")


class HostFacts(Record):
    """The machine without its name, addresses and users."""

    cpu_model: Text | None
    """None where the kernel doesn't tell."""
    cpus: Positive
    """Logical processors of the machine."""
    cpus_usable: Positive
    """Logical processors this process may run on."""
    cores: Positive | None
    """Physical cores; None where the kernel doesn't tell."""
    memory_bytes: Count
    governor: Text | None
    """Frequency governor of the first processor; None where there is none to read."""
    machine: Text
    kernel: Text
    python: Text


def host_facts() -> HostFacts:
    """Read the facts now."""
    usable = len(os.sched_getaffinity(0))
    return HostFacts(
        cpu_model=_cpu_model(_read(_CPUINFO)),
        cpus=os.cpu_count() or usable,
        cpus_usable=usable,
        cores=psutil.cpu_count(logical=False),
        memory_bytes=int(psutil.virtual_memory().total),
        governor=_read(_GOVERNOR).strip() or None,
        machine=platform.machine(),
        kernel=f"{platform.system()} {platform.release()}",
        python=f"{platform.python_implementation()} {platform.python_version()}",
    )


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _cpu_model(cpuinfo: str) -> str | None:
    for line in cpuinfo.splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "model name":
            return value.strip() or None
    return None
