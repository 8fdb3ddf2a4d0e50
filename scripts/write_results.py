"""Writes tables, figures, docs/results.md, the README's picture and the shipped evidence from results/."""

from pathlib import Path

from lengthwise.report.figures import look
from lengthwise.report.figures.lengths import accuracy_by_length
from lengthwise.report.queries import Collection
from lengthwise.report.results import results_page, write_evidence, write_results

ROOT = Path(__file__).parent.parent
RESULTS, PAGE = ROOT / "results", ROOT / "docs" / "results.md"
PICTURE = ROOT / "docs" / "images" / "prediction.png"
README_ROWS = {
    "addition-D4": "a + b",
    "modular-addition-p200": "(a + b) mod 200",
    "modular-addition-p150": "(a + b) mod 150",
    "multiplication-D3": "a × b",
}
"""Panels of the README's picture: three rows where the prediction holds, and one where it does not."""


def draw_readme_picture() -> Path:
    rows = {view: view.name.rpartition("-s")[0] for view in Collection(RESULTS).views}
    views = [view for row in README_ROWS for view in rows if rows[view] == row]
    with look():
        figure = accuracy_by_length(views, lambda view: README_ROWS[rows[view]])
        assert figure is not None, f"no run of {', '.join(README_ROWS)}"
        figure.savefig(PICTURE, metadata={"Software": None})
    return PICTURE


if __name__ == "__main__":
    written = [*write_results(RESULTS), draw_readme_picture(), write_evidence(RESULTS)]
    PAGE.write_text(results_page(RESULTS, PAGE))
    print(f"{len(written) + 1} files written")
