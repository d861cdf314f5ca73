"""The bodies that a workload's requests file declares, as the plan was frozen with them."""

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairtrial.drive.corpus import read_lines
from fairtrial.evidence import files
from fairtrial.schema.errors import EvidenceError, UsageError

if TYPE_CHECKING:  # reading plans takes longer than sending a request
    from fairtrial.schema.plan import FrozenWorkload

MAX_REQUESTS_FILE = 256 * 2**20
"""Largest requests file read, in bytes."""


def requests_lines(workload: "FrozenWorkload", path: Path | None) -> tuple[dict[str, Any], ...]:
    """The bodies of a workload's requests file; none where its prompts are synthetic.

    Raises:
        UsageError: The file can't be read, or is not the one that the plan was frozen with.
    """
    if workload.source.kind != "requests" or path is None:
        return ()
    hint = "put the frozen file back, or run a new trial"
    try:
        data = files.read_bounded(path, MAX_REQUESTS_FILE)
    except EvidenceError as error:
        raise UsageError(f"the requests file {error.message}", where=path.name, hint=hint) from error
    if hashlib.sha256(data).hexdigest() != workload.source.sha256:
        raise UsageError(
            "the requests file was changed after the plan was frozen", where=path.name, hint=hint
        )
    return read_lines(data, path.name)
