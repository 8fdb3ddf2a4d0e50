"""Evidence: in how many of our own reported runs predictions of a kind hold, shown beside each prediction.

Theory never depends on a measurement, so the two are combined here. The counts are in evidence.json, which
`make results` writes; report/results.py decides which runs count.

>>> row = predict("add", train="D4", test="D5").rows[0]
>>> row.evidence.hold + row.evidence.fail + row.evidence.undecided == row.evidence.seeds
True
>>> predict("add", train="D4", test="D5", encoding="none").rows[0].evidence
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cache, wraps
from importlib.resources import files
from typing import Any, NamedTuple, ParamSpec, TypeVar

from lengthwise.theory import modulus_divides
from lengthwise.theory import predict as theory
from lengthwise.theory.hypotheses import Hypothesis
from lengthwise.theory.predict import Prediction, Predictions
from lengthwise.theory.rules import Case, find_rule

P = ParamSpec("P")
T = TypeVar("T")

FILE = "evidence.json"
LONGER, TRAINED, SHORTER = "longer", "trained", "shorter"


class Kind(NamedTuple):
    """Predictions that are counted together. All bases and all trained lengths count as one."""

    operation: str
    modulus_divides: bool | None
    """Whether the modulus divides base^n, where n is the longest trained length; None without a modulus."""
    encoding: str
    layout: str
    lengths: str
    """Operands longer than in training, those of training, or shorter ones."""

    @classmethod
    def of(cls, case: Case) -> "Kind":
        task = case.task
        divides = None if task.modulus is None else modulus_divides(task, case.n)
        lengths = LONGER if case.upward else TRAINED if case.in_distribution else SHORTER
        return cls(task.operation, divides, case.encoding, case.layout, lengths)


class Evidence(NamedTuple):
    """The number of runs in which a prediction holds on all lengths of the kind, fails on some, or is
    undecided."""

    seeds: int
    """The number of all these runs: each seed of each row of a recipe."""
    hold: int
    fail: int
    undecided: int
    source: str
    """The recipes they belong to."""


@dataclass(frozen=True)
class MeasuredPrediction(Prediction):
    evidence: Evidence | None = None
    """None if no such run was measured, if there is no prediction, and for a requested hypothesis that is not the
    rule's."""

    def as_json(self) -> dict[str, Any]:
        return {**super().as_json(), "evidence": self.evidence and self.evidence._asdict()}


@dataclass(frozen=True, repr=False)
class MeasuredPredictions(Predictions):
    rows: tuple[MeasuredPrediction, ...]


def with_evidence(found: Predictions) -> MeasuredPredictions:
    rows = [
        _extended(MeasuredPrediction, row, evidence=evidence_of(found.case(row.domain), row.hypothesis))
        for row in found.rows
    ]
    return _extended(MeasuredPredictions, found, rows=tuple(rows))


def _measured(predict: Callable[P, Predictions]) -> Callable[P, MeasuredPredictions]:
    @wraps(predict)
    def predict_with_evidence(*args: P.args, **kwargs: P.kwargs) -> MeasuredPredictions:
        return with_evidence(predict(*args, **kwargs))

    return predict_with_evidence


predict = _measured(theory.predict)
"""Predictions with their evidence."""


def evidence_of(case: Case, hypothesis: Hypothesis | None) -> Evidence | None:
    """The evidence for a hypothesis, if theory predicts it."""
    predicted = find_rule(case).hypothesis(case)
    return None if predicted is None or hypothesis != predicted else shipped_evidence().get(Kind.of(case))


@cache
def shipped_evidence() -> dict[Kind, Evidence]:
    rows = json.loads(files("lengthwise.records").joinpath(FILE).read_text())
    return {
        Kind(*(row[key] for key in Kind._fields)): Evidence(*(row[key] for key in Evidence._fields))
        for row in rows
    }


def _extended(to: type[T], one: Prediction | Predictions, **more: Any) -> T:
    return to(**{field.name: getattr(one, field.name) for field in fields(one)} | more)
