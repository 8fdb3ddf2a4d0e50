"""What runs do on operands longer than those they were trained on, and which of many functions that is."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from lengthwise.records.schema import TRUTH
from lengthwise.records.verdicts import UNDECIDED, Measured, combined, judge
from lengthwise.records.view import RunView
from lengthwise.report.run_tables import converged
from lengthwise.report.tables import short_percent


def agreements(view: RunView, reference: str = TRUTH) -> list[Measured]:
    """On every longer length that was compared with it."""
    counts = view.final_counts
    found = (counts.get((str(domain), reference)) for domain in view.spec.longer())
    return [measured for measured in found if measured is not None]


def average(measured: Iterable[Measured]) -> float | None:
    """The mean percentage, every length counting alike."""
    shares = [100 * one.share for one in measured]
    return sum(shares) / len(shares) if shares else None


def goes_on(views: Sequence[RunView], reference: str = TRUTH) -> str:
    """Whether seeds of one row are right, or answer as another reference does, on 99 % of every longer length:
    `holds` if all do, `fails` if none does, else `undecided`.

    A seed that has not learned what it was trained on has no say, and it takes more than half of them to decide.
    """
    able = [view for view in views if converged(view)]
    words = {combined(judge(one, converged=True) for one in agreements(view, reference)) for view in able}
    return words.pop() or UNDECIDED if len(words) == 1 and 2 * len(able) > len(views) else UNDECIDED


def chains(view: RunView, wanted: Iterable[int], reference: str = TRUTH) -> Measured | None:
    """Longer problems whose longest carry chain is one of these, all lengths together."""
    names, domains = {f"chain:{k}" for k in wanted}, {str(domain) for domain in view.spec.longer()}
    found = [
        record
        for record in view.at(view.last_step)
        if record.metric in names and record.domain in domains and record.reference == reference
    ]
    if not found:
        return None
    correct = sum(record.correct or 0 for record in found)
    return Measured(correct, sum(record.total for record in found), False)


def chains_seen(view: RunView) -> Measured | None:
    """Chains of up to n columns, as training has them."""
    return chains(view, range(view.train.length + 1))


def chains_unseen(view: RunView) -> Measured | None:
    longest = max((domain.length for domain in view.spec.longer()), default=0)
    return chains(view, range(view.train.length + 1, longest + 1))


def others(measured: Measured | None) -> Measured | None:
    """The problems that it does not count."""
    if measured is None:
        return None
    return Measured(measured.total - measured.correct, measured.total, measured.enumerated)


@dataclass(frozen=True)
class Spread:
    """Percentages, one for each seed.

    >>> str(Spread((99.0, 100.0))), str(Spread((50.0,))), str(Spread(()))
    ('99.5 (99–100)', '50', '–')
    """

    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        return fmean(self.values)

    @property
    def lowest(self) -> float:
        return min(self.values)

    @property
    def highest(self) -> float:
        return max(self.values)

    def __str__(self) -> str:
        if not self.values:
            return "–"
        shown = [short_percent(value) for value in (self.mean, self.lowest, self.highest)]
        return shown[0] if shown[1] == shown[2] else f"{shown[0]} ({shown[1]}–{shown[2]})"


RESIDUES = "relative-modular-"
"""How the names of runs begin whose function is searched for."""


@dataclass(frozen=True)
class Candidate:
    name: str
    agreement: Spread
    """The average over longer lengths, for each seed."""
    word: str
    """`holds` if seeds that have learned, more than half, all answer so on 99 % of every longer length."""


def candidates(views: Sequence[RunView]) -> list[Candidate]:
    """Those that all seeds were held against, the best first; of equals truth, then the one named first."""
    found = [_candidate(views, name) for name in _references(views)]
    return sorted(found, key=lambda candidate: -candidate.agreement.mean)


def _references(views: Sequence[RunView]) -> list[str]:
    """Truth first. A hypothesis counts if it was compared on every longer length."""
    longer = {str(domain) for domain in views[0].spec.longer()}
    per_run = [[ref for domain, ref in view.final_counts if domain in longer] for view in views]
    names = dict.fromkeys([TRUTH, *(name for names in per_run for name in names)])
    return [name for name in names if all(names.count(name) == len(longer) for names in per_run)]


def _candidate(views: Sequence[RunView], name: str) -> Candidate:
    means = [average(agreements(view, name)) for view in views]
    return Candidate(name, Spread(tuple(mean for mean in means if mean is not None)), goes_on(views, name))
