import numpy as np
import pytest

from lengthwise.records.analysis import Standstill, standstills


def found(*accuracies, problems=1000):
    return standstills({100 * k: accuracy for k, accuracy in enumerate(accuracies)}, problems)


def test_a_curve_that_climbs_has_none():
    assert found(0, 0.1, 0.2, 0.3, 0.5, 0.7, 0.95) == []


def test_two_stands_on_the_way_up():
    low, high = found(0, 0.05, 0.05, 0.06, 0.05, 0.4, 0.62, 0.63, 0.62, 1, 1, 1, 1)
    assert (low.first, low.last, high.first, high.last) == (100, 400, 600, 800)
    assert (low.accuracy, high.accuracy) == pytest.approx((0.0525, 0.6233), abs=1e-4)


def test_a_learned_domain_and_the_untrained_model_do_not_count():
    assert found(0.5, 0.995, 1, 1, 1) == []
    assert found(0.5, 0.5, 0.5, 0.9) == []


def test_what_counts_as_still_depends_on_the_number_of_problems():
    curve = (0, 0.50, 0.52, 0.50)
    assert len(found(*curve, problems=1000)) == 1
    assert found(*curve, problems=100_000) == []


def test_a_height_is_met_within_two_standard_errors():
    stand = Standstill(1, 3, 0.62)
    assert stand.is_at(0.6288, 1000) and not stand.is_at(0.6523, 1000)


def test_a_constant_accuracy_is_mostly_recognised():
    """Ten evaluations of 1,000 problems each at one accuracy: within two standard errors 19 times of 20."""
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(200):
        curve = {k + 1: float(right) / 1000 for k, right in enumerate(rng.binomial(1000, 0.556, size=10))}
        covered += sum((s.last - s.first + 1) for s in standstills(curve, 1000) if s.is_at(0.556, 1000))
    assert covered > 0.85 * 2000
