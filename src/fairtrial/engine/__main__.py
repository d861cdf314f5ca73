"""``python -m fairtrial.engine``: serve the reference engine."""

import sys

from fairtrial.engine.arguments import parse
from fairtrial.engine.server import run
from fairtrial.schema.errors import FairtrialError


def main(argv: list[str]) -> int:
    """Parse and serve.

    Args:
        argv: Arguments without the program's name.

    Returns:
        The exit code.
    """
    try:
        options = parse(argv)
    except FairtrialError as error:
        sys.stderr.write(f"{error.line()}\n")
        return error.exit_code
    return run(options)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
