"""The short form for a pull request: one screen, everything from data escaped, nothing claimed beyond it."""

import re

import pytest
from report_support import finding, result

from fairtrial.judge.judge import judge
from fairtrial.report.pull_request import render_pull_request
from fairtrial.schema.vocab import GateOutcome, Level, Recommendation, Role
from fairtrial.testing.evidence import Script, fabricate
from fairtrial.testing.steady import steady_plan, steady_reply

HOSTILE = "<script>alert(1)</script> | `x` *y* \x1b[2J"


@pytest.fixture(scope="module")
def evidence():
    """B takes half of A's time to return in each of four repetitions; the cold workload is the same."""
    return fabricate(Script(plan=steady_plan(Level.QUICK), reply=steady_reply))


@pytest.fixture(scope="module")
def judgment(evidence):
    return judge(evidence)


def rows(text):
    """The table's rows behind its head."""
    found = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in found[2:]]


def test_a_whole_trial(evidence, judgment):
    text = render_pull_request(evidence.plan, judgment)
    assert text.startswith("### :white_check_mark: A person may authorise the candidate\n")
    assert "What differs from A: B in host_row_percent (A 25, B 75)." in text
    assert rows(text) == [
        [
            "returning",
            "B",
            "TTFT (median) better",
            "-50.0%, -50.0%, -50.0%, -50.0% (faster)",
            r"-50.0% \[-50.0%, -50.0%\] (faster)",
            ":white_check_mark: better",
        ],
        [
            "cold",
            "B",
            "TTFT (median) no worse than 5% or 2 ms, whichever is larger",
            "0.0%, 0.0%, 0.0%, 0.0% (same)",
            r"0.0% \[0.0%, 0.0%\]",
            ":white_check_mark: no worse",
        ],
    ]
    assert "<summary>4 of 4 gates passed</summary>" in text
    # Four repetitions of two arms: 4 primed and 4 measured that return, 4 cold.
    assert "Level quick, 4 repetitions, 96 formal requests, 0 failed" in text
    assert judgment.plan_sha256[:12] in text
    assert text.rstrip().endswith("only a person's signed act authorises.</sub>")


def test_what_is_only_shown_is_not_in_the_table(evidence, judgment):
    shown = judgment.model_copy(
        update={"requirements": (result(finding(-1, 0, 1), role=Role.INFORMATIONAL),)}
    )
    text = render_pull_request(evidence.plan, shown)
    assert rows(text) == []
    assert "Nothing is demanded of the candidate." in text


def test_long_reasons_are_cut_with_their_number(evidence, judgment):
    """Ten reasons: eight stand there, two are counted."""
    decision = judgment.decision.model_copy(
        update={
            "recommendation": Recommendation.UNDECIDED,
            "reasons": tuple(f"reason {number}" for number in range(10)),
        }
    )
    text = render_pull_request(evidence.plan, judgment.model_copy(update={"decision": decision}))
    assert text.startswith("### :warning: Undecided: keep the baseline for now\n")
    listed = [line for line in text.splitlines() if line.startswith("- Reason")]
    assert listed == [f"- Reason {number}." for number in range(8)]
    assert "- 2 more reasons in the full report." in text


def test_failed_gates_stand_by_name(evidence, judgment):
    first = judgment.gates[0].model_copy(
        update={"outcome": GateOutcome.FAILED, "reason": "one window did not restore"}
    )
    changed = judgment.model_copy(update={"gates": (first, *judgment.gates[1:])})
    text = render_pull_request(evidence.plan, changed)
    assert "<summary>3 of 4 gates passed</summary>" in text
    assert re.search(r"- \*\*failed\*\* restoration: .*one window did not restore", text)


def test_text_from_data_is_only_text(evidence, judgment):
    plan = evidence.plan.model_copy(update={"question": HOSTILE})
    hostile = result(finding(-1, 0, 1), demand=HOSTILE, workload="cold")
    text = render_pull_request(plan, judgment.model_copy(update={"requirements": (hostile,)}))
    assert "<script>" not in text
    assert "\x1b" not in text
    (row,) = [line for line in text.splitlines() if line.startswith("| cold")]
    assert len(re.findall(r"(?<!\\)\|", row)) == 7
