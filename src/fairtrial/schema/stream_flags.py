"""What decoding can find odd about an answer: an enumeration of its own beside the other words."""

from enum import StrEnum


class StreamFlag(StrEnum):
    """What was odd about a decoded answer."""

    USAGE_MISSING = "usage_missing"
    DONE_MISSING = "done_missing"
    FINISH_REASON_MISSING = "finish_reason_missing"
    MULTI_TOKEN_EVENTS = "multi_token_events"  # noqa: S105 - not a password
    SINGLE_BURST = "single_burst"
    NO_VISIBLE_CONTENT = "no_visible_content"
    TOOL_INDEX_MISSING = "tool_index_missing"
    TOOL_INDEX_REUSED = "tool_index_reused"
    TOOL_CALL_MALFORMED = "tool_call_malformed"
    TRANSPORT_ERROR_AFTER_FINISH = "transport_error_after_finish"
    PARTIAL_EVENT_DISCARDED = "partial_event_discarded"
    MALFORMED_EVENT = "malformed_event"
    UNKNOWN_FINISH_REASON = "unknown_finish_reason"
    USAGE_CONTRADICTS = "usage_contradicts"
    BYTES_AFTER_END = "bytes_after_end"
    """The connection held bytes that belong to no response."""
    TOKENS_AFTER_DONE = "tokens_after_done"
    """Tokens came after the end mark; they are no part of the answer."""
    MIXED_ANSWERS = "mixed_answers"
    """Chunks of more than one answer came where one was asked for."""
    USAGE_FELL = "usage_fell"
    """A later usage states fewer output tokens than an earlier one: none of them can be believed."""
