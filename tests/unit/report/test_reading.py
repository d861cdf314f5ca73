"""Changes and their colours, what differs, amendments: what a newcomer reads first."""

from dataclasses import replace

import pytest

from fairtrial.judge.judge import judge
from fairtrial.judge.normalise import normalise
from fairtrial.judge.values import measured_values
from fairtrial.report.build import build_report
from fairtrial.report.markdown import render_markdown
from fairtrial.schema.document import Paragraph, Table
from fairtrial.schema.facts import Amended
from fairtrial.schema.plan import ArmDifference
from fairtrial.schema.vocab import Level, Phase, Statistic
from fairtrial.testing.evidence import (
    Script,
    default_identity,
    default_reply,
    fabricate,
    with_facts,
    with_files,
)
from fairtrial.testing.small_plan import small_plan
from fairtrial.testing.steady import FOUR

QUICK = small_plan(FOUR, Level.QUICK)


def built(script=None):
    evidence = fabricate(script)
    judged = judge(evidence)
    return build_report(evidence.plan, judged, measured_values(normalise(evidence), judged))


@pytest.fixture(scope="module")
def report():
    return built()


def section(report, title):
    return next(found for found in report.sections if found.title == title)


def table(report, title, caption):
    return next(
        b for b in section(report, title).blocks if isinstance(b, Table) and b.caption.startswith(caption)
    )


def texts(found):
    return [[span.text for span in row] for row in found.rows]


def test_an_observation_inside_the_baselines_noise_gets_no_colour():
    """A takes 40 ms, then 90: B's 30 and 60 are faster always, but A alone moves by 125 %."""

    def reply(where, case):
        odd = where.repetition % 2
        milliseconds = {("A", 1): 40, ("A", 0): 90, ("B", 1): 30, ("B", 0): 60}[where.arm, odd]
        return replace(default_reply(where, case), ttft_ms=milliseconds)

    found = table(built(Script(plan=QUICK, reply=reply)), "Decision", "What was demanded").rows[0][3]
    assert (found.text, found.tone) == ("-25.0%, -33.3%, -25.0%, -33.3% (faster)", "plain")


def test_an_observation_beyond_it_gets_one_where_its_cells_are_usable(report):
    """Level quick asks for less, so that the same evidence gives usable cells."""
    for found, tone, times in ((report, "plain", 2), (built(Script(plan=QUICK)), "good", 4)):
        shown = table(found, "Decision", "What was demanded").rows[0][3]
        assert (shown.text, shown.tone) == (f"{', '.join(['-50.0%'] * times)} (faster)", tone)
        by_repetition = table(found, "Workload returning", "TTFT in ms").rows
        assert [row[-1].tone for row in by_repetition] == [tone] * times


def test_one_unusable_cell_takes_the_colour_of_its_own_repetition_and_of_the_whole():
    """In repetition 2 one request of B answers with another prompt: other work, so that cell can't be used."""

    def reply(where, case):
        other = (where.repetition, where.arm, case.prompt) == (2, "B", 0)
        return replace(default_reply(where, case), extra="other" if other else "")

    found = built(Script(plan=QUICK, reply=reply))
    assert [row[-1].tone for row in table(found, "Workload returning", "TTFT in ms").rows] == [
        "good",
        "plain",
        "good",
        "good",
    ]
    shown = table(found, "Decision", "What was demanded").rows[0][3]
    assert (shown.text, shown.tone) == ("-50.0%, -50.0%, -50.0%, -50.0% (faster)", "plain")


def mixture(where, case):
    """A: 10, 40, 40, 40 ms. B: 10, 10, 20, 40 ms, so that half of the requests changed at all."""
    if where.phase is not Phase.MEASURED or where.workload != "returning":
        return default_reply(where, case)
    milliseconds = {"A": (10, 40, 40, 40), "B": (10, 10, 20, 40)}[where.arm][case.prompt]
    return replace(default_reply(where, case), ttft_ms=milliseconds)


def test_the_change_is_that_of_the_statistic_the_demand_names():
    """Medians 40 and 15 ms: -62.5 %. Ratios 1, 1/4, 1/2, 1; nothing is trimmed of four: 8**-0.25 - 1."""
    found = table(built(Script(plan=QUICK, reply=mixture)), "Decision", "What was demanded")
    assert found.columns[3:5] == ("change of the median", "over all [interval]")
    assert [span.text for span in found.rows[0][3:5]] == [
        "-62.5%, -62.5%, -62.5%, -62.5% (faster)",
        "-40.5% [-40.5%, -40.5%] (faster)",
    ]
    assert "mixture" in found.note
    assert "negative is lower in both" in found.note


def test_a_percentile_is_compared_as_that_percentile():
    """P90 of ten: the ninth of 100..109 ms in A, of 50..59 in B: 108 and 58 ms, -46.3 %."""
    first = QUICK.workloads[0]
    tail = first.requirements[0].model_copy(update={"statistic": Statistic.P90})
    source = first.source.model_copy(update={"count": 10})
    phases = first.phases.model_copy(update={"prime": 10, "measured": 10})
    first = first.model_copy(update={"requirements": (tail,), "source": source, "phases": phases})
    plan = QUICK.model_copy(update={"workloads": (first,), "gates": ()})

    def reply(where, case):
        return replace(default_reply(where, case), ttft_ms={"A": 100, "B": 50}[where.arm] + case.prompt)

    found = table(built(Script(plan=plan, reply=reply)), "Decision", "What was demanded")
    assert found.columns[3] == "change of the p90"
    assert [span.text for span in found.rows[0][3:5]] == [
        "-46.3%, -46.3%, -46.3%, -46.3% (faster)",
        "-46.3% [-46.3%, -46.3%] (faster)",
    ]


def test_one_sign_convention(report):
    """No number of the human report favours the candidate by being positive."""
    shown = render_markdown(report)
    assert "observed delta" not in shown.lower()
    assert "+50.0%" not in shown


def test_repetitions_that_disagree_say_so_one_by_one():
    """B takes 20 ms, then 100 where A takes 40, then 80: half, then a quarter more."""

    def reply(where, case):
        odd = where.repetition % 2
        milliseconds = {("A", 1): 40, ("A", 0): 80, ("B", 1): 20, ("B", 0): 100}[where.arm, odd]
        return replace(default_reply(where, case), ttft_ms=milliseconds)

    found = table(built(Script(plan=QUICK, reply=reply)), "Decision", "What was demanded").rows[0][3]
    assert (found.text, found.tone) == ("-50.0% faster, +25.0% slower, -50.0% faster, +25.0% slower", "plain")


def test_more_than_six_repetitions_are_a_range():
    """Seven repetitions: A always 40 ms, B 20, 30, 50, 24, 36, 38 and 60."""
    plan = small_plan(("AB", "BA", "BA", "AB", "AB", "BA", "AB"), Level.QUICK)
    candidate = (20, 30, 50, 24, 36, 38, 60)

    def reply(where, case):
        milliseconds = 40 if where.arm == "A" else candidate[where.repetition - 1]
        return replace(default_reply(where, case), ttft_ms=milliseconds)

    found = table(built(Script(plan=plan, reply=reply)), "Decision", "What was demanded").rows[0][3]
    assert (found.text, found.tone) == ("-50.0% to +50.0% (5 of 7 faster)", "plain")


def conditions(found, caption):
    blocks = section(found, "Workload returning").blocks
    return [texts(b) for b in blocks if isinstance(b, Table) and b.caption.startswith(caption)]


def test_what_a_level_does_not_ask_stands_apart_from_what_makes_a_cell_unusable():
    """Quick asks for no calibration; two repetitions are too few at any level."""
    (asked,) = conditions(built(Script(plan=small_plan(level=Level.QUICK))), "Conditions of use")
    assert [row[:3] for row in asked] == [["min_data", "no", "1B, 2B"]]
    found = built(Script(plan=QUICK))
    assert conditions(found, "Conditions of use") == []
    (others,) = conditions(found, "Not asked at this level")
    assert ["aa_calibration_valid", "unknown", "1B, 2B, 3B, 4B"] in [row[:3] for row in others]
    said = [b.text for b in section(found, "Workload returning").blocks if isinstance(b, Paragraph)]
    assert "Every condition of use that is asked holds in every cell." in said


def test_at_a_glance_adds_repetitions_up_where_they_differ():
    """In repetition 2 of B one request misses and answers otherwise, and one fails."""

    def reply(where, case):
        usual = default_reply(where, case)
        if (where.repetition, where.arm, where.phase) != (2, "B", Phase.MEASURED):
            return usual
        if case.prompt == 1 and where.workload == "returning":
            return replace(usual, cached_host=0, ids=(9, 9, 9))
        return replace(usual, status=500) if case.prompt == 2 and where.workload == "cold" else usual

    lines = [block.text for block in section(built(Script(reply=reply)), "At a glance").blocks]
    assert lines[1:] == [
        "returning, over 2 repetitions: A 0 host, 8 miss; B 7 host, 1 miss; outputs 1/8 differ.",
        "cold, over 2 repetitions: A 8 miss; B 7 miss, 1 failed or missing; outputs 7/7 match, 1 failed.",
    ]


def test_a_private_difference_is_called_one_and_an_absent_value_not_set():
    differences = (
        ArmDifference(arm="B", key="url", baseline=None, candidate=None),
        ArmDifference(arm="B", key="rows", baseline=None, candidate=3),
    )
    found = built(Script(plan=small_plan().model_copy(update={"differences": differences})))
    assert texts(table(found, "What was compared", "What differs")) == [
        ["B", "url", "private, differs", "private, differs"],
        ["B", "rows", "not set", "3"],
    ]
    first = section(found, "At a glance").blocks[0].text
    assert first == "What differs from A: B in url (private, differs), rows (A not set, B 3)."


def same_identity(plan, arm, launch):
    del arm
    return default_identity(plan, "A", launch)


SAID_THE_SAME = (
    "The servers of A and B said the same of themselves: nothing that they state tells them apart."
)


def test_arms_that_say_the_same_of_themselves_are_warned_of(report):
    def warnings(found):
        blocks = section(found, "What was compared").blocks
        return [b.text for b in blocks if isinstance(b, Paragraph) and b.tone == "warn"]

    assert warnings(built(Script(identity=same_identity))) == [SAID_THE_SAME]
    assert warnings(report) == []
    # Declared the same, they are expected to say the same.
    same = small_plan().model_copy(update={"differences": ()})
    assert warnings(built(Script(plan=same, identity=same_identity))) == []


def test_an_a_a_trial_says_so(report):
    found = built(Script(plan=small_plan().model_copy(update={"differences": ()})))
    assert found.subtitle.startswith("A/A trial small-trial: ")
    assert "A/A trial: the arms don't differ." in found.sections[0].blocks[0].lines
    assert section(found, "At a glance").blocks[0].text == "What differs from A: B in nothing (A/A)."
    assert "A/A trial" not in report.subtitle


def test_subtitle_keeps_stage_and_level_apart(report):
    assert report.subtitle.endswith("stage: formal; level: standard (declared: formal)")
    assert built(Script(plan=QUICK)).subtitle.endswith("stage: formal; level: quick")


def test_a_cell_is_explained_exactly_once(report):
    meaning = "a cell is one workload of one candidate in one repetition"
    assert render_markdown(report).count(meaning) == 1
    assert render_markdown(built(Script(plan=QUICK))).count(meaning) == 1


def amended(*, retroactive):
    evidence = fabricate()
    sealed = b'{"keys":["limits.cooldown_ms"],"plan":{},"reason":"it ran hot"}'
    fact = Amended(artifact="amendment-1", plan_sha256=evidence.plan_sha256, retroactive=retroactive)
    facts = [line.fact for line in evidence.lines]
    evidence = with_files(with_facts(evidence, [*facts[:2], fact, *facts[2:]]), {"amendment-1": sealed})
    return build_report(evidence.plan, judge(evidence), {})


def test_amendments_stand_in_the_decision_and_in_the_ledger():
    change = "changed limits.cooldown_ms; reason: it ran hot"
    late, early = amended(retroactive=True), amended(retroactive=False)
    assert f"The plan was amended after traffic: {change}." in late.sections[0].blocks[0].lines
    said = [block.text for block in early.sections[0].blocks if isinstance(block, Paragraph)]
    assert f"The plan was amended before traffic, 2026-11-30T12:00:00Z: {change}." in said
    for found, when in ((late, "after traffic"), (early, "before the traffic")):
        (row,) = texts(table(found, "Ledger", "What failed"))
        assert row[:3] == ["2026-11-30T12:00:00Z", "amendment", "amendment-1"]
        assert row[3] == f"{when} that it affects: {change}"
