"""Figures from samples: medians, intervals, ratios, lines, crossings."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmdgraph.bench import statistics

SAMPLES = st.lists(st.floats(0.001, 1e6), min_size=1, max_size=60)


def test_summary_has_percentiles_and_the_raw_samples() -> None:
    values = [float(v) for v in range(11)]

    assert statistics.summary(values[::-1], "us") == {
        "unit": "us",
        "median": 5.0,
        "p10": 1.0,
        "p90": 9.0,
        "min": 0.0,
        "max": 10.0,
        "ci95_low": 1.0,
        "ci95_high": 9.0,
        "noisy": True,
        "samples": values[::-1],
    }
    with pytest.raises(ValueError, match="no samples"):
        statistics.summary([])


@given(SAMPLES)
def test_a_figure_is_in_order(values: list[float]) -> None:
    figure = statistics.summary(values)

    assert figure["min"] <= figure["ci95_low"] <= figure["median"] <= figure["ci95_high"] <= figure["max"]
    assert figure["min"] <= figure["p10"] <= figure["median"] <= figure["p90"] <= figure["max"]


def test_the_interval_of_a_median_holds_it_19_times_in_20() -> None:
    draws = np.random.default_rng(0).exponential(size=(1000, 25))
    figures = [statistics.summary(list(draw)) for draw in draws]

    held = sum(figure["ci95_low"] <= math.log(2) <= figure["ci95_high"] for figure in figures)
    assert 940 <= held <= 1000


def test_a_wide_spread_is_noisy_and_a_narrow_one_is_not() -> None:
    assert statistics.summary([1.0, 1.0, 1.5, 1.0, 1.6])["noisy"]
    assert not statistics.summary([1.0, 1.01, 0.99, 1.0, 5.0] * 4 + [1.0] * 30)["noisy"]


def test_ratio_of_medians_lies_in_its_interval() -> None:
    over = [40.0, 44.0, 38.0, 41.0, 60.0]
    under = [1.0, 1.1, 0.9, 1.0, 1.2]

    found = statistics.ratio(over, under)

    assert found["ratio"] == 41.0
    assert found["ci95_low"] <= found["ratio"] <= found["ci95_high"]
    assert statistics.ratio(over, under) == found


def test_drift_that_meets_both_arms_cancels_in_the_ratio() -> None:
    under = [1.0, 2.0, 3.0, 4.0, 5.0]

    found = statistics.ratio([10 * value for value in under], under)

    assert found == pytest.approx({"ratio": 10.0, "ci95_low": 10.0, "ci95_high": 10.0})


def test_ratio_needs_the_same_rounds() -> None:
    with pytest.raises(ValueError, match="got 2 and 1 samples"):
        statistics.ratio([1.0, 2.0], [1.0])


def test_a_line_is_found_exactly_over_decades() -> None:
    xs = [1, 10, 100, 1000, 10000]

    found = statistics.line(xs, [[5000 + 110 * x] * 5 for x in xs], "us")

    assert found["slope"] == pytest.approx({"unit": "us", "value": 110, "ci95_low": 110, "ci95_high": 110})
    assert found["intercept"]["value"] == pytest.approx(5000)


def test_a_line_through_noise_has_an_interval_around_the_truth() -> None:
    xs, draw = [1, 8, 64, 512], np.random.default_rng(3)
    series = [list((200 + 7 * x) * draw.normal(1, 0.05, 40)) for x in xs]

    slope = statistics.line(xs, series, "us")["slope"]

    assert slope["ci95_low"] < 7 < slope["ci95_high"]
    assert slope["ci95_high"] - slope["ci95_low"] < 1


@pytest.mark.parametrize("xs", [[3], [3, 3]])
def test_one_point_is_no_line(xs: list[float]) -> None:
    with pytest.raises(ValueError, match="two points"):
        statistics.line(xs, [[1.0]] * len(xs), "us")


def test_a_crossing_is_found_between_points_on_a_logarithmic_axis() -> None:
    falling = np.array([5.0, 3.0, 1.0, 0.9])

    assert statistics.crossing([1, 10, 100, 1000], falling, 2.0) == pytest.approx(10**1.5)
    assert math.isnan(statistics.crossing([1, 10], np.array([5.0, 3.0]), 2.0))
    assert math.isnan(statistics.crossing([1, 10], np.array([1.5, 1.0]), 2.0))


def test_an_estimate_needs_the_same_rounds() -> None:
    with pytest.raises(ValueError, match="got no samples"):
        statistics.estimate([], lambda medians: medians[..., 0])
