"""What the paper says of relative positions beside Theorem 3's window: decided on the runs of its recipes."""

from collections.abc import Callable, Iterable, Sequence

from lengthwise.records.verdicts import FAILS, HOLDS, UNDECIDED, Measured, judge
from lengthwise.records.view import RunView
from lengthwise.report.beyond import agreements, chains_seen, chains_unseen, goes_on, others
from lengthwise.report.leaderboard import leaderboard
from lengthwise.report.relative import ADDITION, JELASSI, PRODUCTS, has_steps, step_counts
from lengthwise.report.run_tables import converged
from lengthwise.theory.encodings import ABSOLUTE, RELATIVE
from lengthwise.theory.rules import window_bound

Words = list[str | None]


def absolute_marks(views: Sequence[RunView]) -> tuple[int, Words]:
    return _table_1_marks(views, ABSOLUTE)


def relative_marks(views: Sequence[RunView]) -> tuple[int, Words]:
    return _table_1_marks(views, RELATIVE)


def _table_1_marks(views: Sequence[RunView], family: str) -> tuple[int, Words]:
    """A verdict for each task."""
    board = leaderboard(views)
    line = None if board is None else board.paper_lines().get(family)
    cells = [] if line is None else list(line.cells.values())
    return sum(len(cell.views) for cell in cells), [cell.word for cell in cells]


def failures_are_rare(views: Sequence[RunView]) -> tuple[int, Words]:
    """Theorem 3's own bound: wrong at most once in base^(n-1), on every longer length."""
    runs = _named(views, ADDITION)
    words: Words = []
    for view in runs:
        allowed = 1 - float(window_bound(view.task.base, view.train.length))
        words += [_above(measured, allowed, converged(view)) for measured in agreements(view)]
    return len(runs), words


def _above(measured: Measured, allowed: float, learned: bool) -> str:
    low, high = measured.interval
    if not learned:
        return UNDECIDED
    return HOLDS if low >= allowed else FAILS if high < allowed else UNDECIDED


def seen_chains_right(views: Sequence[RunView]) -> tuple[int, Words]:
    return _judged(_named(views, ADDITION), chains_seen)


def longer_chains_wrong(views: Sequence[RunView]) -> tuple[int, Words]:
    return _judged(_named(views, ADDITION), lambda view: others(chains_unseen(view)))


def five_go_to_twenty(views: Sequence[RunView]) -> tuple[int, Words]:
    """On every longer length; by encoding, whichever of the two training sets."""
    runs = _named(views, JELASSI)
    return len(runs), [goes_on([view]) for view in runs]


def steps_carry_over(views: Sequence[RunView]) -> tuple[int, Words]:
    """Given all before them, carries and answer digits one length above training are right."""
    runs = _with_steps(views)
    words = [judge(step_counts(view, kind), converged(view)) for view in runs for kind in ("carries", "answer")]
    return len(runs), words


def written_steps_suffice(views: Sequence[RunView]) -> tuple[int, Words]:
    """Whole answers one length above training are right where sums and carries are written before them."""
    return _judged(_with_steps(views), lambda view: next(iter(agreements(view)), None))


def raw_sums_are_hard(views: Sequence[RunView]) -> tuple[int, Words]:
    """Raw sums one length above training go wrong, more often than one in a hundred."""
    runs = _with_steps(views)
    words = [judge(step_counts(view, "sums"), converged(view)) for view in runs]
    return len(runs), [{HOLDS: FAILS, FAILS: HOLDS}.get(word or "", word) for word in words]


def _with_steps(views: Sequence[RunView]) -> list[RunView]:
    return [view for view in _named(views, PRODUCTS) if has_steps(view)]


def _judged(runs: Sequence[RunView], found: Callable[[RunView], Measured | None]) -> tuple[int, Words]:
    return len(runs), [judge(found(view), converged(view)) for view in runs]


def _named(views: Iterable[RunView], prefix: str) -> list[RunView]:
    return [view for view in views if view.name.startswith(prefix)]
