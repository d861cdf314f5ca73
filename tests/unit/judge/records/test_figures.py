"""Published figures, derived again: what agrees, what differs, what can't be told."""

import pytest

from fairtrial.judge.records.claims import claim_figures
from fairtrial.judge.records.derive import rounds_to
from fairtrial.judge.records.figures_counts import count_figures
from fairtrial.judge.records.figures_rows import row_figures
from fairtrial.judge.records.named_files import file_figures
from fairtrial.judge.records.sentences import figures_in
from fairtrial.judge.records.tables import table_figures
from fairtrial.schema.record_judgment import Agreement, FigureKind

AGREES, DIFFERS, NOT = Agreement.AGREES, Agreement.DIFFERS, Agreement.NOT_DERIVABLE


def outcomes(figures):
    return [one.outcome for one in figures]


def test_every_change_is_derived_from_the_medians(imported, summary):
    changes = [one for one in row_figures(imported(summary=summary)) if one.kind is FigureKind.CHANGE]
    assert outcomes(changes) == [AGREES] * 15
    # by hand: 100*(0.019167-0.020738)/0.019167 and, where higher is better, 100*(108.085-106.517)/106.517
    assert changes[5].derived == "-8.196379%"
    assert changes[9].derived == "+1.472065%"


def test_a_wrong_change_is_found(imported, summary):
    summary["lane_repetition_results"][5]["observed_percent_delta"] = -9.197
    figure = next(one for one in row_figures(imported(summary=summary)) if one.outcome is DIFFERS)
    assert figure.place.at == "/lane_repetition_results/5"
    assert (figure.stated, figure.derived) == ("-9.197000%", "-8.196379%")


@pytest.mark.parametrize(("key", "value"), [("a_median", 0), ("a_median", -1), ("metric", "zorb")])
def test_a_change_that_has_no_ratio_or_direction_is_not_derived(imported, summary, key, value):
    summary["lane_repetition_results"][0][key] = value
    figure = next(iter(row_figures(imported(summary=summary))))
    assert figure.outcome is NOT
    assert figure.derived is None


def test_p95_has_its_rank_and_below_twenty_is_the_maximum(imported, summary):
    found = {
        one.what: one for one in row_figures(imported(summary=summary)) if one.kind is FigureKind.PERCENTILE
    }
    assert "rank 50 of 52" in found["p95 of back, repetition 1, arm A"].reason
    assert "rank 23 of 24:" in found["p95 of small, repetition 1, arm A"].reason
    assert "rank 12 of 12, the maximum" in found["p95 (=max) of cold, repetition 1, arm A"].reason
    assert "rank 4 of 4, the maximum" in found["p95 (=max) of decode-4, repetition 1, arm B"].reason
    assert set(outcomes(found.values())) == {NOT}


def test_p95_of_one_request_is_its_value_and_none_is_below_the_median(imported, summary):
    one, other = summary["lane_repetition_results"][:2]
    one.update(a_native_n=1, a_median=192.015, a_p95_nearest_rank=192.015)
    other.update(a_p95_nearest_rank=0.1)
    found = [x for x in row_figures(imported(summary=summary)) if x.kind is FigureKind.PERCENTILE]
    assert outcomes(found[:4]) == [AGREES, NOT, DIFFERS, NOT]


def test_sums_of_requests_launches_and_warmups(imported, summary):
    found = {one.what: one for one in count_figures(imported(summary=summary))}
    # 1,020 = 324 + 696; 696 = 2 arms x 3 repetitions x (52 + 24 + 12 + 4 + 24); 30 = 5 lanes x 6 arms; 90 = 30 x 3
    assert {name: (one.derived, one.outcome) for name, one in found.items()} == {
        "formal requests": ("1,020", AGREES),
        "measured requests": ("696", AGREES),
        "sample count": ("696", AGREES),
        "launches": ("30", AGREES),
        "lanes": ("5", AGREES),
        "warm-ups": ("90", AGREES),
    }


@pytest.mark.parametrize(
    ("key", "value", "what"),
    [
        ("formal_requests", 1021, "formal requests"),
        ("measured_requests", 698, "measured requests"),
        ("warmups", 91, "warm-ups"),
        ("matrix", "AB, BA, AB; six lanes; 30 incarnations", "lanes"),
        ("matrix", "AB, BA, AB; five lanes; 54 launches", "launches"),
    ],
)
def test_a_sum_that_does_not_come_out_is_found(imported, summary, key, value, what):
    summary["workload"][key] = value
    found = {one.what: one.outcome for one in count_figures(imported(summary=summary))}
    assert found[what] is DIFFERS


def test_launches_without_an_order_are_not_derived(imported, summary):
    summary["workload"]["matrix"] = "five lanes; 30 fresh formal incarnations"
    found = {one.what: one for one in count_figures(imported(summary=summary))}
    assert found["launches"].outcome is NOT


def test_percentages_of_headlines(imported, summary):
    found = list(claim_figures(imported(summary=summary)))
    assert [(one.stated, one.outcome) for one in found] == [
        ("95.038%", DIFFERS),  # the medians here are rounded: 95.037
        ("96.065%", AGREES),
        ("52/52", AGREES),
        ("8.197%", DIFFERS),  # 8.196 from medians in whole microseconds
    ]
    summary["headline_results"] = [
        "Back: reduction of 95.037% to 96.065%.",
        "In repetition-3 small was 8.196% higher.",
    ]
    assert outcomes(claim_figures(imported(summary=summary))) == [AGREES] * 3


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        ("In repetition 3 small was 8.196% lower.", [DIFFERS]),
        ("In repetition 2 small was 8.196% higher.", [DIFFERS]),
        ("Small ran with 25% of the pool.", [NOT]),
        ("The garden grew by 8.196%.", [NOT]),
        ("back 51/52 cases match", [DIFFERS]),
    ],
)
def test_sign_repetition_and_subject_of_a_claim_count(imported, summary, claim, expected):
    summary["headline_results"] = [claim]
    assert outcomes(claim_figures(imported(summary=summary))) == expected


ARMS = {
    "campaign_id": "x",
    "results": {
        "on": {
            "river_v1": {
                "passed": 9,
                "attempts": 10,
                "completion_tokens": 10966,
                "summed_latency_ms": 99733.65590017056,
            },
            "ocean_v1": {"passed": 9, "attempts": 10, "completion_tokens": 11020},
            "incumbent": {
                "passed": 8,
                "attempts": 10,
                "completion_tokens": 13129,
                "summed_latency_ms": 148428.03600005573,
            },
        },
        "cap": {"incumbent": {"completed": 5, "requests": 5, "e2e_mean_ms": 1953.6777399829589}},
    },
}


@pytest.mark.parametrize(
    ("claim", "source", "expected"),
    [
        ("River and Ocean passed9/10 questions versus incumbent8/10.", "results.on", [AGREES, AGREES]),
        ("River and Ocean passed9/10 questions versus incumbent9/10.", "results.on", [AGREES, DIFFERS]),
        (
            "River and Ocean completion tokens were16.5% and16.1% lower than incumbent.",
            "results.on",
            [AGREES, AGREES],
        ),
        (
            "River and Ocean completion tokens were16.1% and16.5% lower than incumbent.",
            "results.on",
            [DIFFERS, DIFFERS],
        ),
        ("means:incumbent1.954s", "results.cap", [AGREES]),
        ("means:incumbent1.955s", "results.cap", [DIFFERS]),
        ("means: incumbent 1953.7 ms", "results.cap", [AGREES]),
    ],
)
def test_counts_shares_and_times_of_arms(imported, claim, source, expected):
    document = {**ARMS, "headline_results": [{"claim": claim, "source": source}]}
    assert outcomes(claim_figures(imported(s=document))) == expected


def test_changes_between_two_values(imported):
    cell = {
        "baseline": {"ttft_mean_ms": 200.0, "rate": 4.0},
        "candidate": {"ttft_mean_ms": 210.0, "rate": 3.0},
        "candidate_percent_change": {"ttft_mean_ms": 5.0, "rate": -24.0},
    }
    alone = {"population": "unique", "candidate_percent_change": {"ttft_mean_ms": 5.0, "other": 1.0}}
    one = {"e2e": {"baseline": 10.0, "candidate": 9.0, "delta_percent": -10.0}}
    record = imported(s={"campaign_id": "x", "cells": {"unique": cell}, "heads": [alone], "metrics": one})
    assert {(x.what, x.place.at.split("/")[1]): x.outcome for x in row_figures(record)} == {
        ("change of ttft_mean_ms, unique", "cells"): AGREES,
        ("change of rate, unique", "cells"): DIFFERS,
        ("change of ttft_mean_ms, unique", "heads"): AGREES,
        ("change of other, unique", "heads"): NOT,
        ("change of e2e, ", "metrics"): AGREES,
    }


LINE = "small 3 ms 24/24 19.167 / 23.571 24/24 20.738 / 25.165 -8.196% 24/24 matched"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (LINE, [AGREES]),
        (LINE.replace(" ", "\t"), [AGREES]),
        ("| " + LINE.replace(" ms ", " | ms | "), [AGREES]),
        (LINE.replace("20.738", "20.739"), [DIFFERS]),
        (LINE.replace("-8.196", "+8.196"), [DIFFERS]),
        (LINE.replace("24/24 19", "23/24 19"), [DIFFERS]),
        (LINE.replace("small", "smell"), []),
    ],
)
def test_lines_of_tables_in_prose(imported, summary, line, expected):
    assert outcomes(table_figures(imported(summary=summary, readme=line))) == expected


def test_files_against_their_manifest(imported):
    data = '{"campaign_id": "x"}'
    digest = "f1a0b8d1e6a5a3d3f4a0a1a9d7b1c6de0c2ff0a1d6d0cfe7d0a1f6f4e7e6c1aa"
    manifest = {
        "campaign_id": "x",
        "files": [
            {
                "path": "text.txt",
                "sha256": "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
                "bytes": 5,
            },
            {"path": "text.txt", "bytes": 13},
            {"path": "text.txt", "sha256": digest},
            {"path": "gone.json", "sha256": digest, "bytes": 5},
            {"path": "text.txt", "sha256": "no digest"},
        ],
    }
    found = list(file_figures(imported(manifest=manifest, text="hello", other={"campaign_id": data})))
    assert outcomes(found) == [
        AGREES,
        DIFFERS,
        DIFFERS,
        NOT,
        DIFFERS,
    ]  # the digest is that of "hello", FIPS 180
    assert "8 bytes shorter" in found[1].reason


@pytest.mark.parametrize(
    ("stated", "value", "fits"),
    [
        ("8.197", 8.1969, True),
        ("8.197", 8.1974999, True),
        ("8.197", 8.1976, False),
        ("95", 94.5, True),
        ("1,234.5", 1234.46, True),
        ("16.5", 16.4750, True),
        ("16.5", 16.4499, False),
    ],
)
def test_rounding(stated, value, fits):
    assert rounds_to(stated, value) is fits


def test_figures_belong_to_the_names_before_them():
    found = figures_in(
        "Ada24/30,Bob was 5.0% and 6% lower, and fixed work 1/2.", ["ada", "bob", "fixed-work"]
    )
    assert [(one.kind, one.texts, one.subjects) for one in found] == [
        ("count", ("24/30",), ("ada",)),
        ("percent", ("5.0", "6"), ("bob",)),
        ("count", ("1/2",), ("fixed-work",)),
    ]


def test_sentences_that_could_be_slow_are_not(imported):
    texts = ["AB" + " " * 500_000, "1," * 400_000, "9/" * 400_000, "(" * 400_000, "to and, " * 100_000]
    record = imported(
        s={"campaign_id": "x", "headline_results": texts, "matrix": texts, "results": ARMS["results"]}
    )
    list(claim_figures(record))
    list(count_figures(record))
