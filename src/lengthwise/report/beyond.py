"""What a run does on operands longer than those it was trained on, from its last evaluation."""

from collections.abc import Iterable, Sequence

from lengthwise.arithmetic import Domain
from lengthwise.records.schema import TRUTH
from lengthwise.records.verdicts import UNDECIDED, Measured, combined, judge
from lengthwise.records.view import RunView
from lengthwise.report.rows import converged


def longer_domains(view: RunView) -> list[Domain]:
    return [domain for domain in view.tests if domain.length > view.train.length]


def agreements(view: RunView, reference: str = TRUTH) -> list[Measured]:
    """On every longer length that was compared with it."""
    counts = view.final_counts
    found = (counts.get((str(domain), reference)) for domain in longer_domains(view))
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
    names, domains = {f"chain:{k}" for k in wanted}, {str(domain) for domain in longer_domains(view)}
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
    longest = max((domain.length for domain in longer_domains(view)), default=0)
    return chains(view, range(view.train.length + 1, longest + 1))


def others(measured: Measured | None) -> Measured | None:
    """The problems that it does not count."""
    if measured is None:
        return None
    return Measured(measured.total - measured.correct, measured.total, measured.enumerated)
