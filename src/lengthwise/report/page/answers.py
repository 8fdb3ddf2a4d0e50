"""Figures of answers at the end: how decoded ones fail, and a map of both operands' lengths."""

import re
from collections.abc import Sequence

from lengthwise.records.schema import TRUTH, Record
from lengthwise.report.page.figure import DataTable, Figure, Grid, heat_map, named_axis, percent_axis
from lengthwise.report.page.questions import Setting
from lengthwise.report.tables import percent

PAIR = re.compile(r"pair:(\d+):(\d+)")
FIRST_WRONG = "first_wrong:"
RIGHT, MALFORMED, WRONG_LENGTH = "right", "not a number", "wrong number of digits"
FAILURE_COLOURS = {RIGHT: "#009E73", MALFORMED: "#CC79A7", WRONG_LENGTH: "#E69F00"}
# Wrong digits from the ones place up: from light to dark, so that their order shows.
DIGIT_COLOURS = ("#C9E6F6", "#9BD0EE", "#6DBBE6", "#3F9FD2", "#1C87BE", "#0072B2", "#005C90")


def answer_figures(setting: Setting) -> list[Figure]:
    found = [failures(setting), length_map(setting)]
    return [figure for figure in found if figure is not None]


def failures(setting: Setting) -> Figure | None:
    """Decoded answers by the way they fail, all runs of a setting together."""
    counts: dict[str, dict[str, int]] = {}
    for record in _last(setting):
        if record.mode == "decoded" and record.reference == TRUTH and (kind := _kind(record.metric)):
            kinds = counts.setdefault(record.domain, {})
            kinds[kind] = kinds.get(kind, 0) + (record.correct or 0)
    if not counts:
        return None
    domains, kinds = list(counts), sorted({kind for found in counts.values() for kind in found}, key=_kind_order)
    totals = {domain: sum(found.values()) for domain, found in counts.items()}
    shares = {kind: [counts[d].get(kind, 0) / totals[d] for d in domains] for kind in kinds}
    shown_kinds = [kind for kind in kinds if any(shares[kind])]
    digits = [kind for kind in shown_kinds if kind not in FAILURE_COLOURS]
    traces = [
        {
            "type": "bar",
            "name": kind,
            "x": list(range(len(domains))),
            "y": [round(100 * share, 3) for share in shares[kind]],
            "marker": {"color": _kind_colour(kind, digits)},
            "hovertemplate": f"{kind}: %{{y:.2f}} %<extra></extra>",
        }
        for kind in shown_kinds
    ]
    right = ", ".join(f"{d} {percent(share)} %" for d, share in zip(domains, shares[RIGHT], strict=True))
    return Figure(
        title="How answers fail",
        note="Answers written token by token. A wrong one is not a number, has the wrong number of digits, or is "
        "wrong first at some digit, counted from the ones place.",
        alt=f"Decoded answers by the way they fail. Right: {right}.",
        data=traces,
        layout={
            "barmode": "stack",
            "xaxis": named_axis(domains, "tested on"),
            "yaxis": percent_axis("answers") | {"range": [0, 100]},
            "height": 400,
        },
        table=DataTable(
            ("tested on", *(f"{kind} %" for kind in shown_kinds)),
            [(d, *(percent(shares[kind][i]) for kind in shown_kinds)) for i, d in enumerate(domains)],
        ),
    )


def length_map(setting: Setting) -> Figure | None:
    """Right answers by the lengths of both operands, from counts called pair:LENGTH_OF_A:LENGTH_OF_B."""
    counts: dict[tuple[int, int], tuple[int, int]] = {}
    for record in _last(setting):
        match = PAIR.fullmatch(record.metric)
        if match and record.reference == TRUTH:
            lengths = int(match[1]), int(match[2])
            correct, total = counts.get(lengths, (0, 0))
            counts[lengths] = correct + (record.correct or 0), total + record.total
    if not counts:
        return None
    rows, columns = (sorted({lengths[k] for lengths in counts}) for k in (0, 1))
    shares = {lengths: correct / total for lengths, (correct, total) in counts.items()}
    worst = min(shares, key=lambda lengths: shares[lengths])
    return heat_map(
        Grid(
            rows=[str(n) for n in rows],
            columns=[str(n) for n in columns],
            shares=[[shares.get((n, m)) for m in columns] for n in rows],
        ),
        title="Right answers by both lengths",
        note="Rows: digits of the first operand. Columns: digits of the second.",
        alt=f"Right answers by the lengths of both operands, {rows[0]} to {rows[-1]} by {columns[0]} to "
        f"{columns[-1]} digits. The lowest is {percent(shares[worst])} % at {worst[0]} by {worst[1]}.",
        x="digits of b",
        y="digits of a",
        corner="digits of a, of b",
    )


def _last(setting: Setting) -> Sequence[Record]:
    return [record for run in setting.runs for record in run.last_counts]


def _kind(metric: str) -> str | None:
    if metric.startswith(FIRST_WRONG):
        return f"first wrong at digit {metric.removeprefix(FIRST_WRONG)}"
    return {"exact": RIGHT, "malformed": MALFORMED, "wrong_length": WRONG_LENGTH}.get(metric)


def _kind_order(kind: str) -> tuple[int, int]:
    named = list(FAILURE_COLOURS)
    return (named.index(kind), 0) if kind in named else (len(named), _digit(kind))


def _kind_colour(kind: str, digits: Sequence[str]) -> str:
    """`digits`: the kinds that are about a digit, among which colours are shared out."""
    if kind in FAILURE_COLOURS:
        return FAILURE_COLOURS[kind]
    return DIGIT_COLOURS[digits.index(kind) * (len(DIGIT_COLOURS) - 1) // max(1, len(digits) - 1)]


def _digit(kind: str) -> int:
    return int(kind.rpartition(" ")[2])
