"""docs/results.md: every table, figure and verdict of a results folder on one page, from records alone."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import polars as pl
from jinja2 import ChainableUndefined, Environment, PackageLoader

from lengthwise.recipes import RECIPES, Figure, Recipe, catalogue, of_rows
from lengthwise.recipes.recipe import Decide, Tally, modulus_divides, tally
from lengthwise.records.verdicts import FAILS, GATE, HOLDS, TOLERANCE, UNDECIDED, combined
from lengthwise.report.answers import LONGER, Spread, answers
from lengthwise.report.collection import Collection
from lengthwise.report.formats import TextTable, markdown
from lengthwise.report.paper import paper_tables, summary
from lengthwise.report.recipe_tables import budget_table, regularization_grid
from lengthwise.report.results import tables_of
from lengthwise.report.tables import short_percent
from lengthwise.theory.accuracy import truncation_error

VERDICT_COLUMNS = ("rows", "runs", HOLDS, FAILS, UNDECIDED, "rows that hold in all seeds")


def results_page(folder: Path, page: Path) -> str:
    """The page's text: results.md.jinja, filled in. Pictures are linked from where the page stands."""
    collection = Collection(folder)
    tables, found = paper_tables(collection), summary(collection)

    def shown(section: str) -> list[Recipe]:
        recipes = (recipe for recipe in RECIPES.values() if recipe.section == section)
        return [recipe for recipe in recipes if of_rows(recipe.rows, collection.views)]

    def drawn(recipe: Recipe) -> list[Figure]:
        return [figure for figure in recipe.figures if (folder / "figures" / f"{figure.name}.svg").exists()]

    text = _template().render(
        here=os.path.relpath(folder, page.parent),
        summary=found,
        numbers=numbers_table(found),
        missing=dict.fromkeys(f"{t.recipe.name} {', '.join(t.missing)}" for t in tables if t.missing),
        tuned=(folder / "tuning.csv").exists(),
        gate=100 * GATE,
        agreement=100 * (1 - TOLERANCE),
        theorems=theorem_table(collection),
        theorem_rows=theorem_rows(collection),
        formula_gap=formula_gap(collection),
        far_off=far_off(collection),
        claims=claim_table(collection),
        sections=catalogue()["sections"],
        tables=tables,
        grid_of=lambda family: regularization_grid(collection, RECIPES["regularization"], family),
        recipes=RECIPES.values(),
        shown=shown,
        drawn=drawn,
        tables_of=lambda recipe: tables_of(recipe, collection),
        outside=found.get("abacus-100", {}).get("outside"),
        budgets=budget_table(collection),
        notes=collection.notes,
        unfinished=collection.unfinished,
    )
    return text.rstrip("\n") + "\n"


def _template() -> Any:
    place = PackageLoader("lengthwise.report", "")
    jinja = Environment(loader=place, trim_blocks=True, lstrip_blocks=True, undefined=ChainableUndefined)
    jinja.filters |= {"markdown": markdown, "short": short_percent, "points": _points}
    return jinja.get_template("results.md.jinja")


def numbers_table(found: dict[str, Any]) -> TextTable:
    """How far measurement is from exact theory."""
    lines = [_distances(name, table) for name, table in [*found["tables"].items(), ("all", found)]]
    columns = ("table", "cells", "our deviation", "worst seed", "the paper's", "seeds", "seconds")
    return TextTable("In numbers", columns, tuple(lines))


def _distances(name: str, found: dict[str, Any]) -> tuple[str, ...]:
    worst, seconds = found.get("worst_seed"), found.get("wall_seconds")
    return (
        name,
        str(found["cells"]),
        _points(found["mean_abs_deviation"]),
        "–" if worst is None else f"{_points(worst['mean_abs_deviation'])} (seed {worst['seed']})",
        _points(found["paper_mean_abs_deviation"]),
        f"{found.get('seeds', '–')}{' or more' if found.get('seeds_differ') else ''}",
        "–" if seconds is None else f"{seconds:.0f}",
    )


def _points(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def verdicts_by_row(recipe: Recipe, decide: Decide, collection: Collection) -> dict[str, dict[int, str]]:
    """What every seed of each row that decides a claim says of it."""
    found: dict[str, dict[int, str]] = {}
    for run, words in decide(of_rows(recipe.claim_rows or recipe.rows, collection.views)):
        found.setdefault(run.row, {})[run.seed] = combined(words) or UNDECIDED
    return found


def _theorems() -> list[tuple[str, Recipe]]:
    """In the order of their numbers."""
    return sorted(
        ((source, recipe) for recipe in RECIPES.values() for source in recipe.theorems), key=lambda x: x[0]
    )


def theorem_table(collection: Collection) -> TextTable:
    lines = [_verdict_line(source, recipe, recipe.theorems[source], collection) for source, recipe in _theorems()]
    return TextTable("Theorems", ("theorem", "what it says", *VERDICT_COLUMNS), tuple(lines), words=2)


def claim_table(collection: Collection) -> TextTable:
    lines = [
        _verdict_line(source, recipe, decide, collection)
        for recipe in RECIPES.values()
        for source, decide in recipe.claims.items()
    ]
    return TextTable("Other claims", ("where", "what it says", *VERDICT_COLUMNS), tuple(lines), words=2)


def _verdict_line(source: str, recipe: Recipe, decide: Decide, collection: Collection) -> tuple[str, ...]:
    rows = [tally(seeds.values()) for seeds in verdicts_by_row(recipe, decide, collection).values()]
    runs = Tally(tuple(word for row in rows for word in row.words))
    hold = f"{sum(row.holds for row in rows)} of {len(rows)}" if rows else "not tested here"
    counts = (len(rows), len(runs.words), *(runs.count(word) for word in (HOLDS, FAILS, UNDECIDED)))
    return (source, recipe.words["says"][source], *map(str, counts), hold)


def theorem_rows(collection: Collection) -> TextTable:
    """Rows by seeds: the verdict on each theorem."""
    lines = [
        (source, row, ", ".join(f"{seed} {word}" for seed, word in seeds.items()), str(tally(seeds.values())))
        for source, recipe in _theorems()
        for row, seeds in verdicts_by_row(recipe, recipe.theorems[source], collection).items()
    ]
    return TextTable("Theorems by row", ("theorem", "row", "by seed", "verdict"), tuple(lines), words=3)


def formula_gap(collection: Collection) -> float | None:
    """How far Theorem 5's own formula is from exact accuracies, in points, where it is furthest."""
    gaps = [
        float(100 * abs(prediction.paper - prediction.accuracy))
        for view in of_rows(RECIPES["modular-addition"].rows, collection.views)
        if not modulus_divides(view)
        for prediction in view.spec.predictions()
        if prediction.paper is not None and prediction.accuracy is not None
    ]
    return max(gaps, default=None)


def far_off(collection: Collection) -> Spread | None:
    """Corollary 2 as far as records tell: answers to longer sums, in percent of each length and run, that equal
    the truncated sum and are therefore off by 10^n or more."""
    views = of_rows(RECIPES["addition"].rows, collection.views)
    bounded = {
        (view.name, str(domain))
        for view in views
        for domain in view.spec.longer()
        if truncation_error(view.task, view.train.length, domain).least >= view.task.base**view.train.length
    }
    found = answers(views).filter(pl.col("reference") == pl.col("hypothesis"), part=LONGER)
    lines: Iterable[tuple[str, str, float]] = found["run", "domain", "percent"].iter_rows()
    percents = tuple(percent for run, domain, percent in lines if (run, domain) in bounded)
    return Spread(percents) if percents else None
