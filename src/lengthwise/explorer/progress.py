"""Runs as they go: what a run folder says of itself, and the points its records added since last time."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lengthwise.errors import InputError
from lengthwise.explorer.bounds import RECORD_BYTES
from lengthwise.records.packed import open_run
from lengthwise.records.source import RunSource
from lengthwise.records.view import RunView

LOSS, EXACT = "train_loss", "exact"


def summary(name: str, path: Path) -> dict[str, Any]:
    """A folder that cannot be read says why, in its own line of the list."""
    try:
        run = open_run(path)
        return {"name": name, "error": None, **_described(RunView(run)), **_standing(run)}
    except KeyError as error:
        return {"name": name, "error": f"cannot be read: its config has no {error}", "status": None}
    except (InputError, TypeError, ValueError, OSError) as error:
        return {"name": name, "error": f"cannot be read: {error}", "status": None}


def _described(view: RunView) -> dict[str, Any]:
    return {
        "task": str(view.task),
        "base": view.task.base,
        "train": str(view.train),
        "encoding": view.encoding,
        "layout": view.layout,
        "seed": view.seed,
        "steps": view.config["training"]["steps"],
        "tests": [str(domain) for domain in view.tests],
        "group": view.spec.question,
    }


def _standing(run: RunSource) -> dict[str, Any]:
    return {"status": run.status(), "records_size": run.records_size(), "has_model": run.has_model}


def points(path: Path, offset: int) -> dict[str, Any]:
    """Loss and accuracy against truth in the records after `offset`, whole lines alone.

    A resumed run may have cut its records: then everything is read again from the start.
    """
    run = open_run(path)
    size = run.records_size()
    start = offset if offset <= size else 0
    content = run.record_lines(start, RECORD_BYTES)
    whole = content[: content.rfind(b"\n") + 1]
    end = start + len(whole)
    return {
        "points": [point for line in whole.splitlines() for point in _points(line)],
        "restarted": start != offset,
        "offset": end,
        "more": bool(whole) and end < size,
        "status": run.status(),
    }


def _points(line: bytes) -> Iterator[dict[str, Any]]:
    try:
        record = json.loads(line)
        if record["reference"] != "truth" or record["mode"] != "forced":
            return
        if record["metric"] == LOSS and record["value"] is not None:
            yield {"step": record["step"], "domain": record["domain"], "metric": LOSS, "value": record["value"]}
        elif record["metric"] == EXACT and record["total"]:
            share = record["correct"] / record["total"]
            yield {"step": record["step"], "domain": record["domain"], "metric": EXACT, "value": share}
    except (ValueError, KeyError, TypeError):
        # A line that is no record is the report's to complain of; the live picture goes on without it.
        return
