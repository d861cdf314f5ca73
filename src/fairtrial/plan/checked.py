"""A plan that was read and found whole, with its private values, before it is frozen."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

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
    gates: tuple[FrozenGate, ...]
    limits: RunLimits
    files: Mapping[str, Path]
    """Absolute path of each requests file, by workload name."""
    notes: tuple[Problem, ...]
    """Allowed, but worth knowing before the run."""
    arm_lines: Mapping[str, tuple[str, str]]
    """Where each arm's recipe stands: ``file:line`` and dotted key, by arm name."""
