"""Verdicts: prediction against measurement, by a rule fixed before training.

First the gate: on every length of the training domain the lower end of accuracy's 95 % interval must reach 99 %,
else a run is not converged and every verdict is `undecided`. Then agreement with the predicted function on the
test domain: `holds` if its lower end is at least 1 - e, `fails` if its upper end is below 1 - e, else `undecided`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from lengthwise.arithmetic import Domain
from lengthwise.errors import InputError
from lengthwise.records.schema import TRUTH, Record
from lengthwise.theory.predict import Prediction

CONFIDENCE = 0.95
GATE = 0.99
TOLERANCE = 0.01  # e: one percentage point

HOLDS, FAILS, UNDECIDED = "holds", "fails", "undecided"


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


@dataclass(frozen=True, slots=True)
class Measured:
    correct: int
    total: int
    enumerated: bool

    @property
    def share(self) -> float:
        return self.correct / self.total

    @property
    def interval(self) -> Interval:
        return interval(self.correct, self.total, self.enumerated)

    @property
    def perfect(self) -> bool:
        return self.correct == self.total


@dataclass(frozen=True, slots=True)
class Verdict:
    """One test domain: what was predicted, what was measured, and how they compare."""

    prediction: Prediction
    accuracy: Measured
    agreement: Measured | None
    coincides: Measured | None
    word: str | None

    @property
    def expected(self) -> Fraction | None:
        return self.prediction.accuracy


def gate_passed(accuracy: Measured) -> bool:
    return accuracy.interval.low >= GATE


def passes_gate(train: Domain, exact: Mapping[str, Measured]) -> bool:
    """The gate, from exact match by domain: every length of the training domain passes.

    Runs of a mixture that were recorded before version 0.2 may have the mixture alone: then it decides.
    """
    lengths = [str(part) for part in train.parts]
    if not all(length in exact for length in lengths):
        lengths = [str(train)]
    return all(gate_passed(exact[length]) for length in lengths)


def judge(agreement: Measured | None, converged: bool) -> str | None:
    """None where theory makes no prediction."""
    if agreement is None:
        return None
    if not converged:
        return UNDECIDED
    low, high = agreement.interval
    if low >= 1 - TOLERANCE:
        return HOLDS
    return FAILS if high < 1 - TOLERANCE else UNDECIDED


def combined(words: Iterable[str | None]) -> str | None:
    """The verdict on several things: it holds if it holds of all; one that fails is enough to fail it. None where
    there is nothing, or nothing predicted of some of them.

    >>> combined([HOLDS, HOLDS]), combined([HOLDS, UNDECIDED, FAILS]), combined([HOLDS, None]), combined([])
    ('holds', 'fails', None, None)
    """
    found = {*words}
    for word in (FAILS, UNDECIDED):
        if word in found:
            return word
    return HOLDS if found == {HOLDS} else None


def verdicts(predictions: Sequence[Prediction], train: Domain, records: Iterable[Record]) -> list[Verdict]:
    """Verdicts from the records of one run at one step."""
    counts = {
        (r.domain, r.reference, r.metric): measured(r)
        for r in records
        if r.correct is not None and r.mode == "forced"
    }

    def exact(domain: str, reference: str) -> Measured:
        if (domain, reference, "exact") not in counts:
            raise InputError(f"the records hold no exact match of {domain} against {reference}: lines are missing")
        return counts[domain, reference, "exact"]

    exact(str(train), TRUTH)
    of_truth = {domain: count for (domain, *rest), count in counts.items() if rest == [TRUTH, "exact"]}
    converged = passes_gate(train, of_truth)
    rows: list[Verdict] = []
    for prediction in predictions:
        domain, reference = str(prediction.domain), str(prediction.hypothesis)
        predicted = prediction.hypothesis is not None
        agreement = exact(domain, reference) if predicted else None
        rows.append(
            Verdict(
                prediction=prediction,
                accuracy=exact(domain, TRUTH),
                agreement=agreement,
                coincides=counts.get((domain, reference, "coincides")),
                word=judge(agreement, converged),
            )
        )
    return rows


def measured(record: Record) -> Measured:
    assert record.correct is not None
    return Measured(record.correct, record.total, record.selection == "enumerated")
