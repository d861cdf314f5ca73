"""What gates are made of: those that every plan has, and gates made of other gates. Pure."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

from fairtrial.schema.plan import FrozenGate
from fairtrial.schema.vocab import GateKind

ALWAYS = (GateKind.RESTORATION, GateKind.FAILURES, GateKind.COMPLETENESS, GateKind.IDENTITY)
"""Every plan has one of each, under the name of its kind; it counts by itself."""
COMPOSITES = frozenset({GateKind.ALL_OF, GateKind.ANY_OF})
"""The kinds that are made of other gates."""


@dataclass(frozen=True, slots=True)
class Composition:
    """How the gates of a plan are made of each other."""

    order: tuple[str, ...]
    """The composites, each after the composites that it is made of."""
    endless: frozenset[str]
    """Composites that are made of themselves, or of one that is: they have no answer."""
    part_of: Mapping[str, tuple[str, ...]]
    """The composites that name each gate; those without an answer take no member with them."""


def always(name: str) -> bool:
    """Whether every plan has a gate of this name."""
    return any(name == kind for kind in ALWAYS)


def composition(gates: Iterable[FrozenGate]) -> Composition:
    """Read how gates are made of each other; members that aren't declared are left out."""
    composites = _composites(gates)
    sorter = TopologicalSorter(
        {name: [one for one in members if one in composites] for name, members in composites.items()}
    )
    order: list[str] = []
    with suppress(CycleError):  # what rests on no circle is given out all the same
        sorter.prepare()
    while ready := sorter.get_ready():
        order += ready
        sorter.done(*ready)
    part_of: dict[str, tuple[str, ...]] = {}
    for name, members in composites.items():
        if name in order:
            for member in dict.fromkeys(members):
                if not always(member):
                    part_of[member] = (*part_of.get(member, ()), name)
    return Composition(tuple(order), frozenset(composites) - frozenset(order), part_of)


def circles(gates: Iterable[FrozenGate]) -> dict[str, tuple[str, ...]]:
    """For each composite that is made of itself: the way from it back to it, e.g. ``a, b, a``."""
    gates = tuple(gates)
    composites = _composites(gates)
    endless = composition(gates).endless
    found = {name: _way_back(name, composites, endless) for name in composites if name in endless}
    return {name: way for name, way in found.items() if way}


def _composites(gates: Iterable[FrozenGate]) -> dict[str, tuple[str, ...]]:
    return {gate.name: gate.members or () for gate in gates if gate.kind in COMPOSITES}


def _way_back(
    start: str, composites: Mapping[str, tuple[str, ...]], endless: frozenset[str]
) -> tuple[str, ...]:
    """The shortest way along members from a composite to itself; empty where there is none."""
    ways: list[tuple[str, ...]] = [(start,)]
    seen: set[str] = set()
    for way in ways:  # grows while it is walked
        for member in composites[way[-1]]:
            if member == start:
                return (*way, start)
            if member in endless and member not in seen:
                seen.add(member)
                ways.append((*way, member))
    return ()
