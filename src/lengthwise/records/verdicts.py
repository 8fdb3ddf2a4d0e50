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
        """The confidence interval; an enumerated domain has no sampling error."""
        if self.enumerated:
            return Interval(self.share, self.share)
        return clopper_pearson(self.correct, self.total)

    @property
    def perfect(self) -> bool:
        return self.correct == self.total


Counts = Mapping[tuple[str, str], Measured]
"""Counts by domain and by the reference that answers were compared with."""


@dataclass(frozen=True, slots=True, repr=False)
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

    def __repr__(self) -> str:
        hypothesis = self.prediction.hypothesis or "no prediction"
        named = f"{self.prediction.domain}: {hypothesis} {self.word or ''}".strip()
        agreement = "" if self.agreement is None else f", agreement {self.agreement.share:.2%}"
        return f"<{named}, accuracy {self.accuracy.share:.2%}{agreement}>"


def passes_gate(train: Domain, exact: Counts) -> bool:
    """Whether every length of the training domain passes the gate.

    Runs on a mixture from before version 0.2 may have recorded only the mixture: then that decides.
    """
    lengths = [str(part) for part in train.parts]
    if not all((length, TRUTH) in exact for length in lengths):
        lengths = [str(train)]
    return all(exact[length, TRUTH].interval.low >= GATE for length in lengths)


def judge(agreement: Measured | None, converged: bool, least: float = 1 - TOLERANCE) -> str | None:
    """The verdict: whether agreement is at least `least`. None where theory makes no prediction."""
    if agreement is None:
        return None
    low, high = agreement.interval
    if not converged or low < least <= high:
        return UNDECIDED
    return HOLDS if low >= least else FAILS


def combined(words: Iterable[str | None]) -> str | None:
    """The verdict on several domains or runs: it holds if all hold, and fails if one fails. None if there are
    none, or if some have no prediction.

    >>> combined([HOLDS, HOLDS]), combined([HOLDS, UNDECIDED, FAILS]), combined([HOLDS, None]), combined([])
    ('holds', 'fails', None, None)
    """
    found = {*words}
    for word in (FAILS, UNDECIDED):
        if word in found:
            return word
    return HOLDS if found == {HOLDS} else None


def verdicts(predictions: Sequence[Prediction], train: Domain, records: Sequence[Record]) -> list[Verdict]:
    """Verdicts from the records of one run at one step."""
    exact, coincides = counted(records), counted(records, "coincides")

    def found(domain: Domain, reference: str) -> Measured:
        if (str(domain), reference) not in exact:
            raise InputError(f"the records have no exact match on {domain} against {reference}: lines are missing")
        return exact[str(domain), reference]

    found(train, TRUTH)
    converged = passes_gate(train, exact)
    rows: list[Verdict] = []
    for prediction in predictions:
        domain, reference = prediction.domain, str(prediction.hypothesis)
        agreement = None if prediction.hypothesis is None else found(domain, reference)
        beside = coincides.get((str(domain), reference))
        rows.append(Verdict(prediction, found(domain, TRUTH), agreement, beside, judge(agreement, converged)))
    return rows


def counted(records: Iterable[Record], metric: str = "exact") -> Counts:
    """Counts by teacher forcing, from the records of one run at one step."""
    return {
        (record.domain, record.reference): measured(record)
        for record in records
        if record.metric == metric and record.mode == "forced" and record.correct is not None
    }


def measured(record: Record) -> Measured:
    assert record.correct is not None
    return Measured(record.correct, record.total, record.selection == "enumerated")
