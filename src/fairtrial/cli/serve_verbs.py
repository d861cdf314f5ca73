"""Verbs on the baseline in service."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from fairtrial.cli.output import put, put_json, say
from fairtrial.cli.planning import sound_plan
from fairtrial.plan.freeze import freeze
from fairtrial.schema.errors import UsageError
from fairtrial.schema.vocab import ExitCode
from fairtrial.serve.hostlock import hold
from fairtrial.serve.registry import entries, find_baseline, sweep
from fairtrial.trial.incumbent import put_baseline_in_service, take_baseline_out
from fairtrial.trial.probing import BASELINE

PlanPath = Annotated[Path, Parameter(help="The plan whose baseline is meant.")]
Json = Annotated[bool, Parameter("--json", help="Print a JSON document instead of text.")]


def load(plan: PlanPath, /, *, json: Json = False) -> int:
    """Start a plan's baseline and leave it in service; a trial then takes it down and brings it back."""
    frozen = freeze(sound_plan(plan, None))
    with hold(frozen.plan.id):
        if (entry := find_baseline(frozen.private.recipes[BASELINE])) is None:
            entry = put_baseline_in_service(frozen)
        else:
            say("it is in service already")
    if json:
        put_json(_row(entry.launch, entry.pid, entry.port))
    else:
        put(f"in service: {entry.launch}, pid {entry.pid}, http://{entry.recipe.host}:{entry.port}")
    return ExitCode.DONE


def status(*, json: Json = False) -> int:
    """Show the servers that fairtrial has in service on this host."""
    for stale in sweep():
        say(f"{stale.name}: {stale.reason}; forgotten")
    found = entries()
    if json:
        rows = [_row(entry.launch, entry.pid, entry.port) for entry in found]
        put_json({"schema": "fairtrial.services/v1", "services": rows})
        return ExitCode.DONE
    for entry in found:
        put(f"{entry.launch}  pid {entry.pid}  http://{entry.recipe.host}:{entry.port}")
    if not found:
        say("nothing is in service")
    return ExitCode.DONE


def unload(plan: PlanPath, /) -> int:
    """Take a plan's baseline out of service."""
    frozen = freeze(sound_plan(plan, None))
    with hold(frozen.plan.id):
        entry = find_baseline(frozen.private.recipes[BASELINE])
        if entry is None:
            raise UsageError("the baseline of this plan is not in service", where=str(plan))
        take_baseline_out(entry)
    say("out of service")
    return ExitCode.DONE


def _row(launch: str, pid: int, port: int) -> dict[str, object]:
    return {"launch": launch, "pid": pid, "port": port}
