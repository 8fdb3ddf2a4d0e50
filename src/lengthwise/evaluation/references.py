"""What hypotheses answer, on digits: the tensor twins of `theory.hypotheses`.

Shapes: M members, N problems, W operand digits, A answer digits.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from lengthwise.arithmetic import Task
from lengthwise.theory.hypotheses import Hypothesis
from lengthwise.tokens.answers import Answers
from lengthwise.tokens.digits import resize, truncate, windowed_add


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
        return resize(windowed_add(a, b, hypothesis.size, task.base), width)
    if hypothesis.kind == "truncated":
        assert hypothesis.size is not None
        a, b = truncate(a, hypothesis.size), truncate(b, hypothesis.size)
    return Answers([task], width, a.device)(a, b)
