"""Records as tables."""

from collections.abc import Sequence

from rich.markup import escape
from rich.table import Table

from lengthwise.records.intervals import interval
from lengthwise.records.schema import Record
from lengthwise.report.tables import new_table


def record_table(records: Sequence[Record]) -> Table:
    """Exact match of every domain and reference, with its 95 % interval."""
    table = new_table("test on", "against", "mode", "correct", "of", "%", "95 % interval")
    for r in records:
        if r.metric != "exact" or r.correct is None:
            continue
        low, high = interval(r.correct, r.total, r.selection == "enumerated")
        share = f"{100 * r.correct / r.total:.2f}"
        between = "whole domain" if r.selection == "enumerated" else f"{100 * low:.2f} – {100 * high:.2f}"
        table.add_row(escape(r.domain), r.reference, r.mode, str(r.correct), str(r.total), share, between)
    return table


def failure_table(records: Sequence[Record]) -> Table:
    """How decoded answers fail: not even a number, of the wrong length, or wrong from some digit on."""
    kinds = ("exact", "malformed", "wrong_length", "first_wrong")
    decoded = [r for r in records if r.mode == "decoded" and r.metric.partition(":")[0] in kinds]
    table = new_table("decoded", "right", "malformed", "wrong length", "first wrong digit: answers")
    for domain in dict.fromkeys(r.domain for r in decoded):
        counts = {r.metric: r.correct or 0 for r in decoded if r.domain == domain}
        digits = [
            f"{metric.partition(':')[2]}: {count}"
            for metric, count in counts.items()
            if metric.startswith("first_wrong")
        ]
        table.add_row(
            escape(domain),
            str(counts["exact"]),
            str(counts["malformed"]),
            str(counts["wrong_length"]),
            ", ".join(digits) or "–",
        )
    return table


DETAIL_LEGEND = (
    "Loss: cross-entropy per answer token, in nats. Probability: the mean one that the model gives the whole "
    "answer. Within reach: answers whose every digit has a probability above 0.001. Outside: the largest mean "
    "probability, over answer digits, of digits that training never showed there. Digits: % right, given right "
    "ones before, against truth, from the units on."
)


def detail_table(records: Sequence[Record]) -> Table:
    """What one pass tells besides exact match: how sure a model is, how near, and digit by digit."""
    table = new_table("test on", "against", "loss", "probability", "within reach %", "outside", "digits")
    for own in (r for r in records if r.metric == "strong"):
        mine = {r.metric: r for r in records if (r.domain, r.reference) == (own.domain, own.reference)}
        digits = [
            f"{100 * r.correct / r.total:.0f}"
            for r in records
            if r.domain == own.domain and r.metric.startswith("digit:") and r.correct is not None
        ]
        outside = [r.value for name, r in mine.items() if name.startswith("support:") and r.value is not None]
        table.add_row(
            escape(own.domain),
            own.reference,
            f"{mine['loss'].value:.4f}",
            f"{own.value:.4f}",
            f"{100 * (mine['weak'].correct or 0) / mine['weak'].total:.2f}",
            f"{max(outside):.1e}" if outside else "–",
            " ".join(digits),
        )
    return table
