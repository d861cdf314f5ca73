"""Load of others on the host: the condition over a whole trial, and its limits by hand."""

import pytest

from fairtrial.judge.concurrent_load import foreign
from fairtrial.judge.judge import judge
from fairtrial.schema.facts import HostLoad, PhaseEnded
from fairtrial.schema.vocab import Condition, Phase
from fairtrial.testing.evidence import Script, fabricate, with_facts

MS, S = 10**6, 10**9


def load(wall, foreign_ns, *, processors=2, own=100 * MS, server=300 * MS):
    return HostLoad(
        wall_ns=wall,
        processors=processors,
        busy_ns=foreign_ns + (own or 0) + (server or 0),
        own_ns=own,
        server_ns=server,
    )


@pytest.mark.parametrize(
    ("wall", "foreign_ns", "processors", "holds"),
    [
        # two processors: a quarter of one, 0.25 s a second
        (4 * S, 0, 2, True),
        (4 * S, 1 * S, 2, True),
        (4 * S, 1 * S + 1, 2, False),
        # sixteen processors: a tenth of all, 1.6 of one
        (4 * S, 6_400 * MS, 16, True),
        (4 * S, 6_401 * MS, 16, False),
        # 0.5 s is long enough to judge, below it only a clearly idle host is told
        (500 * MS, 126 * MS, 2, False),
        (499 * MS, 126 * MS, 2, None),
        (499 * MS, 499 * MS, 2, None),
        (400 * MS, 60 * MS, 2, True),  # 60 + 40 of resolution are the 100 that are let pass
        (400 * MS, 61 * MS, 2, None),
        (100 * MS, 0, 2, None),  # 25 ms are less than what ticks can hide
        (100 * MS, 0, 8, True),  # 80 ms are not
    ],
)
def test_limits(wall, foreign_ns, processors, holds):
    found = foreign(load(wall, foreign_ns, processors=processors))
    assert found.holds is holds
    assert found.share == pytest.approx(foreign_ns / wall)


def test_rounding_below_nothing_is_nothing():
    # The server's ticks were counted a little higher than the host's.
    found = foreign(HostLoad(wall_ns=S, processors=2, busy_ns=480 * MS, own_ns=100 * MS, server_ns=390 * MS))
    assert (found.share, found.holds) == (0, True)


def judged(host):
    return answer(judge(fabricate(Script(host=host))))


def answer(judgment):
    cell = next(c for c in judgment.cells if (c.workload, c.repetition) == ("returning", 1))
    return next(c for c in cell.conditions if c.condition is Condition.NO_CONCURRENT_LOAD)


def in_measured_b(where):
    return (where.workload, where.arm, where.phase) == ("returning", "B", Phase.MEASURED)


def only_in_b(change):
    return lambda where, quiet: change(quiet) if in_measured_b(where) else quiet


def test_a_quiet_host():
    found = judged(lambda _, quiet: quiet)
    assert found.holds is True
    assert found.reason == "others used at most 0% of one processor in the measured phases"


def test_others_at_work():
    found = judged(only_in_b(lambda quiet: load(10 * S, 9 * S, processors=4)))
    assert found.holds is False
    assert found.reason == "arm B: others used 90% of one processor; 40% is let pass"


def test_other_phases_and_workloads_do_not_count():
    busy = load(10 * S, 9 * S)

    def host(where, quiet):
        return quiet if where.workload == "returning" and where.phase is Phase.MEASURED else busy

    assert judged(host).holds is True


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda quiet: None, "the host's load was not recorded"),
        (
            lambda quiet: replace_in(quiet, server_ns=None),
            "the server's processor time is not known, so that of others isn't either",
        ),
        (lambda quiet: replace_in(quiet, own_ns=None), "fairtrial's own processor time is not known"),
        (lambda quiet: replace_in(quiet, wall_ns=0), "the phase has no duration"),
        # what can't be true
        (
            lambda quiet: replace_in(quiet, wall_ns=quiet.wall_ns // 2, busy_ns=quiet.busy_ns // 2),
            "the host was not watched for as long as requests were sent",
        ),
        (lambda quiet: load(10 * S, 22 * S), "the host counts more time than its processors have"),
        (
            lambda quiet: HostLoad(wall_ns=10 * S, processors=2, busy_ns=S, own_ns=S, server_ns=3 * S),
            "the host counts less time than the server and fairtrial together",
        ),
        (
            lambda quiet: load(quiet.wall_ns, quiet.wall_ns, own=0, server=0),
            "others used 100% of one processor; 25% is let pass, and the phase is too short to tell",
        ),
    ],
)
def test_unknown_is_not_true(change, reason):
    found = judged(only_in_b(change))
    assert found.holds is None
    assert found.reason == f"arm B: {reason}"


def replace_in(record, **changes):
    return HostLoad(**{name: getattr(record, name) for name in HostLoad.model_fields} | changes)


def test_known_load_counts_more_than_what_is_unknown():
    def host(where, quiet):
        return None if where.arm == "A" else load(10 * S, 9 * S)

    assert judged(host).holds is False


def test_journals_from_before():
    evidence = fabricate()
    facts = [
        fact.model_copy(update={"host": None}) if isinstance(fact, PhaseEnded) else fact
        for fact in (line.fact for line in evidence.lines)
    ]
    found = answer(judge(with_facts(evidence, facts)))
    assert found.holds is None
    assert "the host's load was not recorded" in found.reason
