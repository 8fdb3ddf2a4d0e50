"""Which function a trained model will compute, and how often it is right: the paper's theorems as a table.

>>> row = predict("add%151", train="D4", test="B6").rows[0]
>>> str(row.hypothesis), row.accuracy
('truncated:4', Fraction(4, 675))
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from lengthwise.arithmetic import Domain, Task, default_test, parse_test_domains
from lengthwise.theory.accuracy import accuracy, within_reach
from lengthwise.theory.coverage import UnseenPairs, unseen_pairs
from lengthwise.theory.encodings import (
    ABSOLUTE,
    RELATIVE,
    check_layout,
    encoding_facts,
    layout_facts,
)
from lengthwise.theory.hypotheses import LOCAL, TRUTH, Hypothesis
from lengthwise.theory.paper import stated_accuracy
from lengthwise.theory.plateaus import Plateau
from lengthwise.theory.plateaus import plateaus as find_plateaus


@dataclass(frozen=True, slots=True)
class Case:
    """One question to the table: this task, trained there with these positions, tested here."""

    task: Task
    train: Domain
    test: Domain
    encoding: str
    layout: str

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
        """Each digit has a place, and parameters, of its own: what was not seen there was not learned there."""
        return self.family == ABSOLUTE and layout_facts(self.layout).fixed_width

    @property
    def meets_assumption(self) -> bool:
        """The theorems train on all of D_n; other parts of that length show less of position n."""
        return any(part.length == self.n and part.lowest_leads == (0, 0) for part in self.train.parts)

    @property
    def modulus_divides(self) -> bool:
        modulus, base = self.task.modulus, self.task.base
        return modulus is not None and base**self.n % modulus == 0

    @property
    def modulus_fits(self) -> bool:
        return self.task.modulus is None or self.task.modulus <= self.task.base**self.n

    @property
    def plain_addition(self) -> bool:
        return (self.task.operation, self.task.modulus) == ("add", None)

    @property
    def digits_stand_alike(self) -> bool:
        """Digit i of a, b and c are in the same relation for every i: the premise of relative positions."""
        return encoding_facts(self.encoding).couples_digits or self.layout == "aligned"


@dataclass(frozen=True, slots=True)
class Rule:
    """A row of the table: where it applies, what the model computes there, and why."""

    applies: Callable[[Case], bool]
    hypothesis: Callable[[Case], Hypothesis | None]
    generalizes: bool | None
    within_theorem: Callable[[Case], bool]
    why: Callable[[Case], str]
    alternatives: Mapping[Hypothesis, str] = field(default_factory=dict[Hypothesis, str])
    """Other functions that fit the training data, each with the premise under which a model computes it."""


def _no_hypothesis(case: Case) -> None:
    return None


def _never(case: Case) -> bool:
    return False


def _long_enough(case: Case) -> bool:
    return case.n >= 2


def _truncated(case: Case) -> Hypothesis:
    return Hypothesis("truncated", case.n)


# The first row that applies decides. Theorem numbers are the paper's.
RULES: tuple[Rule, ...] = (
    Rule(
        applies=lambda c: c.family is None,
        hypothesis=_no_hypothesis,
        generalizes=None,
        within_theorem=_never,
        why=lambda c: f"no theorem speaks of {c.encoding} positions, only of absolute and relative ones",
    ),
    Rule(
        applies=lambda c: not c.meets_assumption and c.in_distribution,
        hypothesis=lambda c: TRUTH,
        generalizes=None,
        within_theorem=_never,
        why=lambda c: f"in distribution: {c.test} is what the model was trained on",
    ),
    Rule(
        applies=lambda c: not c.meets_assumption,
        hypothesis=_no_hypothesis,
        generalizes=None,
        within_theorem=_never,
        why=lambda c: (
            f"the theorems train on all of D{c.n}; {c.train} leaves digit pairs at position {c.n} unseen, "
            "so what the model does there is open"
        ),
    ),
    Rule(
        applies=lambda c: layout_facts(c.layout).with_steps,
        hypothesis=_no_hypothesis,
        generalizes=None,
        within_theorem=_never,
        why=lambda c: (
            "no theorem speaks of models that write intermediate steps before the answer, "
            f"as in the {c.layout} layout"
        ),
    ),
    Rule(
        applies=lambda c: c.family == ABSOLUTE and not c.positions_are_told_apart,
        hypothesis=_no_hypothesis,
        generalizes=None,
        within_theorem=_never,
        why=lambda c: (
            f"the theorems give each digit a place of its own; in the {c.layout} layout places move with length"
        ),
    ),
    Rule(
        applies=lambda c: c.modulus_divides,
        hypothesis=lambda c: _truncated(c) if c.family == ABSOLUTE else TRUTH,
        generalizes=True,
        within_theorem=_long_enough,
        why=lambda c: (
            f"Theorem {4 if c.task.operation == 'add' else 7}: {c.task.modulus} divides {c.task.base}^{c.n}, "
            f"so digits above the {c.n} trained ones never matter"
        ),
    ),
    Rule(
        applies=lambda c: c.family == ABSOLUTE,
        hypothesis=_truncated,
        generalizes=False,
        within_theorem=lambda c: _long_enough(c) and c.modulus_fits,
        why=lambda c: (
            f"{_absolute_theorem(c.task)}: with absolute positions, digits above position {c.n} were always "
            f"zero in training, so the model ignores them and computes on the last {c.n} digits"
        ),
    ),
    Rule(
        applies=lambda c: c.plain_addition and not c.digits_stand_alike,
        hypothesis=_no_hypothesis,
        generalizes=None,
        within_theorem=_never,
        why=lambda c: (
            "Theorem 3 needs digit i of a, b and c at the same distances for every i; "
            f"in the {c.layout} layout {c.encoding} positions do not see that"
        ),
    ),
    Rule(
        applies=lambda c: c.plain_addition and not c.upward,
        hypothesis=lambda c: TRUTH,
        generalizes=True,
        within_theorem=_long_enough,
        why=lambda c: f"Theorem 3: carries of up to {c.n} columns were seen in training",
    ),
    Rule(
        applies=lambda c: c.plain_addition,
        hypothesis=lambda c: Hypothesis("windowed", c.n + 1),
        generalizes=True,
        within_theorem=_long_enough,
        why=lambda c: (
            f"Theorem 3: with relative positions every digit is computed as position {c.n + 1} was in "
            f"training, from its own column and the {c.n} below it; longer carry chains are lost"
        ),
        alternatives={
            LOCAL: (
                "the model reads the carry off the digit it has just written (one left the column below exactly "
                "if its digits sum to more than that digit), so two columns are enough at every length; the "
                "training data fit both rules"
            )
        },
    ),
    Rule(
        applies=lambda c: c.family == RELATIVE and not c.upward,
        hypothesis=lambda c: TRUTH,
        generalizes=False,
        within_theorem=lambda c: c.in_distribution and _long_enough(c),
        why=lambda c: f"{c.task} up to the {c.n} digits trained on: the model has what it needs",
    ),
    Rule(
        applies=lambda c: True,
        hypothesis=_no_hypothesis,
        generalizes=False,
        within_theorem=_never,
        why=lambda c: (
            f"{c.task} is not the same at every position, so relative positions do not help upward; "
            "the theorems do not say which function is learned"
        ),
    ),
)


def _absolute_theorem(task: Task) -> str:
    if task.operation == "add":
        return "Theorem 1 and Corollary 2" if task.modulus is None else "Theorem 5"
    return "Theorem 6" if task.modulus is None else "Theorem 7"


@dataclass(frozen=True, slots=True)
class Alternative:
    """Another function that a model may compute instead, under a premise of its own."""

    hypothesis: Hypothesis
    premise: str
    accuracy: Fraction

    def as_json(self) -> dict[str, Any]:
        return {
            "hypothesis": str(self.hypothesis),
            "premise": self.premise,
            "accuracy": str(self.accuracy),
            "percent": float(100 * self.accuracy),
        }


@dataclass(frozen=True, slots=True)
class Prediction:
    domain: Domain
    hypothesis: Hypothesis | None
    rule: str
    within_theorem: bool
    generalizes: bool | None
    accuracy: Fraction | None
    """None without a hypothesis, and where working it out would take too long."""
    paper: Fraction | None
    unseen: tuple[UnseenPairs, ...] = ()
    """Digits that this domain has together, no longer than trained on, and training never shows together."""
    alternatives: tuple[Alternative, ...] = ()

    def as_json(self) -> dict[str, Any]:
        return {
            "domain": str(self.domain),
            "hypothesis": None if self.hypothesis is None else str(self.hypothesis),
            "rule": self.rule,
            "within_theorem": self.within_theorem,
            "generalizes": self.generalizes,
            "accuracy": None if self.accuracy is None else str(self.accuracy),
            "percent": None if self.accuracy is None else float(100 * self.accuracy),
            "paper_percent": None if self.paper is None else float(100 * self.paper),
            "alternatives": [alternative.as_json() for alternative in self.alternatives],
            "unseen_pairs": [unseen.as_json() for unseen in self.unseen],
        }


@dataclass(frozen=True, slots=True)
class Predictions:
    task: Task
    train: Domain
    encoding: str
    layout: str
    rows: tuple[Prediction, ...]
    plateaus: tuple[Plateau, ...] | None = None
    """None unless asked for."""

    def as_json(self) -> dict[str, Any]:
        shown = {
            "task": str(self.task),
            "base": self.task.base,
            "train": str(self.train),
            "encoding": self.encoding,
            "layout": self.layout,
            "rows": [row.as_json() for row in self.rows],
        }
        if self.plateaus is not None:
            shown["plateaus"] = [plateau.as_json() for plateau in self.plateaus]
        return shown


def predict(
    task: str | Task,
    train: str | Domain,
    test: str | Sequence[Domain] | None = None,
    *,
    encoding: str = "learned",
    layout: str | None = None,
    base: int = 10,
    hypothesis: str | Hypothesis | None = None,
    plateaus: bool = False,
) -> Predictions:
    """Predict each test domain. Without `test`: lengths 1 to five above the trained ones.

    `hypothesis` asks for another function than the rule's, such as the paper's own `windowed:n`. `plateaus`
    adds the accuracies on the training domain at which training may stand still.
    """
    task = Task.parse(task, base) if isinstance(task, str) else task
    train = Domain.parse(train, task.base) if isinstance(train, str) else train
    if test is None:
        test = default_test(train)
    domains = parse_test_domains(test, task.base) if isinstance(test, str) else test
    layout = check_layout(layout or encoding_facts(encoding).layout, task, encoding)
    asked = Hypothesis.parse(hypothesis) if isinstance(hypothesis, str) else hypothesis
    rows = tuple(predict_case(Case(task, train, domain, encoding, layout), asked) for domain in domains)
    heights = tuple(find_plateaus(task, train)) if plateaus else None
    return Predictions(task, train, encoding, layout, rows, heights)


def find_rule(case: Case) -> Rule:
    return next(rule for rule in RULES if rule.applies(case))


def predict_case(case: Case, asked: Hypothesis | None = None) -> Prediction:
    rule = find_rule(case)
    hypothesis = rule.hypothesis(case) if asked is None else asked
    exact = None
    if hypothesis is not None and within_reach(case.task, hypothesis):
        exact = accuracy(case.task, hypothesis, case.test)
    return Prediction(
        domain=case.test,
        hypothesis=hypothesis,
        rule=rule.why(case) if asked is None else f"{asked} was asked for",
        within_theorem=asked is None and rule.within_theorem(case),
        generalizes=rule.generalizes,
        accuracy=exact,
        paper=None if hypothesis is None else _paper_accuracy(case),
        unseen=_unseen(case),
        alternatives=_alternatives(rule, case) if asked is None else (),
    )


def _alternatives(rule: Rule, case: Case) -> tuple[Alternative, ...]:
    return tuple(
        Alternative(other, premise, accuracy(case.task, other, case.test))
        for other, premise in rule.alternatives.items()
    )


def _unseen(case: Case) -> tuple[UnseenPairs, ...]:
    if case.upward or case.in_distribution or not case.positions_are_told_apart:
        return ()
    return tuple(unseen_pairs(case.task, case.train, case.test))


def _paper_accuracy(case: Case) -> Fraction | None:
    if not case.meets_assumption:
        return None
    return stated_accuracy(case.task, case.n, case.family == RELATIVE, case.test)


def generalization_mark(task: Task, encoding: str, digits: int) -> bool | None:
    """Table 1's mark: does a model trained on D_n go on to longer operands?"""
    train, beyond = (Domain.parse(f"D{n}", task.base) for n in (digits, digits + 1))
    case = Case(task, train, beyond, encoding, encoding_facts(encoding).layout)
    return find_rule(case).generalizes


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
