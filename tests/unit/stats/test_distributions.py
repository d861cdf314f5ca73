"""Quantiles and tails: scipy's other implementation as oracle, tables by heart."""

import math

import pytest
import scipy.stats

from fairtrial.stats import distributions as d


def test_tables():
    # Student's t, one-sided 5 %: 2.920 at 2 degrees of freedom, 6.314 at 1, 1.645 far out.
    assert d.t_quantile(0.95, 2) == pytest.approx(2.919986, abs=1e-6)
    assert d.t_quantile(0.95, 1) == pytest.approx(6.313752, abs=1e-6)
    assert d.t_quantile(0.95, 1e9) == pytest.approx(1.644854, abs=1e-6)
    # At one degree of freedom t is Cauchy: 1/2 - atan(x)/pi.
    assert d.t_tail(3.0, 1) == pytest.approx(0.5 - math.atan(3) / math.pi, rel=1e-12)
    # At two, chi-squared is exponential with mean 2.
    assert d.chi2_quantile(0.2, 2) == pytest.approx(-2 * math.log(0.8), rel=1e-12)
    assert d.normal_quantile(0.975) == pytest.approx(1.959964, abs=1e-6)
    # Beta(1, n): 1 - (1 - p)**(1/n).
    assert d.beta_quantile(0.95, 1, 24) == pytest.approx(1 - 0.05 ** (1 / 24), rel=1e-12)
    # Two coins: none, at most one.
    assert (d.binomial_cdf(0, 2, 0.5), d.binomial_cdf(1, 2, 0.5), d.binomial_cdf(2, 2, 0.5)) == (
        pytest.approx(0.25),
        pytest.approx(0.75),
        1.0,
    )
    assert d.binomial_cdf(-1, 5, 0.5) == 0.0


@pytest.mark.parametrize("df", [1, 2, 5, 11, 23, 400])
@pytest.mark.parametrize("p", [0.001, 0.05, 0.2, 0.75, 0.975, 0.9999])
def test_quantiles_are_scipys(df, p):
    assert d.t_quantile(p, df) == pytest.approx(scipy.stats.t.ppf(p, df), rel=1e-8)
    assert d.chi2_quantile(p, df) == pytest.approx(scipy.stats.chi2.ppf(p, df), rel=1e-9)
    assert d.beta_quantile(p, df, 2) == pytest.approx(scipy.stats.beta.ppf(p, df, 2), rel=1e-9)
    assert d.normal_quantile(p) == pytest.approx(scipy.stats.norm.ppf(p), rel=1e-12)
    assert d.t_tail(p * 5, df) == pytest.approx(scipy.stats.t.sf(p * 5, df), rel=1e-9)
    assert d.binomial_cdf(df // 2, df, p) == pytest.approx(scipy.stats.binom.cdf(df // 2, df, p), abs=1e-12)


@pytest.mark.parametrize("df", [1, 2, 5, 11, 400])
@pytest.mark.parametrize("nc", [-40.0, -6.0, 0.0, 0.5, 3.0, 12.0, 39.0])
@pytest.mark.parametrize("x", [-6.0, 0.0, 1.7, 2.92, 6.3, 40.0])
def test_noncentral_tail_is_another_implementations(df, nc, x):
    expected = float(scipy.stats.nct.sf(x, df, nc))
    assert d.noncentral_t_tail(x, df, nc) == pytest.approx(expected, abs=2e-5)


@pytest.mark.parametrize("df", [1, 2, 11])
@pytest.mark.parametrize("nc", [0.0, 3.0, 12.0])
@pytest.mark.parametrize("x", [0.0, 2.92, 6.3])
def test_noncentral_tail_where_it_matters(df, nc, x):
    assert d.noncentral_t_tail(x, df, nc) == pytest.approx(float(scipy.stats.nct.sf(x, df, nc)), abs=1e-10)
    assert d._integrated_tail(x, df, nc) == pytest.approx(float(scipy.stats.nct.sf(x, df, nc)), abs=2e-5)


@pytest.mark.parametrize(
    "call",
    [
        lambda: d.t_quantile(0, 2),
        lambda: d.t_quantile(1, 2),
        lambda: d.t_quantile(math.nan, 2),
        lambda: d.t_quantile(0.9, 0),
        lambda: d.t_quantile(0.9, math.inf),
        lambda: d.t_tail(math.inf, 2),
        lambda: d.t_tail(math.nan, 2),
        lambda: d.noncentral_t_tail(1, 2, math.inf),
        lambda: d.noncentral_t_tail(1, -1, 0),
        lambda: d.chi2_quantile(1.5, 1),
        lambda: d.beta_quantile(0.5, 0, 1),
        lambda: d.normal_quantile(0),
        lambda: d.binomial_cdf(1, -1, 0.5),
        lambda: d.binomial_cdf(1, 2, 1.5),
    ],
)
def test_what_has_no_number_is_an_error(call):
    with pytest.raises(ValueError):
        call()
