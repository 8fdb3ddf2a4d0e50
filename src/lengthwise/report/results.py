"""Results as files: tables, figures and the summary of a folder of finished runs."""

from functools import partial
from importlib import import_module
from pathlib import Path

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


def tables_of(recipe: Recipe, collection: Collection, *, data: bool = False) -> dict[str, TextTable]:
    """By the name of their files, none of a recipe that has no run yet; those that programs read, where they are
    others, with `data`: a table's function has that one beside it, by its name and `_data`."""
    found: dict[str, TextTable] = {}
    for name, maker in recipe.tables.items():
        module, _, function = maker.partition(".")
        makers = vars(import_module(f"lengthwise.report.{module}"))
        table = (makers.get(f"{function}_data") if data else None) or makers[function]
        made = table(collection, recipe)
        found |= {} if made is None else {name: made}
    return found


def write_tables(collection: Collection, recipe: Recipe, folder: Path) -> list[Path]:
    """NAME.md and NAME.tex to read, NAME.csv for programs."""
    section = catalogue()["sections"].get(recipe.section, {})
    words = " ".join(part["words"] for part in (recipe.words, section) if "words" in part)
    data = tables_of(recipe, collection, data=True)
    return [
        path
        for name, reading in tables_of(recipe, collection).items()
        for path in _write_texts(folder, name, reading, words, data[name])
    ]


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
