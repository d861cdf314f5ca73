"""A plan that was read and found whole, with its private values, before it is frozen."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fairtrial.plan.toml_lines import KeyLines, KeyPath
from fairtrial.schema.errors import Problem
from fairtrial.schema.plan import Design, FrozenGate, FrozenWorkload, RunLimits
from fairtrial.schema.servers import Recipe
from fairtrial.schema.vocab import ArmRole, Level, Stage


@dataclass(frozen=True, slots=True)
class CheckedArm:
    """One arm; its recipe has no commitments and no identities yet."""

    name: str
    role: ArmRole
    recipe: Recipe


@dataclass(frozen=True, slots=True)
class CheckedPlan:
    """Everything a plan declares, defaults included."""

    path: Path
    """The plan file, absolute."""
    shown: str
    """The file's name in messages."""
    id: str
    question: str
    level: Level
    stage: Stage
    arms: tuple[CheckedArm, ...]
    """The baseline first."""
    workloads: tuple[FrozenWorkload, ...]
    design: Design
    use_calibration: bool
    """Whether a stored calibration of the host may be used."""
    gates: tuple[FrozenGate, ...]
    limits: RunLimits
    files: Mapping[str, Path]
    """Absolute path of each requests file, by workload name."""
    notes: tuple[Problem, ...]
    """Allowed, but worth knowing before the run."""
    arm_paths: Mapping[str, KeyPath]
    """Key path of each arm's recipe, by arm name."""
    workload_paths: Mapping[str, KeyPath]
    """Key path of the table that each workload was declared in, by workload name."""
    lines: KeyLines
    """Line of each key of the plan file."""

    def place(self, arm: str, *key: str) -> tuple[str, str]:
        """Where a key of an arm's recipe stands: ``file:line`` and dotted key.

        The line is that of the key itself, or of the nearest table around one that isn't there.
        """
        return self._place((*self.arm_paths[arm], *key))

    def place_of_workload(self, workload: str, *key: str) -> tuple[str, str]:
        """Where a key of a workload stands, likewise."""
        return self._place((*self.workload_paths[workload], *key))

    def _place(self, path: KeyPath) -> tuple[str, str]:
        return f"{self.shown}:{self.lines.line(path)}", ".".join(path)
