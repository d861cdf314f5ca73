"""What observed failures, or none, still allow. Pure."""

import math

from fairtrial.stats.distributions import beta_quantile


def zero_failure_upper_bound(n: int, confidence: float = 0.95) -> float | None:
    """One-sided upper bound of the failure share when none of ``n`` requests failed.

    The share p at which ``n`` successes in a row have probability ``1 - confidence``:
    ``1 - (1-confidence)**(1/n)``, roughly ``3/n`` at 95 %.

    Args:
        n: Number of requests, all successful.
        confidence: Above 0 and below 1.

    Returns:
        The bound as a share; None without requests, as then nothing is bounded.

    Raises:
        ValueError: ``n`` is negative or ``confidence`` out of range.
    """
    if n < 0 or not 0 < confidence < 1:
        raise ValueError(f"no bound for {n} requests at confidence {confidence}")
    if n == 0:
        return None
    return -math.expm1(math.log1p(-confidence) / n)


def share_upper_bound(failed: int, n: int, confidence: float = 0.95) -> float:
    """Clopper and Pearson's exact one-sided upper bound of a share: 0 of 24 still allow 11.7 %.

    Raises:
        ValueError: The counts make no share, or ``confidence`` is out of range.
    """
    if n < 1 or not 0 <= failed <= n:
        raise ValueError(f"{failed} of {n} requests is no share")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence {confidence} is outside 0 to 1")
    return 1.0 if failed == n else beta_quantile(confidence, failed + 1, n - failed)
