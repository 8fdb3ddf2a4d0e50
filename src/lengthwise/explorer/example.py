"""A worked example of a prediction: two operands longer than trained on, the truth, and the predicted answer."""

import random

from lengthwise.arithmetic import Domain, Task, in_base, pair_length
from lengthwise.theory.hypotheses import Hypothesis
from lengthwise.theory.predict import Case, find_rule

BEYOND = 2
"""How many digits an example is longer than training."""


def worked_example(case: Case, pair: tuple[int, int]) -> dict[str, object]:
    """Numbers are text in the task's base."""
    task, length = case.task, pair_length(*pair, case.task.base)
    own = Case(task, case.train, Domain.parse(f"D{length}", task.base), case.encoding, case.layout)
    hypothesis = find_rule(own).hypothesis(own)
    a, b, truth = (in_base(number, task.base) for number in (*pair, task(*pair)))
    return {
        "a": a,
        "b": b,
        "truth": truth,
        "hypothesis": None if hypothesis is None else str(hypothesis),
        "predicted": None if hypothesis is None else in_base(hypothesis(task, *pair), task.base),
    }


def example_pair(case: Case, hypothesis: Hypothesis | None, draw: int, longest: int) -> tuple[int, int]:
    """Operands that show what the hypothesis does; another `draw` gives others."""
    generator = random.Random(draw)
    length = min(case.n + BEYOND, longest)
    if hypothesis is not None and hypothesis.kind == "windowed":
        return _with_long_carry(case.task, length, generator)
    low, high = case.task.base ** (length - 1), case.task.base**length
    return generator.randrange(low, high), generator.randrange(low, high)


def _with_long_carry(task: Task, length: int, generator: random.Random) -> tuple[int, int]:
    """A carry made in the lowest column travels up to the top: all columns above it sum to base - 1."""
    top = task.base - 1
    low_a = generator.randint(1, top)
    low_b = generator.randint(task.base - low_a, top)
    rest = [generator.randint(0, top) for _ in range(length - 1)]
    a, b = [low_a, *rest], [low_b, *(top - digit for digit in rest)]
    # A leading zero would make an operand shorter, and the example harder to read.
    if top > 1:
        a[-1] = generator.randint(1, top - 1)
        b[-1] = top - a[-1]
    return _value(a, task.base), _value(b, task.base)


def _value(digits: list[int], base: int) -> int:
    return sum(digit * base**place for place, digit in enumerate(digits))
