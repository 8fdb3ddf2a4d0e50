"""Tables and pictures of runs. The package can be called: `lengthwise.report(["runs"], out="report.html")`."""

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType


class _Verb(ModuleType):
    """`lengthwise.report` does what the verb does, and is the name of this package too."""

    def __call__(
        self,
        runs: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
        out: str | os.PathLike[str] = "report.html",
    ) -> Path:
        """Write one HTML page on these run folders, or on those inside these folders; where it was written."""
        from lengthwise.report.page import Report  # noqa: PLC0415 (plotly and jinja2 where a page is made alone)

        paths = [runs] if isinstance(runs, str | os.PathLike) else runs
        Report.of([Path(path) for path in paths]).write(Path(out))
        return Path(out)


sys.modules[__name__].__class__ = _Verb
