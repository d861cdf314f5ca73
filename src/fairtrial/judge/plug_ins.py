"""Plug-in gates: what their evaluators are given and what they answer. Public, and pure.

A package offers an evaluator through the entry point group ``fairtrial.gates``
(docs/how-to/gates.md). Loading it is done elsewhere: the judge is handed what was loaded.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple, Protocol

from fairtrial.schema.equality import CellEquality
from fairtrial.schema.judgment import CounterDelta, Population
from fairtrial.schema.plan import FrozenWorkload, PlugIn, PublicValue
from fairtrial.schema.requests import RequestRecord
from fairtrial.schema.vocab import GateOutcome, Phase


class Slot(NamedTuple):
    """One phase of one workload in one repetition of one arm."""

    workload: str
    repetition: int
    arm: str
    phase: Phase


@dataclass(frozen=True, slots=True)
class PlugInView:
    """What an evaluator may look at: what was derived from the evidence in the gate's scope, read-only."""

    name: str
    """The gate's name in the plan."""
    options: Mapping[str, PublicValue]
    """As the plan declares them."""
    workloads: tuple[FrozenWorkload, ...]
    """Those in scope."""
    arms: tuple[str, ...]
    """Those in scope; ``A`` is the baseline."""
    repetitions: int
    """As planned."""
    populations: tuple[Population, ...]
    """Every planned population in scope, run or not: one that didn't run has no ``launch``."""
    counters: tuple[CounterDelta, ...]
    """Increases of the engine's counters, by launch and phase."""
    equality: tuple[CellEquality, ...]
    """Of the candidates in scope against the baseline."""
    requests: Mapping[Slot, tuple[RequestRecord, ...]]
    """Every request with a proven record, in case order, failed ones too; a phase that didn't run is
    absent, and what was planned without a record is the population's ``expected`` minus ``attempted``."""


@dataclass(frozen=True, slots=True)
class GateAnswer:
    """What an evaluator says."""

    outcome: GateOutcome
    reason: str
    """Why this outcome; shown to people."""
    observed: str = ""
    """What was seen of the population, e.g. ``4 cut``; "all" of it where it is empty."""
    population: str = ""
    """Of what, e.g. ``52 answers``; the populations in scope where it is empty."""


class GateEvaluator(Protocol):
    """What an entry point of the group ``fairtrial.gates`` leads to: any object, also a module."""

    def evaluate(self, view: PlugInView) -> GateAnswer:
        """Judge the evidence in the gate's scope.

        It must be a pure function of the view. Whatever it raises makes the gate ``missing``.
        """


class OptionsReader(Protocol):
    """An evaluator may also check its options: then a wrong one is found when the plan is read."""

    def problems(self, options: Mapping[str, PublicValue]) -> Iterable[str]:
        """What is wrong with the options, a sentence each; nothing where all is well."""


@dataclass(frozen=True, slots=True)
class LoadedPlugIn:
    """A plug-in as it was found where the judgment is made."""

    plug_in: PlugIn | None
    evaluator: GateEvaluator | None
    reason: str
    """Why there is none; empty where there is one."""


NO_PLUG_INS: Mapping[str, LoadedPlugIn] = MappingProxyType({})
"""Nothing was loaded."""
