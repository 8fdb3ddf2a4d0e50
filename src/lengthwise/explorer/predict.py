"""Predict: the function a model will compute and why, its accuracy, how trained models did, and an example."""

import random
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from lengthwise.arithmetic import Domain, Task, default_test, in_base, pair_length, parse_test_domains
from lengthwise.arithmetic.task import MAX_BASE, MIN_BASE
from lengthwise.errors import InputError
from lengthwise.explorer import (
    MAX_DIGITS,
    MAX_MODULUS,
    MAX_PRODUCT_MODULUS,
    MAX_ROWS,
    RefusedError,
    read_number,
)
from lengthwise.records.evidence import evidence_of, predict
from lengthwise.records.spec import RunSpec
from lengthwise.report.tables import EXACT, evidence_cell, percent
from lengthwise.report.words import evidence_words, formula, glosses, headline
from lengthwise.theory.encodings import check_layout, encoding_facts
from lengthwise.theory.hypotheses import Hypothesis
from lengthwise.theory.rules import Case, find_rule

EXAMPLE_BEYOND = 2
"""Digits by which an example is longer than training."""

NOT_SHOWN = ("alternatives", "unseen_pairs")

_LENGTHS = re.compile(r"[DB](\d+)(?:\.\.(\d+))?|(\d+)(?:\.\.(\d+))?x(\d+)")


def check(*, a: str, b: str, test: str, **setting: str) -> dict[str, Any]:
    """The first error in what was typed, if there is one."""
    try:
        spec = read_setting(**setting)
        _test_domains(spec, test)
        _typed_pair(spec.task, a, b)
    except RefusedError as refusal:
        return {"problem": {"error": str(refusal), "field": refusal.field}}
    return {"problem": None}


def explain(*, a: str, b: str, draw: int, **setting: str) -> dict[str, Any]:
    """The function a model will compute, why, and an example of it."""
    spec = read_setting(**setting)
    case = spec.beyond()
    rule = find_rule(case)
    hypothesis = rule.hypothesis(case)
    evidence = evidence_of(case, hypothesis)
    return {
        "task": str(case.task),
        "symbol": case.task.symbol,
        "sign": case.task.op.sign,
        "base": case.task.base,
        "train": str(case.train),
        "trained_length": case.n,
        "layout": case.layout,
        "hypothesis": None if hypothesis is None else str(hypothesis),
        "headline": headline(hypothesis, rule.generalizes),
        "formula": formula(hypothesis, case.task),
        "evidence": evidence and evidence._asdict(),
        "measured": None if hypothesis is None else evidence_cell(evidence),
        "measured_words": None if hypothesis is None else evidence_words(evidence),
        "rule": rule.why(case),
        "within_theorem": rule.within_theorem(case),
        "generalizes": rule.generalizes,
        "example": _example(spec, _typed_pair(case.task, a, b) or _example_pair(case, hypothesis, draw)),
    }


def predict_rows(*, test: str, **setting: str) -> dict[str, Any]:
    """The exact accuracy on each test domain, and the paper's approximation."""
    spec = read_setting(**setting)
    domains = _test_domains(spec, test)
    predictions = predict(spec.task, spec.train, domains, encoding=spec.encoding, layout=spec.layout)
    rows = [
        {key: value for key, value in row.as_json().items() if key not in NOT_SHOWN}
        | {
            "length": row.domain.length,
            "shown": percent(row.accuracy, EXACT),
            # The share of wrong answers, which a rounded accuracy near 1 would lose.
            "errors": None if row.accuracy is None else float(1 - row.accuracy),
            "measured": None if row.hypothesis is None else evidence_cell(row.evidence),
        }
        for row in predictions.rows
    ]
    functions = glosses((row.hypothesis for row in predictions.rows), spec.task)
    more = {"trained_length": spec.train.length, "rows": rows, "functions": functions}
    return {**predictions.as_json(), **more}


def read_setting(*, operation: str, modulus: str, base: str, train: str, encoding: str, layout: str) -> RunSpec:
    """The setting that was typed in. Empty texts stand for the defaults."""
    task = _read_task(operation, modulus, base)
    with _typed_in("train"):
        _check_lengths(train)
        domain = Domain.parse(train or "D4", task.base)
    encoding = encoding or "learned"
    with _typed_in("encoding"):
        natural = encoding_facts(encoding).layout
    with _typed_in("layout"):
        layout = check_layout(layout or natural, task, encoding)
    return RunSpec(task, domain, (), encoding, layout, seed=0, config={})


def _read_task(operation: str, modulus: str, base: str) -> Task:
    with _typed_in("operation"):
        task = Task.parse(operation or "add", _whole_number(base or "10", "base", MIN_BASE, MAX_BASE))
    if not modulus:
        return task
    largest = MAX_MODULUS if task.op.has_carries else MAX_PRODUCT_MODULUS
    return replace(task, modulus=_whole_number(modulus, "modulus", 1, largest))


def _whole_number(text: str, field: str, least: int, most: int) -> int:
    text = text.strip()
    if not (text.isascii() and text.isdigit() and least <= int(text) <= most):
        raise RefusedError(f"{text!r} is not a whole number from {least} to {most}", field=field)
    return int(text)


def _test_domains(spec: RunSpec, test: str) -> list[Domain]:
    test = test.strip() or default_test(spec.train, MAX_DIGITS)
    with _typed_in("test"):
        _check_lengths(test)
        domains = parse_test_domains(test, spec.task.base)
    if len(domains) > MAX_ROWS:
        raise RefusedError(f"{len(domains)} test domains are too many (up to {MAX_ROWS} here)", field="test")
    return domains


def _check_lengths(text: str) -> None:
    """Refuse long ranges before they are expanded."""
    longest = max((int(n) for found in _LENGTHS.findall(text) for n in found if n), default=0)
    if longest > MAX_DIGITS:
        raise InputError(f"length {longest} in {text!r} is too long (up to {MAX_DIGITS} digits here)")


@contextmanager
def _typed_in(field: str) -> Iterator[None]:
    """Errors raised inside are reported at this field."""
    try:
        yield
    except RefusedError:
        raise
    except InputError as error:
        raise RefusedError(str(error), field=field) from None


def _typed_pair(task: Task, a: str, b: str) -> tuple[int, int] | None:
    if not (a or b):
        return None
    return read_number(a, task.base, MAX_DIGITS, "a"), read_number(b, task.base, MAX_DIGITS, "b")


def _example(spec: RunSpec, pair: tuple[int, int]) -> dict[str, str | None]:
    """The truth and the predicted answer for these operands, as text in the task's base."""
    task, length = spec.task, pair_length(*pair, spec.task.base)
    hypothesis = spec.predicted_hypothesis(Domain.parse(f"D{length}", task.base))
    a, b, truth = (in_base(number, task.base) for number in (*pair, task(*pair)))
    return {
        "a": a,
        "b": b,
        "truth": truth,
        "hypothesis": None if hypothesis is None else str(hypothesis),
        "predicted": None if hypothesis is None else in_base(hypothesis(task, *pair), task.base),
    }


def _example_pair(case: Case, hypothesis: Hypothesis | None, draw: int) -> tuple[int, int]:
    """Operands that show what the hypothesis does; another `draw` gives others."""
    generator = random.Random(draw)
    length = min(case.n + EXAMPLE_BEYOND, MAX_DIGITS)
    if hypothesis is not None and hypothesis.kind == "windowed":
        return _with_long_carry(case.task.base, length, generator)
    low, high = case.task.base ** (length - 1), case.task.base**length
    return generator.randrange(low, high), generator.randrange(low, high)


def _with_long_carry(base: int, length: int, generator: random.Random) -> tuple[int, int]:
    """Operands whose carry travels from the lowest column to the top: all columns above it sum to base - 1."""
    top = base - 1
    low_a = generator.randint(1, top)
    low_b = generator.randint(base - low_a, top)
    upper = [generator.randint(0, top) for _ in range(length - 1)]
    # A leading zero would make an operand shorter, and the example harder to read.
    if top > 1:
        upper[-1] = generator.randint(1, top - 1)
    a = sum(digit * base**place for place, digit in enumerate(upper, start=1))
    return low_a + a, low_b + base**length - base - a
