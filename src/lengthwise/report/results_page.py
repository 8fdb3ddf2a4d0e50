"""docs/results.md: every table, figure and verdict of a results folder on one page, from records alone."""

import os
from collections.abc import Iterable
from pathlib import Path
from statistics import fmean
from typing import Any

import polars as pl

from lengthwise.recipes import RECIPES, Claim, Figure, Recipe, of_rows
from lengthwise.recipes.claims import Tally, modulus_divides, tally
from lengthwise.recipes.recipe import CONTROLS, FAR, RELATIVE, TABLES
from lengthwise.records.verdicts import FAILS, GATE, HOLDS, TOLERANCE, UNDECIDED, combined
from lengthwise.report.answers import LONGER, answers
from lengthwise.report.collection import Collection
from lengthwise.report.formats import TextTable, markdown
from lengthwise.report.paper import PaperTable, far_summary, paper_recipes, paper_tables, summary
from lengthwise.report.recipe_tables import budget_table, regularization_grid
from lengthwise.report.results import tables_of
from lengthwise.report.tables import short_percent
from lengthwise.theory.error_size import truncation_error

INTRODUCTION = """\
# Results

The tables and figures of Xu, Zhao, Zhang, Yang (ACL 2025), trained anew, with exact theory beside every number.
This page is written by `make results` from the records in `results/`; `lengthwise reproduce NAME` makes those.
Model sizes are the paper's, and so are training domains, but for the moduli that are primed with shorter operands:
lengths that training held are marked †. Optimizer, batch, schedule, width and number of samples are ours. The
runs shown here are of version 0.1: tuned on seed 0, and modular addition again on what its seed 1 had shown. So
these tables are not of seeds that nobody had looked at; [protocol.md](protocol.md) tells how those that follow are
made. What is missing is named."""

NUMBERS = """\
The mean distance of a measured cell, the mean over its seeds, from exact theory, in percentage points; beside it
the seed that alone is furthest away. The paper's own cells are held against the same exact theory. Seconds are
those of all seeds of both tables of a recipe."""

VERDICTS = f"""\
A run is first asked whether it learned what it was trained on: the lower end of accuracy's 95 % interval
(Clopper-Pearson) is at least {100 * GATE:g} % on every length of its training domain. If not, it is *undecided*. A
prediction *holds* on a length if the lower end of agreement with the predicted function is at least
{100 * (1 - TOLERANCE):g} %, *fails* if the upper end is below, and is *undecided* in between; a domain that is
tested whole has no interval. A seed holds if every length that the theorem speaks of holds, and fails if one
fails. A row's verdict is how many of its seeds hold, and a theorem's is the table of its rows."""

CLAIMS = "Each run is judged by itself, by the same rules; here are the runs of each verdict."

WORDS = {
    CONTROLS: "Rows that ask whether the tables above rest on what was chosen for them.",
    RELATIVE: """\
What the paper only cites: every number here is the mean of seeds that nothing was tuned on, in brackets the lowest
and highest, none picked. [relative.md](relative.md) says what is run and how.""",
    FAR: """\
Models that were trained on short operands and tested on operands many times longer: the right answers in %, by
digits of the longer operand. Random operands are scored in one pass over all problems, and where it says so by
real decoding of some; the special sets are sums with one short operand, with a carry through the whole number, and
with carries at every other digit. [thousand.md](thousand.md) says what is run, and why it works or fails.""",
}
"""What opens a section of recipes."""

BUDGETS = """\
How each recipe was trained, and the seconds it took from start to end, evaluation included. A run that another
recipe had trained before is not trained again. Two rates are Muon's and AdamW's."""


def results_page(folder: Path, page: Path) -> str:
    """The page's text. Pictures are linked from where the page stands."""
    return "\n\n".join(ResultsPage(folder, page).sections()) + "\n"


class ResultsPage:
    def __init__(self, folder: Path, page: Path) -> None:
        self.folder = folder
        self.here = os.path.relpath(folder, page.parent)
        self.collection = Collection(folder)
        self.tables = paper_tables(self.collection)

    def sections(self) -> list[str]:
        collection = self.collection
        return [
            INTRODUCTION,
            _section("In numbers", NUMBERS, *self._numbers()),
            _section("Theorems", VERDICTS, *self._theorems()),
            _section("Other claims", CLAIMS, markdown(claim_table(collection))),
            _section("Tables", paper_recipes()[0].words, *self._tables()),
            _section("Figures", *self._figures()),
            *(self._recipes(section) for section in (CONTROLS, RELATIVE, FAR) if self._shown(section)),
            _section(
                "Budgets", BUDGETS, markdown(budget_table(collection)), _remarks(collection), _missing(collection)
            ),
        ]

    def _numbers(self) -> Iterable[str]:
        """How far measurement is from exact theory."""
        found = summary(self.collection)
        rows = [_distances(name, table) for name, table in found["tables"].items()]
        columns = ("table", "cells", "our deviation", "worst seed", "the paper's", "seeds", "seconds")
        yield markdown(TextTable("", columns, (*rows, _distances("all", found))))
        for name, table in found["tables"].items():
            if "without" in table:
                left = table["without"]
                yield (
                    f"`{name}` without {', '.join(left['named'])}: {_points(left['mean_abs_deviation'])} points, "
                    f"the paper's {_points(left['paper_mean_abs_deviation'])}."
                )
        missing = dict.fromkeys(f"{t.recipe.name} {', '.join(t.missing)}" for t in self.tables if t.missing)
        if missing:
            yield "Rows not trained yet: " + "; ".join(missing) + "."
        if (self.folder / "tuning.csv").exists():
            yield (
                "Every setting that was tried before seeds are reported, and what it gave: "
                f"[tuning.csv]({self.here}/tuning.csv), explained in [protocol.md](protocol.md)."
            )

    def _theorems(self) -> Iterable[str]:
        yield markdown(theorem_table(self.collection))
        yield markdown(theorem_rows(self.collection))
        yield formula_gap(self.collection)
        yield least_errors(self.collection)

    def _tables(self) -> Iterable[str]:
        """Both tables of a recipe, then its grid."""
        for table in self.tables:
            reading = table.reading()
            if reading is not None:
                yield from (f"### {table.title}", _told(table), markdown(reading))
            grid = regularization_grid(self.collection, RECIPES["regularization"], table.recipe)
            if table.table.truncated and grid is not None:
                yield (
                    f"**Regularization**: {grid.title}. Agreement with theory beyond the training lengths, in %, "
                    "and in brackets the accuracy on the training domain:"
                )
                yield markdown(grid)

    def _figures(self) -> Iterable[str]:
        """Those of recipes that have no part of their own."""
        for recipe in RECIPES.values():
            if recipe.section in (None, TABLES):
                yield from (f"### {figure.title}\n\n{self._picture(figure)}" for figure in self._drawn(recipe))

    def _recipes(self, section: str) -> str:
        """A part for each recipe of a section that has been run."""
        parts: list[str] = []
        for recipe in self._shown(section):
            tables = tables_of(recipe, self.collection)
            parts += [f"### {recipe.title}", recipe.words if section != FAR else ""]
            parts += [f"**{table.title}**\n\n{markdown(table)}" for table in tables.values()]
            parts += [f"**{figure.title}**\n\n{self._picture(figure)}" for figure in self._drawn(recipe)]
        return _section(section, WORDS[section], *parts, self._outside() if section == FAR else "")

    def _shown(self, section: str) -> list[Recipe]:
        runs = self.collection.views
        return [r for r in RECIPES.values() if r.section == section and of_rows(r.rows, runs)]

    def _outside(self) -> str:
        outside = far_summary(self.collection).get("abacus-100", {}).get("outside")
        if outside is None:
            return ""
        return (
            "On average over all pairs of operand lengths outside the trained square of `abacus-100`: "
            f"{short_percent(outside)} % of sums are right."
        )

    def _drawn(self, recipe: Recipe) -> list[Figure]:
        return [figure for figure in recipe.figures if (self.folder / "figures" / f"{figure.name}.svg").exists()]

    def _picture(self, figure: Figure) -> str:
        return f"![{figure.alt}]({self.here}/figures/{figure.name}.svg)\n\n{figure.caption}"


def _section(title: str, *parts: str) -> str:
    return "\n\n".join([f"## {title}", *(part for part in parts if part)])


def _distances(name: str, found: dict[str, Any]) -> tuple[str, ...]:
    worst, seconds = found.get("worst_seed"), found.get("wall_seconds")
    seeds = f"{found.get('seeds', '')}{' or more' * found.get('seeds_differ', False)}"
    return (
        name,
        str(found["cells"]),
        _points(found["mean_abs_deviation"]),
        "–" if worst is None else f"{_points(worst['mean_abs_deviation'])} (seed {worst['seed']})",
        _points(found["paper_mean_abs_deviation"]),
        seeds or "–",
        "–" if seconds is None else f"{seconds:.0f}",
    )


def _points(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _told(table: PaperTable) -> str:
    """Rows that are not counted are named."""
    deviations, apart = table.deviations(), ", ".join(table.apart)
    mean = short_percent(sum(deviations) / len(deviations)) if deviations else "–"
    told = f"`{table.table.name}`: {len(deviations)} cells, {mean} points from theory on average."
    return told + (f" Shown apart and not counted: {apart}." if apart else "")


def _remarks(collection: Collection) -> str:
    """What someone wrote down by hand about a recipe's runs, as the key `remark` of its note."""
    told = {recipe: note["remark"] for recipe, note in collection.notes.items() if "remark" in note}
    return "\n".join(f"- {recipe}: {remark}" for recipe, remark in told.items())


def _missing(collection: Collection) -> str:
    """So that no seed goes missing without a word."""
    told = ", ".join(f"{name} ({status})" for name, status in collection.unfinished.items())
    return f"Not finished, and in no table or figure: {told}." if told else ""


VERDICT_COLUMNS = ("rows", "runs", HOLDS, FAILS, UNDECIDED, "rows that hold in all seeds")


def tallies(claim: Claim, recipe: Recipe, collection: Collection) -> dict[str, dict[int, str]]:
    """The verdict of every seed, by row."""
    found: dict[str, dict[int, str]] = {}
    for run, words in claim.decide(of_rows(claim.rows or recipe.rows, collection.views)):
        found.setdefault(run.row, {})[run.seed] = combined(words) or UNDECIDED
    return found


def _theorems() -> list[tuple[Claim, Recipe]]:
    """In the order of their numbers."""
    found = [(theorem, recipe) for recipe in RECIPES.values() for theorem in recipe.theorems]
    return sorted(found, key=lambda pair: pair[0].source)


def theorem_table(collection: Collection) -> TextTable:
    lines = [_claim_line(*theorem, collection) for theorem in _theorems()]
    return TextTable("Theorems", ("theorem", "what it says", *VERDICT_COLUMNS), tuple(lines), words=2)


def claim_table(collection: Collection) -> TextTable:
    lines = [_claim_line(claim, recipe, collection) for recipe in RECIPES.values() for claim in recipe.claims]
    return TextTable("Other claims", ("where", "what it says", *VERDICT_COLUMNS), tuple(lines), words=2)


def _claim_line(claim: Claim, recipe: Recipe, collection: Collection) -> tuple[str, ...]:
    rows = [tally(seeds.values()) for seeds in tallies(claim, recipe, collection).values()]
    runs = Tally(tuple(word for row in rows for word in row.words))
    hold = f"{sum(row.holds for row in rows)} of {len(rows)}" if rows else "not tested here"
    counts = (len(rows), len(runs.words), *(runs.count(word) for word in (HOLDS, FAILS, UNDECIDED)))
    return (claim.source, claim.says, *map(str, counts), hold)


def theorem_rows(collection: Collection) -> TextTable:
    """Rows by seeds: the verdict on each theorem."""
    lines = [
        (
            theorem.source,
            row,
            ", ".join(f"{seed} {word}" for seed, word in seeds.items()),
            str(tally(seeds.values())),
        )
        for theorem, recipe in _theorems()
        for row, seeds in tallies(theorem, recipe, collection).items()
    ]
    return TextTable("Theorems by row", ("theorem", "row", "by seed", "verdict"), tuple(lines), words=3)


def formula_gap(collection: Collection) -> str:
    """How far Theorem 5's own formula is from exact accuracies, in points, where it is furthest."""
    gaps = [
        float(100 * abs(prediction.paper - prediction.accuracy))
        for view in of_rows(RECIPES["modular-addition"].rows, collection.views)
        if not modulus_divides(view)
        for prediction in view.spec.predictions()
        if prediction.paper is not None and prediction.accuracy is not None
    ]
    if not gaps:
        return ""
    return (
        "Theorem 5 also gives the accuracy on longer operands by a formula, as an approximation. On the lengths "
        f"tested here it is at most {short_percent(max(gaps))} points from the exact one."
    )


def least_errors(collection: Collection) -> str:
    """Corollary 2 as far as records tell: an answer that equals the truncated sum is off by 10^n or more."""
    views = of_rows(RECIPES["addition"].rows, collection.views)
    far_off = {
        (view.row, str(domain))
        for view in views
        for domain in view.spec.longer()
        if truncation_error(view.task, view.train.length, domain).least >= view.task.base**view.train.length
    }
    found = answers(views).filter(pl.col("reference") == pl.col("hypothesis"), part=LONGER)
    percents = [
        percent
        for row, domain, percent in found["row", "domain", "percent"].iter_rows()
        if (row, domain) in far_off
    ]
    if not percents:
        return ""
    return (
        "Corollary 2 also says that longer sums are wrong by 10^n at least. Records count answers and not "
        "distances, but an answer that equals the truncated sum is that far away: so are at least "
        f"{short_percent(min(percents))} % of the sums of every longer length and run, and "
        f"{short_percent(fmean(percents))} % on average."
    )
