"""Writes tables, figures, the summary and docs/results.md from the records in results/."""

from pathlib import Path

from lengthwise.report.results import write_results
from lengthwise.report.results_page import results_page

ROOT = Path(__file__).parent.parent
RESULTS, PAGE = ROOT / "results", ROOT / "docs" / "results.md"

if __name__ == "__main__":
    written = write_results(RESULTS)
    PAGE.write_text(results_page(RESULTS, PAGE))
    print(f"{len(written) + 1} files written")
