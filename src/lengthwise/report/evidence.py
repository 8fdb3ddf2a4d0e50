"""The evidence that ships with the package: how many of our own runs do what theory predicts, kind by kind.

Which runs count is decided here:

- Finished runs, every seed that docs/results.md reports: `Collection.views` leaves out seed 0, which recipes were
  tuned on; the tuning of docs/protocol.md is in results/tuning.csv alone.
- Of recipes that train as they were tuned to. Those that vary training to see what it changes do not count: the
  paper's data or hyperparameters, ingredients left out, grids of sizes or regularization, short runs.
- No model with position-only attention: a prediction speaks of an encoding in a standard decoder.

A run counts once for longer, once for trained and once for shorter operands. There it holds if all its verdicts
hold, fails if one fails, and is undecided otherwise, as it is where it has not learned its training domain.
"""

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from lengthwise.recipes import RECIPES, of_rows
from lengthwise.records import evidence
from lengthwise.records.evidence import Evidence, Kind
from lengthwise.records.verdicts import FAILS, HOLDS, UNDECIDED, combined
from lengthwise.records.view import RunView
from lengthwise.report.collection import Collection, group_by

PLACE = Path(evidence.__file__).with_name(evidence.FILE)
COUNTED = (
    *("addition", "modular-addition", "multiplication", "modular-multiplication", "questions", "base-or-modulus"),
    *("table1", "relative-addition", "carry-reading", "jelassi-5-20", "modular-relative"),
    *("multiplication-relative", "abacus-100", "long-encodings"),
)


def write_evidence(folder: Path, place: Path = PLACE) -> Path:
    """Of the runs in a results folder, a line for each kind."""
    lines = [json.dumps(row) for row in evidence_table(Collection(folder).views)]
    place.write_text("[\n" + ",\n".join(lines) + "\n]\n")
    return place


def evidence_table(runs: Iterable[RunView]) -> list[dict[str, Any]]:
    runs = [run for run in runs if run.spec.positions == run.encoding]
    words = [
        (kind, recipe.name, word)
        for recipe in map(RECIPES.__getitem__, COUNTED)
        for run in of_rows(recipe.rows, runs)
        for kind, word in kinds(run).items()
    ]
    by_kind = group_by(words, lambda one: one[0])
    order = sorted(by_kind, key=lambda kind: [str(part) for part in kind])
    return [{**kind._asdict(), **_counted(by_kind[kind])._asdict()} for kind in order]


def kinds(run: RunView) -> dict[Kind, str]:
    """The verdict of a run on each kind of prediction that theory makes of it."""
    judged = [verdict for verdict in run.verdicts() if verdict.word is not None]
    groups = group_by(judged, lambda verdict: Kind.of(run.spec.case(verdict.prediction.domain)))
    return {kind: combined(row.word for row in rows) or UNDECIDED for kind, rows in groups.items()}


def _counted(words: Iterable[tuple[Kind, str, str]]) -> Evidence:
    _, recipes, found = zip(*words, strict=True)
    number = Counter(found)
    return Evidence(len(found), number[HOLDS], number[FAILS], number[UNDECIDED], ", ".join(dict.fromkeys(recipes)))
