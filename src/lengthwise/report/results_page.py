"""docs/results.md: every table, figure and verdict of a results folder on one page, from records alone."""

import os
from collections.abc import Iterable
from pathlib import Path

from jinja2 import ChainableUndefined, Environment, PackageLoader, Template

from lengthwise.recipes import RECIPES, Figure, Recipe, catalogue, of_rows
from lengthwise.recipes.recipe import Decide, modulus_divides, tally
from lengthwise.records.verdicts import FAILS, GATE, HOLDS, TOLERANCE, UNDECIDED, combined
from lengthwise.report.collection import Collection, group_by
from lengthwise.report.formats import TextTable, markdown, text_table
from lengthwise.report.paper import paper_tables, summary
from lengthwise.report.queries import THEORY, Point, compared
from lengthwise.report.recipe_tables import budget_table, regularization_grid
from lengthwise.report.results import tables_of
from lengthwise.report.tables import short_percent
from lengthwise.theory.accuracy import truncation_error


def results_page(folder: Path, page: Path) -> str:
    """The page's text: results.md.jinja, filled in. Pictures are linked from where the page stands."""
    collection = Collection(folder)

    def shown(section: str) -> list[Recipe]:
        recipes = (recipe for recipe in RECIPES.values() if recipe.section == section)
        return [recipe for recipe in recipes if of_rows(recipe.rows, collection.views)]

    def drawn(recipe: Recipe) -> list[Figure]:
        return [figure for figure in recipe.figures if (folder / "figures" / f"{figure.name}.svg").exists()]

    def seeds(figure: Figure) -> str:
        rows = group_by(of_rows(RECIPES[figure.of].rows, collection.views), lambda view: view.row)
        return seeds_text([view.seed for view in views] for views in rows.values())

    text = _template().render(
        here=os.path.relpath(folder, page.parent),
        summary=summary(collection),
        tuned=(folder / "tuning.csv").exists(),
        gate=100 * GATE,
        agreement=100 * (1 - TOLERANCE),
        theorems=theorem_table(collection),
        theorem_rows=theorem_rows(collection),
        formula_gap=formula_gap(collection),
        far_off=far_off(collection),
        claims=claim_table(collection),
        sections=catalogue()["sections"],
        tables=paper_tables(collection),
        grid_of=lambda family: regularization_grid(collection, RECIPES["regularization"], family),
        recipes=RECIPES.values(),
        shown=shown,
        drawn=drawn,
        seeds=seeds,
        tables_of=lambda recipe: tables_of(recipe, collection),
        budgets=budget_table(collection),
        collection=collection,
    )
    return text.rstrip("\n") + "\n"


def seeds_text(rows: Iterable[list[int]]) -> str:
    """Which seeds are drawn, and in how many rows where they differ.

    >>> seeds_text([[1, 2], [1, 2]]), seeds_text([[101], [1], [1]])
    ('Seeds 1, 2.', 'Seed 101 (1 row); seed 1 (2 rows).')
    """
    found = group_by(rows, tuple)
    parts = [f"seed{'s' * (len(own) > 1)} {', '.join(map(str, own))}" for own in found]
    if len(found) > 1:
        counts = map(len, found.values())
        parts = [f"{part} ({n} row{'s' * (n > 1)})" for part, n in zip(parts, counts, strict=True)]
    return f"{'; '.join(parts)}.".capitalize()


def _template() -> Template:
    place = PackageLoader("lengthwise.report", "")
    jinja = Environment(loader=place, trim_blocks=True, lstrip_blocks=True, undefined=ChainableUndefined)
    jinja.filters |= {"markdown": markdown, "short": short_percent}
    return jinja.get_template("results.md.jinja")


def verdicts_by_row(recipe: Recipe, decide: Decide, collection: Collection) -> dict[str, dict[int, str]]:
    """What every seed of each row that decides a claim says of it."""
    found: dict[str, dict[int, str]] = {}
    for run, words in decide(of_rows(recipe.claim_rows or recipe.rows, collection.views)):
        found.setdefault(run.row, {})[run.seed] = combined(words) or UNDECIDED
    return found


def theorem_table(collection: Collection) -> TextTable | None:
    return text_table("Theorems", [_verdict_line("theorem", *each, collection) for each in _theorems()], words=2)


def claim_table(collection: Collection) -> TextTable | None:
    claims = [(source, recipe, decide) for recipe in RECIPES.values() for source, decide in recipe.claims.items()]
    return text_table("Other claims", [_verdict_line("where", *each, collection) for each in claims], words=2)


def _theorems() -> list[tuple[str, Recipe, Decide]]:
    """In the order of their numbers."""
    found = [(source, recipe, decide) for recipe in RECIPES.values() for source, decide in recipe.theorems.items()]
    return sorted(found, key=lambda theorem: theorem[0])


def _verdict_line(
    where: str, source: str, recipe: Recipe, decide: Decide, collection: Collection
) -> dict[str, object]:
    rows = [tally(seeds.values()) for seeds in verdicts_by_row(recipe, decide, collection).values()]
    words = [word for row in rows for word in row.words]
    return {
        where: source,
        "what it says": recipe.words["says"][source],
        "rows": len(rows),
        "runs": len(words),
        **{word: words.count(word) for word in (HOLDS, FAILS, UNDECIDED)},
        "rows that hold in all seeds": f"{sum(row.holds for row in rows)} of {len(rows)}"
        if rows
        else "not tested here",
    }


def theorem_rows(collection: Collection) -> TextTable | None:
    """Rows by seeds: the verdict on each theorem."""
    lines = [
        {
            "theorem": source,
            "row": row,
            "by seed": ", ".join(f"{seed} {word}" for seed, word in seeds.items()),
            "verdict": tally(seeds.values()),
        }
        for source, recipe, decide in _theorems()
        for row, seeds in verdicts_by_row(recipe, decide, collection).items()
    ]
    return text_table("Theorems by row", lines, words=3)


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


def far_off(collection: Collection) -> Point | None:
    """Corollary 2 as far as records tell: answers to longer sums, in percent of each length and run, that equal
    the truncated sum and are therefore off by 10^n or more."""
    percents = [
        100 * counts.share
        for view in of_rows(RECIPES["addition"].rows, collection.views)
        for domain in view.spec.longer()
        if truncation_error(view.task, view.train.length, domain).least >= view.task.base**view.train.length
        for counts in compared(view, [domain], THEORY)
    ]
    return Point.of(percents) if percents else None
