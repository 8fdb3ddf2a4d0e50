"""The search for a function: which of the hypotheses that a run was held against fits longer operands best."""

from collections.abc import Sequence
from dataclasses import dataclass

from lengthwise.records.schema import TRUTH
from lengthwise.records.view import RunView
from lengthwise.report.beyond import agreements, average, goes_on, longer_domains
from lengthwise.report.spread import Spread

PREFIX = "relative-modular-"


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
    longer = {str(domain) for domain in longer_domains(views[0])}
    per_run = [[ref for domain, ref in view.final_counts if domain in longer] for view in views]
    names = dict.fromkeys([TRUTH, *(name for names in per_run for name in names)])
    return [name for name in names if all(names.count(name) == len(longer) for names in per_run)]


def _candidate(views: Sequence[RunView], name: str) -> Candidate:
    means = [average(agreements(view, name)) for view in views]
    return Candidate(name, Spread(tuple(mean for mean in means if mean is not None)), goes_on(views, name))
