"""Request records for tests: every stamp is given in milliseconds after the origin."""

from fairtrial.schema.requests import RequestRecord, Usage
from fairtrial.schema.vocab import Outcome

MS = 1_000_000


def record(number=0, *, sent=0.0, tokens=(50.0, 60.0, 70.0), done=71.0, **changes):
    """A request with a token event at each of ``tokens``, one token each."""
    events = tuple(round(at * MS) for at in tokens)
    fields = {
        "request_id": f"r-{number}",
        "case": f"case-{number}",
        "sequence": number,
        "connection": 0,
        "scheduled_ns": None,
        "sent_ns": round(sent * MS),
        "first_byte_ns": events[0] if events else None,
        "first_token_ns": events[0] if events else None,
        "first_visible_ns": events[0] if events else None,
        "last_token_ns": events[-1] if events else None,
        "done_ns": round(done * MS),
        "token_event_ns": events,
        "token_event_ids": (1,) * len(events),
        "bounded_events": 0,
        "first_token_bounded": False,
        "outcome": Outcome.OK,
        "error": None,
        "detail": None,
        "http_status": 200,
        "finish_reason": "length",
        "flags": (),
        "model": "m",
        "usage": Usage(prompt_tokens=10, output_tokens=len(events)),
        "output_ids": tuple(range(len(events))),
        "text_sha256": None,
        "work_sha256": "0" * 64,
        "asked_output_tokens": len(events),
    }
    return RequestRecord(**(fields | changes))


def failed(number, outcome, error, **changes):
    """A request that failed; no token of it counts."""
    base = {"outcome": outcome, "error": error, "usage": Usage(), "output_ids": None}
    return record(number, tokens=(), **(base | changes))
