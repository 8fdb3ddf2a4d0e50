"""What tests share: a tiny run, and models that compute a known function without having learned it."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from lengthwise.arithmetic import Operation, Task
from lengthwise.evaluation.anatomy import watch
from lengthwise.model.gpt import GPT
from lengthwise.records.folder import RunFolder
from lengthwise.runs.config import RunConfig
from lengthwise.runs.launch import Job, train_jobs
from lengthwise.theory.hypotheses import TRUTH, Hypothesis
from lengthwise.tokens.digits import from_ints, to_ints
from lengthwise.tokens.layouts.fixed_width import FixedWidth
from lengthwise.tokens.layouts.natural_length import NaturalLength
from lengthwise.training.trainer import Steps

SURE = 20.0
"""The logit of the token a fake model is sure of; all others have 0."""


class Maximum(Operation):
    """The least that an operation needs: no form on digits, no theory."""

    symbol, noun, verb = "^", "Maximum", "take the larger of"

    def compute(self, a: int, b: int) -> int:
        return max(a, b)

    def answer_digits(self, n: int, m: int) -> int:
        return max(n, m)


def longest_chain(a: int, b: int, base: int) -> int:
    """The longest carry chain of a sum, column by column: 3 in 999 + 1, 1 in 95 + 15, 0 in 12 + 34."""
    longest = run = 0
    while a or b:
        column = a % base + b % base
        handed_on = run + 1 if run and column == base - 1 else 0
        run = 1 if column >= base else handed_on
        longest = max(longest, run)
        a, b = a // base, b // base
    return longest


def tiny_config(**changes) -> RunConfig:
    """Base 3, 24 steps of 8 problems, a fifth of a second."""
    config = RunConfig.stored(
        task="add",
        train="D2",
        test="D1..3",
        base=3,
        model={"layers": 1, "heads": 2, "width": 16},
        training={"batch": 8, "steps": 24, "warmup": 4, "evaluate_every": 6, "checkpoint_every": 4},
        evaluation={"problems": 50},
    )
    return config.changed(**changes)


def train(config: RunConfig | Sequence[RunConfig], out: Path | str = "runs", **options) -> list[RunFolder]:
    """Train runs, each into its folder under `out`, with the options of `train_jobs`."""
    configs = [config] if isinstance(config, RunConfig) else list(config)
    jobs = [Job(c, RunFolder(Path(out) / c.name)) for c in dict.fromkeys(configs)]
    return train_jobs(jobs, **options)


def losses_of(steps: Steps, count: int) -> Tensor:
    """The losses [S, M] of the first so many training steps."""
    found = []
    for number in range(count):
        steps.losses.clear()
        steps.take(number, [1.0])
        found.append(steps.losses.sums.clone())
    return torch.stack(found)


def attention_weights(model: GPT, ids: Tensor, positions: Tensor) -> list[Tensor]:
    """The attention weights of each layer: [M, N, H, T, T], queries by keys."""
    return [heads.weights(0, heads.queries) for heads in watch(model, ids, positions)[1]]


class Problem(NamedTuple):
    a: int
    b: int
    c: int


def read_text(layout: FixedWidth | NaturalLength, text: str) -> Problem:
    """A problem as its layout writes it, read by Python's own means."""
    numbers, end = text.removeprefix("[bos]").split(";")
    assert text.startswith("[bos]") and end == "[eos]"
    operands, *_, answer = numbers.split("=")
    first = {place.number: place.significance for place in reversed(layout.places)}
    return Problem(
        *(
            _value(number if first[which] == 1 else number[::-1], layout.vocabulary.base)
            for which, number in enumerate((*re.split(r"[+*]", operands), answer), start=1)
        )
    )


def _value(digits: str, base: int) -> int:
    """Least significant digit first. int() stops at 4300 digits."""
    return sum(int(digit, base) * base**place for place, digit in enumerate(digits))


class TheoryModel:
    """A stack whose member k computes hypotheses[k] of tasks[k], read off the tokens of any layout.

    It stands in for a GPT in scoring and in greedy decoding.
    """

    training = False
    device = torch.device("cpu")

    def __init__(
        self, layout: FixedWidth | NaturalLength, tasks: Sequence[Task], hypotheses: Sequence[Hypothesis]
    ) -> None:
        self.layout, self.tasks, self.hypotheses = layout, tasks, hypotheses
        self.members = len(tasks)

    def eval(self) -> "TheoryModel":
        return self

    def cache(self, batch: int, length: int) -> list[Tensor]:
        """All ids so far: it has nothing to save."""
        return []

    def __call__(self, ids: Tensor, positions: Tensor, *, tail: int, cache: list[Tensor] | None = None) -> Tensor:
        assert positions.shape[-1] == ids.shape[-1]
        if cache is not None:
            cache.append(ids)
            ids = torch.cat(cache, -1)
        expected = self.sequence(ids)[..., 1:]
        # The token after place t is predicted at place t.
        end = ids.shape[-1]
        following = expected[..., end - tail : end]
        return SURE * torch.nn.functional.one_hot(following, len(self.layout.vocabulary)).float()

    def sequence(self, ids: Tensor) -> Tensor:
        """The whole problem with the answer this model would give, whatever answer `ids` hold."""
        a, b = self._operands(ids)
        answers = [self._answers(k, a[k], b[k]) for k in range(self.members)]
        return self.layout.encode(a, b, torch.stack(answers)).ids

    def _operands(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        """Digits [M, N, W]; zeros where the prompt has not been read to its end."""
        vocabulary, width = self.layout.vocabulary, self.layout.operand_width
        natural = self.layout.places[1].significance == width
        digits: tuple[list[list[int]], ...] = ([], [])
        for row in ids.flatten(0, 1).tolist():
            cuts = [row.index(i) for i in (vocabulary.operator, vocabulary.equals) if i in row]
            numbers = (row[1 : cuts[0]], row[cuts[0] + 1 : cuts[1]]) if len(cuts) == 2 else ([], [])
            for rows, number in zip(digits, numbers, strict=True):
                least_first = number[::-1] if natural else number
                rows.append(least_first + [0] * (width - len(number)))
        a, b = (torch.tensor(rows, dtype=torch.int8).view(*ids.shape[:2], width) for rows in digits)
        return a, b

    def _answers(self, k: int, a: Tensor, b: Tensor) -> Tensor:
        """On Python's integers, not on digits, so that it checks what is computed on digits."""
        task, hypothesis = self.tasks[k], self.hypotheses[k]
        pairs = zip(to_ints(a, task.base), to_ints(b, task.base), strict=True)
        values = [hypothesis(task, x, y) for x, y in pairs]
        return from_ints(values, self.layout.answer_width, task.base)


class PerfectModel(TheoryModel):
    """Computes the truth."""

    def __init__(self, layout: FixedWidth | NaturalLength, tasks: Sequence[Task]) -> None:
        super().__init__(layout, tasks, [TRUTH] * len(tasks))
