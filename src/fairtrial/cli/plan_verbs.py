"""Verbs on plans."""

import json as json_module
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich import box
from rich.table import Table

from fairtrial.cli.calibration_text import calibration_line, noise_line
from fairtrial.cli.output import console, put, put_json, say
from fairtrial.cli.planning import (
    as_found,
    drawn,
    duration,
    estimate_json,
    frozen_here,
    not_looked_at,
    outlook,
    short_duration,
    sound_plan,
)
from fairtrial.cli.power_text import power_json, put_power
from fairtrial.plan.check import load_plan
from fairtrial.plan.estimate import estimate
from fairtrial.plan.expand import expanded_toml
from fairtrial.plan.freeze import freeze
from fairtrial.plan.load import drawn_rates
from fairtrial.plan.power import shares
from fairtrial.report.workload_parts import describe
from fairtrial.schema.errors import PlanError, UsageError
from fairtrial.schema.vocab import ExitCode, Phase
from fairtrial.trial.amending import record_amendment
from fairtrial.trial.directory import open_trial
from fairtrial.trial.stopping import StopFlag
from fairtrial.trial.verbs import freeze_into, open_context
from fairtrial.trial.watch import Silent

Into = Annotated[Path | None, Parameter(help="Where the trial would be kept, to check its disk.")]
PlanPath = Annotated[Path, Parameter(help="The plan.toml.")]
Json = Annotated[bool, Parameter("--json", help="Print a JSON document instead of text.")]


def check(plan: PlanPath, /, *, into: Into = None, json: Json = False) -> int:
    """List every problem of a plan and of this machine for it, and what it can see; starts nothing."""
    try:
        checked = sound_plan(plan, into or Path("runs"))
    except PlanError as error:
        if not json:
            raise
        put_json(
            {
                "schema": "fairtrial.problems/v1",
                "problems": [
                    {"where": p.where, "key": p.key, "message": p.message, "hint": p.hint}
                    for p in error.problems
                ],
            },
        )
        return ExitCode.USAGE
    seen = outlook(checked)
    remarks = [remark.line() for remark in checked.notes]
    remarks += seen.stored.remarks if seen.stored else ()
    running = not_looked_at(checked)
    if json:
        notes = [*remarks, running] if running else remarks
        power = power_json(seen.power, seen.planned_with)
        put_json({"schema": "fairtrial.problems/v1", "problems": [], "notes": notes, "power": power})
        return ExitCode.DONE
    for remark in remarks:
        say(f"note: {remark}")
    put(f"{plan}: no problem found{f'; {running}' if running else ''}")
    put_power(seen.power, shares(checked.workloads))
    say(noise_line(seen.stored))
    return ExitCode.DONE


def show(
    plan: PlanPath,
    /,
    *,
    expanded: Annotated[bool, Parameter(help="Print the plan with every default spelled out.")] = False,
    json: Json = False,
) -> int:
    """Show the schedule of a plan, or the plan with every default."""
    frozen = freeze(load_plan(plan)).plan
    if expanded:
        put(expanded_toml(frozen))
        return ExitCode.DONE
    guess = estimate(frozen)
    if json:
        put_json(estimate_json(guess))
        return ExitCode.DONE
    out = console()
    frame = box.HEAVY_HEAD if out.is_terminal else box.ASCII2
    table = Table(title=f"{frozen.id}: {len(guess.windows)} windows", title_justify="left", box=frame)
    for name in (
        "window",
        "rep",
        "arm",
        "launches",
        *(phase.value for phase in Phase),
        "time",
        "down",
    ):
        table.add_column(name, justify="left" if name in ("window", "arm") else "right")
    for window in guess.windows:
        counts = (str(window.requests[phase]) for phase in Phase)
        table.add_row(
            window.name,
            str(window.repetition),
            window.arm,
            str(window.launches),
            *counts,
            short_duration(window.seconds),
            short_duration(window.baseline_down_seconds),
        )
    out.print(table)
    put(
        f"{guess.launches} launches, {guess.formal_requests} formal requests and "
        f"{guess.requests[Phase.WARMUP]} warm-ups, {duration(guess.seconds)}; the baseline, if it is in "
        f"service, is down for {duration(guess.baseline_down_seconds)}",
    )
    for workload in frozen.workloads:
        put(f"{workload.name}: {describe(workload)}")
        if rates := drawn_rates(workload, len(frozen.design.order)):
            put(f"{workload.name}: {drawn(rates)}")
    for assumption in guess.assumptions:
        put(f"assumed: {assumption}")
    return ExitCode.DONE


def freeze_into_trial(
    plan: PlanPath, into: Annotated[Path, Parameter(help="New trial directory.")], /, *, json: Json = False
) -> int:
    """Freeze a plan into a trial directory; `fairtrial resume` runs it."""
    frozen = frozen_here(as_found(sound_plan(plan, into), quiet=False), quiet=False)
    directory = freeze_into(frozen, into)
    if json:
        put_json(
            {"schema": "fairtrial.frozen/v1", "trial": str(directory.path), "plan_sha256": frozen.digest}
        )
    else:
        put(f"{frozen.digest}  {directory.path}")
        say(calibration_line(frozen.plan))
        say(f"run it with: fairtrial resume {directory.path}")
    return ExitCode.DONE


def amend(
    trial: Annotated[Path, Parameter(help="The trial's directory.")],
    /,
    *,
    change: Annotated[
        list[str], Parameter(("--set",), help="KEY=VALUE, the value as JSON; may be repeated.")
    ],
    reason: Annotated[str, Parameter(help="Why. Recorded for good.")],
    retroactive: Annotated[
        bool, Parameter(help="Record it even though traffic was sent; that traffic can't be used then.")
    ] = False,
) -> int:
    """Record an amendment to a frozen plan; its original bytes stay as they are."""
    changes = dict(_change(text) for text in change)
    with open_context(open_trial(trial), Silent(), StopFlag()) as context:
        late = record_amendment(context, changes, reason, after_traffic=retroactive)
    say("amended" + (" after traffic: none of the traffic before it can be used" if late else ""))
    return ExitCode.DONE


def _change(text: str) -> tuple[str, object]:
    key, sign, value = text.partition("=")
    if not sign or not key:
        raise UsageError(f"not KEY=VALUE: {text}", hint="for example: --set limits.cooldown_ms=1000")
    try:
        return key, json_module.loads(value)
    except json_module.JSONDecodeError as error:
        raise UsageError(
            f"the value is not JSON: {value}", where=key, hint="quote words: '\"word\"'"
        ) from error
