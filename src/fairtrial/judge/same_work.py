"""Did both arms do the same work for a case: request, prompt and, where fixed, output length? Pure."""

from fairtrial.decode.asked import more_than_asked
from fairtrial.schema.plan import Conversations, FrozenWorkload
from fairtrial.schema.requests import RequestRecord
from fairtrial.schema.stream_flags import StreamFlag
from fairtrial.schema.vocab import Equality, Outcome


def fixed_output(workload: FrozenWorkload) -> int | None:
    """Output tokens that every request of the workload must make; None where the server may stop earlier."""
    source = workload.source
    return source.output_tokens if isinstance(source, Conversations) and source.fixed_output else None


def work_of(ours: RequestRecord | None, theirs: RequestRecord | None, fixed: int | None) -> Equality:
    """Whether the work of one case is the same in both arms.

    Args:
        ours: The baseline's request; None where it isn't proven.
        theirs: The candidate's.
        fixed: Output tokens that each must make; None where the length is free.
    """
    if ours is None or theirs is None:
        return Equality.MISSING
    if ours.work_sha256 != theirs.work_sha256:
        return Equality.UNMATCHED
    each = [_length(row, fixed) for row in (ours, theirs)] if fixed is not None else []
    each.append(_prompt(ours, theirs))
    if failed(ours, theirs):
        each.append(Equality.FAILED)
    order = (Equality.UNMATCHED, Equality.FAILED, Equality.MISSING, Equality.IDS_ABSENT)
    return next((answer for answer in order if answer in each), Equality.MATCHED)


def failed(ours: RequestRecord, theirs: RequestRecord) -> bool:
    """Whether a request of the pair failed."""
    return {ours.outcome, theirs.outcome} != {Outcome.OK}


def _prompt(ours: RequestRecord, theirs: RequestRecord) -> Equality:
    tokens = [row.usage.prompt_tokens for row in (ours, theirs) if believed(row)]
    if len(tokens) < 2 or None in tokens:
        return Equality.MISSING
    return Equality.MATCHED if tokens[0] == tokens[1] else Equality.UNMATCHED


def _length(row: RequestRecord, fixed: int) -> Equality:
    """Whether a request asked for the fixed output and got it."""
    if row.asked_output_tokens not in {None, fixed}:
        return Equality.UNMATCHED
    if row.outcome is not Outcome.OK:
        return Equality.FAILED  # how long it would have become is not known
    if row.output_ids is not None:
        made: int | None = len(row.output_ids)
    else:
        stated = row.usage.output_tokens
        # True or not, whoever states more than was asked states that other work was done.
        longer = stated is not None and more_than_asked(stated, fixed)
        made = stated if longer or believed(row) else None
    if made is None:
        return Equality.IDS_ABSENT
    return Equality.MATCHED if made == fixed else Equality.UNMATCHED


def believed(row: RequestRecord) -> bool:
    """Whether what the server states of its tokens can be true."""
    return StreamFlag.USAGE_CONTRADICTS not in row.flags
