"""What an exit code is to say, as the verbs that judge take it."""

from dataclasses import dataclass
from typing import Annotated

from cyclopts import Parameter


@dataclass(frozen=True, slots=True)
class Codes:
    """What the exit code is to say."""

    exit_code: Annotated[
        bool, Parameter(help="Exit with 3 when the decision is against the candidate, 4 when it is open.")
    ] = False
    bisect: Annotated[
        bool,
        Parameter(
            help="Exit for `git bisect run`: 0 good, 1 bad, 125 no verdict, "
            "255 the command or the plan is wrong, or the baseline is not restored."
        ),
    ] = False
