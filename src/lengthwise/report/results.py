"""Results as files: tables, figures and the summary of a folder of finished runs."""

from functools import partial
from pathlib import Path

from lengthwise.records.files import replace_file, write_json
from lengthwise.report.collection import Collection
from lengthwise.report.comparison import TABLES, Comparison, compare
from lengthwise.report.comparison_text import LEGEND, data_table, reading_table
from lengthwise.report.figures import FIGURES
from lengthwise.report.figures.style import save
from lengthwise.report.formats import csv_text, latex, markdown
from lengthwise.report.summary import summary


def write_results(out: Path) -> list[Path]:
    """OUT/tables, OUT/figures and OUT/summary.json; equal runs give equal files."""
    collection = Collection(out)
    comparisons = [compare(collection, name) for name in TABLES]
    write_json(out / "summary.json", summary(collection, comparisons))
    tables = [path for comparison in comparisons for path in write_table(comparison, out / "tables")]
    return [out / "summary.json", *tables, *write_figures(collection, out / "figures")]


def write_table(comparison: Comparison, folder: Path) -> list[Path]:
    """NAME.md and NAME.tex to read, NAME.csv with a line for each cell; nothing where no run is."""
    if not (comparison.rows or comparison.apart):
        return []
    reading = reading_table(comparison)
    texts = {
        "md": f"{reading.title}\n\n{markdown(reading)}\n\n{LEGEND}\n",
        "tex": latex(reading),
        "csv": csv_text(data_table(comparison)),
    }
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for ending, text in texts.items():
        path = folder / f"{comparison.name}.{ending}"
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
