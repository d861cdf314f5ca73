"""A small record of our own in the published shape; the figures are the public ones."""

import copy
import json

import pytest

from fairtrial.judge.records.reading import Source, normalise

# lane, role, metric, n, matched, then for each repetition A median, A p95, B median, B p95, published change
LANES = [
    (
        "back",
        "primary",
        "client_generated_ttft",
        52,
        "matched",
        [
            (0.4699818555, 0.899879, 0.0184938785, 0.026306),
            (0.4649868570, 0.899623, 0.0230753950, 0.030644),
            (0.4675848000, 0.901555, 0.0202364900, 0.032879),
        ],
    ),
    (
        "small",
        "protected",
        "e2e",
        24,
        "matched",
        [
            (0.016030, 0.020827, 0.015659, 0.025949),
            (0.019340, 0.023079, 0.018206, 0.023281),
            (0.019167, 0.023571, 0.020738, 0.025165),
        ],
    ),
    (
        "cold",
        "protected",
        "client_generated_ttft",
        12,
        "matched",
        [
            (0.061882, 0.062572, 0.062427, 0.063246),
            (0.062312, 0.063159, 0.062342, 0.063032),
            (0.062012, 0.063052, 0.062366, 0.063400),
        ],
    ),
    (
        "decode-4",
        "protected",
        "decode_tokens_per_second",
        4,
        "unmatched",
        [
            (106.517, 109.560, 108.085, 109.419),
            (109.196, 110.215, 109.456, 109.887),
            (107.171, 109.342, 107.030, 108.499),
        ],
    ),
    (
        "plain",
        "descriptive",
        "e2e",
        24,
        "unverified_ids_absent",
        [
            (1.341452, 1.735142, 1.339276, 1.742159),
            (1.344510, 1.743917, 1.344733, 1.737556),
            (1.344097, 1.735787, 1.344726, 1.967618),
        ],
    ),
]


def rows():
    for lane, role, metric, n, equality, repetitions in LANES:
        for number, (a, a95, b, b95) in enumerate(repetitions, start=1):
            higher = "tokens" in metric
            yield {
                "lane": lane,
                "repetition": number,
                "metric": metric,
                "role": role,
                "a_median": a,
                "a_native_n": n,
                "a_p95_nearest_rank": a95,
                "b_median": b,
                "b_native_n": n,
                "b_p95_nearest_rank": b95,
                "complete_work_matches": n if equality == "matched" else 0,
                "complete_work_mismatches": 0 if equality == "matched" else n,
                "observed_percent_delta": 100 * ((b - a) if higher else (a - b)) / a,
                "output_equality": equality,
                "performance_eligible": False,
            }


SUMMARY = {
    "schema": "somebody.summary/v1",
    "campaign_id": "of-our-own",
    "complete": True,
    "decision": {"decision_labels": ["no-promotion"], "promotion_authorized": False},
    "failures": ["The second window keeps a false restoration proof."],
    "gates": [
        {"name": "oracle", "passed": False, "reason": "it diverged"},
        {"name": "restore fidelity", "passed": False, "reason": "kept as it was"},
        {"name": "restoration", "passed": True, "reason": "the record tells of retained exceptions"},
        {"name": "review", "passed": "everything passed, says the reviewer"},
    ],
    "headline_results": [
        "Back got a reduction of 95.038% to 96.065% over 52/52 matched cases.",
        "In repetition-3 guardrails regress: small was 8.197% higher.",
    ],
    "lane_repetition_results": list(rows()),
    "measurement": {"sample_count": 696},
    "workload": {
        "matrix": "AB, BA, AB; five lanes; 30 fresh formal incarnations",
        "formal_requests": 1020,
        "prime_requests": 324,
        "measured_requests": 696,
        "warmups": 90,
    },
    "colour": {"of": ["the", "shed"], "weight": 3.5},
}


@pytest.fixture
def summary():
    return copy.deepcopy(SUMMARY)


@pytest.fixture
def imported():
    """Normalise documents: name.json to a value, other names to text."""

    def make(**documents):
        sources = []
        for name, value in documents.items():
            ending = "txt" if isinstance(value, str) else "json"
            data = value if isinstance(value, str) else json.dumps(value)
            sources.append(Source(f"{name}.{ending}", data.encode()))
        return normalise("a-record", sources)

    return make
