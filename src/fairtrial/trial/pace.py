"""How far a trial is and how long it will still take, from its own launches so far."""

from fairtrial.evidence.progress import Progress
from fairtrial.schema.cases import cases_of
from fairtrial.schema.plan import FrozenPlan
from fairtrial.schema.schedule import LaunchPlan, schedule
from fairtrial.schema.vocab import Phase


class Pace:
    """Counts requests and times launches. Fed by a watcher with a monotonic clock in seconds."""

    def __init__(self, plan: FrozenPlan) -> None:
        self._plan = plan
        self._launches = [launch for window in schedule(plan) for launch in window.launches]
        self._by_name = {launch.name: launch for launch in self._launches}
        self._begun: dict[str, float] = {}
        self._took: dict[tuple[str, tuple[str, ...]], list[float]] = {}
        self.total = sum(self.requests(launch) for launch in self._launches)
        """Requests of the whole trial, warm-ups included."""

    def requests(self, launch: LaunchPlan) -> int:
        """Requests that one launch serves, warm-ups included."""
        return sum(
            len(cases_of(self._plan.workload(name), phase)) for name in launch.workloads for phase in Phase
        )

    def counted(self, progress: Progress) -> int:
        """Requests of launches that already count."""
        return sum(
            self.requests(launch) for launch in self._launches if progress.counted(launch.name) is not None
        )

    def started(self, launch: str, now_s: float) -> None:
        """A launch is about to start."""
        self._begun[launch] = now_s

    def ended(self, launch: str, now_s: float) -> None:
        """A launch is over."""
        begun = self._begun.pop(launch, None)
        plan = self._by_name.get(launch.rpartition(".")[0])
        if begun is not None and plan is not None:
            self._took.setdefault((plan.arm, plan.workloads), []).append(now_s - begun)

    def remaining_s(self, progress: Progress, now_s: float) -> float | None:
        """Seconds of launches still to run; None before the first launch is over.

        A launch is expected to take as long as the same workload took in the same arm, else in
        any arm, else as its number of requests says.
        """
        if not self._took:
            return None
        left = 0.0
        for launch in self._launches:
            if progress.counted(launch.name) is not None:
                continue
            spent = max(
                (now_s - t for n, t in self._begun.items() if n.startswith(f"{launch.name}.")), default=0
            )
            left += max(0.0, self._expected_s(launch) - spent)
        return left

    def _expected_s(self, launch: LaunchPlan) -> float:
        same = self._took.get((launch.arm, launch.workloads))
        if same is None:
            same = [s for (_, names), all_s in self._took.items() if names == launch.workloads for s in all_s]
        if same:
            return sum(same) / len(same)
        seconds = sum(sum(all_s) for all_s in self._took.values())
        served = sum(
            sum(len(cases_of(self._plan.workload(name), phase)) for name in names for phase in Phase)
            * len(all_s)
            for (_, names), all_s in self._took.items()
        )
        return seconds / max(1, served) * self.requests(launch)
