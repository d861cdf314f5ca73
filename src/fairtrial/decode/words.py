"""The finish reasons that servers send and what each means. Words of the wire, not ours."""

from typing import Final

DONE: Final = b"[DONE]"
"""Data of the event that ends an OpenAI stream."""
ERRORS: Final = frozenset({"error"})
ABORTS: Final = frozenset({"abort", "aborted", "cancelled", "canceled"})
KNOWN: Final = frozenset({"stop", "length", "tool_calls", "function_call", "content_filter"})
NATIVE_STOPS: Final = {"limit": "length", "eos": "stop", "word": "stop"}
"""llama.cpp's ``stop_type`` in its native route, as OpenAI's finish reason."""
INCOMPLETE: Final = "incomplete"
"""Status of a response that ended early; its details say why."""
RESPONSE_ENDS: Final = {"completed": "stop", "failed": "error", "cancelled": "cancelled", INCOMPLETE: ""}
"""How a response of the Responses API ended, as OpenAI's older finish reason."""
EARLY_ENDS: Final = {"max_output_tokens": "length", "max_tokens": "length"}
"""Why a response is incomplete, likewise."""
