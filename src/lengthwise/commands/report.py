"""lengthwise report: runs as one HTML page to look at."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro


@dataclass(frozen=True, kw_only=True)
class Report:
    """Write one HTML page that shows what was asked, predicted and measured. It opens offline.

    Example: lengthwise report runs --out report.html
    """

    runs: Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="RUN")] = ()
    """Run folders, folders that hold some, or models that come with the package."""
    out: Path = Path("report.html")
    """The file to write, or a pipe or device to write into."""
    json: bool = False
    """Print what was written as JSON."""

    def run(self) -> None:
        from lengthwise.report.page import Report as Page
        from lengthwise.shipped import model_path

        report = Page.of([model_path(run) for run in self.runs])
        report.write(self.out)
        if self.json:
            content = {
                "report": str(self.out),
                "runs": [run.label for run in report.runs],
                "unfinished": {run.label: run.standing for run in report.unfinished},
                "left_out": report.left_out,
                "verdicts": report.counts,
            }
            return print(json.dumps(content, indent=2))
        for name, why in report.left_out.items():
            print(f"left out {name}: {why}")
        return print(f"{self.out}: {report.summary}")
