"""A process that works for the server: theory and verdicts, so that long counting can be stopped at any time.

It reads a request per line, as JSON, and writes a reply per line, until its input ends.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lengthwise.errors import InputError
from lengthwise.explorer.questions import check, explain, predict_rows
from lengthwise.explorer.refusal import RefusedError


def judge(*, path: str) -> dict[str, Any]:
    """The verdicts on a run after its last whole evaluation, or why there are none yet."""
    # Reading records takes libraries that a first prediction should not wait for.
    from lengthwise.records.view import RunView
    from lengthwise.report.run_tables import verdict_json

    view = RunView.of(readable(path))
    try:
        step, rows = view.last_whole()
    except InputError as error:
        return {"step": None, "verdicts": [], "why": str(error)}
    return {"step": step, "verdicts": [verdict_json(row) for row in rows], "why": None}


def report(*, paths: list[str]) -> dict[str, Any]:
    """The report on some runs, as HTML."""
    from lengthwise.report.page.build import report_html

    return {"html": report_html([readable(path) for path in paths])}


def readable(path: str) -> Path:
    """A run folder whose own account of itself can be read."""
    from lengthwise.explorer.progress import summary

    problem = summary(path, Path(path))["error"]
    if problem is not None:
        raise InputError(f"run {Path(path).name} {problem}")
    return Path(path)


CALLS: dict[str, Callable[..., dict[str, Any]]] = {
    "check": check,
    "explain": explain,
    "predict": predict_rows,
    "judge": judge,
    "report": report,
}


def reply_to(line: str) -> dict[str, Any]:
    request = json.loads(line)
    try:
        return {"result": CALLS[request["call"]](**request["arguments"])}
    except RefusedError as refusal:
        return {"error": str(refusal), "field": refusal.field}
    except InputError as error:
        return {"error": str(error), "field": None}
    except Exception as error:  # the worker lives on: one broken run must not take the page with it
        return {"error": f"{request['call']} went wrong: {type(error).__name__}: {error}", "field": None}


def main() -> None:
    sys.set_int_max_str_digits(0)
    for line in sys.stdin:
        print(json.dumps(reply_to(line)), flush=True)


if __name__ == "__main__":
    main()
