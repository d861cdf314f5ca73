"""How a response ended, as HTTP saw it. In a file of its own: the load worker imports little."""

from enum import StrEnum


class CaptureEnd(StrEnum):
    """The transport's view, before any decoding."""

    COMPLETE = "complete"
    """The body ended as HTTP says."""
    CLOSED = "closed"
    """The peer closed earlier, or without a stated length."""
    RESET = "reset"
    """The connection was reset."""
    TIMED_OUT = "timed_out"
    """The request's time limit passed."""
    NOT_SENT = "not_sent"
    """No byte of it left."""
