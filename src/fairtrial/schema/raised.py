"""An exception of code that is not ours, as one line. Pure."""

import traceback

_LONGEST = 200
"""Characters kept of what it says."""


def in_words(error: BaseException) -> str:
    """Class and message on one line, e.g. ``ValueError: no such option``; clipped.

    An exception whose own text can't be made is told by its class.
    """
    lines = traceback.format_exception_only(type(error), error)
    # A syntax error shows its place first, in indented lines; what follows the message are notes.
    said = next((line for line in lines if not line.startswith(" ")), type(error).__name__)
    return " ".join(said.encode("utf-8", "replace").decode("utf-8").split())[:_LONGEST]
