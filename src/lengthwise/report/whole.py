"""The last evaluation of a run that is whole: one that is being written, or was cut short, cannot be judged."""

from collections.abc import Sequence
from typing import NamedTuple

from lengthwise.errors import InputError
from lengthwise.records.verdicts import Verdict, verdicts
from lengthwise.records.view import RunView
from lengthwise.theory.predict import Prediction


class Judged(NamedTuple):
    step: int
    verdicts: list[Verdict]


def last_whole(view: RunView, predictions: Sequence[Prediction]) -> Judged:
    why = "nothing measured yet"
    for step in sorted({record.step for record in view.records}, reverse=True):
        try:
            return Judged(step, verdicts(predictions, view.train, view.at(step)))
        except InputError as error:
            why = str(error)
    raise InputError(why)
