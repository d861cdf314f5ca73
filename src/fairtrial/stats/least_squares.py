"""Ordinary least squares with an intercept and a regressor or two. Pure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from fairtrial.stats.distributions import t_quantile, t_tail

_COLLINEAR = 1e-9
"""A regressor of which no more than this share is its own, is a combination of those before it."""
_ROUNDING = 1e-13
"""Residuals no larger than this share of the largest value are rounding and not spread."""


@dataclass(frozen=True, slots=True)
class Coefficient:
    """One coefficient: its estimate and how well it is known."""

    estimate: float
    error: float
    """Standard error; 0 where the fit leaves no residual."""
    df: int

    @property
    def p(self) -> float | None:
        """Two-sided p of no effect; None where no residual tells what is noise."""
        if not self.error > 0:
            return None
        return min(1.0, 2 * t_tail(abs(self.estimate) / self.error, self.df))

    def bounds(self, alpha: float) -> tuple[float, float]:
        """One-sided lower and upper bound, each at ``alpha``."""
        half = t_quantile(1 - alpha, self.df) * self.error
        return self.estimate - half, self.estimate + half


def fit(values: Sequence[float], regressors: Sequence[Sequence[float]]) -> tuple[Coefficient, ...] | None:
    """Fit ``values`` on a constant and the regressors.

    The regressors are centred and made orthogonal one after the other, so that neither squares
    nor products of large numbers cancel; the coefficients follow by substitution from the last.

    Args:
        values: What is explained.
        regressors: Each as long as ``values``.

    Returns:
        The intercept at the regressors' means and the regressors' coefficients; None where too few
        values leave no degree of freedom, or a regressor is a combination of the others.

    Raises:
        ValueError: The lengths differ, or a number is NaN or infinite.
    """
    _check(values, regressors)
    n, k = len(values), len(regressors)
    df = n - k - 1
    if df < 1:
        return None
    found = _orthogonal([_centred(column) for column in regressors])
    if found is None:
        return None
    basis, triangle = found
    middle = math.fsum(values) / n
    rest = _centred(values)
    shares = []
    for column in basis:
        share = _dot(column, rest)
        shares.append(share)
        rest = [value - share * unit for value, unit in zip(rest, column, strict=True)]
    largest = max(abs(value) for value in values)
    residual = 0.0 if max(map(abs, rest)) <= _ROUNDING * largest else _dot(rest, rest) / df
    inverse = _inverse(triangle)
    estimates = [math.fsum(a * b for a, b in zip(row, shares, strict=True)) for row in inverse]
    errors = [math.sqrt(residual * _dot(row, row)) for row in inverse]
    slopes = (Coefficient(b, error, df) for b, error in zip(estimates, errors, strict=True))
    return (Coefficient(middle, math.sqrt(residual / n), df), *slopes)


def _check(values: Sequence[float], regressors: Sequence[Sequence[float]]) -> None:
    if any(len(column) != len(values) for column in regressors):
        raise ValueError("a regressor is not as long as the values")
    if not all(math.isfinite(number) for column in (values, *regressors) for number in column):
        raise ValueError("a value is NaN or infinite")


def _centred(column: Sequence[float]) -> list[float]:
    middle = math.fsum(column) / len(column)
    return [value - middle for value in column]


def _dot(one: Sequence[float], other: Sequence[float]) -> float:
    return math.fsum(a * b for a, b in zip(one, other, strict=True))


def _orthogonal(columns: list[list[float]]) -> tuple[list[list[float]], list[list[float]]] | None:
    """Orthonormal columns Q and the upper triangle R with columns = Q R; None where they depend."""
    k = len(columns)
    basis: list[list[float]] = []
    triangle = [[0.0] * k for _ in range(k)]
    for j, column in enumerate(columns):
        length = math.sqrt(_dot(column, column))
        rest = column
        for i, unit in enumerate(basis):
            triangle[i][j] = _dot(unit, rest)
            rest = [value - triangle[i][j] * u for value, u in zip(rest, unit, strict=True)]
        own = math.sqrt(_dot(rest, rest))
        if own <= _COLLINEAR * length:
            return None
        triangle[j][j] = own
        basis.append([value / own for value in rest])
    return basis, triangle


def _inverse(triangle: list[list[float]]) -> list[list[float]]:
    """The inverse of an upper triangle."""
    k = len(triangle)
    inverse = [[0.0] * k for _ in range(k)]
    for j in range(k):
        inverse[j][j] = 1 / triangle[j][j]
        for i in range(j - 1, -1, -1):
            done = math.fsum(triangle[i][m] * inverse[m][j] for m in range(i + 1, j + 1))
            inverse[i][j] = -done / triangle[i][i]
    return inverse
