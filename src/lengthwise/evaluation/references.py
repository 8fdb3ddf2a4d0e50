"""What hypotheses answer, on digits: the tensor twins of `theory.hypotheses`.

Shapes: M members, N problems, W operand digits, A answer digits.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from lengthwise.arithmetic import Task
from lengthwise.theory.hypotheses import Hypothesis
from lengthwise.tokens.digits import Answers, fold, leading, modulo, resize, truncate, windowed_add

Pair = tuple[Tensor, Tensor]


def reference_answers(
    tasks: Sequence[Task], hypotheses: Sequence[Hypothesis], a: Tensor, b: Tensor, width: int
) -> Tensor:
    """Each member's hypothesis on its operands [M, N, W]: answers [M, N, A]."""
    members = zip(tasks, hypotheses, a.split(1), b.split(1), strict=True)
    return torch.cat([_answer(task, hypothesis, x, y, width) for task, hypothesis, x, y in members])


def _answer(task: Task, hypothesis: Hypothesis, a: Tensor, b: Tensor, width: int) -> Tensor:
    hypothesis.check(task)
    if hypothesis.kind == "windowed":
        assert hypothesis.size is not None
        total = windowed_add(a, b, hypothesis.size, task.base)
        return resize(total, width) if task.modulus is None else modulo(total, task.modulus, task.base, width)
    if hypothesis.kind in OPERANDS:
        assert hypothesis.size is not None
        a, b = OPERANDS[hypothesis.kind](a, b, hypothesis.size, task.base)
    return Answers([task], width, a.device)(a, b)


def _truncated(a: Tensor, b: Tensor, size: int, base: int) -> Pair:
    return truncate(a, size), truncate(b, size)


def _leading(a: Tensor, b: Tensor, size: int, base: int) -> Pair:
    return leading(a, b, size)


def _folded(a: Tensor, b: Tensor, size: int, base: int) -> Pair:
    return fold(a, size, base), fold(b, size, base)


OPERANDS: dict[str, Callable[[Tensor, Tensor, int, int], Pair]] = {
    "truncated": _truncated,
    "leading": _leading,
    "folded": _folded,
}
"""What hypotheses that do the task on other operands make of (a, b), from their size and the base."""
