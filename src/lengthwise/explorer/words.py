"""Hypotheses in plain words, for someone who has not read the paper."""

from lengthwise.arithmetic import Task
from lengthwise.theory.hypotheses import Hypothesis

SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
SYMBOLS = {"add": "+", "mul": "×"}


def headline(hypothesis: Hypothesis | None, generalizes: bool | None) -> str:
    """What the model will do with numbers longer than those it was trained on."""
    if hypothesis is None:
        return (
            "It will not go on to longer numbers; theory does not say what it does instead."
            if generalizes is False
            else "Theory makes no prediction for longer numbers."
        )
    if hypothesis.kind == "truth":
        return "It will go on to longer numbers, and get them right."
    if hypothesis.kind == "windowed":
        far = _carries(hypothesis)
        return f"It will go on to longer numbers, and lose only carries that travel more than {far}."
    if generalizes:
        return f"It will use only the last {_digits(hypothesis)} of each number, and that is all it takes."
    return f"It will use only the last {_digits(hypothesis)} of each number, and forget the rest."


def formula(hypothesis: Hypothesis | None, task: Task) -> str | None:
    """
    >>> formula(Hypothesis.parse("truncated:4"), Task.parse("add%151"))
    '((a mod 10⁴) + (b mod 10⁴)) mod 151'
    >>> formula(Hypothesis.parse("truth"), Task.parse("mul"))
    'a × b'
    """
    if hypothesis is None:
        return None
    if hypothesis.kind == "windowed":
        return f"a + b, each digit from {hypothesis.size} columns alone"
    a, b = "a", "b"
    if hypothesis.kind == "truncated":
        power = f"{task.base}{str(hypothesis.size).translate(SUPERSCRIPTS)}"
        a, b = f"(a mod {power})", f"(b mod {power})"
    inner = f"{a} {SYMBOLS[task.operation]} {b}"
    return inner if task.modulus is None else f"({inner}) mod {task.modulus}"


def _digits(hypothesis: Hypothesis) -> str:
    return "digit" if hypothesis.size == 1 else f"{hypothesis.size} digits"


def _carries(hypothesis: Hypothesis) -> str:
    columns = (hypothesis.size or 1) - 1
    return "one column" if columns == 1 else f"{columns} columns"
