"""Training the runs of a recipe: as stacks into run folders, and a note of what it took."""

import math
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from lengthwise.experiments.config import RunConfig
from lengthwise.experiments.launch import Claim, train_claims
from lengthwise.records.files import read_json, write_json
from lengthwise.records.folder import RunFolder
from lengthwise.records.lock import alone


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
    claims = [Claim(config, RunFolder(out / "runs" / run)) for run, config in runs.items()]
    unfinished = any(claim.folder.status() != "done" for claim in claims)
    start = time.time()
    try:
        return train_claims(claims, device=device, console=console)
    finally:
        span = [[round(start, 1), round(time.time(), 1)]] if unfinished else []
        _note(name, [claim.folder for claim in claims], out, asked, span)


def _note(
    name: str, folders: Sequence[RunFolder], out: Path, asked: Mapping[str, Any], span: list[list[float]]
) -> None:
    """A call that goes on with what an earlier one began, or trains other rows beside it, adds to its note."""
    there = [folder for folder in folders if (folder.path / "environment.json").exists()]
    if not there:
        return
    environment = there[0].environment()
    path = out / f"{name}.json"
    with alone(path):
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
