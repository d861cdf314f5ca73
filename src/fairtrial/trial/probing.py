"""One request of the measured shape, bound to an arm's server."""

from collections.abc import Callable
from pathlib import Path

from fairtrial.drive.probe import probe
from fairtrial.profiles.registry import profile
from fairtrial.schema.plan import FrozenPlan, FrozenWorkload
from fairtrial.schema.servers import Private
from fairtrial.serve.token import bearer_token

BASELINE = "A"
"""Name of the baseline's arm."""


def prober(private: Private, arm: str, workload: FrozenWorkload) -> Callable[[str, str], str | None]:
    """A probe for an arm: ``(base_url, model) -> error line or None``."""
    recipe = private.recipes[arm]
    engine = profile(recipe.frozen.profile)
    file = private.files.get(workload.name)
    path = None if file is None else Path(file)
    seen = recipe.frozen.capabilities
    capabilities = None if seen is None else frozenset(seen)

    def send(base_url: str, model: str) -> str | None:
        return probe(
            base_url,
            model,
            workload,
            engine,
            bearer_token(recipe),
            requests_path=path,
            capabilities=capabilities,
        )

    return send


def service_prober(private: Private, plan: FrozenPlan) -> Callable[[str, str], str | None]:
    """A probe for the baseline in service: the shape of the first workload."""
    return prober(private, BASELINE, plan.workloads[0])
