"""Plans for the tests of this folder."""

from pathlib import Path

from fairtrial.plan.check import check_plan
from fairtrial.plan.checked import CheckedPlan
from fairtrial.schema.errors import PlanError, Problem

ARMS = """\
baseline = { engine = "reference", options = { model = "small", host_row_percent = 25 } }
candidate = { engine = "reference", options = { model = "small", host_row_percent = 75 } }
"""
WORKLOAD = """\
[workloads.w]
conversations = { count = 12, input_tokens = 256, output_tokens = 2, replay = "reverse" }
"""
MINIMAL = ARMS + WORKLOAD


def check(text: str, folder: Path = Path("/nowhere")) -> CheckedPlan:
    return check_plan(text.encode(), folder / "plan.toml", "plan.toml")


def problems(text: str, folder: Path = Path("/nowhere")) -> list[Problem]:
    """The problems of a plan; none if it is whole."""
    try:
        check(text, folder)
    except PlanError as error:
        return list(error.problems)
    return []
