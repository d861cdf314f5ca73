"""What people write on the command line of ``bench``, as values. Pure."""

import re
from collections.abc import Mapping

from fairtrial.schema.bench import GoodputLimits
from fairtrial.schema.errors import UsageError
from fairtrial.schema.vocab import Metric

MAX_CONCURRENCY = 65_536
LEAST_RATE, MAX_RATE = 0.001, 100_000.0
_LIMITED = (Metric.TTFT, Metric.TPOT, Metric.E2E)


def concurrencies(text: str) -> tuple[int, ...]:
    """Read ``"32"`` or ``"1,8,32"``.

    Raises:
        UsageError: A part is no whole number from 1 to ``MAX_CONCURRENCY``, or stands there twice.
    """
    hint = "write it like --concurrency 32 or --concurrency 1,8,32"
    parts = _parts(text, "--concurrency", hint)
    if not all(part.isascii() and part.isdigit() and 1 <= int(part) <= MAX_CONCURRENCY for part in parts):
        raise UsageError(
            f"a concurrency is a whole number from 1 to {MAX_CONCURRENCY}, not {text!r}",
            where="--concurrency",
            hint=hint,
        )
    return tuple(int(part) for part in parts)


def rates(text: str) -> tuple[float, ...]:
    """Read ``"2.5"`` or ``"1,2,4"``, in requests a second.

    Raises:
        UsageError: A part is no number from ``LEAST_RATE`` to ``MAX_RATE``, or stands there twice.
    """
    hint = "write it like --rate 5 or --rate 1,2.5,5 (requests a second)"
    parts = _parts(text, "--rate", hint)
    try:
        found = tuple(float(part) for part in parts)
    except ValueError:
        found = ()
    if not found or not all(LEAST_RATE <= rate <= MAX_RATE for rate in found):
        raise UsageError(
            f"a rate is a number from {LEAST_RATE:g} to {MAX_RATE:,.0f} requests a second, not {text!r}",
            where="--rate",
            hint=hint,
        )
    return found


def goodput_limits(text: str | None) -> GoodputLimits | None:
    """Read ``"ttft:500ms,tpot:40ms,e2e:10s"``.

    Raises:
        UsageError: A part names no such metric, one twice, or no duration above 0.
    """
    if text is None:
        return None
    hint = "write it like --goodput ttft:500ms,tpot:40ms,e2e:10s"
    limits: dict[str, int] = {}
    for part in _parts(text, "--goodput", hint):
        name, colon, length = part.partition(":")
        if name not in _LIMITED or not colon or name in limits:
            known = ", ".join(_LIMITED)
            raise UsageError(
                f"each part is one of {known}, a colon and a duration, not {part!r}",
                where="--goodput",
                hint=hint,
            )
        if re.fullmatch(r"[0-9]+(\.[0-9]+)?", length):
            raise UsageError(
                f"{part!r} has no unit", where="--goodput", hint=f"write {part}ms, or {part}s for seconds"
            )
        limits[name] = span_ns(length, "--goodput", hint)
    return GoodputLimits(
        ttft_ns=limits.get(Metric.TTFT), tpot_ns=limits.get(Metric.TPOT), e2e_ns=limits.get(Metric.E2E)
    )


_AS_OPTIONS = (
    ("client_processes = ", "--processes "),
    ("concurrency above", "--max-in-flight above"),
    ("work on another disk", "another disk: --keep DIR or TMPDIR"),
    ("have fewer requests in flight", "fewer in flight: --concurrency, --max-in-flight"),
    ("(token_env)", "(--token-env NAME)"),
    ("an environment variable (--token-env NAME)", "an environment variable: --token-env NAME"),
)


def as_options(hint: str) -> str:
    """A hint that speaks of the keys of a plan, in the words of the command line."""
    for key, option in _AS_OPTIONS:
        hint = hint.replace(key, option)
    return hint


def token_from(variable: str | None, environment: Mapping[str, str]) -> str | None:
    """The bearer token; None where no variable is named.

    Raises:
        UsageError: It is not set, is empty, or can't stand in a header. The message names the
            variable and not its value.
    """
    if variable is None:
        return None
    token = environment.get(variable, "")
    if not token:
        raise UsageError(
            "the variable with the bearer token is not set", where=variable, hint=f"export {variable}=..."
        )
    if not all("!" <= char <= "~" for char in token):
        raise UsageError(
            "the bearer token holds a character that no header may have",
            where=variable,
            hint="look for blanks and line ends around it",
        )
    return token


def exclusive(*named: tuple[str, object]) -> None:
    """At most one of these options is given.

    Raises:
        UsageError: Two are.
    """
    given = [name for name, value in named if value is not None]
    if len(given) > 1:
        raise UsageError(f"{given[0]} and {given[1]} are two kinds of load", hint="give one of them")


def milliseconds(text: str, option: str) -> int:
    """A duration of at least a millisecond, in whole milliseconds.

    Raises:
        UsageError: It is none; the error names the option.
    """
    found = span_ns(text, option) // 1_000_000
    if found < 1:
        raise UsageError("at least a millisecond is needed", where=option)
    return found


def span_ns(text: str, option: str, hint: str = "") -> int:
    """A duration above 0, such as ``"10s"``, in nanoseconds; a bare number is one of seconds.

    Raises:
        UsageError: It is none; the error names the option.
    """
    from fairtrial.plan.units import QuantityError, duration_ns  # decimals: only who gives a duration

    text = f"{text}s" if re.fullmatch(r"[0-9]+(\.[0-9]+)?", text) else text
    try:
        found = duration_ns(text)
    except QuantityError as error:
        raise UsageError(str(error), where=option, hint=hint) from error
    if found < 1:
        raise UsageError("a duration above 0 is needed", where=option, hint=hint)
    return found


def process_count(text: str) -> int | None:
    """Read ``"auto"`` (None) or a number of processes from 1 to 64.

    Raises:
        UsageError: It is neither.
    """
    if text == "auto":
        return None
    if text.isascii() and text.isdigit() and 1 <= int(text) <= 64:
        return int(text)
    raise UsageError(f"a number from 1 to 64 or auto, not {text!r}", where="--processes")


def _parts(text: str, option: str, hint: str) -> list[str]:
    parts = [part.strip() for part in text.split(",")]
    if not all(parts) or len(set(parts)) < len(parts):
        raise UsageError(f"an empty part or one that stands there twice in {text!r}", where=option, hint=hint)
    return parts
