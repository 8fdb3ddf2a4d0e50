"""Results of a folder of finished runs as files: tables, figures, their summary, the page docs/results.md, and the
evidence that ships with the package."""

import json
import os
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from jinja2 import ChainableUndefined, Environment, PackageLoader

from lengthwise.recipes import (
    RECIPES,
    THEORY,
    Figure,
    Recipe,
    catalogue,
    compared,
    modulus_divides,
    of_rows,
    tally,
)
from lengthwise.records import evidence
from lengthwise.records.evidence import Evidence, Kind
from lengthwise.records.files import replace_file, write_json
from lengthwise.records.verdicts import FAILS, GATE, HOLDS, TOLERANCE, UNDECIDED, combined
from lengthwise.records.view import RunView
from lengthwise.report import group_by
from lengthwise.report.figures import FIGURES, draw, save
from lengthwise.report.paper import paper_tables, summary
from lengthwise.report.queries import Collection, Point, rows_of
from lengthwise.report.recipe_tables import budget_table, line_table, regularization_grid
from lengthwise.report.tables import TextTable, csv_text, latex, markdown, short_percent, text_table
from lengthwise.theory.accuracy import least_error


def write_results(out: Path) -> list[Path]:
    """Write OUT/tables, OUT/figures and OUT/summary.json; equal runs give equal files."""
    collection = Collection(out)
    write_json(out / "summary.json", summary(collection))
    written = [out / "summary.json"]
    for recipe in RECIPES.values():
        written += write_tables(collection, recipe, out / "tables")
    for name, figure in FIGURES.items():
        if picture := draw(figure, collection.views):
            written += save(picture, out / "figures", name)
    return written


def tables_of(recipe: Recipe, collection: Collection) -> dict[str, TextTable]:
    """A recipe's tables by the names of their files; none if it has no run yet."""
    found: dict[str, TextTable] = {}
    for name, kind in recipe.tables.items():
        # The catalogue lists a table's columns, or else a function of report makes it.
        if columns := catalogue()["tables"].get(kind):
            table = line_table(collection, recipe, **columns)
        else:
            table = resolve_name(f"lengthwise.report.{kind}")(collection, recipe)
        if table is not None:
            found[name] = table
    return found


def write_tables(collection: Collection, recipe: Recipe, folder: Path) -> list[Path]:
    """Write NAME.md and NAME.tex for readers, NAME.csv for programs."""
    section = catalogue()["sections"].get(recipe.section, {})
    words = " ".join(filter(None, (recipe.words, section.get("words"))))
    texts: dict[Path, str] = {}
    for name, table in tables_of(recipe, collection).items():
        texts[folder / f"{name}.md"] = f"{table.title}\n\n{markdown(table)}\n\n{words}\n"
        texts[folder / f"{name}.tex"] = latex(table)
        texts[folder / f"{name}.csv"] = csv_text(table)
    folder.mkdir(parents=True, exist_ok=True)
    for path, text in texts.items():
        replace_file(path, partial(Path.write_text, data=text))
    return list(texts)


# docs/results.md -----------------------------------------------------------------------------------------------


def results_page(folder: Path, page: Path) -> str:
    """The text of docs/results.md from results.md.jinja. Links to figures are relative to the page."""
    collection = Collection(folder)

    def shown(section: str) -> list[Recipe]:
        recipes = (recipe for recipe in RECIPES.values() if recipe.section == section)
        return [recipe for recipe in recipes if of_rows(recipe.rows, collection.views)]

    def drawn(recipe: Recipe) -> list[Figure]:
        return [figure for figure in recipe.figures if (folder / "figures" / f"{figure.name}.svg").exists()]

    def seeds(figure: Figure) -> str:
        rows = rows_of(RECIPES[figure.of], collection).values()
        return seeds_text([view.seed for view in seeds.views] for seeds in rows)

    place = PackageLoader("lengthwise.report", "")
    jinja = Environment(loader=place, trim_blocks=True, lstrip_blocks=True, undefined=ChainableUndefined)
    jinja.filters |= {"markdown": markdown, "short": short_percent}
    text = jinja.get_template("results.md.jinja").render(
        here=os.path.relpath(folder, page.parent),
        tuned=(folder / "tuning.csv").exists(),
        gate=100 * GATE,
        agreement=100 * (1 - TOLERANCE),
        sections=catalogue()["sections"],
        grid_of=lambda family: regularization_grid(collection, RECIPES["regularization"], family),
        recipes=RECIPES.values(),
        shown=shown,
        drawn=drawn,
        seeds=seeds,
        tables_of=lambda recipe: tables_of(recipe, collection),
        collection=collection,
        **{make.__name__: make(collection) for make in OF_ALL_RUNS},
    )
    return text.rstrip("\n") + "\n"


def seeds_text(rows: Iterable[list[int]]) -> str:
    """The seeds that are drawn, with the number of rows where they differ.

    >>> seeds_text([[1, 2], [1, 2]]), seeds_text([[101], [1], [1]])
    ('Seeds 1, 2.', 'Seed 101 (1 row); seed 1 (2 rows).')
    """
    found = group_by(rows, tuple)
    parts = [f"seed{'s' * (len(own) > 1)} {', '.join(map(str, own))}" for own in found]
    if len(found) > 1:
        counts = map(len, found.values())
        parts = [f"{part} ({n} row{'s' * (n > 1)})" for part, n in zip(parts, counts, strict=True)]
    return f"{'; '.join(parts)}.".capitalize()


Decided = dict[str, dict[int, str]]
"""The verdict of every seed of each row on a claim."""


def decided(collection: Collection, claims: str) -> list[tuple[str, str, Decided]]:
    """The source, the text and the verdicts of each claim: a recipe's `theorems`, in the order of their numbers,
    or its other `claims`. Decided by the recipe's runs, or by the rows that the claim names."""
    found: list[tuple[str, str, Decided]] = []
    for recipe in RECIPES.values():
        for source, claim in getattr(recipe, claims).items():
            rows = resolve_name(f"lengthwise.recipes.{claim['rows']}") if "rows" in claim else recipe.rows
            runs = of_rows(rows, collection.views)
            decide = resolve_name(f"lengthwise.recipes.{claim['decided_by']}")
            more = {"runs": runs} if "beside_others" in claim else claim.get("with", {})
            by_row: Decided = {}
            for run in runs:
                if words := decide(run, **more):
                    by_row.setdefault(run.row, {})[run.seed] = combined(words) or UNDECIDED
            found.append((source, claim["says"], by_row))
    return sorted(found, key=lambda one: one[0]) if claims == "theorems" else found


def theorem_table(collection: Collection) -> TextTable | None:
    return _counts("Theorems", "theorem", decided(collection, "theorems"))


def claim_table(collection: Collection) -> TextTable | None:
    return _counts("Other claims", "where", decided(collection, "claims"))


def _counts(title: str, where: str, claims: list[tuple[str, str, Decided]]) -> TextTable | None:
    lines: list[dict[str, object]] = []
    for source, says, by_row in claims:
        rows = [tally(seeds.values()) for seeds in by_row.values()]
        words = [word for row in rows for word in row.words]
        hold = f"{sum(row.holds for row in rows)} of {len(rows)}"
        if not rows:
            hold = "not tested here"
        elif len(words) == len(rows):
            hold = "no verdict: one seed"
        runs = {word: words.count(word) for word in (HOLDS, FAILS, UNDECIDED)}
        counts = {"rows": len(rows), "runs": len(words), **runs, "rows that hold in all seeds": hold}
        lines.append({where: source, "what it says": says, **counts})
    return text_table(title, lines, words=2)


def theorem_rows(collection: Collection) -> TextTable | None:
    """Rows by seeds: the verdict on each theorem."""
    lines = [
        {
            "theorem": source,
            "row": row,
            "by seed": ", ".join(f"{seed} {word}" for seed, word in seeds.items()),
            "verdict": tally(seeds.values()),
        }
        for source, _, rows in decided(collection, "theorems")
        for row, seeds in rows.items()
    ]
    return text_table("Theorems by row", lines, words=3)


def formula_gap(collection: Collection) -> float | None:
    """The largest deviation of Theorem 5's formula from the exact accuracy, in percentage points."""
    gaps = [
        float(100 * abs(prediction.paper - prediction.accuracy))
        for view in of_rows(RECIPES["modular-addition"].rows, collection.views)
        if not modulus_divides(view)
        for prediction in view.spec.predictions()
        if prediction.paper is not None and prediction.accuracy is not None
    ]
    return max(gaps, default=None)


def far_off(collection: Collection) -> Point | None:
    """Corollary 2 as far as records show: the percentage of answers to longer sums, by length and run, that equal
    the truncated sum and are therefore wrong by 10^n or more."""
    percents = [
        100 * counts.share
        for view in of_rows(RECIPES["addition"].rows, collection.views)
        for domain in view.spec.longer()
        if least_error(view.task, view.train.length, domain) >= view.task.base**view.train.length
        for counts in compared(view, [domain], THEORY)
    ]
    return Point.of(percents) if percents else None


OF_ALL_RUNS = (summary, paper_tables, theorem_table, theorem_rows, claim_table, formula_gap, far_off, budget_table)
"""Functions whose results the page shows, under their names."""


# Evidence ------------------------------------------------------------------------------------------------------


PLACE = Path(evidence.__file__).with_name(evidence.FILE)
COUNTED = (
    *("addition", "modular-addition", "multiplication", "modular-multiplication", "questions", "base-or-modulus"),
    *("table1", "relative-addition", "carry-reading", "jelassi-5-20", "modular-relative"),
    *("multiplication-relative", "abacus-100", "long-encodings"),
)


def write_evidence(folder: Path, place: Path = PLACE) -> Path:
    """Write the evidence of the runs in a results folder, a line for each kind."""
    lines = [json.dumps(row) for row in evidence_table(Collection(folder).views)]
    place.write_text("[\n" + ",\n".join(lines) + "\n]\n")
    return place


def evidence_table(runs: Iterable[RunView]) -> list[dict[str, Any]]:
    """In how many of our own runs predictions hold, by kind. These runs count:

    - Finished runs of every seed that docs/results.md reports: `Collection.views` leaves out seed 0, which recipes
      were tuned on; the tuning of docs/protocol.md is only in results/tuning.csv.
    - Runs of recipes that train with tuned settings. Recipes that vary training to see its effect do not count:
      the paper's data or hyperparameters, removed ingredients, grids of sizes or regularization, short runs.
    - No model with position-only attention: a prediction is about an encoding in a standard decoder.

    A run counts once each for longer, trained and shorter operands. It holds if all verdicts hold, fails if one
    fails, and is undecided otherwise, also if it has not learned its training domain.
    """
    runs = [run for run in runs if run.spec.positions == run.encoding]
    found: dict[Kind, list[tuple[str, str]]] = {}
    for recipe in COUNTED:
        for run in of_rows(RECIPES[recipe].rows, runs):
            for kind, word in kinds(run).items():
                found.setdefault(kind, []).append((recipe, word))
    table: list[dict[str, Any]] = []
    for kind in sorted(found, key=lambda kind: [str(part) for part in kind]):
        recipes, words = zip(*found[kind], strict=True)
        hold, fail, undecided = (words.count(word) for word in (HOLDS, FAILS, UNDECIDED))
        evidence = Evidence(len(words), hold, fail, undecided, ", ".join(dict.fromkeys(recipes)))
        table.append({**kind._asdict(), **evidence._asdict()})
    return table


def kinds(run: RunView) -> dict[Kind, str]:
    """The verdict of a run on each kind of prediction."""
    judged = [verdict for verdict in run.verdicts() if verdict.word is not None]
    groups = group_by(judged, lambda verdict: Kind.of(run.spec.case(verdict.prediction.domain)))
    return {kind: combined(row.word for row in rows) or UNDECIDED for kind, rows in groups.items()}
