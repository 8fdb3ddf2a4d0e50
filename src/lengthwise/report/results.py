"""Results as files: tables, figures and the summary of a folder of finished runs."""

from functools import partial
from pathlib import Path
from pkgutil import resolve_name

from lengthwise.recipes import RECIPES, Recipe, catalogue
from lengthwise.records.files import replace_file, write_json
from lengthwise.report.collection import Collection
from lengthwise.report.figures import FIGURES, draw, save
from lengthwise.report.formats import TextTable, csv_text, latex, markdown
from lengthwise.report.paper import summary


def write_results(out: Path) -> list[Path]:
    """OUT/tables, OUT/figures and OUT/summary.json; equal runs give equal files."""
    collection = Collection(out)
    write_json(out / "summary.json", summary(collection))
    tables = [path for recipe in RECIPES.values() for path in write_tables(collection, recipe, out / "tables")]
    return [out / "summary.json", *tables, *write_figures(collection, out / "figures")]


def tables_of(recipe: Recipe, collection: Collection) -> dict[str, TextTable]:
    """By the name of their files, none of a recipe that has no run yet."""
    makers = {name: resolve_name(f"lengthwise.report.{maker}") for name, maker in recipe.tables.items()}
    found = {name: make(collection, recipe) for name, make in makers.items()}
    return {name: table for name, table in found.items() if table is not None}


def write_tables(collection: Collection, recipe: Recipe, folder: Path) -> list[Path]:
    """NAME.md and NAME.tex to read, NAME.csv for programs."""
    section = catalogue()["sections"].get(recipe.section, {})
    words = " ".join(part["words"] for part in (recipe.words, section) if "words" in part)
    texts = {
        folder / f"{name}.{ending}": text
        for name, table in tables_of(recipe, collection).items()
        for ending, text in (
            ("md", f"{table.title}\n\n{markdown(table)}\n\n{words}\n"),
            ("tex", latex(table)),
            ("csv", csv_text(table)),
        )
    }
    folder.mkdir(parents=True, exist_ok=True)
    for path, text in texts.items():
        replace_file(path, partial(Path.write_text, data=text))
    return list(texts)


def write_figures(collection: Collection, folder: Path) -> list[Path]:
    drawn = ((name, draw(figure, collection.views)) for name, figure in FIGURES.items())
    return [path for name, picture in drawn if picture is not None for path in save(picture, folder, name)]
