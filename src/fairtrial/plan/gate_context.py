"""What the gates of a plan may name, and how they name it."""

from collections.abc import Mapping
from dataclasses import dataclass

from fairtrial.plan.reader import Table, kind, nearest, one_of
from fairtrial.plan.units import QuantityError, percent_share
from fairtrial.schema.plan import FrozenWorkload

NO_FAILURES = "none"
"""What a gate on failures says when it allows nothing."""
_AT_MOST = "at most "


@dataclass(frozen=True, slots=True)
class GateContext:
    """What gates may name."""

    arms: Mapping[str, str]
    """Name of each arm's engine profile, by the arm's name."""
    workloads: tuple[FrozenWorkload, ...]
    groups: Mapping[str, tuple[str, ...]]
    """Names of the workloads that each declared name stands for."""

    def scope(self, names: tuple[str, ...] | None) -> tuple[FrozenWorkload, ...]:
        """The workloads of those names; all where a gate names none."""
        return tuple(one for one in self.workloads if names is None or one.name in names)


def workload_names(table: Table, context: GateContext) -> tuple[str, ...] | None:
    """Names of workloads; a declared name that became several stands for all of them."""
    known = {one.name: (one.name,) for one in context.workloads} | dict(context.groups)
    names = names_of(table, "workloads", tuple(known))
    if names is None:
        return None
    expanded = [full for name in names for full in known[name]]
    return tuple(dict.fromkeys(expanded))


def arm_names(table: Table, context: GateContext) -> tuple[str, ...] | None:
    """Names of arms."""
    return names_of(table, "arms", tuple(context.arms))


def names_of(table: Table, key: str, known: tuple[str, ...]) -> tuple[str, ...] | None:
    """A list of known names without repeats; None if it is absent or wrong."""
    names = table.texts(key)
    if names is None:
        return None
    good = True
    for index, name in enumerate(names):
        place = (*table.path, key, str(index))
        if name not in known:
            table.findings.problem(place, f"no such name: {kind(name)}", nearest(name, known))
            good = False
        elif name in names[:index]:
            table.findings.problem(place, f"{kind(name)} is named twice")
            good = False
    return names if good else None


def share(table: Table, key: str, text: str) -> float:
    """A percent as a share; 0 where it is wrong."""
    try:
        return percent_share(text)
    except QuantityError as error:
        table.wrong(key, str(error))
        return 0.0


def failures_share(table: Table, key: str) -> float:
    """The largest share of failures, from ``"none"`` or ``"at most 1%"``."""
    value = table.values[key]
    if isinstance(value, str) and value.startswith(_AT_MOST):
        return share(table, key, value.removeprefix(_AT_MOST))
    if value != NO_FAILURES:
        table.wrong(key, f"must be {one_of((NO_FAILURES, 'at most 1%'))}, not {kind(value)}")
    return 0.0
