"""Which function a trained model will compute, and how often it is right.

>>> row = predict("add%151", train="D4", test="B6").rows[0]
>>> str(row.hypothesis), row.accuracy
('truncated:4', Fraction(4, 675))
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

from lengthwise.arithmetic import Domain, Task, default_test, parse_test_domains
from lengthwise.errors import InputError
from lengthwise.registry import Shown
from lengthwise.theory.accuracy import MOST_STEPS, accuracy, accuracy_json, steps_to_count, within_reach
from lengthwise.theory.columns import UnseenPairs, unseen_pairs
from lengthwise.theory.encodings import check_layout, encoding_facts
from lengthwise.theory.hypotheses import Hypothesis
from lengthwise.theory.plateaus import Plateau
from lengthwise.theory.plateaus import plateaus as find_plateaus
from lengthwise.theory.rules import Case, Rule, find_rule, stated_accuracy

if TYPE_CHECKING:
    import polars as pl

MOST_DOMAINS = 100
"""This many test domains with `MOST_STEPS` each take half an hour at worst."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """Another function that a model may compute, and the premise under which it does."""

    hypothesis: Hypothesis
    premise: str
    accuracy: Fraction

    def as_json(self) -> dict[str, Any]:
        return {"hypothesis": str(self.hypothesis), "premise": self.premise, **accuracy_json(self.accuracy)}


@dataclass(frozen=True, slots=True)
class Prediction:
    domain: Domain
    hypothesis: Hypothesis | None
    rule: str
    within_theorem: bool
    generalizes: bool | None
    accuracy: Fraction | None
    """None without a hypothesis, and where counting would take too long."""
    paper: Fraction | None
    unseen: tuple[UnseenPairs, ...] = ()
    """Digit pairs of this domain, at trained positions, that never occur in training."""
    alternatives: tuple[Alternative, ...] = ()

    def as_json(self) -> dict[str, Any]:
        return {
            "domain": str(self.domain),
            "hypothesis": None if self.hypothesis is None else str(self.hypothesis),
            "rule": self.rule,
            "within_theorem": self.within_theorem,
            "generalizes": self.generalizes,
            **accuracy_json(self.accuracy),
            "paper_percent": accuracy_json(self.paper)["percent"],
            "alternatives": [alternative.as_json() for alternative in self.alternatives],
            "unseen_pairs": [unseen.as_json() for unseen in self.unseen],
        }


@dataclass(frozen=True, slots=True, repr=False)
class Predictions(Shown):
    shown_by: ClassVar[str] = "lengthwise.commands.predict:show"

    task: Task
    train: Domain
    encoding: str
    layout: str
    rows: tuple[Prediction, ...]
    plateaus: tuple[Plateau, ...] | None = None
    """None unless requested."""

    def case(self, test: Domain) -> Case:
        return Case(self.task, self.train, test, self.encoding, self.layout)

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

    def frame(self) -> "pl.DataFrame":
        """The rows of `as_json`, without nested values."""
        import polars as pl  # noqa: PLC0415 (predictions do without)

        rows = [row.as_json() for row in self.rows]
        nested = {name for row in rows for name, value in row.items() if isinstance(value, list | dict)}
        return pl.DataFrame(rows, infer_schema_length=None).drop(nested)


def predict(
    task: str | Task,
    train: str | Domain = "D4",
    test: str | Sequence[Domain] | None = None,
    *,
    encoding: str = "learned",
    layout: str | None = None,
    base: int = 10,
    hypothesis: str | Hypothesis | None = None,
    plateaus: bool = False,
    watch: Callable[[int, int], object] = lambda done, rows: None,
) -> Predictions:
    """Predict each test domain; without `test`, lengths from 1 to five above training.

    `hypothesis` replaces the rule's function, for example by `windowed:4`. `plateaus` adds the accuracies on the
    training domain at which training may stall. `watch` is called with the number of rows done and their total.
    """
    task = Task.parse(task, base) if isinstance(task, str) else task
    train = Domain.parse(train, task.base) if isinstance(train, str) else train
    if test is None:
        test = default_test(train)
    domains = parse_test_domains(test, task.base) if isinstance(test, str) else test
    layout = check_layout(layout or encoding_facts(encoding).layout, task, encoding)
    asked = Hypothesis.parse(hypothesis) if isinstance(hypothesis, str) else hypothesis
    _check_steps(task, train, domains, asked)
    rows: list[Prediction] = []
    for domain in domains:
        watch(len(rows), len(domains))
        rows.append(predict_case(Case(task, train, domain, encoding, layout), asked))
    heights = tuple(find_plateaus(task, train)) if plateaus else None
    return Predictions(task, train, encoding, layout, tuple(rows), heights)


def _check_steps(task: Task, train: Domain, domains: Sequence[Domain], asked: Hypothesis | None) -> None:
    """Refuse predictions that would take hours: products modulo p on many lengths."""
    size = train.length if asked is None else asked.size
    if size is None:
        return
    steps = steps_to_count(task, Hypothesis("truncated", size))
    longer = sum(domain.length > size for domain in domains)
    most = MOST_DOMAINS * MOST_STEPS // steps
    if steps <= MOST_STEPS and longer > most:
        raise InputError(
            f"{task} on {longer:,} test domains longer than {size} digits would take hours; try {most:,} of them "
            "or fewer, or a smaller modulus"
        )


def predict_case(case: Case, asked: Hypothesis | None = None) -> Prediction:
    """The prediction of the rules, or for the hypothesis `asked`."""
    rule = find_rule(case) if asked is None else _rule_that_says(asked, case)
    hypothesis, exact = rule.hypothesis(case), None
    if hypothesis is not None and within_reach(case.task, hypothesis):
        exact = accuracy(case.task, hypothesis, case.test)
    return Prediction(
        domain=case.test,
        hypothesis=hypothesis,
        rule=rule.why(case),
        within_theorem=rule.within_theorem(case),
        generalizes=rule.generalizes,
        accuracy=exact,
        paper=None if hypothesis is None else stated_accuracy(case),
        unseen=_unseen(case),
        alternatives=tuple(
            Alternative(other, premise, accuracy(case.task, other, case.test))
            for other, premise in rule.alternatives(case).items()
        ),
    )


def _rule_that_says(asked: Hypothesis, case: Case) -> Rule:
    """A rule for a requested hypothesis: outside the theorems, with Table 1's mark unchanged."""
    return Rule(
        applies=lambda c: True,
        why=lambda c: f"{asked} was requested",
        hypothesis=lambda c: asked,
        generalizes=find_rule(case).generalizes,
    )


def _unseen(case: Case) -> tuple[UnseenPairs, ...]:
    if case.upward or case.in_distribution or not case.positions_are_told_apart:
        return ()
    return tuple(unseen_pairs(case.task, case.train, case.test))
