"""What the Predict part asks theory: which function is learned and why, and how often it is right."""

import re
from dataclasses import dataclass, replace
from typing import Any

from lengthwise.arithmetic import Domain, Task, default_test, parse_test_domains
from lengthwise.arithmetic.task import MAX_BASE, MIN_BASE
from lengthwise.errors import InputError
from lengthwise.explorer.bounds import MAX_DIGITS, MAX_MODULUS, MAX_PRODUCT_MODULUS, MAX_ROWS
from lengthwise.explorer.example import example_pair, worked_example
from lengthwise.explorer.numbers import read_number
from lengthwise.explorer.refusal import RefusedError, typed_in
from lengthwise.report.tables import percent
from lengthwise.report.words import formula, headline
from lengthwise.theory.encodings import check_layout, encoding_facts
from lengthwise.theory.predict import Case, find_rule, predict

_LENGTHS = re.compile(r"[DB](\d+)(?:\.\.(\d+))?|(\d+)(?:\.\.(\d+))?x(\d+)")


@dataclass(frozen=True, kw_only=True)
class Question:
    """As it was typed. An empty text stands for the usual choice."""

    operation: str
    modulus: str
    base: str
    train: str
    encoding: str
    layout: str

    @property
    def task(self) -> Task:
        base = _whole_number(self.base or "10", "base", MIN_BASE, MAX_BASE)
        with typed_in("operation"):
            task = Task.parse(self.operation or "add", base)
        if not self.modulus:
            return task
        largest = MAX_PRODUCT_MODULUS if task.operation == "mul" else MAX_MODULUS
        return replace(task, modulus=_whole_number(self.modulus, "modulus", 1, largest))

    @property
    def case(self) -> Case:
        """What a model trained like this does one digit beyond its training."""
        task = self.task
        with typed_in("train"):
            _check_lengths(self.train)
            train = Domain.parse(self.train or "D4", task.base)
        encoding = self.encoding or "learned"
        with typed_in("encoding"):
            natural = encoding_facts(encoding).layout
        with typed_in("layout"):
            layout = check_layout(self.layout or natural, task, encoding)
        return Case(task, train, Domain.parse(f"D{train.length + 1}", task.base), encoding, layout)


def check(*, a: str, b: str, test: str, **question: str) -> dict[str, Any]:
    """What is wrong with what was typed, if anything is."""
    try:
        case = Question(**question).case
        _test_domains(case, test)
        _typed_pair(case.task, a, b)
    except RefusedError as refusal:
        return {"problem": {"error": str(refusal), "field": refusal.field}}
    return {"problem": None}


def explain(*, a: str, b: str, draw: int, **question: str) -> dict[str, Any]:
    """The function a model will learn, why, and an example, drawn or of the operands typed in."""
    case = Question(**question).case
    rule = find_rule(case)
    hypothesis = rule.hypothesis(case)
    pair = _typed_pair(case.task, a, b) or example_pair(case, hypothesis, draw, MAX_DIGITS)
    return {
        "task": str(case.task),
        "symbol": case.task.symbol,
        "base": case.task.base,
        "train": str(case.train),
        "trained_length": case.n,
        "layout": case.layout,
        "hypothesis": None if hypothesis is None else str(hypothesis),
        "headline": headline(hypothesis, rule.generalizes),
        "formula": formula(hypothesis, case.task),
        "rule": rule.why(case),
        "within_theorem": rule.within_theorem(case),
        "generalizes": rule.generalizes,
        "example": worked_example(case, pair),
    }


def predict_rows(*, test: str, **question: str) -> dict[str, Any]:
    """The exact accuracy on each test domain, and the paper's approximation."""
    case = Question(**question).case
    domains = _test_domains(case, test)
    predictions = predict(case.task, case.train, domains, encoding=case.encoding, layout=case.layout)
    rows = [
        {**row.as_json(), "length": row.domain.length, "shown": percent(row.accuracy)} for row in predictions.rows
    ]
    return {**predictions.as_json(), "trained_length": case.n, "rows": rows}


def _test_domains(case: Case, test: str) -> list[Domain]:
    test = test.strip() or default_test(case.train, MAX_DIGITS)
    with typed_in("test"):
        _check_lengths(test)
        domains = parse_test_domains(test, case.task.base)
    if len(domains) > MAX_ROWS:
        raise RefusedError(f"{len(domains)} test domains are too many: allowed are up to {MAX_ROWS}", field="test")
    return domains


def _typed_pair(task: Task, a: str, b: str) -> tuple[int, int] | None:
    if not (a or b):
        return None
    return read_number(a, task.base, MAX_DIGITS, "a"), read_number(b, task.base, MAX_DIGITS, "b")


def _whole_number(text: str, field: str, least: int, most: int) -> int:
    text = text.strip()
    if not (text.isascii() and text.isdigit() and least <= int(text) <= most):
        raise RefusedError(
            f"{text!r} is out of range: allowed is a whole number from {least} to {most}", field=field
        )
    return int(text)


def _check_lengths(text: str) -> None:
    """Before a range is spelled out."""
    longest = max((int(n) for found in _LENGTHS.findall(text) for n in found if n), default=0)
    if longest > MAX_DIGITS:
        raise InputError(f"length {longest} in {text!r} is too long: allowed here is up to {MAX_DIGITS} digits")
