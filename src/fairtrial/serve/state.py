"""Where fairtrial keeps what it knows of this host: the lock, the servers in service, calibrations."""

import os
from pathlib import Path

from platformdirs import user_state_path

from fairtrial.evidence.files import make_private_dir
from fairtrial.schema.errors import EvidenceError, UsageError

STATE_DIR_VARIABLE = "FAIRTRIAL_STATE_DIR"
"""Environment variable that moves the directory."""
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def state_dir() -> Path:
    """The directory of this user, this host and this boot; made with mode 0700 if it isn't there.

    A pid and its start time identify a process only within one boot, and a home directory
    may be shared between hosts: the id of the boot in the path keeps both apart. It isn't
    the user's runtime directory, which goes when the user logs out: servers in service stay.

    Raises:
        UsageError: The directory can't be made or belongs to somebody else.
    """
    return _made(_base() / "hosts" / _boot_id())


def lasting_dir(name: str) -> Path:
    """A directory of this user that outlives boots; made with mode 0700 if it isn't there.

    Args:
        name: What is kept in it.

    Raises:
        UsageError: The directory can't be made or belongs to somebody else.
    """
    return _made(_base() / name)


def _base() -> Path:
    named = os.environ.get(STATE_DIR_VARIABLE)
    return Path(named).absolute() if named else user_state_path("fairtrial")


def _made(path: Path) -> Path:
    try:
        make_private_dir(path)
    except EvidenceError as exc:
        raise UsageError(
            f"no state directory: {exc.message}",
            where=str(path),
            hint=f"set {STATE_DIR_VARIABLE} to a directory that only you may write to",
        ) from exc
    return path


def _boot_id() -> str:
    try:
        return _BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        return "unknown-boot"
