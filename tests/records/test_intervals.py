import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from lengthwise.records.verdicts import CONFIDENCE, clopper_pearson, interval


@given(st.data(), st.integers(1, 20_000), st.sampled_from([0.9, CONFIDENCE, 0.99]))
def test_clopper_pearson_is_scipys_exact_interval(data, total, confidence):
    correct = data.draw(st.sampled_from([0, 1, total - 1, total]) | st.integers(0, total))
    low, high = clopper_pearson(correct, total, confidence)
    expected = binomtest(correct, total).proportion_ci(confidence, method="exact")
    assert low == pytest.approx(expected.low, abs=1e-9)
    assert high == pytest.approx(expected.high, abs=1e-9)
    assert 0 <= low <= correct / total <= high <= 1


@pytest.mark.parametrize(
    ("correct", "total", "low", "high"),
    [
        # No deviation in n: the lower end is (0.025)^(1/n).
        (10_000, 10_000, 0.025 ** (1 / 10_000), 1.0),
        (1, 1, 0.025, 1.0),
        (0, 1, 0.0, 0.975),
        (0, 10, 0.0, 0.3084971),
        (8, 10, 0.4439045, 0.9747893),
        (5, 10, 0.1870860, 0.8129140),
    ],
)
def test_known_values(correct, total, low, high):
    assert clopper_pearson(correct, total) == pytest.approx((low, high), abs=1e-6)


def test_the_interval_is_one_of_95_percent():
    assert clopper_pearson(8, 10) == clopper_pearson(8, 10, 0.95)


@pytest.mark.parametrize(("correct", "total"), [(0, 7), (3, 7), (7, 7)])
def test_an_enumerated_domain_has_no_interval(correct, total):
    assert interval(correct, total, enumerated=True) == (correct / total, correct / total)
    assert interval(correct, total, enumerated=False) == clopper_pearson(correct, total)


@pytest.mark.parametrize(("correct", "total"), [(3, 2), (-1, 2), (0, 0)])
def test_impossible_counts(correct, total):
    with pytest.raises(AssertionError):
        clopper_pearson(correct, total)
