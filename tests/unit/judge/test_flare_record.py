"""The published medians of the flare-cache-fix record give its published deltas and spreads."""

import json
from pathlib import Path

import pytest

from fairtrial.schema.vocab import Direction
from fairtrial.stats.paired import observed_percent_delta

RECORD = (
    Path(__file__).resolve().parents[4] / "shared" / "records" / "2026-10-22-flare-cache-fix" / "summary.json"
)
FIGURES = [
    # lane, baseline, candidate, delta, direction
    ("fixed-work 1", 0.469982182, 0.0184942845, 96.06489666878477, Direction.LOWER),
    ("fixed-work 2", 0.4649865935, 0.0230748745, 95.03751832363314, Direction.LOWER),
    ("small12 3", 0.019166578, 0.020737637500000003, -8.196870093346881, Direction.LOWER),
    ("pageheavy 3", 0.033724486, 0.0381441325, -13.105155998522852, Direction.LOWER),
    ("decode-c1 1", 192.01493846940423, 192.0892883828508, 0.038720900592028214, Direction.HIGHER),
    ("decode-c4 3", 107.17144148001267, 107.02973234029703, -0.1322265873806247, Direction.HIGHER),
]


@pytest.mark.parametrize(("lane", "baseline", "candidate", "delta", "direction"), FIGURES)
def test_published_deltas(lane, baseline, candidate, delta, direction):
    assert observed_percent_delta(baseline, candidate, direction) == pytest.approx(delta, rel=1e-9)


@pytest.mark.shared
@pytest.mark.skipif(not RECORD.is_file(), reason="the public records are not beside the project")
def test_all_27_published_deltas():
    cells = json.loads(RECORD.read_text(encoding="utf-8"))["lane_repetition_results"]
    assert len(cells) == 27
    for cell in cells:
        rate = cell["metric"] == "decode_tokens_per_second"
        direction = Direction.HIGHER if rate else Direction.LOWER
        found = observed_percent_delta(cell["a_median"], cell["b_median"], direction)
        assert found == pytest.approx(cell["observed_percent_delta"], rel=1e-9), cell["lane"]
