"""Claims and how runs decide them: every run is judged by itself, and a row's verdict counts its seeds.

>>> str(Tally((HOLDS, FAILS, HOLDS))), str(Tally((HOLDS, UNDECIDED)))
('holds in 2 of 3 seeds', 'holds in 1 of 2 seeds, 1 undecided')
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from lengthwise.arithmetic import Domain
from lengthwise.records.schema import TRUTH, Record
from lengthwise.records.verdicts import FAILS, HOLDS, UNDECIDED, Measured, combined, judge, measured
from lengthwise.records.view import RunView
from lengthwise.theory.predict import find_rule

Words = list[str | None]
"""A verdict on each thing that was looked at in a run."""
Decide = Callable[[Sequence[RunView]], list[tuple[RunView, Words]]]
"""From a recipe's runs those that decide a claim, each with its words."""

OPPOSITE = {HOLDS: FAILS, FAILS: HOLDS, UNDECIDED: UNDECIDED}


@dataclass(frozen=True)
class Tally:
    """The verdicts of a row's seeds, in their order."""

    words: tuple[str, ...]

    def count(self, word: str) -> int:
        return self.words.count(word)

    @property
    def holds(self) -> bool:
        """In every seed."""
        return {*self.words} == {HOLDS}

    @property
    def refuted(self) -> bool:
        """It fails in some seed and holds in none."""
        return FAILS in self.words and HOLDS not in self.words

    @property
    def counted(self) -> str:
        """Of how many seeds it holds, and how many decide nothing."""
        seeds = f"{self.count(HOLDS)} of {len(self.words)} seed{'' if len(self.words) == 1 else 's'}"
        undecided = self.count(UNDECIDED)
        return f"{seeds}, {undecided} undecided" if undecided else seeds

    def __str__(self) -> str:
        return f"holds in {self.counted}"


def tally(words: Iterable[str | None]) -> Tally:
    """Of one word a seed; a seed of which nothing was predicted decides nothing."""
    return Tally(tuple(word or UNDECIDED for word in words))


def each(words_on: Callable[[RunView], Words]) -> Decide:
    """Every run decides by itself; one that has nothing to say of the claim is left out."""
    return lambda runs: [(run, words) for run in runs if (words := words_on(run))]


def as_predicted(run: RunView) -> Words:
    """On every length that a theorem speaks of, whether the run computes the predicted function."""
    return [verdict.word for verdict in run.verdicts() if verdict.prediction.within_theorem]


def modulus_divides(run: RunView) -> bool:
    """Whether the modulus divides base^n, n the longest length trained on."""
    return run.spec.case(run.train).modulus_divides


def agreements(run: RunView, reference: str = TRUTH) -> list[Measured]:
    """On every longer length that was compared with it."""
    found = (run.final_counts.get((str(domain), reference)) for domain in run.spec.longer())
    return [counts for counts in found if counts is not None]


def generalizes(run: RunView, reference: str = TRUTH) -> str:
    """Whether a run is right, or answers as another reference does, on 99 % of every longer length."""
    return combined(judge(counts, run.converged) for counts in agreements(run, reference)) or UNDECIDED


def mark(run: RunView) -> bool | None:
    """Table 1's: whether theory says that it generalizes to longer operands."""
    return find_rule(run.spec.case(_longest(run))).generalizes


def mark_verdict(run: RunView) -> str | None:
    """On Table 1's mark; None where theory has none.

    That a run does not generalize is no evidence by itself: where theory says what it computes instead, that
    decides.
    """
    predicted = run.spec.predicted_hypothesis(_longest(run))
    if mark(run) is None:
        return None
    if mark(run):
        return generalizes(run)
    return OPPOSITE[generalizes(run)] if predicted is None else generalizes(run, str(predicted))


def _longest(run: RunView) -> Domain:
    return max(run.tests, key=lambda domain: domain.length)


def chains(run: RunView, wanted: Iterable[int], reference: str = TRUTH) -> Measured | None:
    """Longer problems whose longest carry chain is one of these, all lengths together."""
    names, domains = {f"chain:{k}" for k in wanted}, {str(domain) for domain in run.spec.longer()}
    found = [
        record
        for record in run.at(run.last_step)
        if record.metric in names and record.domain in domains and record.reference == reference
    ]
    if not found:
        return None
    correct = sum(record.correct or 0 for record in found)
    return Measured(correct, sum(record.total for record in found), False)


def chains_seen(run: RunView) -> Measured | None:
    """Chains of up to n columns, as training has them."""
    return chains(run, range(run.train.length + 1))


def chains_unseen(run: RunView) -> Measured | None:
    return chains(run, range(run.train.length + 1, _longest(run).length + 1))


def others(counts: Measured | None) -> Measured | None:
    """The problems that it does not count."""
    if counts is None:
        return None
    return Measured(counts.total - counts.correct, counts.total, counts.enumerated)


def last(run: RunView, wanted: Callable[[Record], bool]) -> list[Measured]:
    """Counts of the last evaluation."""
    return [measured(record) for record in run.at(run.last_step) if wanted(record)]
