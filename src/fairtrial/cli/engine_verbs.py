"""The reference engine's verb. Its own parser reads the options, so that a measured server starts quickly."""

from typing import Annotated

from cyclopts import Parameter

from fairtrial.engine.__main__ import main


def serve(*options: Annotated[str, Parameter(allow_leading_hyphen=True)]) -> int:
    """Run the reference engine's server; `fairtrial engine serve --help` lists its options."""
    return main(list(options))
