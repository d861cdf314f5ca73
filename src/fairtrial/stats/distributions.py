"""Quantiles and tails of the distributions that verdicts need. Pure.

One place imports scipy, and only when a number is asked for: its ``special`` functions, as its ``stats``
takes a second longer to load. Every result is finite; anything else is a ValueError.
"""

import math

_NODES = 200


def t_quantile(p: float, df: float) -> float:
    """The value below which Student's t with ``df`` degrees of freedom lies with probability ``p``.

    Raises:
        ValueError: ``p`` is not inside 0 to 1, or ``df`` is not positive.
    """
    from scipy.special import stdtrit

    _inside(p)
    _positive(df)
    return _finite(stdtrit(df, p))


def t_tail(x: float, df: float) -> float:
    """The chance that Student's t with ``df`` degrees of freedom exceeds ``x``.

    Raises:
        ValueError: ``df`` is not positive, or ``x`` is NaN or infinite.
    """
    from scipy.special import stdtr

    _positive(df)
    return _finite(stdtr(df, -_finite(x)))


def noncentral_t_tail(x: float, df: float, nc: float) -> float:
    """The chance that a noncentral t exceeds ``x``: the power of a test on t.

    Args:
        x: Critical value.
        df: Degrees of freedom.
        nc: Noncentrality: the true difference in standard errors.

    Raises:
        ValueError: ``df`` is not positive, or an argument is NaN or infinite.
    """
    from scipy.special import nctdtr

    _positive(df)
    if _finite(x) < 0:  # P(T > x) with nc is P(T < -x) with -nc; scipy has few numbers for negative x
        return 1 - noncentral_t_tail(-x, df, -nc)
    below = float(nctdtr(df, _finite(nc), x))
    return min(1.0, max(0.0, 1 - below)) if math.isfinite(below) else _integrated_tail(x, df, nc)


def _integrated_tail(x: float, df: float, nc: float) -> float:
    """The same for ``x`` >= 0 by quadrature, where scipy's series does not converge.

    T is (Z + nc)/sqrt(V/df) with V chi-squared, so the tail is the mean of Phi(nc - x*sqrt(V/df)) over V:
    an integral of a bounded function over the quantiles of V. Good to about 1e-5.
    """
    from scipy.special import gammaincinv, ndtr, roots_legendre

    nodes, weights = roots_legendre(_NODES)
    root = (2 * gammaincinv(df / 2, (nodes + 1) / 2) / df) ** 0.5
    return min(1.0, max(0.0, float((weights * ndtr(nc - x * root)).sum() / 2)))


def chi2_quantile(p: float, df: float) -> float:
    """The value below which chi-squared with ``df`` degrees of freedom lies with probability ``p``.

    Raises:
        ValueError: ``p`` is not inside 0 to 1, or ``df`` is not positive.
    """
    from scipy.special import gammaincinv

    _inside(p)
    _positive(df)
    return _finite(2 * gammaincinv(df / 2, p))


def beta_quantile(p: float, a: float, b: float) -> float:
    """The value below which Beta(a, b) lies with probability ``p``.

    Raises:
        ValueError: ``p`` is not inside 0 to 1, or a parameter is not positive.
    """
    from scipy.special import betaincinv

    _inside(p)
    _positive(a, b)
    return _finite(betaincinv(a, b, p))


def normal_quantile(p: float) -> float:
    """The value below which a standard normal lies with probability ``p``.

    Raises:
        ValueError: ``p`` is not inside 0 to 1.
    """
    from scipy.special import ndtri

    _inside(p)
    return _finite(ndtri(p))


def binomial_cdf(k: int, n: int, p: float) -> float:
    """The chance of at most ``k`` successes in ``n`` trials that each succeed with probability ``p``.

    Raises:
        ValueError: ``n`` is negative, or ``p`` is outside 0 to 1.
    """
    from scipy.special import betaincc

    if n < 0 or not 0 <= p <= 1:
        raise ValueError(f"no binomial of {n} trials with probability {p}")
    if k < 0:
        return 0.0
    return 1.0 if k >= n else _finite(betaincc(k + 1, n - k, p))


def _inside(p: float) -> None:
    if not 0 < p < 1:
        raise ValueError(f"no quantile for probability {p}")


def _positive(*parameters: float) -> None:
    for parameter in parameters:
        if not (parameter > 0 and math.isfinite(parameter)):
            raise ValueError(f"a parameter of a distribution must be positive, not {parameter}")


def _finite(value: float) -> float:
    found = float(value)
    if not math.isfinite(found):
        raise ValueError("a value is NaN or infinite")
    return found
