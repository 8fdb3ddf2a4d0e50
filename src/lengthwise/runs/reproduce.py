"""Training the runs of a recipe: as stacks into run folders, and a note of what it took."""

import math
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from lengthwise.records.files import file_lock, read_json, write_json
from lengthwise.records.folder import RunFolder
from lengthwise.runs.config import RunConfig
from lengthwise.runs.launch import Job, train_jobs


def reproduce(
    name: str,
    runs: Mapping[str, RunConfig],
    out: Path,
    *,
    asked: Mapping[str, Any],
    device: str = "auto",
    console: Console,
) -> list[RunFolder]:
    """Train what is not trained yet of a recipe's runs, by their names. OUT/NAME.json notes the runs, the seconds
    that training them took, and what was `asked`: scale, preset and number of seeds."""
    jobs = [Job(config, RunFolder(out / "runs" / run)) for run, config in runs.items()]
    unfinished = any(job.folder.status() != "done" for job in jobs)
    start = time.time()
    try:
        return train_jobs(jobs, device=device, console=console)
    finally:
        span = [[round(start, 1), round(time.time(), 1)]] if unfinished else []
        _note(name, [job.folder for job in jobs], out, asked, span)


def _note(
    name: str, folders: Sequence[RunFolder], out: Path, asked: Mapping[str, Any], span: list[list[float]]
) -> None:
    """A call that goes on with what an earlier one began, or trains other rows beside it, adds to its note."""
    there = [folder for folder in folders if (folder.path / "environment.json").exists()]
    if not there:
        return
    environment = there[0].environment()
    path = out / f"{name}.json"
    with file_lock(path):
        before = _with_spans(read_json(path)) if path.exists() else {}
        spans = [*before.get("spans", []), *span]
        write_json(
            path,
            {
                **before,
                "recipe": name,
                **asked,
                "seeds": max(asked["seeds"], before.get("seeds", 0)),
                "runs": list(dict.fromkeys([*before.get("runs", []), *(folder.name for folder in there)])),
                "spans": spans,
                "wall_seconds": round(before.get("earlier_seconds", 0.0) + covered(spans), 1),
                "commit": environment["commit"],
                "device": environment["device"],
            },
        )


def _with_spans(note: dict[str, Any]) -> dict[str, Any]:
    """A note of an earlier version tells seconds alone, and not when they were."""
    return note if "spans" in note else {**note, "earlier_seconds": note["wall_seconds"], "spans": []}


def covered(spans: Sequence[list[float]]) -> float:
    """How long any of them lasted: calls side by side count once.

    >>> covered([[0, 10], [5, 12], [20, 21]])
    13.0
    """
    total, reached = 0.0, -math.inf
    for start, end in sorted(spans):
        total += max(end - max(start, reached), 0.0)
        reached = max(reached, end)
    return round(total, 1)
