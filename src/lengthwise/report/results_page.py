"""docs/results.md: every table, figure and verdict of a results folder on one page, from records alone."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lengthwise.records.verdicts import GATE, TOLERANCE
from lengthwise.report.budgets import budget_table, remarks
from lengthwise.report.claims import claim_table
from lengthwise.report.collection import Collection
from lengthwise.report.far import far_summary, far_tables
from lengthwise.report.figures import FIGURES, FigureSpec
from lengthwise.report.figures.far_catalogue import FAR
from lengthwise.report.figures.relative_catalogue import RELATIVE
from lengthwise.report.formats import TextTable, markdown
from lengthwise.report.paper import LEGEND, TABLES, PaperTable, paper_table, summary
from lengthwise.report.recipe_tables import PARTS, part_tables
from lengthwise.report.regularization import grids
from lengthwise.report.tables import short_percent
from lengthwise.report.theorems import formula_gap, theorem_table

INTRODUCTION = """\
# Results

The tables and figures of Xu, Zhao, Zhang, Yang (ACL 2025), trained anew, with exact theory beside every number.
This page is written by `make results` from the records in `results/`; `lengthwise reproduce NAME` makes those.
Model sizes are the paper's, and so are training domains, but for the moduli that are primed with shorter operands:
lengths that training held are marked †. Optimizer, batch, schedule, width and number of samples are ours. The
runs shown here are of version 0.1: tuned on seed 0, and modular addition again on what its seed 1 had shown. So
these tables are not of seeds that nobody had looked at; [protocol.md](protocol.md) tells how those that follow are
made. What is missing is named."""

VERDICTS = f"""\
A model is first asked whether it learned what it was trained on: {100 * GATE:g} % of its own domain, as the lower
end of a 95 % interval. If not, all its verdicts are *undecided*. A prediction *holds* on a length if the model
answers as the predicted function does on {100 * (1 - TOLERANCE):g} % of problems (lower end of the interval) and
*fails* if it surely does not. A theorem holds if it holds on every length of every run it speaks of."""

GRID = (
    "Agreement with theory beyond the training lengths, in %, and in brackets the accuracy on the training domain:"
)

RELATIVE_WORDS = """\
What the paper only cites: every number here is the mean of seeds that nothing was tuned on, in brackets the lowest
and highest, none picked. [relative.md](relative.md) says what is run and how."""

FAR_WORDS = """\
Models that were trained on short operands and tested on operands many times longer: the right answers in %, by
digits of the longer operand. Random operands are scored in one pass over all problems, and where it says so by
real decoding of some; the special sets are sums with one short operand, with a carry through the whole number, and
with carries at every other digit. [thousand.md](thousand.md) says what is run, and why it works or fails."""

PAIRS_WORDS = """\
On average over all pairs of operand lengths outside the trained square of `abacus-100`"""

BUDGETS = """\
How each recipe was trained, and the seconds it took from start to end, evaluation included. A run that another
recipe had trained before is not trained again. Two rates are Muon's and AdamW's."""


def results_page(folder: Path, page: Path) -> str:
    """The page's text. Pictures are linked from where the page stands."""
    collection = Collection(folder)
    tables = [paper_table(collection, name) for name in TABLES]
    pictures = os.path.relpath(folder / "figures", page.parent)
    sections = [
        INTRODUCTION,
        _numbers(collection, tables),
        _section("Theorems", VERDICTS, markdown(theorem_table(collection.views)), _formula(collection)),
        _section("Other claims", markdown(claim_table(collection.views))),
        _tables(collection, tables),
        _figures(folder, pictures),
        *_relative(collection, folder, pictures),
        *_far(collection, folder, pictures),
        _section(
            "Budgets", BUDGETS, markdown(budget_table(collection)), remarks(collection), _unfinished(collection)
        ),
    ]
    return "\n\n".join(sections) + "\n"


def _unfinished(collection: Collection) -> str:
    """So that no seed goes missing without a word."""
    told = ", ".join(f"{name} ({status})" for name, status in collection.unfinished.items())
    return f"Not finished, and in no table or figure: {told}." if told else ""


def _section(title: str, *parts: str) -> str:
    return "\n\n".join([f"## {title}", *(part for part in parts if part)])


def _numbers(collection: Collection, tables: list[PaperTable]) -> str:
    """How far measurement is from exact theory."""
    found = summary(collection, tables)
    rows = [_deviation_line(name, table, table["wall_seconds"]) for name, table in found["tables"].items()]
    rows.append(_deviation_line("all", found, None))
    columns = ("table", "cells", "our deviation", "the paper's", "seconds")
    missing = dict.fromkeys(f"{t.spec.recipe} {', '.join(t.missing)}" for t in tables if t.missing)
    return _section(
        "In numbers",
        "The mean distance of a measured cell from exact theory, in percentage points. The paper's own cells are "
        "held against the same exact theory. Seconds are those of all seeds of both tables of a recipe.",
        markdown(TextTable("", columns, tuple(rows))),
        "Rows not trained yet: " + "; ".join(missing) + "." if missing else "",
    )


def _formula(collection: Collection) -> str:
    gap = formula_gap(collection.views)
    if gap is None:
        return ""
    return (
        "Theorem 5 also gives the accuracy on longer operands by a formula, as an approximation. On the lengths "
        f"tested here it is at most {short_percent(gap)} points from the exact one."
    )


def _deviation_line(name: str, found: dict[str, Any], seconds: float | None) -> tuple[str, ...]:
    deviations = (found["mean_abs_deviation"], found["paper_mean_abs_deviation"])
    return (
        name,
        str(found["cells"]),
        *("–" if value is None else f"{value:.2f}" for value in deviations),
        "–" if seconds is None else f"{seconds:.0f}",
    )


def _tables(collection: Collection, tables: list[PaperTable]) -> str:
    """Both tables of a recipe, then its grid."""
    shown, parts = grids(collection), []
    for table in tables:
        if not table.cells.is_empty():
            parts += [f"### {table.spec.title}", _deviation(table), markdown(table.reading())]
        if table.spec.truncated and table.spec.recipe in shown:
            grid = shown[table.spec.recipe]
            parts += [f"**Regularization**: {grid.title}. {GRID}", markdown(grid)]
    return _section("Tables", LEGEND, *parts)


def _deviation(table: PaperTable) -> str:
    """Rows that are not counted are named."""
    count, apart = len(table.deviations), ", ".join(table.apart)
    mean = short_percent(sum(table.deviations) / count) if count else "–"
    told = f"`{table.name}`: {count} cells, {mean} points from theory on average."
    return told + (f" Shown apart and not counted: {apart}." if apart else "")


def _figures(folder: Path, pictures: str) -> str:
    others = [spec for spec in FIGURES.values() if spec not in FAR and spec not in RELATIVE]
    return _section("Figures", *_drawn(others, folder, pictures))


def _relative(collection: Collection, folder: Path, pictures: str) -> list[str]:
    """A part for each recipe on encodings and relative positions that has been run."""
    parts: list[str] = []
    for recipe, part in PARTS.items():
        tables = part_tables(recipe, collection)
        if tables:
            parts += [f"### {part.title}", part.words, *map(markdown, tables.values())]
            parts += [
                _picture(spec, pictures) for spec in _there([FIGURES[name] for name in part.figures], folder)
            ]
    return [_section("Relative positions", RELATIVE_WORDS, *parts)] if parts else []


def _far(collection: Collection, folder: Path, pictures: str) -> list[str]:
    """What is not the paper's: operands far longer than trained; nothing where no such run is."""
    tables = [f"**{table.title}**\n\n{markdown(table)}" for table in far_tables(collection)]
    if not tables:
        return []
    outside = far_summary(collection).get("abacus-100", {}).get("outside")
    told = f"{PAIRS_WORDS}: {short_percent(outside)} % of sums are right." if outside is not None else ""
    return [_section("Far beyond training", FAR_WORDS, *tables, told, *_drawn(FAR, folder, pictures))]


def _drawn(specs: Sequence[FigureSpec], folder: Path, pictures: str) -> list[str]:
    return [f"### {spec.title}\n\n{_picture(spec, pictures)}" for spec in _there(specs, folder)]


def _there(specs: Sequence[FigureSpec], folder: Path) -> list[FigureSpec]:
    return [spec for spec in specs if (folder / "figures" / f"{spec.name}.svg").exists()]


def _picture(spec: FigureSpec, pictures: str) -> str:
    return f"![{spec.alt}]({pictures}/{spec.name}.svg)\n\n{spec.caption}"
