"""Results as files: tables, figures and the summary of a folder of finished runs."""

from functools import partial
from importlib import import_module
from pathlib import Path

from lengthwise.recipes import RECIPES, Recipe
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
    """By the name of their files; none for a recipe that has no table, or no run yet."""
    made = {table.name: make(table.made_by, collection, recipe) for table in recipe.tables}
    return {name: table for name, table in made.items() if table is not None}


def make(maker: str, collection: Collection, recipe: Recipe) -> TextTable | None:
    """A table by the function that a recipe names."""
    module, _, function = maker.partition(".")
    return getattr(import_module(f"lengthwise.report.{module}"), function)(collection, recipe)


def write_tables(collection: Collection, recipe: Recipe, folder: Path) -> list[Path]:
    """NAME.md and NAME.tex to read, NAME.csv for programs."""
    written: list[Path] = []
    for table in recipe.tables:
        reading = make(table.made_by, collection, recipe)
        if reading is not None:
            data = make(table.data_by, collection, recipe) if table.data_by else reading
            assert data is not None, "the same runs"
            written += _write_texts(folder, table.name, reading, recipe.words, data)
    return written


def _write_texts(folder: Path, name: str, reading: TextTable, words: str, data: TextTable) -> list[Path]:
    texts = {
        "md": f"{reading.title}\n\n{markdown(reading)}\n\n{words}\n",
        "tex": latex(reading),
        "csv": csv_text(data),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for ending, text in texts.items():
        replace_file(folder / f"{name}.{ending}", partial(Path.write_text, data=text))
    return [folder / f"{name}.{ending}" for ending in texts]


def write_figures(collection: Collection, folder: Path) -> list[Path]:
    drawn = ((name, draw(figure, collection.views)) for name, figure in FIGURES.items())
    return [path for name, picture in drawn if picture is not None for path in save(picture, folder, name)]
