"""Gates made of other gates: ``all_of`` and ``any_of``."""

from collections.abc import Iterable

from fairtrial.plan.gate_context import names_of
from fairtrial.plan.reader import Table
from fairtrial.schema.gates import always, circles
from fairtrial.schema.plan import FrozenGate
from fairtrial.schema.vocab import GateKind


def read_composite(inner: Table, name: str, kind: GateKind, declared: tuple[str, ...]) -> FrozenGate:
    """Read ``all_of = ["pressed", "fetched"]``, or ``any_of``.

    Args:
        inner: The gate's table.
        name: The gate's name.
        kind: Which of the two.
        declared: Names of all gates of the plan.
    """
    inner.only(kind.value)
    members = names_of(inner, kind.value, declared) or ()
    written = inner.values[kind.value]
    for index, member in enumerate(written if isinstance(written, list) else ()):
        if isinstance(member, str) and always(member):
            place = (*inner.path, kind.value, str(index))
            message = f"{member!r} counts by itself in every plan and can't be part of a gate"
            inner.findings.problem(place, message)
    return FrozenGate(name=name, kind=kind, members=members)


def check_circles(table: Table, gates: Iterable[FrozenGate]) -> None:
    """A gate that is made of itself has no answer."""
    for name, way in circles(gates).items():
        table.wrong(name, f"is made of itself: {' -> '.join(way)}")
