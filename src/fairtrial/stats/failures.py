"""What no observed failure still allows. Pure."""

import math


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
