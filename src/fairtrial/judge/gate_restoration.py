"""The restoration gate: did every window bring back what it found? Pure."""

from types import MappingProxyType

from fairtrial.evidence.progress import WindowState
from fairtrial.judge.endings import of_window, weaker
from fairtrial.judge.gate_scope import Found, GateView, Tally
from fairtrial.judge.normal import Normal
from fairtrial.schema.schedule import schedule
from fairtrial.schema.vocab import GateOutcome, Proof

_WEAK = MappingProxyType(
    {
        Proof.FALSE: "the restored state is disproven",
        Proof.SUPPLEMENTED: "a false proof was supplemented; it stays false",
    }
)


def restoration(view: GateView) -> Found:
    """Every window that was opened is proven restored, and every planned window was opened."""
    tally = Tally()
    opened = [window for window in view.normal.progress.windows if window.opened.arm in view.arms()]
    for window in opened:
        proof, reason = proven(view.normal, window)
        _file(proof, f"window {window.id}: {reason}", tally)
    planned = [window.name for window in schedule(view.normal.plan) if window.arm in view.arms()]
    done = {window.plan_name for window in opened}
    absent = [name for name in planned if name not in done]
    if not opened:
        return Found(GateOutcome.NOT_RUN, "0 windows", "nothing", "no window was opened")
    observed = f"{tally.passed} proven restored"
    if absent:
        tally.unknown.append(
            f"{len(absent)} of {len(planned)} planned windows were not run: {', '.join(absent)}"
        )
    return tally.found(f"{len(opened)} windows", observed)


def proven(normal: Normal, window: WindowState) -> tuple[Proof, str]:
    """What is proven of a window's restoration, and why: nothing is restored while a server survives."""
    return weaker(of_window(normal, window), _stated(normal, window))


def _stated(normal: Normal, window: WindowState) -> tuple[Proof, str]:
    restored, start = window.restored, normal.progress.start_state
    if restored is None:
        return Proof.MISSING, "nothing says that it was restored"
    if restored.proof is not Proof.TRUE:
        return restored.proof, _WEAK.get(restored.proof, f"the proof is {restored.proof.value}")
    if start is None:
        return Proof.MISSING, "nothing says what ran at the start"
    if restored.state is not start.state:
        return Proof.FALSE, f"{start.state.value} at the start, {restored.state.value} afterwards"
    return Proof.TRUE, "proven restored"


def _file(proof: Proof, reason: str, tally: Tally) -> None:
    match proof:
        case Proof.TRUE:
            tally.passed += 1
        case Proof.FALSE:
            tally.failed.append(reason)
        case Proof.SUPPLEMENTED:
            tally.held.append(reason)
        case _:
            tally.unknown.append(reason)
