"""Operands far longer than those trained on: what the summary tells of them, and tables of every length."""

import re
from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import Any

from lengthwise.records.schema import TRUTH, Record
from lengthwise.records.view import RunView
from lengthwise.report.collection import Collection
from lengthwise.report.comparison import final_counts
from lengthwise.report.formats import TextTable

THOUSAND, SUMS_BY_PAIR = "coupled-1000", "abacus-100-add"
FAMILIES = (THOUSAND, "coupled-200", "abacus-100", "long-encodings", "upward-multiplication")
"""How the names of runs on long operands begin."""
_LENGTH = re.compile(r"D?(\d+)(?:x\d+)?")


def far_summary(collection: Collection) -> dict[str, Any]:
    """The percentage of every seed by tested length, and the mean over pairs of lengths outside the trained ones;
    nothing of runs that are not there."""
    found: dict[str, Any] = {}
    seeds = collection.rows.get(THOUSAND, [])
    if seeds:
        lengths = [domain.length for domain in seeds[0].tests]
        found[THOUSAND] = {str(n): [_percent(view, n) for view in seeds] for n in sorted(lengths)}
    outside = [share for view in collection.rows.get(SUMS_BY_PAIR, []) for share in outside_shares(view)]
    if outside:
        found["abacus-100"] = {"outside": round(100 * fmean(outside), 4)}
    return found


def outside_shares(view: RunView) -> list[float]:
    """Right answers by pair of operand lengths, where one of them is longer than all of training."""
    return [share for (n, m), share in pair_shares(view).items() if max(n, m) > view.train.length]


def pair_shares(view: RunView) -> dict[tuple[int, int], float]:
    """After the last evaluation, by the lengths of a and b."""
    found: dict[tuple[int, int], float] = {}
    for record in view.at(view.last_step):
        kind, *lengths = record.metric.split(":")
        if kind == "pair" and record.reference == TRUTH and record.correct is not None:
            found[int(lengths[0]), int(lengths[1])] = record.correct / record.total
    return found


def far_tables(collection: Collection) -> list[TextTable]:
    """For each family of runs, a line for each run and kind of problem: right answers by length, in percent."""
    return [_table(family, views) for family in FAMILIES if (views := _of_family(collection, family))]


def _of_family(collection: Collection, family: str) -> list[RunView]:
    return [view for view in collection.views if view.name.startswith(f"{family}-")]


def _table(family: str, views: Sequence[RunView]) -> TextTable:
    lengths = sorted({domain.length for view in views for domain in view.tests})
    lines = [line for view in views for line in _lines(view, lengths)]
    return TextTable(family, ("run", "trained on", "problems", *map(str, lengths)), tuple(lines), words=3)


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


def _percent(view: RunView, length: int) -> float:
    return round(100 * final_counts(view)[f"D{length}", TRUTH].share, 4)
