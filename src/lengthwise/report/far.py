"""Operands far longer than those trained on: what the summary tells of them, and tables of every length."""

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from statistics import fmean
from typing import Any

from lengthwise.arithmetic import Domain
from lengthwise.records.schema import TRUTH, Record
from lengthwise.records.view import RunView
from lengthwise.report.collection import Collection
from lengthwise.report.formats import TextTable

THOUSAND, SUMS_BY_PAIR = "coupled-1000", "abacus-100-add"
FAMILIES = {
    THOUSAND: THOUSAND,
    "coupled-200": "coupled-200",
    "abacus-100": "abacus-100",
    "long-encodings": "long-encodings",
    "multiplication-upward": "upward-multiplication",
}
"""The recipes on long operands, and how the names of their runs begin."""
EVERY_SEED = (THOUSAND, "multiplication-upward")
"""Those whose claim is about every seed."""
WORDS = (
    "Percent of right answers, by digits of the longer operand. Random operands are scored in one pass, or "
    "decoded token by token where it says so; the other problems are special sets."
)
_LENGTH = re.compile(r"D?(\d+)(?:x\d+)?")


def far_summary(collection: Collection) -> dict[str, Any]:
    """The percentage of every seed by tested length, and the mean over pairs of lengths outside the trained ones;
    nothing of runs that are not there."""
    found: dict[str, Any] = {}
    for recipe in EVERY_SEED:
        seeds = collection.rows.get(FAMILIES[recipe], [])
        if seeds:
            tests = sorted(seeds[0].tests, key=lambda domain: domain.length)
            found[recipe] = {str(test.length): [_percent(view, test) for view in seeds] for test in tests}
    outside = [outside_share(view) for view in collection.rows.get(SUMS_BY_PAIR, []) if pair_shares(view)]
    if outside:
        found["abacus-100"] = {"outside": round(100 * fmean(outside), 4)}
    return found


def outside_share(view: RunView) -> float:
    """The mean of right answers over all pairs of operand lengths of which one is longer than all of training.

    A measured length stands for those between the one below and itself, so that short lengths, which are measured
    more densely, count no more than long ones.
    """
    shares = pair_shares(view)
    lengths = sorted({n for n, _ in shares})
    stands_for = {n: n - below for below, n in pairwise([0, *lengths])}
    weights = {(n, m): stands_for[n] * stands_for[m] for n, m in shares if max(n, m) > view.train.length}
    return sum(weight * shares[pair] for pair, weight in weights.items()) / sum(weights.values())


def pair_shares(view: RunView) -> dict[tuple[int, int], float]:
    """After the last evaluation, by the lengths of a and b."""
    found: dict[tuple[int, int], float] = {}
    for record in view.at(view.last_step):
        kind, *lengths = record.metric.split(":")
        if kind == "pair" and record.reference == TRUTH and record.correct is not None:
            found[int(lengths[0]), int(lengths[1])] = record.correct / record.total
    return found


def far_tables(collection: Collection) -> list[TextTable]:
    """Of each recipe that has been run."""
    found = (far_table(recipe, collection) for recipe in FAMILIES)
    return [table for table in found if table is not None]


def far_table(recipe: str, collection: Collection) -> TextTable | None:
    """A line for each run and kind of problem: right answers by length, in percent."""
    start = f"{FAMILIES[recipe]}-" if recipe in FAMILIES else None
    views = [view for view in collection.views if start is not None and view.name.startswith(start)]
    if not views:
        return None
    lengths = sorted({domain.length for view in views for domain in view.tests})
    lines = [line for view in views for line in _lines(view, lengths)]
    return TextTable(recipe, ("run", "trained on", "problems", *map(str, lengths)), tuple(lines), words=3)


def _lines(view: RunView, lengths: Sequence[int]) -> Iterable[tuple[str, ...]]:
    exact = [r for r in view.at(view.last_step) if (r.metric, r.reference) == ("exact", TRUTH)]
    kinds = {"random": _by_length(exact, "forced", ""), "random, decoded": _by_length(exact, "decoded", "")}
    names = dict.fromkeys(record.domain.partition(":")[2] for record in exact)
    kinds |= {name: _by_length(exact, "forced", f":{name}") for name in names if name}
    for kind, found in kinds.items():
        if found:
            yield (view.name, str(view.train), kind, *(found.get(length, "–") for length in lengths))


def _by_length(records: Iterable[Record], mode: str, ending: str) -> dict[int, str]:
    """Percent by length, of domains called D20, or 20x2, and the ending."""
    found: dict[int, str] = {}
    for record in records:
        length = _LENGTH.fullmatch(record.domain.removesuffix(ending))
        if record.mode == mode and record.correct is not None and length is not None:
            found[int(length[1])] = f"{100 * record.correct / record.total:.4g}"
    return found


def _percent(view: RunView, test: Domain) -> float:
    return round(100 * view.final_counts[str(test), TRUTH].share, 4)
