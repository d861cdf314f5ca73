"""What a file of rows is asked, as the command line takes it."""

from dataclasses import dataclass
from typing import Annotated, Literal

from cyclopts import Parameter

from fairtrial.schema.vocab import Direction, Role


@dataclass(frozen=True, slots=True)
class RowOptions:
    """What a file of rows is asked; a trial has it all in its plan."""

    margin: Annotated[
        str | None, Parameter(help='How much worse is still no worse, such as "5%". Guardrails need it.')
    ] = None
    role: Annotated[
        Role,
        Parameter(help="guardrail: no worse than the margin; primary: better."),
    ] = Role.GUARDRAIL
    better: Annotated[Direction, Parameter(help="Which way values are better.")] = Direction.LOWER
    alpha: Annotated[float, Parameter(help="Chance of a wrong pass, one-sided.")] = 0.05
    absolute: Annotated[
        float, Parameter(help="The margin in the unit of the values; the larger of the two counts.")
    ] = 0.0
    min_effect: Annotated[str, Parameter(help="Smallest improvement that counts, for a primary.")] = "0%"
    most_failures: Annotated[
        str,
        Parameter(
            help="Largest share of the candidate's rows that may fail in a pass, if the baseline's don't."
        ),
    ] = "0%"
    baseline: Annotated[
        str | None, Parameter(help="The baseline's arm; the one that sorts first if left out.")
    ] = None
    of: Annotated[
        Literal["pairs", "median", "p90", "p95", "p99"],
        Parameter(help="pairs: the same cases in both arms; else the ratio of a statistic of each arm."),
    ] = "pairs"
