"""compare: verdicts from plain rows, whatever holds them, and one line for all that is wrong with them."""

import json
import math
import subprocess
import sys
from dataclasses import make_dataclass
from types import SimpleNamespace

import numpy as np
import pytest

from fairtrial.judge import compare
from fairtrial.schema.errors import UsageError
from fairtrial.schema.verdict_vocab import Estimand, Flag
from fairtrial.schema.vocab import Direction, Verdict

NAMES = ("repetition", "slot", "arm", "launch", "case", "value", "ok")
HARMS = (0.02, -0.01, 0.03, 0.0, 0.01, 0.01)
T_5 = 2.015048372669157  # 95 % quantile of t with 5 degrees of freedom, from tables


def rows(harms=HARMS, cases=5, order=("A", "B"), arms=("A", "B")):
    """Every case of the candidate takes exp(harm) times as long; orders by turns."""
    found = []
    for number, harm in enumerate(harms, 1):
        placed = order if number % 2 else order[::-1]
        for place, arm in enumerate(placed):
            slot = 2 * number + place - 1
            for case in range(cases):
                value = (case + 1) * (1 + 0.001 * number) * math.exp(harm if arm == "B" else 0.0)
                name = dict(zip("AB", arms, strict=True))[arm]
                found.append(
                    dict(zip(NAMES, (number, slot, name, f"l{slot}", f"c{case}", value, True), strict=True))
                )
    return found


def columns(found):
    return {name: [row[name] for row in found] for name in NAMES}


def line(found, **options):
    with pytest.raises(UsageError) as error:
        compare(found, **{"margin": 0.05, **options})
    return error.value.line()


def test_the_verdict_by_hand():
    found = compare(rows(), margin=0.05)
    mean = sum(HARMS) / 6
    sd = math.sqrt(sum((harm - mean) ** 2 for harm in HARMS) / 5)
    assert found.finding.harms == pytest.approx(HARMS, abs=1e-12)
    assert found.log_ratio.mean == pytest.approx(mean)
    assert found.log_ratio.high == pytest.approx(mean + T_5 * sd / math.sqrt(6))
    assert found.log_ratio.low == pytest.approx(mean - T_5 * sd / math.sqrt(6))
    assert found.ratio.mean == pytest.approx(math.exp(mean))
    assert found.percent.mean == pytest.approx(100 * (math.exp(mean) - 1))
    assert found.verdict is Verdict.NON_INFERIOR
    assert (found.baseline, found.candidate) == ("A", "B")
    assert found.repetitions_needed is None
    assert [one.repetition for one in found.repetitions] == [1, 2, 3, 4, 5, 6]


def test_the_other_way_round_is_the_mirror():
    found = compare(rows(), margin=0.05)
    mirror = compare(rows(), margin=0.05, better=Direction.HIGHER)
    assert mirror.log_ratio.mean == pytest.approx(-found.log_ratio.mean)
    assert mirror.log_ratio.high == pytest.approx(-found.log_ratio.low)
    swapped = compare(rows(), margin=0.05, baseline="B")
    assert swapped.baseline == "B"
    assert swapped.log_ratio.high == pytest.approx(-found.log_ratio.low)


def test_roles():
    better = [harm - 0.5 for harm in HARMS]
    assert compare(rows(better), margin=None, role="primary").verdict is Verdict.SUPERIOR
    assert compare(rows(), margin=None, role="primary").verdict is Verdict.INCONCLUSIVE
    assert compare(rows([harm + 0.5 for harm in HARMS]), margin=0.05).verdict is Verdict.INFERIOR


def test_an_absolute_margin_counts_where_it_is_larger():
    # The baseline's medians are 3 * 1.001 ... 3 * 1.006, their median 3.0105: 0.6 of that is 19.93 %.
    found = compare(rows(), margin=0.05, absolute=0.6)
    assert found.finding.margin == pytest.approx(math.log(1 + 0.6 / 3.0105))


def test_undecided_says_how_many_repetitions_it_takes():
    # sd 0.07 at a margin of 5 % needs 15 (a published table); these six harms have exactly that sd.
    wide = [0.07 * math.sqrt(5 / 6) * sign for sign in (1, -1, 1, -1, 1, -1)]
    found = compare(rows(wide), margin=0.05)
    assert found.verdict is Verdict.INCONCLUSIVE
    assert found.finding.sd == pytest.approx(0.07)
    assert found.repetitions_needed == 15


def test_every_holder_of_rows_says_the_same():
    found = rows()
    record = make_dataclass("Record", NAMES)
    arrays = {name: np.array(values) for name, values in columns(found).items()}
    polars = pytest.importorskip("polars")
    holders = [
        found,
        iter(found),
        [SimpleNamespace(**row) for row in found],
        [record(**row) for row in found],
        columns(found),
        arrays,
        polars.DataFrame(found),
        polars.DataFrame(found).with_columns(polars.col("case").cast(polars.Categorical)),
    ]
    said = [compare(holder, margin=0.05).as_json() for holder in holders]
    assert all(one == said[0] for one in said)


class Series:
    def __init__(self, values):
        self.values = values

    def to_numpy(self):
        return np.array(self.values, dtype=object)

    def __len__(self):
        return len(self.values)


class ArrowLike:
    """Names under ``column_names``; ``columns`` are the columns themselves."""

    def __init__(self, held):
        self.held = held
        self.column_names = list(held)
        self.columns = list(held.values())

    def __getitem__(self, name):
        return Series(self.held[name])


def test_a_table_with_column_names_is_read():
    assert compare(ArrowLike(columns(rows())), margin=0.05).verdict is Verdict.NON_INFERIOR


def test_a_document_of_plain_values():
    document = json.loads(json.dumps(compare(rows(), margin=0.05).as_json(), allow_nan=False))
    assert document["schema"] == "fairtrial.comparison/v1"
    assert document["verdict"] == "non_inferior"
    assert document["companions"]["drift"] is not None
    assert document["repetitions"][0]["pairs"] == 5


def test_failures_rank_worst_and_their_value_is_ignored():
    found = rows()
    for row in found:
        if row["arm"] == "B" and row["case"] == "c0":
            row["ok"] = False
            row["value"] = "timed out"
    one_in_five = compare(found, margin=0.05, most_failures=0.2)  # trimmed away: one of five at each end
    assert Flag.FAILURES_RANKED in one_in_five.flags
    assert one_in_five.verdict is Verdict.NON_INFERIOR
    for row in found:
        if row["arm"] == "B" and row["case"] == "c1":
            row["ok"] = False
    two_in_five = compare(found, margin=0.05)
    assert two_in_five.verdict is Verdict.INFERIOR
    assert two_in_five.finding.n == 0


@pytest.mark.parametrize(
    ("baseline", "candidate", "most", "passes"),
    [
        (0, 1, 0.0, False),
        (1, 1, 0.0, True),
        (1, 0, 0.0, True),
        (1, 2, 0.0, False),
        (0, 1, 1 / 30, True),  # of 6 repetitions with 5 cases
        (0, 2, 1 / 30, False),
        (0, 0, 0.0, True),
    ],
)
def test_a_candidate_that_failed_more_passes_only_where_it_may(baseline, candidate, most, passes):
    found = rows()
    for arm, count in (("A", baseline), ("B", candidate)):
        for row in [row for row in found if (row["arm"], row["case"]) == (arm, "c0")][:count]:
            row["ok"] = False
    verdict = compare(found, margin=0.05, most_failures=most)
    assert verdict.verdict is (Verdict.NON_INFERIOR if passes else Verdict.INCONCLUSIVE)
    assert (Flag.FAILED_MORE in verdict.flags) is not passes
    if not passes:
        assert f"but {candidate} of 30 rows of the candidate failed, {baseline} of 30" in verdict.reason
    slower = rows([harm + 0.5 for harm in HARMS])
    assert compare(slower, margin=0.05, most_failures=most).verdict is Verdict.INFERIOR


def test_equal_slots_and_equal_harms_are_named():
    found = rows()
    for row in found:
        row["slot"] = row["repetition"]
    (note,) = compare(found, margin=0.05).notes
    assert note.startswith("in 6 of 6 repetitions neither arm ran before the other")
    one_value = rows([0.0] * 6)
    for row in one_value:
        row["value"] = 1.0
    (note,) = compare(one_value, margin=0.05).notes
    assert note.startswith("every repetition has the very same harm")


def test_a_case_of_one_arm_is_a_missing_pair():
    lost = {(1, "B", "c0"), (1, "B", "c1")}
    found = [row for row in rows() if (row["repetition"], row["arm"], row["case"]) not in lost]
    verdict = compare(found, margin=0.05)
    one = verdict.repetitions[0]
    assert (one.missing, one.pairs) == ((0, 2), 3)
    assert one.harm == pytest.approx(HARMS[0])
    # The worst in its place is 5 e^0.02: ln(5) and ln(5 / 2) more; trimmed to the middle three of five.
    assert one.worst == pytest.approx((3 * HARMS[0] + math.log(5 / 2)) / 3)
    assert verdict.verdict is Verdict.INCONCLUSIVE
    assert Flag.MISSING_DECIDES in verdict.flags


def test_launches_of_one_arm_in_one_repetition_are_pooled():
    found = rows()
    for row in found:
        row["launch"] += "-first" if row["case"] in {"c0", "c1"} else "-second"
    pooled, plain = compare(found, margin=0.05), compare(rows(), margin=0.05)
    assert pooled.finding == plain.finding
    assert pooled.companions.spread["A"].launches == 12


def test_repetitions_of_one_launch_are_named():
    found = rows()
    for row in found:
        row["launch"] = f"the only {row['arm']}"
    assert "served more than one repetition" in compare(found, margin=0.05).notes[0]
    assert compare(rows(), margin=0.05).notes == ()


def test_one_order_only_is_named():
    found = rows()
    for row in found:
        row["slot"] = 2 * row["repetition"] + (row["arm"] == "B")
    verdict = compare(found, margin=0.05)
    assert "always ran first" in verdict.notes[0]
    assert "same place" in verdict.companions.absent["period"]


def test_unequal_orders_widen_the_interval():
    harms = (0.02, -0.02, 0.02)
    wide = compare(rows(harms), margin=0.2)  # AB, BA, AB
    unknown = rows(harms)
    for row in unknown:
        row["slot"] = row["repetition"]
    plain = compare(unknown, margin=0.2)
    assert plain.log_ratio.mean == wide.log_ratio.mean
    assert plain.log_ratio.low > wide.log_ratio.low
    assert plain.companions.absent["period"].startswith("not testable")


def test_slots_within_a_repetition_are_put_in_order():
    found = rows()
    for row in found:
        row["slot"] -= 2 * (row["repetition"] - 1)
    assert {row["slot"] for row in found} == {1, 2}
    assert compare(found, margin=0.05).companions.drift == compare(rows(), margin=0.05).companions.drift


def test_the_odd_launch_is_named():
    harms = [0.0, 0.001, -0.001, 0.002, 0.5, 0.0]
    verdict = compare(rows(harms), margin=0.05)
    [odd] = verdict.companions.odd
    assert (odd.arm, odd.repetition) == ("B", 5)
    assert Flag.ODD_LAUNCH in verdict.flags


def test_statistics_where_cases_differ():
    found = rows()
    for row in found:
        if row["arm"] == "B":
            row["case"] = f"other {row['case']}"
    assert compare(found, margin=0.05).verdict is Verdict.INCONCLUSIVE  # no pair at all
    bounded = compare(found, margin=0.05, estimand=Estimand.MEDIANS)
    assert bounded.finding.harms == pytest.approx(HARMS, abs=1e-12)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"value": -1.0}, "value is not above 0, so it has no logarithm, in row 8"),
        ({"value": 0}, "value is not above 0"),
        ({"value": math.nan}, "value is not a finite number in row 8"),
        ({"value": math.inf}, "value is not a finite number in row 8"),
        ({"value": "12"}, "value is not a finite number in row 8"),
        ({"value": None}, "value is not a finite number in row 8"),
        ({"value": True}, "value is not a finite number in row 8"),
        ({"value": 10**400}, "value is not a finite number in row 8"),
        ({"ok": 1}, "ok is neither true nor false in row 8"),
        ({"ok": None}, "ok is neither true nor false in row 8"),
        ({"repetition": 1.5}, "repetition is not a whole number in row 8"),
        ({"repetition": "1"}, "repetition is not a whole number in row 8"),
        ({"slot": None}, "slot is not a whole number in row 8"),
        ({"case": None}, "case is not a name (text or a whole number) in row 8"),
        ({"case": ""}, "case is not a name"),
        ({"case": 1.0}, "case is not a name"),
        ({"launch": True}, "launch is not a name"),
        ({"arm": "C"}, "a comparison takes two arms, not 3: A, B, C"),
        ({"case": "c1"}, "a case comes again within its repetition and arm in row 8"),
        ({"launch": "l1"}, "a launch is of both arms"),
    ],
)
def test_what_is_wrong_is_told(change, said):
    found = rows()
    found[7].update(change)  # row 8: repetition 1, arm B, case c2
    assert said in line(found)


def test_all_problems_are_in_one_line():
    found = rows()
    for place in (0, 3, 5, 9):
        found[place]["value"] = -1
    found[2]["ok"] = "yes"
    found[4]["case"] = None
    said = line(found)
    assert "\n" not in said
    for part in ("4 rows (1, 4, 6, ...)", "ok is neither", "row 5"):
        assert part in said


def test_a_repetition_with_one_arm_is_told():
    found = [row for row in rows() if not (row["arm"] == "A" and row["repetition"] == 4)]
    assert "repetition 4 has no row of the arm A" in line(found)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ([], "there are no rows"),
        ("rows.csv", "no rows in a str"),
        (7, "no rows in a int"),
        ({"arm": ["A"]}, "the columns repetition, slot, launch, case, value, ok are missing"),
        ([{"arm": "A"}], "the columns repetition, slot, launch, case, value, ok are missing"),
        ({**{key: [1] for key in NAMES}, "ok": [True, False]}, "different lengths"),
        ({**{key: [1] for key in NAMES}, "arm": "A"}, "a single str"),
        ({**{key: [1] for key in NAMES}, "value": np.ones((1, 2))}, "2 dimensions"),
    ],
)
def test_what_is_no_table_is_told(found, said):
    assert said in line(found)


def test_a_row_without_a_column_is_told():
    found = rows()
    del found[6]["launch"]
    assert "launch is missing in row 7" in line(found)


def test_a_lazy_frame_is_told():
    polars = pytest.importorskip("polars")
    assert "lazy frame" in line(polars.DataFrame(rows()).lazy())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"margin": None}, "a guardrail needs a margin"),
        ({"margin": -0.1}, "margin is a share"),
        ({"margin": math.nan}, "margin is a share"),
        ({"margin": 5}, "margin is a share of at least 0 and below 1, such as 0.05 for 5%, not 5"),
        ({"most_failures": 1}, "most_failures is a share"),
        ({"margin": "5%"}, "margin is a share"),
        ({"alpha": 0.5}, "alpha is above 0"),
        ({"power": 1}, "power is above 0"),
        ({"absolute": math.inf}, "absolute is 0 or more"),
        ({"min_effect": 1}, "min_effect is at least 0"),
        ({"role": "protected"}, "role is one of"),
        ({"better": "up"}, "better is one of lower, higher"),
        ({"estimand": "share_met"}, "estimand is one of"),
        ({"baseline": "Z"}, "no row is of the baseline Z"),
    ],
)
def test_options_out_of_range_are_told(options, said):
    assert said in line(rows(), **options)


def test_importing_is_cheap():
    program = (
        "import sys, fairtrial.judge; print(*(n for n in ('numpy', 'scipy', 'pydantic') if n in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
    program = "import sys, fairtrial.judge.rows; print(*(n for n in ('numpy', 'scipy', 'pydantic') if n in sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
