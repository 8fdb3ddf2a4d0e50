"""Tables, figures and pages about runs. The package can be called: `lengthwise.report(["runs"],
out="report.html")`."""

import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

T = TypeVar("T")


def group_by(items: Iterable[T], key: Callable[[T], Any]) -> dict[Any, list[T]]:
    """Items by key, in order."""
    groups: dict[Any, list[T]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


class _Verb(ModuleType):
    """Makes `lengthwise.report` both this package and a function that does what the verb does."""

    def __call__(
        self,
        runs: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
        out: str | os.PathLike[str] = "report.html",
    ) -> Path:
        """Write one HTML page about these run folders, or those inside these folders. Returns its path."""
        from lengthwise.report.page import Report  # noqa: PLC0415 (only a page needs plotly and jinja2)

        paths = [runs] if isinstance(runs, str | os.PathLike) else runs
        Report.of([Path(path) for path in paths]).write(Path(out))
        return Path(out)


sys.modules[__name__].__class__ = _Verb
