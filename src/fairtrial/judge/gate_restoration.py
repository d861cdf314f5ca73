"""The restoration gate: did every window bring back what it found? Pure."""

from fairtrial.evidence.progress import WindowState
from fairtrial.judge.gate_scope import Found, GateView, Tally
from fairtrial.schema.facts import StartState
from fairtrial.schema.schedule import schedule
from fairtrial.schema.vocab import GateOutcome, Proof


def restoration(view: GateView) -> Found:
    """Every window that was opened is proven restored, and every planned window was opened."""
    tally = Tally()
    start = view.normal.progress.start_state
    opened = [window for window in view.normal.progress.windows if window.opened.arm in view.arms()]
    for window in opened:
        _judge(window, start, tally)
    planned = [window.name for window in schedule(view.normal.plan) if window.arm in view.arms()]
    done = {window.plan_name for window in opened}
    absent = [name for name in planned if name not in done]
    if not opened:
        return Found(GateOutcome.NOT_RUN, "0 windows", "nothing", "no window was opened")
    if absent:
        tally.unknown.append(
            f"{len(absent)} of {len(planned)} planned windows were not run: {', '.join(absent)}"
        )
    proven = sum(1 for window in opened if window.proven_restored)
    return tally.found(f"{len(opened)} windows", f"{proven} proven restored")


def _judge(window: WindowState, start: StartState | None, tally: Tally) -> None:
    restored = window.restored
    if restored is None:
        tally.unknown.append(f"window {window.id}: nothing says that it was restored")
    elif restored.proof is Proof.FALSE:
        tally.failed.append(f"window {window.id}: the restored state is disproven")
    elif restored.proof is Proof.SUPPLEMENTED:
        tally.held.append(f"window {window.id}: a false proof was supplemented; it stays false")
    elif restored.proof is not Proof.TRUE:
        tally.unknown.append(f"window {window.id}: the proof is {restored.proof.value}")
    elif start is None:
        tally.unknown.append(f"window {window.id}: nothing says what ran at the start")
    elif restored.state is not start.state:
        found = f"{start.state.value} at the start, {restored.state.value} afterwards"
        tally.failed.append(f"window {window.id}: {found}")
    else:
        tally.passed += 1
