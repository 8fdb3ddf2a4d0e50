"""The run folders there are, by name. A request names one of these and never a path."""

import os
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from lengthwise.errors import InputError
from lengthwise.explorer.bounds import MAX_LISTED
from lengthwise.explorer.refusal import RefusedError
from lengthwise.shipped import shipped_models

MAX_DEPTH = 3

DEFAULT_ROOTS = (Path("runs"), Path("results"))
"""Where runs are unless someone says otherwise. Nobody named these, so they may be missing."""


class Catalogue:
    """Run folders below some folders, as `runs/NAME`, and shipped models, as `NAME`."""

    def __init__(self, roots: Sequence[Path]) -> None:
        if tuple(roots) != DEFAULT_ROOTS:
            _refuse_missing(roots)
        names = [root.name for root in roots]
        self._roots = {
            name if names.count(name) == 1 else str(root): root for name, root in zip(names, roots, strict=True)
        }

    def runs(self) -> dict[str, Path]:
        """At most MAX_LISTED."""
        return self.listed()[0]

    def listed(self) -> tuple[dict[str, Path], int]:
        """At most MAX_LISTED runs, and how many are left out.

        Folders come in the order they were given, so that what is left out is of the last; within one, by name.
        """
        found: dict[str, Path] = {}
        for label, root in self._roots.items():
            below = {f"{label}/{path.relative_to(root).as_posix()}": path for path in _run_folders(root)}
            found.update(sorted(below.items()))
        kept = dict(islice(found.items(), MAX_LISTED))
        return kept, len(found) - len(kept)

    def models(self) -> dict[str, Path]:
        """Those that can be asked: shipped ones first, then runs with a checkpoint."""
        own = {name: path for name, path in self.runs().items() if (path / "checkpoint" / "state.json").is_file()}
        return {**shipped_models(), **own}

    def run(self, name: str) -> Path:
        return _listed(self.runs(), name, "run")

    def model(self, name: str) -> Path:
        return _listed(self.models(), name, "model")


def _refuse_missing(roots: Sequence[Path]) -> None:
    for root in roots:
        if not root.is_dir():
            raise InputError(f"no folder {root}: allowed for --runs are folders that hold run folders")


def _run_folders(root: Path) -> Iterator[Path]:
    """Run folders, and runs of packed files as FILE.json/NAME."""
    from lengthwise.records.packed import is_packed, packed_runs

    for place, folders, files in os.walk(root):
        path = Path(place)
        if "config.json" in files and path != root:
            yield path
            folders.clear()
            continue
        for name in files:
            if is_packed(path / name):
                yield from (run.path for run in packed_runs(path / name) if run.path.parent.name == name)
        if len(path.relative_to(root).parts) >= MAX_DEPTH:
            folders.clear()


def _listed(entries: dict[str, Path], name: str, kind: str) -> Path:
    if name not in entries:
        raise RefusedError(f"no {kind} of this name is listed: {name!r}", field=kind, status=404)
    return entries[name]
