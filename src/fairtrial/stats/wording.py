"""Numbers of harm in words. Pure."""

from fairtrial.stats.paired import percent_of_log_ratio


def percent(harm: float) -> str:
    """A harm as a signed percent with three digits."""
    found = percent_of_log_ratio(harm)
    if found is None:
        return "beyond any number"
    if found == 0:
        return "0%"
    return f"{found:+.3g}%" if abs(found) < 1000 else f"{found:+.0f}%"
