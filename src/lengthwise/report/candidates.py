"""The search for a function: which of the hypotheses that a run was held against fits longer operands best."""

from collections.abc import Sequence
from dataclasses import dataclass

from lengthwise.records.schema import TRUTH
from lengthwise.records.verdicts import TOLERANCE
from lengthwise.records.view import RunView
from lengthwise.report.beyond import agreements, average, longer_domains
from lengthwise.report.comparison import final_counts
from lengthwise.report.spread import Spread

PREFIX = "relative-modular-"


@dataclass(frozen=True)
class Candidate:
    name: str
    agreement: Spread
    """The average over longer lengths, for each seed."""
    worst: float
    """The lowest on any longer length, of any seed."""

    @property
    def fits(self) -> bool:
        """Whether every seed answers so on 99 % of every longer length."""
        return self.worst >= 100 * (1 - TOLERANCE)


def candidates(views: Sequence[RunView]) -> list[Candidate]:
    """Those that all seeds were held against, the best first; of equals truth, then the one named first."""
    found = [_candidate(views, name) for name in _references(views)]
    return sorted(found, key=lambda candidate: -candidate.agreement.mean)


def _references(views: Sequence[RunView]) -> list[str]:
    """Truth first. A hypothesis counts if it was compared on every longer length."""
    longer = {str(domain) for domain in longer_domains(views[0])}
    per_run = [[ref for domain, ref in final_counts(view) if domain in longer] for view in views]
    names = dict.fromkeys([TRUTH, *(name for names in per_run for name in names)])
    return [name for name in names if all(names.count(name) == len(longer) for names in per_run)]


def _candidate(views: Sequence[RunView], name: str) -> Candidate:
    found = [agreements(view, name) for view in views]
    means = [average(own) for own in found]
    return Candidate(
        name,
        Spread(tuple(mean for mean in means if mean is not None)),
        min(100 * measured.share for own in found for measured in own),
    )
