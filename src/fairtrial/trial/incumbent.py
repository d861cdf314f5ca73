"""The baseline put into service and taken out by hand, outside any trial."""

import secrets

from fairtrial.plan.freeze import Frozen
from fairtrial.profiles.registry import profile
from fairtrial.schema.errors import LaunchError
from fairtrial.schema.servers import ServiceEntry
from fairtrial.schema.vocab import Proof
from fairtrial.serve.ports import free_port
from fairtrial.serve.service import Placement, put_in_service, take_out
from fairtrial.serve.state import state_dir
from fairtrial.trial.probing import BASELINE, service_prober


def put_baseline_in_service(frozen: Frozen) -> ServiceEntry:
    """Start a plan's baseline in a session of its own, prove it ready, register it.

    Raises:
        LaunchError: It did not become ready; nothing is left running.
    """
    recipe = frozen.private.recipes[BASELINE]
    engine = profile(recipe.frozen.profile)
    run = f"s{secrets.token_hex(6)}"
    log = state_dir() / f"{run}.log"
    placed = put_in_service(
        recipe,
        Placement(run=run, launch=f"service-{run}.1", port=recipe.port or free_port(), log=log),
        engine,
        probe=service_prober(frozen.private, frozen.plan),
    )
    if placed.entry is None:
        raise LaunchError(f"the baseline did not become ready: {placed.readiness.message}", hint=f"see {log}")
    return placed.entry


def take_baseline_out(entry: ServiceEntry) -> None:
    """Stop a server in service and prove it gone.

    Raises:
        LaunchError: Something of it is still there.
    """
    ending = take_out(entry)
    if ending.tree_gone is not Proof.TRUE:
        raise LaunchError("it could not be stopped", where=f"pid {entry.pid}")
