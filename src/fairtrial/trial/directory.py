"""A trial's directory: where the plan, the journal, the sealed files and the work in hand are."""

from dataclasses import dataclass
from pathlib import Path

from fairtrial.evidence.documents import canonical, read
from fairtrial.evidence.files import make_private_dir, read_bounded, write_atomic
from fairtrial.evidence.loading import JOURNAL, PLAN_FILE, PLAN_LIMIT, WORK, load_plan
from fairtrial.plan.freeze import Frozen
from fairtrial.schema.errors import UsageError
from fairtrial.schema.plan import FrozenPlan
from fairtrial.schema.servers import Private

_PRIVATE_FILE = "private/plan.private.json"


@dataclass(frozen=True, slots=True)
class TrialDirectory:
    """Paths of a trial, and its frozen plan."""

    path: Path
    plan: FrozenPlan
    plan_sha256: str
    private: Private

    @property
    def journal(self) -> Path:
        """The journal's segments."""
        return self.path / JOURNAL

    @property
    def work(self) -> Path:
        """Files that processes are still writing; sealed and removed when they are done."""
        return self.path / WORK


def expect_new(path: Path) -> None:
    """Make sure that a trial can begin there.

    Raises:
        UsageError: Something is already there.
    """
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        there = "holds another trial" if (path / PLAN_FILE).exists() else "is not empty"
        raise UsageError(f"the directory {there}", where=str(path), hint="name a new one with --into")


def create(path: Path, frozen: Frozen) -> TrialDirectory:
    """Make a new trial directory.

    Raises:
        UsageError: Something is already there.
        EvidenceError: It can't be written.
    """
    expect_new(path)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"can't make the directory: {error.strerror}", where=str(path)) from error
    make_private_dir(path / "private")
    make_private_dir(path / WORK)
    write_atomic(path / _PRIVATE_FILE, canonical(frozen.private), 0o600)
    write_atomic(path / PLAN_FILE, frozen.data, 0o444)
    return TrialDirectory(path, frozen.plan, frozen.digest, frozen.private)


def open_trial(path: Path) -> TrialDirectory:
    """Open a trial directory.

    Raises:
        UsageError: It isn't one.
        EvidenceError: Its plan is damaged.
    """
    if not (path / PLAN_FILE).is_file():
        raise UsageError(
            f"not a trial directory: it has no {PLAN_FILE}",
            where=str(path),
            hint="name the directory that `fairtrial run` printed",
        )
    plan, digest = load_plan(path)
    private_path = path / _PRIVATE_FILE
    private = read(Private, read_bounded(private_path, PLAN_LIMIT), where=str(private_path))
    return TrialDirectory(path, plan, digest, private)
