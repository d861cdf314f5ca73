"""The words of the measuring client: an enumeration of its own beside the other words."""

from enum import StrEnum


class Transport(StrEnum):
    """Which client carried the requests."""

    OWN = "own_http11"
    """fairtrial's own HTTP/1.1 client: the kept bytes are those of the wire (of TLS: inside it)."""
    AIOHTTP = "aiohttp"
    """aiohttp, for proxies and odd servers: head and framing of the kept bytes are put together anew."""


class ArrivalProcess(StrEnum):
    """How the gaps between the arrivals of an open loop are drawn."""

    CONSTANT = "constant"
    POISSON = "poisson"
    GAMMA = "gamma"


class Capability(StrEnum):
    """What an engine may be asked for or is able to tell; probed once, then frozen."""

    TOKEN_IDS = "output_token_ids"  # noqa: S105 - not a password
    """Ids of the output tokens."""
    FIXED_OUTPUT = "fixed_output_length"
    """Exactly so many output tokens, whatever the model would say."""
    PROMPT_IDS = "prompt_token_ids"
    """Prompts as token ids."""
    STREAM_USAGE = "stream_usage"
    """Token counts at the end of a stream."""
    SEED = "sampling_seed"
    TOKENIZE = "tokenizer_route"
    """A route that turns text into token ids."""
    CACHED_TOKENS = "cached_token_count"
    """How many prompt tokens came from a cache."""


class Sample(StrEnum):
    """What a population of measured values holds one of for each."""

    REQUESTS = "requests"
    TOKEN_GAPS = "token_gaps"  # noqa: S105 - not a password
    """Single gaps between tokens, one for each token after the first event of each answer."""
