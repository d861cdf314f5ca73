"""What a well-formed request may ask for: the model, the prompt and the room for an answer."""

from fairtrial.engine.api_errors import ApiError, bad_request
from fairtrial.engine.options import MAX_MODEL_LEN
from fairtrial.engine.tokenizer import VOCABULARY, encode

_LONGEST_TOKEN = 5
"""Characters of the longest token: a text of more than this per token can't fit."""


def check_model(asked: str | None, served: str) -> None:
    """Refuse a name that is not served.

    Raises:
        ApiError: 404.
    """
    if asked is not None and asked != served:
        message = f"The model `{asked[:100]}` does not exist. Valid aliases: {served}."
        raise ApiError(404, message, "NotFoundError", "model")


def refuse_long_text(characters: int) -> None:
    """Refuse a text that can't fit before it is made into ids.

    Raises:
        ApiError: 400.
    """
    most = MAX_MODEL_LEN * _LONGEST_TOKEN
    if characters > most:
        raise bad_request(
            f"This model's maximum context length is {MAX_MODEL_LEN} tokens. However, your prompt contains "
            f"{characters} characters (more than {most}, the upper bound for that many tokens). "
            "Please reduce the length of the input prompt.",
            "input_text",
        )


def prompt_ids(prompt: str | list[int]) -> list[int]:
    """The ids of a prompt.

    Raises:
        ApiError: 400 for an empty prompt, a text that can't fit, or an id without a token.
    """
    if isinstance(prompt, str):
        refuse_long_text(len(prompt))
        ids = encode(prompt)
    else:
        ids = prompt
        check_ids(ids, "prompt")
    if not ids:
        raise bad_request("The prompt is empty: it must have at least one token.", "prompt")
    return ids


def check_ids(ids: list[int], param: str) -> None:
    """Refuse ids that name no token.

    Raises:
        ApiError: 400.
    """
    wrong = next((token for token in ids if not 0 <= token < VOCABULARY), None)
    if wrong is not None:
        raise bad_request(f"Token id {wrong} is out of vocabulary (0 to {VOCABULARY - 1}).", param)


def token_limit(prompt_tokens: int, asked: int | None, default: int | None, min_tokens: int) -> int:
    """Most tokens of the answer.

    Args:
        prompt_tokens: Length of the prompt.
        asked: What the request says.
        default: What holds when it says nothing, as far as it fits; None is all that fits.
        min_tokens: Fewest tokens of the answer.

    Raises:
        ApiError: 400 when the context does not hold it, or the limits contradict each other.
    """
    room = MAX_MODEL_LEN - prompt_tokens
    if room < 1:
        raise bad_request(
            f"This model's maximum context length is {MAX_MODEL_LEN} tokens. However, your prompt contains "
            f"{prompt_tokens} input tokens, which leaves no room for an answer. "
            "Please reduce the length of the input prompt.",
            "input_tokens",
        )
    limit = asked if asked is not None else room if default is None else min(default, room)
    if limit > room:
        raise bad_request(
            f"max_tokens={limit} and a prompt of {prompt_tokens} tokens are together more than "
            f"max_model_len={MAX_MODEL_LEN}. Please request at most {room} output tokens.",
            "max_tokens",
        )
    if min_tokens > limit:
        raise bad_request(f"min_tokens={min_tokens} is more than max_tokens={limit}.", "min_tokens")
    return limit
