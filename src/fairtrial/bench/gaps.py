"""The single gaps between tokens that a summary's inter-token latency is made of. Pure."""

from collections.abc import Iterator, Sequence
from itertools import pairwise, repeat

from fairtrial.decode.measures import output_tokens
from fairtrial.schema.requests import RequestRecord


def token_gaps(record: RequestRecord) -> Iterator[int]:
    """One gap for each token after the first event, in nanoseconds.

    The gap between two events is shared among the tokens that the later one delivered: so a server
    that sends several tokens at a time is neither faster nor slower than one that sends each alone.
    Where events carry no ids, the stated tokens are spread over them as evenly as whole numbers allow.

    Args:
        record: A request whose inter-token latency can be measured (``measures.measure``).
    """
    for (earlier, later), count in zip(pairwise(record.token_event_ns), _later(record), strict=True):
        yield from repeat((later - earlier) // count, count)


def _later(record: RequestRecord) -> Sequence[int]:
    """Tokens of every event but the first."""
    counts = record.token_event_ids
    if all(counts):
        return counts[1:]
    tokens, events = output_tokens(record) or len(counts), len(counts)
    return [(index + 1) * tokens // events - index * tokens // events for index in range(1, events)]
