"""`fairtrial ab`: two running servers, no plan file."""

import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Self

from cyclopts import Parameter

from fairtrial.bench.options import token_from
from fairtrial.cli.ab_text import found_lines, share_of
from fairtrial.cli.budgeting import sight
from fairtrial.cli.ending import Codes
from fairtrial.cli.output import put, say
from fairtrial.cli.planning import short_duration
from fairtrial.cli.progress import Show
from fairtrial.cli.verbs import CodesOf, finish
from fairtrial.evidence.files import write_atomic
from fairtrial.plan.budget import budget_seconds
from fairtrial.plan.check import check_plan
from fairtrial.plan.checked import CheckedPlan
from fairtrial.plan.environment import environment_problems
from fairtrial.plan.freeze import freeze
from fairtrial.plan.order import DEFAULT_REPETITIONS
from fairtrial.plan.two_servers import CONCURRENCY, CONVERSATIONS, Asked, plan_text
from fairtrial.schema.errors import PlanError, UsageError
from fairtrial.schema.vocab import Endpoint, ExitCode
from fairtrial.trial.calibrating import stored_for, with_stored
from fairtrial.trial.directory import TrialDirectory, expect_new
from fairtrial.trial.discovering import looked_at
from fairtrial.trial.notes import leave_in_inbox
from fairtrial.trial.pilot import Pilot, run_pilot
from fairtrial.trial.stopping import StopFlag
from fairtrial.trial.two_servers import look_at_both
from fairtrial.trial.verbs import run_new

_PLAN_FILE = "plan.toml"
_LIMIT_S = 300.0
"""Most time without a budget."""


@dataclass(frozen=True, kw_only=True)
class What:
    """What is sent, and what is demanded."""

    requests: Path | None = None
    """A JSONL file of requests to send instead of synthetic conversations."""
    must: list[str] = field(default_factory=list)
    """A demand, e.g. "ttft no worse than 10%"; may be given several times."""
    budget: str | None = None
    """Most time that the whole may take, such as 2m; without it 6 repetitions, and 5m at most."""
    concurrency: Annotated[int, Parameter(help="Requests in flight, of the file or of what returns.")] = (
        CONCURRENCY
    )
    conversations: Annotated[int, Parameter(help="Conversations that return.")] = CONVERSATIONS
    model: str | None = None
    """Name of the model, where a server has several."""
    token_env: str | None = None
    """Environment variable that holds the bearer token of both servers."""


@dataclass(frozen=True, kw_only=True)
class Shown:
    """Where the evidence goes, and what is printed."""

    into: Path | None = None
    """New directory of the trial; runs/ab-TIME if left out."""
    show_plan: bool = False
    """Print the plan that would run, and end."""
    quiet: Annotated[bool, Parameter(("--quiet", "-q"), help="No progress.")] = False
    json: bool = False
    """Print a JSON document instead of text."""


def ab(
    baseline: Annotated[str, Parameter(help="Address of the server in use, such as http://127.0.0.1:8000.")],
    candidate: Annotated[str, Parameter(help="Address of the server that might replace it.")],
    /,
    *,
    what: Annotated[What | None, Parameter(name="*", negative=())] = None,
    shown: Annotated[Shown | None, Parameter(name="*", negative=())] = None,
    codes: CodesOf = None,
) -> int:
    """Compare two running servers: what differs between them, and whether the second is no worse.

    Both are asked in turn, in randomised blocks, and are left as they are. A small pilot finds out how many
    repetitions fit into the time. The claim is limited to these two launches.
    """
    began = time.monotonic()
    what, shown = what or What(), shown or Shown()
    limit = _LIMIT_S if what.budget is None else budget_seconds(what.budget)
    path = shown.into or Path("runs") / f"ab-{datetime.now(UTC):%Y%m%d-%H%M%S}"
    expect_new(path)
    pair = look_at_both((baseline, candidate), token=token_from(what.token_env, os.environ), model=what.model)
    asked = _asked(what, (baseline, candidate), pair.endpoint)
    if shown.show_plan:
        put(plan_text(asked))
        return ExitCode.DONE
    tell = _teller(quiet=shown.quiet)
    for line in found_lines((baseline, candidate), pair):
        tell(line)
    checked = looked_at(_sound(plan_text(asked), path))
    for remark in checked.notes:
        if not remark.key:  # of both servers together; what each one is was said
            tell(f"note: {remark.message}")
    with Show(quiet=shown.quiet) as watcher:
        stop = StopFlag(watcher.heard)
        tell("pilot: a small repetition, to see how long a whole one takes")
        with _Pilot(checked, path, stop) as pilot:
            left = limit - (time.monotonic() - began)
            most = DEFAULT_REPETITIONS if what.budget is None else None
            asked = replace(asked, repetitions=share_of(left, pilot.found, limit, most))
            whole = replace(_sound(plan_text(asked), path), arms=checked.arms)
            taken = short_duration(asked.repetitions * pilot.found.repetition_s)
            tell(f"{asked.repetitions} repetitions, about {taken}; evidence: {path}")
            tell(f"  {sight(whole.design)}")
            frozen = freeze(whole)
            frozen = with_stored(frozen, stored_for(frozen))
            end = run_new(frozen, path, watcher, stop, lambda new: pilot.keep_in(new, plan_text(asked)))
    code = finish(end, json=shown.json, codes=codes or Codes())
    say("the claim is limited to these two launches: a fresh start of either server may differ from it")
    return code


def _asked(what: What, urls: tuple[str, str], endpoint: Endpoint) -> Asked:
    return Asked(
        urls=urls,
        endpoint=endpoint,
        seed=secrets.randbelow(2**31),
        repetitions=DEFAULT_REPETITIONS,
        requests=what.requests,
        must=what.must,
        concurrency=what.concurrency,
        conversations=what.conversations,
        model=what.model,
        token_env=what.token_env,
    )


def _sound(text: str, path: Path) -> CheckedPlan:
    """The plan made of the command line, checked like any other.

    Raises:
        PlanError: With every problem of it and of this host for it.
    """
    checked = check_plan(text.encode(), Path.cwd() / _PLAN_FILE, "the plan made of this")
    if found := environment_problems(checked, path):
        raise PlanError(found)
    return checked


def _teller(*, quiet: bool) -> Callable[[str], None]:
    return (lambda _: None) if quiet else say


class _Pilot:
    """A pilot beside the new trial, until it is kept in it."""

    def __init__(self, checked: CheckedPlan, path: Path, stop: StopFlag) -> None:
        self._checked, self._path, self._stop = checked, path, stop
        self._folder = Path()
        self.found = Pilot(repetition_s=0.0, repetition_requests=0, requests=0, failed=0)

    def __enter__(self) -> Self:
        """Run it.

        Raises:
            FairtrialError: As for :func:`run_pilot`.
        """
        parent = self._path.resolve().parent
        try:
            parent.mkdir(parents=True, exist_ok=True)
            self._folder = Path(tempfile.mkdtemp(prefix=f".{self._path.name}-pilot-", dir=parent))
        except OSError as error:
            raise UsageError(f"can't write: {error.strerror}", where=str(parent)) from error
        try:
            self.found = run_pilot(self._checked, self._folder / "pilot", self._stop)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Remove what is not kept."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def keep_in(self, directory: TrialDirectory, text: str) -> None:
        """Keep the pilot's evidence and the plan's text with the trial, out of its own evidence.

        Addresses stand in both: they are private.
        """
        private = directory.path / "private"
        write_atomic(private / _PLAN_FILE, text.encode(), 0o600)
        shutil.move(self._folder / "pilot", private / "pilot")
        note = (
            f"a pilot sent {self.found.requests} requests to the two servers before this trial "
            f"({self.found.failed} failed) to choose the number of repetitions; none of them counts"
        )
        leave_in_inbox(directory.path, note.encode())
