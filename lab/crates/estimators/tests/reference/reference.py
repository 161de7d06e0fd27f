#!/usr/bin/env python3
"""Makes reference.json: what SciPy, NumPy and diptest say about samples, for tests/against_scipy.rs.

    python3 -m venv venv && venv/bin/pip install scipy==1.17.1 numpy==2.4.6 diptest==0.12.0
    venv/bin/python reference.py > reference.json

Samples are like latencies: lognormal with a long tail, without ties unless the name says so. Intervals of shifts are not asked of
SciPy, which has none: they are found by trying every shift with its tests and keeping those that are not rejected.
"""

import json
import platform

import diptest
import numpy
import scipy
from scipy import stats

random = numpy.random.default_rng(20261121)


def latencies(n, median=100.0, spread=0.3):
    return [float(value) for value in numpy.round(random.lognormal(numpy.log(median), spread, n), 6)]


def describe(name, values):
    shares = [0.0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 1.0]
    case = {
        "name": name,
        "values": values,
        "quantiles": [[share, float(numpy.quantile(values, share))] for share in shares],
        "interquartile_range": float(stats.iqr(values)),
        "mean": float(numpy.mean(values)),
    }
    if len(values) > 1:
        case["standard_deviation"] = float(numpy.std(values, ddof=1))
        error = stats.sem(values)
        case["t_intervals"] = [
            [share, *map(float, stats.t.interval(share, len(values) - 1, numpy.mean(values), error))]
            for share in (0.5, 0.9, 0.95, 0.99, 0.9999)
        ]
    return case


def two_modes(n):
    slow = random.random(n) < 0.25
    return [float(value) for value in numpy.round(numpy.where(slow, 13.5, 9.0) * random.lognormal(0, 0.05, n), 6)]


def dip(name, values):
    found, p = diptest.diptest(numpy.array(values), boot_pval=True, n_boot=20000, seed=1)
    return {"name": name, "values": values, "dip": float(found), "p": float(p)}


def exact_bootstrap_median(values, share):
    """Percentiles of the bootstrap distribution of the median of an odd number of values, without drawing."""
    values = sorted(values)
    n = len(values)
    assert n % 2 == 1
    half = n // 2
    # The median of a resample is at most the k-th smallest value when more than half of its n draws are.
    below = [float(stats.binom.sf(half, n, (k + 1) / n)) for k in range(n)]
    tail = (1 - share) / 2
    low = next(k for k in range(n) if below[k] >= tail)
    high = next(k for k in range(n) if below[k] >= 1 - tail)
    return {
        "values": values,
        "confidence": share,
        "low": values[low],
        "high": values[high],
        # How close the tail lies to the step between two values: chance decides there which one is taken.
        "margin": float(min(min(abs(b - tail) for b in below), min(abs(b - (1 - tail)) for b in below))),
    }


def bootstrap(first, second, share):
    """SciPy's own bootstrap of the ratio of medians of pairs, percentile method."""
    result = stats.bootstrap(
        (first, second),
        lambda a, b, axis=-1: numpy.median(a, axis=axis) / numpy.median(b, axis=axis),
        paired=True,
        vectorized=True,
        confidence_level=share,
        n_resamples=100_000,
        batch=10_000,
        method="percentile",
        rng=numpy.random.default_rng(1),
    )
    return {
        "first": first,
        "second": second,
        "confidence": share,
        "value": float(numpy.median(first) / numpy.median(second)),
        "low": float(result.confidence_interval.low),
        "high": float(result.confidence_interval.high),
    }


def bootstrap_apart(first, second, share):
    """The same where nothing pairs the values."""
    result = stats.bootstrap(
        (first, second),
        lambda a, b, axis=-1: numpy.median(a, axis=axis) / numpy.median(b, axis=axis),
        paired=False,
        vectorized=True,
        confidence_level=share,
        n_resamples=100_000,
        batch=10_000,
        method="percentile",
        rng=numpy.random.default_rng(2),
    )
    return {
        "first": first,
        "second": second,
        "confidence": share,
        "value": float(numpy.median(first) / numpy.median(second)),
        "low": float(result.confidence_interval.low),
        "high": float(result.confidence_interval.high),
    }


def trend(name, values, share, method):
    """Kendall's test against the order, and the slope of Theil and Sen."""
    kendall = stats.kendalltau(range(len(values)), values, method=method)
    slope = stats.theilslopes(values, range(len(values)), alpha=share)
    return {
        "name": name,
        "values": values,
        "confidence": share,
        "tau": float(kendall.statistic),
        "p": float(kendall.pvalue),
        "value": float(slope.slope),
        "low": float(slope.low_slope),
        "high": float(slope.high_slope),
    }


def drifting(n, by):
    return [round(value + by * index, 6) for index, value in enumerate(latencies(n, 100.0, 0.1))]


def repetitions(values, reach, share):
    """By trying: the fewest whose interval reaches no further than this share of the mean."""
    mean, deviation = numpy.mean(values), numpy.std(values, ddof=1)
    n = 2
    while stats.t.ppf((1 + share) / 2, n - 1) * deviation / numpy.sqrt(n) > reach * mean:
        n += 1
    return {"values": values, "reach": reach, "confidence": share, "repetitions": n}


def accepted(candidates, p_value, alpha):
    """Ends of the shifts that a test does not reject; its p value is constant between neighbouring candidates."""
    candidates = sorted(set(candidates))
    middles = [(a + b) / 2 for a, b in zip(candidates, candidates[1:])]
    # p rises towards the middle: search from both ends.
    low = next(i for i, middle in enumerate(middles) if p_value(middle) > alpha)
    high = next(i for i in reversed(range(len(middles))) if p_value(middles[i]) > alpha)
    return candidates[low], candidates[high + 1]


def shift(first, second, share):
    differences = [a - b for a in first for b in second]
    moved = lambda by: [value - by for value in first]
    p_value = lambda by: stats.mannwhitneyu(moved(by), second, method="exact").pvalue
    low, high = accepted(differences, p_value, 1 - share)
    return {
        "first": first,
        "second": second,
        "confidence": share,
        "value": float(numpy.median(differences)),
        "low": low,
        "high": high,
    }


def paired_shift(first, second, share):
    differences = [a - b for a, b in zip(first, second)]
    averages = [(a + b) / 2 for i, a in enumerate(differences) for b in differences[i:]]
    moved = lambda by: [value - by for value in differences]
    p_value = lambda by: stats.wilcoxon(moved(by), method="exact").pvalue
    low, high = accepted(averages, p_value, 1 - share)
    return {
        "first": first,
        "second": second,
        "confidence": share,
        "value": float(numpy.median(averages)),
        "low": low,
        "high": high,
    }


def pairs(n, ratio):
    """Repetitions that drift, two alternatives in each."""
    drift = numpy.exp(random.normal(0, 0.2, n))
    first = numpy.round(100 * ratio * drift * numpy.exp(random.normal(0, 0.03, n)), 6)
    second = numpy.round(100 * drift * numpy.exp(random.normal(0, 0.03, n)), 6)
    return [float(value) for value in first], [float(value) for value in second]


reference = {
    "made_by": f"SciPy {scipy.__version__}, NumPy {numpy.__version__}, Python {platform.python_version()}",
    "samples": [
        describe("one value", [42.5]),
        describe("two values", [1.0, 4.0]),
        describe("ties", [1.0, 2.0, 2.0, 2.0, 3.0, 3.0, 9.0]),
        describe("thirty medians", latencies(30)),
        describe("a hundred latencies", latencies(100)),
        describe("a thousand latencies with a long tail", latencies(1000, 50.0, 1.2)),
    ],
    "t_quantiles": [
        [share, degrees, float(stats.t.ppf(share, degrees))]
        for share in (0.5, 0.6, 0.9, 0.975, 0.995, 0.99999)
        for degrees in (1, 2, 3, 5, 10, 29, 99, 1000, 1_000_000)
    ],
    "normal_quantiles": [
        [share, float(stats.norm.ppf(share))]
        for share in (1e-300, 1e-20, 1e-10, 0.001, 0.025, 0.075, 0.3, 0.5, 0.7, 0.975, 0.9999)
    ],
    "exact_bootstrap_medians": [exact_bootstrap_median(latencies(n), share) for n in (31, 101) for share in (0.9, 0.95)],
    "bootstrap_ratios": [bootstrap(*pairs(n, ratio), 0.95) for n, ratio in ((40, 1.0), (100, 1.02), (129, 0.8))],
    "normal_upper_tails": [
        [value, float(stats.norm.sf(value))] for value in (0.0, 0.1, 0.5, 1.0, 1.96, 2.4999, 2.5, 3.0, 5.0, 10.0, 30.0)
    ],
    "shifts": [
        shift(latencies(m, 110.0), latencies(n, 100.0), share)
        for m, n, share in ((4, 4, 0.9), (12, 9, 0.95), (30, 30, 0.95), (40, 35, 0.99))
    ],
    "paired_shifts": [
        paired_shift(*pairs(n, ratio), share)
        for n, ratio, share in ((6, 1.2, 0.95), (20, 1.02, 0.95), (50, 1.01, 0.99), (100, 1.0, 0.95))
    ],
    "bootstrap_ratios_apart": [
        bootstrap_apart(latencies(m, 120.0, 0.2), latencies(n, 100.0, 0.2), 0.95) for m, n in ((60, 50), (101, 99))
    ],
    "trends": [
        *(trend(f"{n} values without a trend", latencies(n), 0.95, "exact") for n in (4, 12, 30)),
        *(trend(f"{n} values that rise", drifting(n, 1.0), 0.95, "exact") for n in (12, 30, 60)),
        trend("two hundred values that fall a little", drifting(200, -0.05), 0.99, "asymptotic"),
        trend("ties", [float(round(value / 10)) for value in drifting(40, 0.5)], 0.95, "asymptotic"),
    ],
    "repetitions": [
        repetitions(latencies(n, 100.0, spread), reach, share)
        for n, spread, reach, share in ((30, 0.1, 0.05, 0.95), (30, 0.3, 0.01, 0.95), (10, 0.5, 0.1, 0.99), (30, 0.01, 0.05, 0.95))
    ],
    "dips": [
        dip(name, values)
        for name, values in (
            ("four", [1.0, 2.0, 4.0, 7.0]),
            ("ties", [1.0, 1.0, 2.0, 2.0, 2.0, 5.0, 6.0, 6.0]),
            *((f"{n} latencies", latencies(n)) for n in (5, 12, 24, 100, 500)),
            *((f"{n} of two modes", two_modes(n)) for n in (12, 24, 100, 500)),
        )
    ],
}
print(json.dumps(reference, indent=1))
