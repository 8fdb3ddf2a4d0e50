"""Results as files: tables, figures and the summary of a folder of finished runs."""

from functools import partial
from pathlib import Path

from lengthwise.records.files import replace_file, write_json
from lengthwise.report.collection import Collection
from lengthwise.report.figures import FIGURES
from lengthwise.report.figures.style import save
from lengthwise.report.formats import TextTable, csv_text, latex, markdown
from lengthwise.report.paper import LEGEND, TABLES, PaperTable, paper_table, summary
from lengthwise.report.recipe_tables import RECIPE_WORDS, table_for_programs, tables_of


def write_results(out: Path) -> list[Path]:
    """OUT/tables, OUT/figures and OUT/summary.json; equal runs give equal files."""
    collection = Collection(out)
    of_paper = [paper_table(collection, name) for name in TABLES]
    write_json(out / "summary.json", summary(collection, of_paper))
    tables = [path for table in of_paper for path in write_table(table, out / "tables")]
    tables += write_recipes(collection, out / "tables")
    return [out / "summary.json", *tables, *write_figures(collection, out / "figures")]


def write_table(table: PaperTable, folder: Path) -> list[Path]:
    """NAME.md and NAME.tex to read, NAME.csv with a line for each cell; nothing where no run is."""
    if table.cells.is_empty():
        return []
    return _write_texts(folder, table.name, table.reading(), LEGEND, table.data())


def write_recipes(collection: Collection, folder: Path) -> list[Path]:
    """The tables of recipes on encodings and on long operands that have been run."""
    written: list[Path] = []
    for recipe, words in RECIPE_WORDS.items():
        for name, table in tables_of(recipe, collection).items():
            written += _write_texts(folder, name, table, words, table_for_programs(recipe, name, collection))
    return written


def _write_texts(folder: Path, name: str, reading: TextTable, words: str, data: TextTable) -> list[Path]:
    texts = {
        "md": f"{reading.title}\n\n{markdown(reading)}\n\n{words}\n",
        "tex": latex(reading),
        "csv": csv_text(data),
    }
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for ending, text in texts.items():
        path = folder / f"{name}.{ending}"
        replace_file(path, partial(Path.write_text, data=text))
        written.append(path)
    return written


def write_figures(collection: Collection, folder: Path) -> list[Path]:
    written: list[Path] = []
    for spec in FIGURES.values():
        figure = spec.draw(collection.views)
        if figure is not None:
            written += save(figure, folder, spec.name)
    return written
