"""Measured dependence of answer digits on operand digits, beside what a hypothesis says exactly."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from lengthwise.arithmetic import Domain, Task
from lengthwise.errors import InputError
from lengthwise.records.schema import Record
from lengthwise.records.verdicts import Measured
from lengthwise.records.view import RunView
from lengthwise.theory.dependence import Matrix, dependence_matrix
from lengthwise.theory.hypotheses import Hypothesis


@dataclass(frozen=True, slots=True)
class Dependence:
    """Row i - 1 is answer digit i, column j - 1 is digit j of operand a."""

    hypothesis: Hypothesis | None
    measured: list[list[Measured]]
    """How many answers changed."""
    exact: Matrix
    """The share that the hypothesis changes; None where there is none, or none is derived."""

    def as_json(self) -> dict[str, Any]:
        cells = [
            {
                "answer_digit": i + 1,
                "operand_digit": j + 1,
                "changed": measured.correct,
                "total": measured.total,
                "exact": None if (share := self.exact[i][j]) is None else str(share),
            }
            for i, row in enumerate(self.measured)
            for j, measured in enumerate(row)
        ]
        return {"hypothesis": None if self.hypothesis is None else str(self.hypothesis), "cells": cells}


def dependence_of(records: Iterable[Record], task: Task, hypothesis: Hypothesis | None) -> Dependence:
    """From the records of one run at one step."""
    counts: dict[tuple[int, int], Measured] = {}
    for record in records:
        kind, _, place = record.metric.partition(":")
        if kind == "depends":
            assert record.correct is not None
            i, j = map(int, place.split(":"))
            counts[i, j] = Measured(record.correct, record.total, enumerated=False)
    if not counts:
        raise InputError("the records tell no dependence: train or evaluate with dependence")
    rows, length = map(max, zip(*counts, strict=True))
    measured = [[counts[i, j] for j in range(1, length + 1)] for i in range(1, rows + 1)]
    return Dependence(hypothesis, measured, _exact(task, hypothesis, length, rows))


def run_dependence(view: RunView) -> Dependence:
    """A run's own, after training."""
    records = view.at(view.last_step)
    length = max(domain.length for domain in view.tests)
    domain = Domain.parse(f"D{length}", view.task.base)
    return dependence_of(records, view.task, view.spec.predicted_hypothesis(domain))


def _exact(task: Task, hypothesis: Hypothesis | None, length: int, rows: int) -> Matrix:
    """Answers may be written wider than operands of this length need: there no digit ever changes."""
    if hypothesis is None:
        return [[None] * length for _ in range(rows)]
    matrix = dependence_matrix(task, hypothesis, length)
    return matrix + [[Fraction()] * length for _ in range(rows - len(matrix))]
