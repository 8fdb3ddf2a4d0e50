"""Tables of the recipes on relative positions: sums upward, residues, and products with their steps written."""

from collections.abc import Callable, Sequence

from lengthwise.records.schema import TRUTH
from lengthwise.records.verdicts import FAILS, HOLDS, Measured, judge, measured
from lengthwise.records.view import RunView
from lengthwise.report.beyond import (
    RESIDUES,
    Candidate,
    Spread,
    agreements,
    average,
    candidates,
    chains_seen,
    chains_unseen,
    goes_on,
    others,
)
from lengthwise.report.collection import Collection
from lengthwise.report.formats import TextTable
from lengthwise.report.leaderboard import MEASURED
from lengthwise.report.run_tables import converged, learned
from lengthwise.report.theorems import verdict_on
from lengthwise.theory.encodings import layout_facts

ADDITION, JELASSI, PRODUCTS = "relative-addition-", "jelassi-", "relative-multiplication-"
STEPS = ("sums", "carries", "answer")

Rows = list[list[RunView]]
"""Runs that differ in seed alone, together."""


def rows_of(collection: Collection, prefix: str) -> Rows:
    """In the order of their names."""
    return [views for name, views in collection.rows.items() if name.startswith(prefix)]


def addition_table(collection: Collection) -> TextTable | None:
    """Does a model fail where theory says, on chains longer than it ever saw, and only there?"""
    columns = (
        "encoding",
        "trained on",
        "learned",
        "longer sums right",
        "as windowed:n",
        "as windowed:n+1",
        "seen chains right",
        "longer chains right",
        "Theorem 3",
        "where it fails",
    )
    lines = [_addition_line(views) for views in rows_of(collection, ADDITION)]
    return TextTable("Sums upward", columns, tuple(lines), words=2) if lines else None


def _addition_line(views: Sequence[RunView]) -> tuple[str, ...]:
    first = views[0]
    n = first.train.length
    words = [verdict.word for view in views for verdict in view.verdicts()]
    return (
        first.spec.positions,
        str(first.train),
        str(spread(views, learned)),
        *(str(spread(views, lambda view, ref=ref: average(agreements(view, ref)))) for ref in _references(n)),
        str(spread(views, lambda view: share(chains_seen(view)))),
        str(spread(views, lambda view: share(chains_unseen(view)))),
        verdict_on(words),
        verdict_words(views),
    )


def _references(n: int) -> tuple[str, ...]:
    return TRUTH, f"windowed:{n}", f"windowed:{n + 1}"


def verdict_words(views: Sequence[RunView]) -> str:
    """In words, if all seeds say the same."""
    found = {_where_it_fails(view) for view in views}
    return found.pop() if len(found) == 1 else "seeds differ: " + "; ".join(sorted(found))


def _where_it_fails(view: RunView) -> str:
    seen, unseen = chains_seen(view), chains_unseen(view)
    if seen is None or unseen is None:
        return "not measured"
    if not converged(view):
        return "not learned yet"
    known, wrong, right = judge(seen, True), judge(others(unseen), True), judge(unseen, True)
    if known == HOLDS:
        return {
            (HOLDS, FAILS): "where theory says, and only there",
            (FAILS, HOLDS): "nowhere: longer chains are right too",
        }.get((wrong or "", right or ""), "there alone, and not always")
    return "elsewhere too" if known == FAILS else "undecided"


def jelassi_table(collection: Collection) -> TextTable | None:
    """Every fifth length, up to the longest."""
    rows = rows_of(collection, JELASSI)
    if not rows:
        return None
    tests = rows[0][0].tests
    longest = max(domain.length for domain in tests)
    shown = [str(domain) for domain in tests if domain.length % 5 == 0 or domain.length == longest or longest < 10]
    lines = [
        (
            views[0].spec.positions,
            str(views[0].train),
            *(str(on(views, test)) for test in shown),
            MEASURED[goes_on(views)],
        )
        for views in rows
    ]
    columns = ("encoding", "trained on", *shown, "goes on")
    return TextTable("From five digits to twenty", columns, tuple(lines), words=2)


def modular_table(collection: Collection) -> TextTable | None:
    columns = ("encoding", "modulo", "learned", "right", "as truncated:n", "best candidate", "agrees", "fits")
    lines = [_modular_line(views) for views in rows_of(collection, RESIDUES)]
    return TextTable("Which function?", columns, tuple(lines), words=2) if lines else None


def _modular_line(views: Sequence[RunView]) -> tuple[str, ...]:
    found, n = candidates(views), views[0].train.length
    named = {candidate.name: str(candidate.agreement) for candidate in found}
    best = found[0]
    return (
        views[0].spec.positions,
        str(views[0].task.modulus),
        str(spread(views, learned)),
        named.get(TRUTH, "–"),
        named.get(f"truncated:{n}", "–"),
        best.name,
        str(best.agreement),
        _fit(found),
    )


def _fit(found: Sequence[Candidate]) -> str:
    """Whether the best candidate is what was learned; where none is surely so, whether one may be."""
    words = [candidate.word for candidate in found]
    if words[0] == HOLDS:
        return "yes"
    return "none fits" if {*words} == {FAILS} else "undecided"


def products_table(collection: Collection) -> TextTable | None:
    """One length above training for the steps; every longer length for whole answers."""
    rows = rows_of(collection, PRODUCTS)
    if not rows:
        return None
    tests = [str(domain) for domain in rows[0][0].spec.longer()]
    steps = [f"{kind} on {tests[0]}" for kind in STEPS]
    lines = [
        (
            views[0].spec.positions,
            "sums and carries" if has_steps(views[0]) else "at once",
            str(views[0].train),
            str(spread(views, learned)),
            *(str(on(views, test)) for test in tests),
            *(str(spread(views, lambda view, kind=kind: share(step_counts(view, kind)))) for kind in STEPS),
        )
        for views in rows
    ]
    columns = ("encoding", "written", "trained on", "learned", *tests, *steps)
    return TextTable("Longer products", columns, tuple(lines), words=3)


def has_steps(view: RunView) -> bool:
    return layout_facts(view.layout).with_steps


def step_counts(view: RunView, kind: str) -> Measured | None:
    """Problems one length above training whose every step of a kind is right."""
    domain = str(view.spec.longer()[0])
    for record in view.at(view.last_step):
        if (record.metric, record.domain) == (f"steps:{kind}", domain):
            return measured(record)
    return None


def on(views: Sequence[RunView], domain: str) -> Spread:
    return spread(views, lambda view: share(view.final_counts.get((domain, TRUTH))))


def share(found: Measured | None) -> float | None:
    return None if found is None else 100 * found.share


def spread(views: Sequence[RunView], number: Callable[[RunView], float | None]) -> Spread:
    found = (number(view) for view in views)
    return Spread(tuple(value for value in found if value is not None))
