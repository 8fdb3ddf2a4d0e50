"""The paper's theorems, each with the verdict that the runs of the tables give it."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lengthwise.records.verdicts import FAILS, HOLDS, UNDECIDED, combined
from lengthwise.records.view import RunView
from lengthwise.report.formats import TextTable
from lengthwise.theory.encodings import ABSOLUTE, RELATIVE, encoding_facts

FAMILIES = ("addition-", "modular-addition-", "multiplication-", "modular-multiplication-")
"""How the names of runs begin that decide: not those that vary regularization, sizes or packing."""

DECIDING = (*FAMILIES, "relative-addition-", "relative-modular-")
"""The same with the runs that test what theorems say of relative positions."""

VERDICT_COLUMNS = ("runs", HOLDS, FAILS, UNDECIDED, "verdict")


@dataclass(frozen=True)
class Theorem:
    name: str
    says: str
    speaks_of: Callable[[RunView], bool]


def _absolute(operation: str, *, modular: bool, divides: bool = False) -> Callable[[RunView], bool]:
    def speaks_of(view: RunView) -> bool:
        task = view.task
        return (
            encoding_facts(view.encoding).family == ABSOLUTE
            and task.operation == operation
            and (task.modulus is not None) == modular
            and modulus_divides(view) == divides
        )

    return speaks_of


def _relative_addition(view: RunView) -> bool:
    plain = (view.task.operation, view.task.modulus) == ("add", None)
    return plain and _is_relative(view)


def _relative_residues(view: RunView) -> bool:
    return view.task.operation == "add" and modulus_divides(view) and _is_relative(view)


def _is_relative(view: RunView) -> bool:
    return encoding_facts(view.encoding).family == RELATIVE


def modulus_divides(view: RunView) -> bool:
    """Whether the modulus divides base^n, n the longest length trained on."""
    task = view.task
    return task.modulus is not None and task.base**view.train.length % task.modulus == 0


THEOREM_5 = Theorem(
    "Theorem 5",
    "Addition modulo p where p does not divide 10^n, absolute positions: the model computes on the last n "
    "digits, and is right on longer operands only by chance",
    _absolute("add", modular=True),
)

THEOREMS = (
    Theorem(
        "Theorem 1, Corollary 2",
        "Addition, absolute positions: trained on n digits, the model computes (a mod 10^n) + (b mod 10^n), "
        "so it is right on shorter operands and wrong on longer ones",
        _absolute("add", modular=False),
    ),
    Theorem(
        "Theorem 3",
        "Addition, relative positions: it goes on to longer operands, but for long carry chains",
        _relative_addition,
    ),
    Theorem(
        "Theorem 4",
        "Addition modulo p where p divides 10^n: it goes on to all lengths",
        _absolute("add", modular=True, divides=True),
    ),
    Theorem(
        "Theorem 4, relative",
        "The same with relative positions",
        _relative_residues,
    ),
    THEOREM_5,
    Theorem(
        "Theorem 6",
        "Multiplication, absolute positions: the model multiplies the last n digits",
        _absolute("mul", modular=False),
    ),
    Theorem(
        "Theorem 7 (1)",
        "Multiplication modulo p where p divides 10^n: it goes on to all lengths",
        _absolute("mul", modular=True, divides=True),
    ),
    Theorem(
        "Theorem 7 (2)",
        "Multiplication modulo p where p does not divide 10^n, absolute positions: the model computes on the "
        "last n digits",
        _absolute("mul", modular=True),
    ),
)


def theorem_table(views: Sequence[RunView]) -> TextTable:
    lines = [verdict_line(theorem.name, theorem.says, *_decided(theorem, views)) for theorem in THEOREMS]
    columns = ("theorem", "what it says", *VERDICT_COLUMNS)
    return TextTable("Theorems and their verdicts", columns, tuple(lines), words=2)


def formula_gap(views: Sequence[RunView]) -> float | None:
    """How far Theorem 5's own formula is from exact accuracies, in points, where it is furthest."""
    gaps = [
        float(100 * abs(prediction.paper - prediction.accuracy))
        for view in views
        if view.name.startswith(FAMILIES) and THEOREM_5.speaks_of(view)
        for prediction in view.spec.predictions()
        if prediction.paper is not None and prediction.accuracy is not None
    ]
    return max(gaps, default=None)


def _decided(theorem: Theorem, views: Sequence[RunView]) -> tuple[int, list[str | None]]:
    """How many runs it speaks of, and the verdict on every length of each."""
    words = [
        [verdict.word for verdict in view.verdicts() if verdict.prediction.within_theorem]
        for view in views
        if view.name.startswith(DECIDING) and theorem.speaks_of(view)
    ]
    deciding = [run for run in words if run]
    return len(deciding), [word for run in deciding for word in run]


def verdict_line(name: str, says: str, runs: int, words: Sequence[str | None]) -> tuple[str, ...]:
    counts = Counter(words)
    return (name, says, str(runs), *(str(counts[word]) for word in (HOLDS, FAILS, UNDECIDED)), verdict_on(words))


def verdict_on(words: Sequence[str | None]) -> str:
    """On everything that it speaks of."""
    return combined(words) or UNDECIDED if words else "not tested here"
