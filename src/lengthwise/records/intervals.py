"""How sure a count is: exact (Clopper-Pearson) confidence intervals of a proportion."""

from typing import NamedTuple

CONFIDENCE = 0.95


class Interval(NamedTuple):
    low: float
    high: float


def clopper_pearson(correct: int, total: int, confidence: float = CONFIDENCE) -> Interval:
    """
    >>> low, high = clopper_pearson(10_000, 10_000)
    >>> round(low, 5), high
    (0.99963, 1.0)
    """
    assert 0 <= correct <= total and total > 0
    # Imported here: it takes longer than everything else a prediction needs.
    from scipy.special import betaincinv  # noqa: PLC0415 # pyright: ignore[reportMissingTypeStubs]

    tail = (1 - confidence) / 2
    wrong = total - correct
    low = 0.0 if correct == 0 else float(betaincinv(correct, wrong + 1, tail))
    high = 1.0 if wrong == 0 else float(betaincinv(correct + 1, wrong, 1 - tail))
    return Interval(low, high)


def interval(correct: int, total: int, enumerated: bool) -> Interval:
    """A domain seen whole has no sampling error."""
    if enumerated:
        return Interval(correct / total, correct / total)
    return clopper_pearson(correct, total)
