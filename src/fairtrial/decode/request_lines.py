"""What a line of a requests file may be: an OpenAI request body that can be measured. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from fairtrial.evidence import strictjson
from fairtrial.schema.errors import EvidenceError
from fairtrial.schema.types import MAX_SAFE_INTEGER
from fairtrial.schema.vocab import Endpoint


@dataclass(frozen=True, slots=True)
class BadLine:
    """Why a line can't be sent."""

    message: str
    hint: str = ""


def read_line(line: bytes, *, bare: bool = False) -> dict[str, object] | BadLine:
    """Read and check one line.

    Args:
        line: Its bytes.
        bare: Whether a JSON string may stand for the body that has it as its prompt.

    Returns:
        The body, or what is wrong with it.
    """
    if not line.strip():
        return BadLine("is a blank line", "one request body a line")
    try:
        body = strictjson.loads(line)
    except EvidenceError as error:
        return BadLine(error.message, error.hint)
    if bare and isinstance(body, str):
        body = {"prompt": body}
    if not isinstance(body, dict):
        return BadLine("is neither a JSON object nor a string" if bare else "is not a JSON object")
    fault = _fault(body)
    return BadLine(fault) if fault else body


def endpoint_of(body: Mapping[str, object]) -> Endpoint:
    """The endpoint that a body without faults is for."""
    return Endpoint.CHAT if "messages" in body else Endpoint.COMPLETIONS


def _fault(body: Mapping[str, object]) -> str:
    if "messages" in body and "prompt" in body:
        return "has both messages and prompt"
    if "messages" in body:
        fault = _messages_fault(body["messages"])
    elif "prompt" in body:
        fault = _prompt_fault(body["prompt"])
    else:
        fault = "has neither messages nor prompt"
    return fault or _setting_fault(body)


def _messages_fault(messages: object) -> str:
    if not isinstance(messages, list) or not messages:
        return "messages is not a list with at least one message"
    for index, message in enumerate(messages):
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            return f"messages[{index}] has no role"
    return ""


def _prompt_fault(prompt: object) -> str:
    if isinstance(prompt, str):
        return "" if prompt else "prompt is empty"
    if isinstance(prompt, list) and prompt and all(_is_count(one, 0) for one in prompt):
        return ""
    return "prompt is neither text nor a list of token ids"


def _setting_fault(body: Mapping[str, object]) -> str:
    for key in ("max_tokens", "max_completion_tokens"):
        if key in body and not _is_count(body[key], 1):
            return f"{key} is not a whole number from 1"
    if body.get("stream", True) is not True:
        return "stream is not true: arrival times need a stream"
    if body.get("n", 1) != 1 or isinstance(body.get("n", 1), bool):
        return "n is not 1: one answer a request"
    return ""


def _is_count(value: object, low: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= MAX_SAFE_INTEGER
