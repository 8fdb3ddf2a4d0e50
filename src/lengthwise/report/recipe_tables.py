"""The tables of recipes beside the paper's own, and what each recipe took."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isnan, nan
from typing import Any

import polars as pl

from lengthwise.arithmetic import Task
from lengthwise.recipes import Recipe, of_rows
from lengthwise.recipes.recipe import (
    Tally,
    chains_seen,
    chains_unseen,
    generalizes,
    others,
    tally,
)
from lengthwise.recipes.relative import has_steps, step_counts
from lengthwise.records.frame import records_frame
from lengthwise.records.schema import TRUTH
from lengthwise.records.verdicts import FAILS, HOLDS, Measured, combined, judge
from lengthwise.records.view import RunView
from lengthwise.report.answers import LONGER, SHORTER, TRAINED, Spread, Spreads, answers, right, rows_of
from lengthwise.report.collection import Collection
from lengthwise.report.formats import TextTable
from lengthwise.report.tables import short_percent

STEPS = ("sums", "carries", "answer")


def sums_upward(collection: Collection, recipe: Recipe) -> TextTable | None:
    """Does a model fail where theory says, on chains longer than it ever saw, and only there?"""
    rows = rows_of(recipe, collection)
    found = answers(_runs(rows))
    learned = Spreads(right(found, TRAINED), "row")
    longer = Spreads(found.filter(part=LONGER), "row", "reference")
    lines = [
        (
            *_asked(views),
            str(learned[row,]),
            *(str(longer[row, reference]) for reference in (TRUTH, f"windowed:{n}", f"windowed:{n + 1}")),
            *(_share(views, chains) for chains in (chains_seen, chains_unseen)),
            str(tally(run_verdict(view) for view in views)),
            where_it_fails(views),
        )
        for row, views in rows.items()
        for n in (views[0].train.length,)
    ]
    columns = (
        *("encoding", "trained on", "learned", "longer sums right", "as windowed:n", "as windowed:n+1"),
        *("seen chains right", "longer chains right", "Theorem 3", "where it fails"),
    )
    return _table("Sums longer than trained", columns, lines, words=2)


def where_it_fails(views: Sequence[RunView]) -> str:
    """In words, if all seeds say the same."""
    found = {_where_it_fails(view) for view in views}
    return found.pop() if len(found) == 1 else "seeds differ: " + "; ".join(sorted(found))


def _where_it_fails(view: RunView) -> str:
    seen, unseen = chains_seen(view), chains_unseen(view)
    if seen is None or unseen is None:
        return "not measured"
    if not view.converged:
        return "not learned yet"
    known, wrong, are_right = judge(seen, True), judge(others(unseen), True), judge(unseen, True)
    if known == HOLDS:
        return {
            (HOLDS, FAILS): "where theory says, and only there",
            (FAILS, HOLDS): "nowhere: longer chains are right too",
        }.get((wrong or "", are_right or ""), "there alone, and not always")
    return "elsewhere too" if known == FAILS else "undecided"


def five_to_twenty(collection: Collection, recipe: Recipe) -> TextTable | None:
    """Every fifth length, up to the longest."""
    rows = rows_of(recipe, collection)
    found = Spreads(right(answers(_runs(rows))), "row", "domain")
    tests = [domain for views in rows.values() for domain in views[0].tests]
    longest = max((domain.length for domain in tests), default=0)
    shown = dict.fromkeys(str(d) for d in tests if d.length % 5 == 0 or d.length == longest or longest < 10)
    lines = [
        (
            *_asked(views),
            *(str(found[row, test]) for test in shown),
            tally(map(generalizes, views)).counted,
        )
        for row, views in rows.items()
    ]
    return _table("From five digits to twenty", ("encoding", "trained on", *shown, "goes on"), lines, words=2)


@dataclass(frozen=True)
class Candidate:
    name: str
    agreement: Spread
    """The average over longer lengths, for each seed."""
    fits: Tally
    """Seeds that have learned and answer so on 99 % of every longer length."""


def candidates(views: Sequence[RunView]) -> list[Candidate]:
    """Those that all seeds were compared with on every longer length, the best first; of equals truth, then the
    one named first."""
    found = answers(views).filter(part=LONGER)
    lines = len(views) * len(views[0].spec.longer())
    names = found.group_by("reference", maintain_order=True).len().filter(len=lines)["reference"].to_list()
    agreement = Spreads(found, "reference")
    listed = [
        Candidate(name, agreement[name,], tally(generalizes(view, name) for view in views))
        for name in sorted(names, key=lambda name: name != TRUTH)
    ]
    return sorted(listed, key=lambda candidate: -candidate.agreement.mean)


def which_function(collection: Collection, recipe: Recipe) -> TextTable | None:
    rows = rows_of(recipe, collection)
    learned = Spreads(right(answers(_runs(rows)), TRAINED), "row")
    lines = [
        (views[0].spec.positions, modulus_words(views[0].task), str(learned[row,]), *_candidates(views))
        for row, views in rows.items()
    ]
    columns = ("encoding", "modulo", "learned", "right", "as truncated:n", "best candidate", "agrees", "fits")
    return _table("Which function?", columns, lines, words=2)


def modulus_words(task: Task) -> str:
    """
    >>> modulus_words(Task.parse("add%100")), modulus_words(Task.parse("mul%100"))
    ('100', '100, products')
    """
    return f"{task.modulus}" if task.operation == "add" else f"{task.modulus}, products"


def _candidates(views: Sequence[RunView]) -> tuple[str, ...]:
    found = candidates(views)
    named = {candidate.name: str(candidate.agreement) for candidate in found}
    best, truncated = found[0], f"truncated:{views[0].train.length}"
    return named.get(TRUTH, "–"), named.get(truncated, "–"), best.name, str(best.agreement), best.fits.counted


def longer_products(collection: Collection, recipe: Recipe) -> TextTable | None:
    """One length above training for the steps; every longer length for whole answers."""
    rows = rows_of(recipe, collection)
    found = right(answers(_runs(rows)))
    learned, by_domain = Spreads(found.filter(part=TRAINED), "row"), Spreads(found, "row", "domain")
    tests = list(dict.fromkeys(str(domain) for views in rows.values() for domain in views[0].spec.longer()))
    lines = [
        (
            views[0].spec.positions,
            "sums and carries" if has_steps(views[0]) else "at once",
            str(views[0].train),
            str(learned[row,]),
            *(str(by_domain[row, test]) for test in tests),
            *(_share(views, lambda view, kind=kind: step_counts(view, kind)) for kind in STEPS),
        )
        for row, views in rows.items()
    ]
    steps = [f"{kind} on {test}" for test in tests[:1] for kind in STEPS]
    return _table(
        "Longer products", ("encoding", "written", "trained on", "learned", *tests, *steps), lines, words=3
    )


def by_length(collection: Collection, recipe: Recipe) -> TextTable | None:
    """A line for each run and kind of problem: right answers in percent, by digits of the longer operand."""
    views = of_rows(recipe.rows, collection.views)
    suffix = pl.col("domain").str.extract(r":(.+)$").fill_null("random")
    exact = pl.col("last") & (pl.col("metric") == "exact") & (pl.col("reference") == TRUTH)
    found = (
        records_frame(views)
        .filter(exact & pl.col("correct").is_not_null())
        .with_columns(
            pl.col("domain").str.extract(r"^D?(\d+)(?:x\d+)?(?::|$)").cast(pl.Int64).alias("length"),
            pl.when(mode="decoded").then(pl.lit("random, decoded")).otherwise(suffix).alias("kind"),
        )
        .drop_nulls("length")
    )
    lengths = sorted({domain.length for view in views for domain in view.tests})
    shares = {(run, kind, n): share for run, kind, n, share in found["run", "kind", "length", "share"].iter_rows()}
    kinds = [
        "random",
        "random, decoded",
        *(k for k in found["kind"].unique(maintain_order=True) if "random" not in k),
    ]
    lines = [
        (view.name, str(view.train), kind, *(f"{100 * s:.4g}" if s is not None else "–" for s in percents))
        for view in views
        for kind in kinds
        for percents in ([shares.get((view.name, kind, n)) for n in lengths],)
        if any(share is not None for share in percents)
    ]
    title = f"{recipe.name}: right answers (%) by digits of the longer operand"
    return _table(title, ("run", "trained on", "problems", *map(str, lengths)), lines, words=3)


def pair_shares(view: RunView) -> dict[tuple[int, int], float]:
    """After the last evaluation, by the lengths of a and b."""
    pairs = view.frame.filter(pl.col("last") & pl.col("metric").str.starts_with("pair:"), reference=TRUTH)
    lengths = (metric.split(":")[1:] for metric in pairs["metric"])
    return {(int(n), int(m)): share for (n, m), share in zip(lengths, pairs["share"], strict=True)}


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


def row_verdicts(collection: Collection, recipe: Recipe) -> TextTable | None:
    """A line for each row: how far its seeds compute what theory says."""
    rows = rows_of(recipe, collection)
    found = answers(_runs(rows))
    learned = Spreads(right(found, TRAINED), "row")
    agree = found.filter(pl.col("reference") == pl.col("hypothesis"))
    lowest = agree.group_by("row", "part", "run", maintain_order=True).agg(pl.col("percent").min())
    agreement = Spreads(lowest, "row", "part")
    tallies = {row: tally(map(run_verdict, views)) for row, views in rows.items()}
    lines = [
        (
            *(row, str(view.task), str(view.task.base), str(view.train)),
            *(str(spread) for spread in (learned[row,], agreement[row, SHORTER], agreement[row, LONGER])),
            str(tallies[row]),
        )
        for row, (view, *_) in rows.items()
    ]
    hold = sum(own.holds for own in tallies.values())
    columns = ("row", "task", "base", "trained on", "learned", "shorter", "longer", "verdict")
    return _table(f"{hold} of {len(rows)} hold on every length, in every seed", columns, lines, words=2)


def run_verdict(view: RunView) -> str | None:
    """On all lengths that theory speaks of: it holds if the predicted function is computed on each."""
    return combined(verdict.word for verdict in view.verdicts() if verdict.word is not None)


FAMILIES = {"add": "addition", "mul": "multiplication"}


def regularization_grid(collection: Collection, grid: Recipe, family: Recipe) -> TextTable | None:
    """The runs of the grid whose task is of a table's family: agreement beyond training, and accuracy within."""
    views = [view for view in of_rows(grid.rows, collection.views) if _family(view.task) == family.name]
    if not views:
        return None
    found = answers(views)
    beyond = Spreads(found.filter(pl.col("reference") == pl.col("hypothesis"), part=LONGER), "row")
    learned = Spreads(right(found, TRAINED), "row")
    cells = {_regularization(view): view.row for view in views}
    dropouts, decays = (sorted({key[axis] for key in cells}) for axis in (0, 1))

    def cell(place: tuple[float, float]) -> str:
        shown = [short_percent(round(part[cells[place],].mean, 2)) for part in (beyond, learned) if place in cells]
        return f"{shown[0]} ({shown[1]})" if shown else "–"

    return TextTable(
        f"{views[0].task} trained on {views[0].train} for {views[0].config['training']['steps']} steps",
        ("dropout", *(f"decay {decay:g}" for decay in decays)),
        tuple((f"{x:g}", *(cell((x, y)) for y in decays)) for x in dropouts),
    )


def _family(task: Task) -> str:
    word = FAMILIES[task.operation]
    return word if task.modulus is None else f"modular-{word}"


def _regularization(view: RunView) -> tuple[float, float]:
    return view.config["model"]["dropout"], view.config["training"]["weight_decay"]


def _table(title: str, columns: tuple[str, ...], lines: Sequence[tuple[str, ...]], words: int) -> TextTable | None:
    return TextTable(title, columns, tuple(lines), words) if lines else None


def _runs(rows: dict[str, list[RunView]]) -> list[RunView]:
    return [view for views in rows.values() for view in views]


def _asked(views: Sequence[RunView]) -> tuple[str, str]:
    return views[0].spec.positions, str(views[0].train)


def _share(views: Sequence[RunView], counts: Callable[[RunView], Measured | None]) -> str:
    found = map(counts, views)
    return str(Spread(tuple(100 * one.share for one in found if one is not None)))


BUDGET_COLUMNS = (
    *("recipe", "optimizer", "runs", "steps", "batch", "dropout", "decay", "samples", "operand width", "tokens"),
    *("seconds", "device", "commits"),
)


def budget_table(collection: Collection) -> TextTable:
    """How each recipe's models were trained, on what, and for how long."""
    views = {view.name: view for view in collection.views}
    lines = [
        _budget(recipe, note, runs)
        for recipe, note in collection.notes.items()
        if (runs := [views[name] for name in note["runs"] if name in views])
    ]
    return TextTable("Budgets", BUDGET_COLUMNS, tuple(lines), words=2)


def _budget(recipe: str, note: dict[str, Any], runs: Sequence[RunView]) -> tuple[str, ...]:
    training = [view.config["training"] for view in runs]
    data = [view.config["data"] for view in runs]
    return (
        recipe,
        several(map(_optimizer, training)),
        str(len(runs)),
        several(f"{t['steps']:,}" for t in training),
        several(str(t["batch"]) for t in training),
        several(f"{view.config['model']['dropout']:g}" for view in runs),
        several(f"{t['weight_decay']:g}" for t in training),
        several(map(_samples, data)),
        several(str(d["operand_width"] or "longest") for d in data),
        tokens_text(runs),
        f"{note['wall_seconds']:.0f}",
        str(note["device"]),
        several(map(_commit, runs)),
    )


def tokens_text(runs: Sequence[RunView]) -> str:
    """All that its models read in training, padding included; runs of earlier versions did not note it."""
    found = [view.source.costs().get("tokens", nan) for view in runs]
    return "–" if isnan(sum(found)) else f"{sum(found) / 1e6:,.0f} M"


def _samples(data: dict[str, Any]) -> str:
    """How many, and how they are drawn where it is not all pairs alike."""
    count = "fresh" if data["samples"] is None else f"{data['samples']:,}"
    sampling = [] if data["sampling"] == "uniform" else [data["sampling"]]
    sparse = data["samples"] is None and data.get("sparse")
    return ", ".join([count, *sampling, *(["sparse digits"] if sparse else [])])


def _optimizer(training: dict[str, Any]) -> str:
    rates = f"{training['learning_rate']:g}"
    if training["optimizer"] == "muon":
        rates = f"{training['muon_learning_rate']:g}/{rates}"
    return f"{training['optimizer']} {rates}, {training['schedule']}"


def _commit(view: RunView) -> str:
    """Seven digits of it, and the mark of a tree that differed from it."""
    commit = (view.source.environment() or {}).get("commit")
    return "–" if commit is None else re.sub(r"^([0-9a-f]{7})[0-9a-f]+", r"\1", commit)


def several(values: Iterable[str]) -> str:
    """Each value once, in order."""
    return "; ".join(dict.fromkeys(values))
