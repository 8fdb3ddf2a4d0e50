"""The paper's theorems as a table of rules, its Table 1, and the accuracies that the paper states.

Xu, Zhao, Zhang, Yang: "Principled Understanding of Generalization for Generative Transformer Models in
Arithmetic Reasoning Tasks", ACL 2025.

>>> train, test = Domain.parse("D4"), Domain.parse("B6")
>>> rule = find_rule(case := Case(Task.parse("add%151"), train, test, "learned", "padded"))
>>> str(rule.hypothesis(case)), rule.generalizes
('truncated:4', False)
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from lengthwise.arithmetic import Domain, Task
from lengthwise.theory import OperationTheory, theory_of
from lengthwise.theory.encodings import ABSOLUTE, RELATIVE, encoding_facts, layout_facts
from lengthwise.theory.hypotheses import LOCAL, TRUTH, Hypothesis
from lengthwise.theory.residues import open_modulus


@dataclass(frozen=True, slots=True)
class Case:
    """A question to the rules: a task, its training and test domain, positional encoding and layout."""

    task: Task
    train: Domain
    test: Domain
    encoding: str
    layout: str

    @classmethod
    def beyond(cls, task: Task, train: Domain, encoding: str, layout: str) -> Self:
        """The case of operands one digit longer than the longest in training."""
        return cls(task, train, Domain.parse(f"D{train.length + 1}", task.base), encoding, layout)

    @property
    def n(self) -> int:
        return self.train.length

    @property
    def family(self) -> str | None:
        return encoding_facts(self.encoding).family

    @property
    def upward(self) -> bool:
        return self.test.length > self.n

    @property
    def in_distribution(self) -> bool:
        return all(any(part.is_inside(known) for known in self.train.parts) for part in self.test.parts)

    @property
    def positions_are_told_apart(self) -> bool:
        """Each digit has its own position, so that a digit never seen there in training was not learned."""
        return self.family == ABSOLUTE and layout_facts(self.layout).fixed_width

    @property
    def meets_assumption(self) -> bool:
        """Whether the training domain contains all of D_n, as the theorems assume; other parts of that length show
        fewer digits at position n."""
        return any(part.length == self.n and part.lowest_leads == (0, 0) for part in self.train.parts)

    @property
    def theory(self) -> OperationTheory:
        """The operation's theory. The first rule handles operations that have none."""
        assert self.task.op.theory is not None
        return self.task.op.theory

    @property
    def last_digits_decide(self) -> bool:
        return self.theory.last_digits_decide(self.task, self.n)

    @property
    def modulus_fits(self) -> bool:
        return self.task.modulus is None or self.task.modulus <= self.task.base**self.n

    @property
    def digits_stand_alike(self) -> bool:
        """Digit i of a, b and c have the same relative positions for every i, as Theorem 3 assumes."""
        return encoding_facts(self.encoding).couples_digits or layout_facts(self.layout).digits_aligned


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A row of the table: where it applies, what the model computes there, and why.

    There is no prediction where `hypothesis` returns None.
    """

    applies: Callable[[Case], bool]
    why: Callable[[Case], str]
    hypothesis: Callable[[Case], Hypothesis | None] = lambda case: None
    generalizes: bool | None = None
    within_theorem: Callable[[Case], bool] = lambda case: False
    alternatives: Callable[[Case], Mapping[Hypothesis, str]] = lambda case: {}
    """Other functions that fit the training data, each with the premise under which a model computes it."""


def _within_paper(case: Case) -> bool:
    return case.theory.in_paper and case.n >= 2


def _truncated(case: Case) -> Hypothesis:
    return Hypothesis("truncated", case.n)


LOCAL_PREMISE = (
    "the model reads the carry off the digit it has just written (one left the column below exactly if its digits "
    "sum to more than that digit), so two columns are enough at every length; the training data fit both rules"
)

# The first row that applies decides. Theorem numbers are the paper's.
RULES: tuple[Rule, ...] = (
    Rule(
        applies=lambda c: theory_of(c.task) is None,
        why=lambda c: f"no prediction: no theory of {c.task.operation} is known here",
    ),
    Rule(
        applies=lambda c: c.family is None,
        why=lambda c: f"no theorem speaks of {c.encoding} positions, only of absolute and relative ones",
    ),
    Rule(
        applies=lambda c: not c.meets_assumption and c.in_distribution,
        hypothesis=lambda c: TRUTH,
        why=lambda c: f"in distribution: {c.test} is what the model was trained on",
    ),
    Rule(
        applies=lambda c: not c.meets_assumption,
        why=lambda c: (
            f"the theorems train on all of D{c.n}; {c.train} leaves digit pairs at position {c.n} unseen, "
            "so what the model does there is open"
        ),
    ),
    Rule(
        applies=lambda c: layout_facts(c.layout).with_steps,
        why=lambda c: (
            "no theorem speaks of models that write intermediate steps before the answer, "
            f"as in the {c.layout} layout"
        ),
    ),
    Rule(
        applies=lambda c: c.family == ABSOLUTE and not c.positions_are_told_apart,
        why=lambda c: (
            f"the theorems give each digit a place of its own; in the {c.layout} layout places move with length"
        ),
    ),
    Rule(
        applies=lambda c: c.family == RELATIVE and not c.theory.in_paper and c.in_distribution,
        hypothesis=lambda c: TRUTH,
        why=lambda c: f"in distribution: {c.test} is what the model was trained on",
    ),
    Rule(
        applies=lambda c: c.family == RELATIVE and not c.theory.in_paper,
        why=lambda c: f"no prediction for {c.task} with relative positions: {c.theory.relative}",
    ),
    Rule(
        applies=lambda c: c.last_digits_decide,
        hypothesis=lambda c: _truncated(c) if c.family == ABSOLUTE else TRUTH,
        generalizes=True,
        within_theorem=_within_paper,
        why=lambda c: (
            f"{c.theory.argument(c.task, c.n)}: {c.task.modulus} divides {c.task.base}^{c.n}, "
            f"so digits above the {c.n} trained ones never matter"
        ),
    ),
    Rule(
        applies=lambda c: c.family == ABSOLUTE,
        hypothesis=_truncated,
        generalizes=False,
        within_theorem=lambda c: _within_paper(c) and c.modulus_fits,
        why=lambda c: (
            f"{c.theory.argument(c.task, c.n)}: with absolute positions, digits above position {c.n} were always "
            f"zero in training, so the model ignores them and computes on the last {c.n} digits"
        ),
    ),
    Rule(
        applies=lambda c: c.task.plain_sum and not c.digits_stand_alike,
        why=lambda c: (
            "Theorem 3 needs digit i of a, b and c at the same distances for every i; "
            f"in the {c.layout} layout {c.encoding} positions do not see that"
        ),
    ),
    Rule(
        applies=lambda c: c.task.plain_sum and not c.upward,
        hypothesis=lambda c: TRUTH,
        generalizes=True,
        within_theorem=_within_paper,
        why=lambda c: f"Theorem 3: carries of up to {c.n} columns were seen in training",
    ),
    Rule(
        applies=lambda c: c.task.plain_sum,
        hypothesis=lambda c: Hypothesis("windowed", c.n + 1),
        generalizes=True,
        within_theorem=_within_paper,
        why=lambda c: (
            f"Theorem 3: with relative positions every digit is computed as position {c.n + 1} was in "
            f"training, from its own column and the {c.n} below it; longer carry chains are lost"
        ),
        alternatives=lambda c: {LOCAL: LOCAL_PREMISE} if layout_facts(c.layout).lowest_first else {},
    ),
    Rule(
        applies=lambda c: c.family == RELATIVE and not c.upward,
        hypothesis=lambda c: TRUTH,
        generalizes=False,
        within_theorem=lambda c: c.in_distribution and _within_paper(c),
        why=lambda c: f"{c.task} up to the {c.n} digits trained on: the model has what it needs",
    ),
    Rule(
        applies=lambda c: True,
        generalizes=False,
        why=lambda c: (
            f"{c.task} is not computed in the same way at every position, so relative positions do not help on "
            "longer operands; the theorems do not say which function is learned"
        ),
    ),
)


def find_rule(case: Case) -> Rule:
    return next(rule for rule in RULES if rule.applies(case))


TABLE_1_ENCODINGS = {"absolute": "learned", "relative": "rotary"}
TABLE_1_COLUMNS = {
    "addition": ("add",),
    "multiplication": ("mul",),
    "modulo 100": ("add%100", "mul%100"),
    "modulo 101": ("add%101", "mul%101"),
}


def table_1(digits: int = 4) -> dict[str, dict[str, bool | None]]:
    """The paper's Table 1, derived from the rules. A column of several tasks needs one mark for all."""
    table: dict[str, dict[str, bool | None]] = {}
    for family, encoding in TABLE_1_ENCODINGS.items():
        table[family] = {}
        for column, tasks in TABLE_1_COLUMNS.items():
            marks = {generalization_mark(Task.parse(task), encoding, digits) for task in tasks}
            (table[family][column],) = marks
    return table


def generalization_mark(task: Task, encoding: str, digits: int) -> bool | None:
    """Table 1's mark: does a model trained on D_n generalize to longer operands?"""
    train = Domain.parse(f"D{digits}", task.base)
    return find_rule(Case.beyond(task, train, encoding, encoding_facts(encoding).layout)).generalizes


def stated_accuracy(case: Case) -> Fraction | None:
    """The accuracy on the test domain by the paper's own formulas, an approximation of the exact one. None where
    the paper has no formula."""
    task, test = case.task, case.test
    theory = theory_of(task)
    if theory is None or not theory.in_paper or not case.meets_assumption:
        return None
    if not case.upward or case.last_digits_decide:
        return Fraction(1)
    if case.family == RELATIVE:
        return 1 - window_bound(task.base, case.n) if task.plain_sum else None
    if not task.op.has_carries:
        return None
    if task.modulus is None:
        # Every longer sum is wrong, so only a mixture's share up to n is right.
        return Fraction(sum(w for w, part in zip(test.weights, test.parts, strict=True) if part.length <= case.n))
    both_long = str(test) == f"B{test.length}"
    return modular_addition_accuracy(task, case.n, test.length) if both_long else None


def modular_addition_accuracy(task: Task, digits: int, test_digits: int) -> Fraction:
    """Theorem 5 (3): 1 / p' where both operands have at least a threshold length, else 0.

    >>> [modular_addition_accuracy(Task.parse("add%151"), 4, m) for m in (5, 6)]
    [Fraction(0, 1), Fraction(1, 151)]
    """
    rest = open_modulus(task, digits)
    if rest == 1:
        return Fraction(1)
    # test_digits >= digits + log_base(rest / 2 + 1), in integers
    reached = test_digits > digits and 2 * task.base ** (test_digits - digits) >= rest + 2
    return Fraction(1, rest) if reached else Fraction()


def window_bound(base: int, digits: int) -> Fraction:
    """Theorem 3's bound on the error on longer operands with relative positions, 1 / base^(n-1).

    It is the chance that the n-1 columns below a given position all pass a carry on. A sum of m digits has many
    such positions, so the chance that some position is wrong may exceed it.
    """
    return Fraction(1, base ** (digits - 1))
