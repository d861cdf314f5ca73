"""What every step of a session works with."""

from dataclasses import dataclass, field
from pathlib import Path

from fairtrial.evidence.clock import Clock
from fairtrial.evidence.journal import Journal
from fairtrial.evidence.progress import LaunchState, Progress, apply, fold
from fairtrial.evidence.store import Store
from fairtrial.profiles.profile import Profile
from fairtrial.profiles.registry import profile
from fairtrial.schema.client_vocab import Capability
from fairtrial.schema.errors import EvidenceError
from fairtrial.schema.facts import Fact
from fairtrial.schema.plan import FrozenPlan, FrozenWorkload
from fairtrial.schema.servers import Recipe
from fairtrial.schema.vocab import ArtifactRole
from fairtrial.serve.proc import ProcessId
from fairtrial.trial.directory import TrialDirectory
from fairtrial.trial.stopping import StopFlag
from fairtrial.trial.watch import Guarded, Watcher


@dataclass(slots=True)
class Context:
    """One session's hands: journal, store, clocks, and what is known so far."""

    directory: TrialDirectory
    plan: FrozenPlan
    """The plan in force: the frozen one, or as last amended."""
    journal: Journal
    store: Store
    clock: Clock
    stop: StopFlag
    watcher: Watcher
    progress: Progress = field(init=False)
    models: dict[str, str] = field(default_factory=dict)
    """Model that a live launch serves, by launch id."""
    addresses: dict[str, str] = field(default_factory=dict)
    """Base address of a live launch, by launch id."""
    families: dict[str, frozenset[ProcessId]] = field(default_factory=dict)
    """Processes of a live launch as seen when it was proven ready, by launch id."""
    bad_notes: set[str] = field(default_factory=set)
    """Names of notes that were said to be unreadable."""
    trouble: str = ""
    """The last failure in words, for the error line."""

    def __post_init__(self) -> None:
        self.progress = fold(self.journal.facts)
        self.watcher = Guarded(self.watcher)

    @property
    def run(self) -> str:
        """Random id of the trial.

        Raises:
            EvidenceError: The journal doesn't say.
        """
        if self.progress.opened is None:
            raise EvidenceError(
                "the journal does not begin with its first fact", where=str(self.directory.path)
            )
        return self.progress.opened.run

    def record(self, fact: Fact) -> None:
        """Append a fact and learn it."""
        line = self.journal.append(fact)
        # the journal may add facts of its own before ours (a clock step); they carry no progress
        apply(self.progress, line.fact)

    def recipe(self, arm: str) -> Recipe:
        """The recipe of an arm with its private values."""
        return self.directory.private.recipes[arm]

    def profile(self, arm: str) -> Profile:
        """The engine profile of an arm."""
        return profile(self.plan.arm(arm).recipe.profile)

    def capabilities(self, arm: str) -> frozenset[Capability] | None:
        """What an arm's server was seen to take when the plan was frozen; None: its profile says it."""
        found = self.plan.arm(arm).recipe.capabilities
        return None if found is None else frozenset(found)

    def launch(self, launch: str) -> LaunchState:
        """A launch of this trial."""
        return self.progress.launches[launch]

    def log_path(self, launch: str) -> Path:
        """Where a server writes its log while it runs."""
        return self.directory.work / "logs" / f"{launch}.log"

    def seal(self, data: bytes, name: str, role: ArtifactRole, launch: str | None) -> str:
        """Seal bytes under a name that no earlier attempt used; returns the artifact id."""
        artifact = self.free_name(name)
        head = self.journal.durable_head
        self.record(
            self.store.seal_bytes(data, artifact=artifact, role=role, launch=launch, head=head),
        )
        return artifact

    def seal_file(self, path: Path, name: str, role: ArtifactRole, launch: str | None) -> str:
        """Seal a file and remove it from the work directory; returns the artifact id."""
        artifact = self.free_name(name)
        head = self.journal.durable_head
        self.record(self.store.seal_file(path, artifact=artifact, role=role, launch=launch, head=head))
        path.unlink(missing_ok=True)
        return artifact

    def free_name(self, name: str) -> str:
        """The name, or the name with the first free number, where a crash left it used."""
        number, free = 1, name
        while self.store.find(free) is not None:
            number += 1
            free = f"{name}-{number}"
        return free

    def requests_path(self, workload: FrozenWorkload) -> Path | None:
        """The workload's requests file; None for synthetic conversations."""
        path = self.directory.private.files.get(workload.name)
        return None if path is None else Path(path)
