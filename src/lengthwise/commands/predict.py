"""lengthwise predict: the function that a model will compute, before it is trained."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import tyro
from rich.console import Console

from lengthwise.arithmetic import Domain, Task
from lengthwise.errors import InputError
from lengthwise.progress import progress_shown
from lengthwise.records.evidence import MeasuredPredictions, evidence_of, predict, with_evidence
from lengthwise.report.tables import MARKS, coverage_table, mark_table, plateau_table, prediction_table
from lengthwise.report.words import evidence_words, glosses, joined_domains, sentences
from lengthwise.theory.accuracy import MOST_RESIDUES
from lengthwise.theory.columns import coverage
from lengthwise.theory.predict import Predictions
from lengthwise.theory.rules import Case, find_rule, table_1

DEFAULT_TEST = "(default: lengths from 1 to 5 digits above training)"
DEFAULT_LAYOUT = "(default: the encoding's usual one)"


@dataclass(frozen=True, kw_only=True)
class Predict:
    """Predict which function a transformer trained on some lengths will compute, and its accuracy on every length.

    Example: lengthwise predict add%151 --train D4 --test B1..9
    """

    task: Annotated[str | None, tyro.conf.Positional, tyro.conf.arg(metavar="TASK")] = None
    """Operation and modulus: add, mul, sub, add%101, mul%150."""
    train: str = "D4"
    """Training domain: D4, B4, 40x2, D4+D5, 0.6*D6+0.4*D7, D1..4, 1..40x2, D4[lead>=6]."""
    test: Annotated[str | None, tyro.conf.arg(metavar="DOMAINS", help_behavior_hint=DEFAULT_TEST)] = None
    """Test domains, one row each: D1..9, B5,B6."""
    encoding: str = "learned"
    """Positional encoding: none, learned, sinusoidal, rotary, alibi, t5, shaw, fire, abacus, coupled."""
    layout: Annotated[str | None, tyro.conf.arg(metavar="NAME", help_behavior_hint=DEFAULT_LAYOUT)] = None
    """Layout: padded, aligned, descending, reversed, level, plain, scratchpad."""
    base: int = 10
    """Number base, 2 to 36."""
    hypothesis: Annotated[str | None, tyro.conf.arg(metavar="NAME")] = None
    """Predict with this function instead of the rule's: truth, local, truncated:4, windowed:4."""
    coverage: bool = False
    """Instead of a prediction, show which digits and carries training shows at each position of a sum."""
    plateaus: bool = False
    """Also show the accuracy on the training domain of models that know only part of an answer."""
    table: bool = False
    """Print the paper's Table 1, derived from the rules."""
    json: bool = False
    """Print JSON."""

    def run(self) -> None:
        if self.table:
            marks = table_1()
            if self.json:
                return print(json.dumps(marks, indent=2))
            Console(highlight=False).print(mark_table(marks))
            return print("✓ theory says that the model generalizes to longer operands, ✗ that it does not")
        if self.task is None:
            raise InputError("missing task (such as add, mul or add%101)")
        if self.coverage:
            return self._show_coverage(self.task)
        names = ("train", "test", "encoding", "layout", "base", "hypothesis", "plateaus")
        with progress_shown("predicting") as watch:
            predictions = predict(self.task, **{name: getattr(self, name) for name in names}, watch=watch)
        if self.json:
            return print(json.dumps(predictions.as_json(), indent=2))
        return show(predictions, Console(highlight=False))

    def _show_coverage(self, text: str) -> None:
        task = Task.parse(text, self.base)
        with progress_shown("predicting", at_once=True):
            positions = coverage(task, Domain.parse(self.train, self.base))
        if self.json:
            sets = ("pairs", "carries", "outputs")
            rows = [
                {"position": row.position, **{key: sorted(getattr(row, key)) for key in sets}} for row in positions
            ]
            return print(json.dumps(rows))
        return Console(highlight=False).print(coverage_table(positions, self.base))


def show(found: Predictions, console: Console) -> None:
    predictions, task = with_evidence(found), found.task
    base = "" if task.base == 10 else f" in base {task.base}"
    console.print(
        f"{task}{base}, trained on {predictions.train}, {predictions.encoding} positions, "
        f"{predictions.layout} layout",
        markup=False,
        style="bold",
    )
    console.print(prediction_table(predictions))
    for note in notes(predictions):
        console.print(f"- {note}", soft_wrap=True, markup=False)
    console.print(generalization(predictions), soft_wrap=True)
    if predictions.plateaus is not None:
        console.print(
            f"\nAccuracy on {predictions.train} of models that know part of the answer and guess the rest at best",
            markup=False,
            style="bold",
        )
        console.print(plateau_table(predictions.plateaus))


def generalization(predictions: MeasuredPredictions) -> str:
    """Whether theory says that the model generalizes, and whether trained models agree."""
    case = Case.beyond(predictions.task, predictions.train, predictions.encoding, predictions.layout)
    rule = find_rule(case)
    asked = f"{MARKS[rule.generalizes]} Does it generalize to longer operands?"
    if rule.generalizes is None:
        return f"{asked} theory does not say"
    said, hypothesis = f"{asked} theory says {'yes' if rule.generalizes else 'no'}", rule.hypothesis(case)
    if hypothesis is None:
        return f"{said}, but not what it computes instead"
    evidence = evidence_of(case, hypothesis)
    contradicted = rule.generalizes and evidence is not None and evidence.fail > evidence.hold
    return f"{said}{', but' if contradicted else ';'} {evidence_words(evidence)}"


def notes(predictions: MeasuredPredictions) -> Iterator[str]:
    """The notes below the table: functions, rules, alternative functions with their premises, and what is
    unknown."""
    rows = predictions.rows
    yield from glosses((row.hypothesis for row in rows), predictions.task)
    yield from dict.fromkeys(row.rule for row in rows)
    yield from dict.fromkeys(f"{a.hypothesis} instead, if {a.premise}" for row in rows for a in row.alternatives)
    if unseen := unseen_words(predictions):
        yield unseen
    outside = [row.domain for row in rows if row.hypothesis is not None and not row.within_theorem]
    if outside:
        yield f"Outside the premises of a theorem: {joined_domains(outside)}"
    if any(row.evidence for row in rows):
        yield sentences()["evidence"]["legend"].strip()
    unknown = {row.hypothesis for row in rows if row.hypothesis is not None and row.accuracy is None}
    if any(hypothesis.is_counted(predictions.task) for hypothesis in unknown):
        answers = predictions.task.op.answers
        yield f"Exact accuracies of {answers} are computed for moduli up to {MOST_RESIDUES:,}"
    elif unknown:
        yield "Exact accuracies are computed only for functions that a rule predicts"


def unseen_words(predictions: MeasuredPredictions) -> str | None:
    """The digit pairs that shorter operands need and training never shows: the highest position and how many more.

    >>> print(unseen_words(predict("mul%7", train="D4", test="D1..9")))  # doctest: +NORMALIZE_WHITESPACE
    for D1, D2, D3 the theorem assumes that the model infers digits that training never shows together:
    0 at position 4 of both operands
    >>> unseen_words(predict("add", train="D3..4", test="D1..9"))
    """
    names = [str(row.domain) for row in predictions.rows if row.unseen]
    if not names:
        return None
    places: dict[tuple[int, int], set[tuple[int, int]]] = {}
    for row in predictions.rows:
        for unseen in row.unseen:
            places.setdefault((unseen.a_position, unseen.b_position), set()).update(unseen.pairs)
    (a, b), pairs = max(places.items())
    if pairs == {(0, 0)} and a == b:
        words = f"0 at position {a} of both operands"
    else:
        words = f"{len(pairs)} pairs of a digit at position {a} of a and one at position {b} of b"
    shown = ", ".join(names) if len(names) <= 4 else f"{names[0]} to {names[-1]}"
    more = f", and others at {len(places) - 1} more pairs of positions" if len(places) > 1 else ""
    assumes = "the theorem assumes that the model infers digits that training never shows together"
    return f"for {shown} {assumes}: {words}{more}"
