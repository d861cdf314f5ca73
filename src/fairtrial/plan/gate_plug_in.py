"""Plug-in gates of a plan: code of an installed package, named and identified."""

from fairtrial.plan.gate_context import GateContext, arm_names, workload_names
from fairtrial.plan.plug_ins import PlugInError, load, option_problems
from fairtrial.plan.reader import IDENTIFIER, IDENTIFIER_HINT, Table, kind
from fairtrial.schema.plan import FrozenGate, PlugIn, PublicValue
from fairtrial.schema.types import MAX_SAFE_INTEGER
from fairtrial.schema.vocab import GateKind

_KEY = GateKind.PLUG_IN.value
_STAND_IN = PlugIn(name="stand-in", version="0", digest="0" * 64)


def read_plug_in(inner: Table, name: str, context: GateContext) -> FrozenGate:
    """Read ``plug_in = "name"`` with its options; the plug-in is loaded to be identified."""
    inner.only(_KEY, "options", "workloads", "arms")
    options = _options(inner)
    return FrozenGate(
        name=name,
        kind=GateKind.PLUG_IN,
        workloads=workload_names(inner, context),
        arms=arm_names(inner, context),
        plug_in=_identified(inner, options or {}, readable=options is not None),
        options=options or {},
    )


def _identified(inner: Table, options: dict[str, PublicValue], *, readable: bool) -> PlugIn:
    value = inner.values[_KEY]
    if not isinstance(value, str) or not IDENTIFIER.fullmatch(value):
        inner.wrong(_KEY, f"{kind(value)} is not a plain name", IDENTIFIER_HINT)
        return _STAND_IN
    try:
        found = load(value)
        wrong = option_problems(found.evaluator, options) if readable else ()
    except PlugInError as error:
        inner.wrong(_KEY, str(error), "see docs/how-to/gates.md")
        return _STAND_IN
    for one in wrong:
        inner.wrong("options" if "options" in inner else _KEY, f"{value}: {one}")
    return found.plug_in


def _options(inner: Table) -> dict[str, PublicValue] | None:
    """Public values by name; None where any is wrong."""
    table = inner.table("options")
    if table is None:
        return None if "options" in inner else {}
    found: dict[str, PublicValue] = {}
    for key, value in table.values.items():
        if not IDENTIFIER.fullmatch(key):
            table.wrong(key, f"{key[:60]!r} is not a plain name", IDENTIFIER_HINT)
        elif isinstance(value, str | int) and _public(value):
            found[key] = value
        else:
            table.wrong(key, f"must be a whole number, true, false or a plain name, not {kind(value)}")
    return found if len(found) == len(table.values) else None


def _public(value: str | int) -> bool:
    """Whether a value may be published as it is."""
    return bool(IDENTIFIER.fullmatch(value)) if isinstance(value, str) else abs(value) <= MAX_SAFE_INTEGER
