"""Models with the way they read problems, test problems, and the answers of hypotheses to these.

Test problems are a whole domain, a sample, or a user's own pairs; a sample of a large domain has only held-out
pairs. `reference_answers` computes on digits what `theory.hypotheses` computes on integers.

Shapes: M members, N problems, T tokens, W operand digits, A answer digits.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

import torch
from torch import Tensor

from lengthwise.arithmetic import Domain, Task
from lengthwise.arithmetic.domain import MAX_LENGTH
from lengthwise.errors import InputError
from lengthwise.model.positions.encoding import Encoding, number_tokens
from lengthwise.records.files import read_file
from lengthwise.theory.hypotheses import Hypothesis
from lengthwise.tokens import DataConfig
from lengthwise.tokens.digits import Answers, fold, from_pairs, leading, modulo, resize, truncate, windowed_add
from lengthwise.tokens.hashing import WHOLE_LIMIT, Draws, member_keys
from lengthwise.tokens.layouts.layout import Layout, Tokens
from lengthwise.tokens.sampling import Sampler, Stream, enumerate_pairs

Pair = tuple[Tensor, Tensor]
"""Operands a and b [M, N, W] of problems."""

Selection = Literal["enumerated", "sampled", "given"]

# Tokens of all members in one pass: enough to fill a GPU, few enough to stay in a CPU's cache.
CHUNK_TOKENS = {"cuda": 1 << 19, "cpu": 1 << 13}

DEPENDENCE_START, CHAIN_START, PAIR_START, SET_START, CHANGE_START = (number << 40 for number in range(1, 6))
"""Where the problems of each measurement begin in a member's evaluation stream; those of test domains begin at
0."""

X_DIGIT = 33
"""The value of the digit x; in bases up to this x means multiplication."""


class Model(Protocol):
    """A model from ids to logits, as exact match and decoding need it. A `GPT` is one, and `Single` turns any
    module into one. A model of prompts and text is a `TextModel` instead."""

    training: bool

    def __call__(self, ids: Tensor, positions: Tensor, *, tail: int | None = None, cache: Any = None) -> Tensor:
        """Logits [M, N, T, V] of ids [M, N, T], or only of the last `tail`; with a cache, ids continue the tokens
        read before."""
        ...

    def cache(self, batch: int, length: int) -> Any:
        """An empty cache for `batch` sequences of up to `length` tokens."""
        ...


@dataclass(frozen=True)
class Subject:
    """A model, which is a stack of members, with its layout and positional encoding."""

    model: Model
    layout: Layout
    encoding: Encoding
    members: "Sequence[Member]" = ()
    """The runs that records are about."""
    offset: int = field(default=0, kw_only=True)
    """Added to the positions of all problems, for encodings that have offsets."""

    def read(self, a: Tensor, b: Tensor, c: Tensor) -> tuple[Tokens, Tensor]:
        """Problems and answers [M, N, digits] as tokens, and the positions [M or 1, N or 1, T] of these."""
        encoded = self.layout.encode(a, b, c)
        offset = torch.full((1,), self.offset, device=a.device)
        return encoded.spread(), number_tokens(self.encoding, encoded.significance, encoded.number, offset)

    def chunks(self, *tensors: Tensor) -> Iterator[tuple[Tensor, ...]]:
        """Tensors [M, N, ...] of problems, in chunks that suit the device."""
        size = max(1, CHUNK_TOKENS[tensors[0].device.type] // (self.layout.length * len(tensors[0])))
        yield from zip(*(tensor.split(size, dim=1) for tensor in tensors), strict=True)

    def answers(self, hypotheses: Sequence[Hypothesis], problem: Pair) -> Tensor:
        """The answers [M, N, A] of each member's hypothesis."""
        tasks = [member.task for member in self.members]
        return reference_answers(tasks, hypotheses, *problem, self.layout.answer_width)


@dataclass(frozen=True)
class Member:
    """One run of a stack, after some steps of training."""

    run: str
    seed: int
    task: Task
    train: Domain
    step: int = 0
    draws: int = 0
    """Number of problems that training has drawn so far, repeated ones included."""
    data: DataConfig = DataConfig()  # noqa: RUF009 (frozen)
    """How training draws problems."""


@dataclass(frozen=True)
class Problems:
    """Operands [M, N, W] that members are measured on."""

    name: str
    a: Tensor
    b: Tensor
    selection: Selection
    domain: Domain | None = None
    """None for problems of no domain, such as a user's own pairs."""
    held_out: bool = False
    """Whether they are the held-out tenth of a fixed set."""

    @property
    def pair(self) -> Pair:
        return self.a, self.b


@dataclass(frozen=True)
class Drawing:
    """How problems are drawn: the number for each member, from its own stream, and their width and base."""

    seeds: Sequence[int]
    width: int
    base: int
    count: int
    device: torch.device

    def indices(self, start: int = 0) -> Tensor:
        return torch.arange(start, start + self.count, device=self.device)

    def draws(self, indices: Tensor) -> Draws:
        """Random numbers for these problems of every member."""
        return Draws(member_keys(self.seeds, "evaluation", self.device), indices)

    def operands(self, domain: str, indices: Tensor) -> Pair:
        """Operands [M, len(indices), W] of a domain."""
        return self.sample([Domain.parse(domain, self.base)] * len(self.seeds), indices)

    def sample(
        self, domains: Sequence[Domain], indices: Tensor, *, side: str | None = None, mode: str = "uniform"
    ) -> Pair:
        """Operands [M, len(indices), W] of each member's own domain, as `Sampler` draws them."""
        streams = [Stream(seed, domain) for seed, domain in zip(self.seeds, domains, strict=True)]
        sampler = Sampler(streams, self.width, mode=mode, side=side, stream="evaluation", device=self.device)
        return sampler(indices)


def test_problems(domain: Domain, drawing: Drawing, *, whole: int = WHOLE_LIMIT) -> Problems:
    """The test problems of a domain: all of them if it has at most `whole`, else a sample for each member."""
    if len(domain.parts) == 1 and domain.size <= whole:
        a, b = (resize(digits, drawing.width).to(drawing.device) for digits in enumerate_pairs(domain.parts[0]))
        shape = (len(drawing.seeds), -1, -1)
        return Problems(str(domain), a.expand(shape), b.expand(shape), "enumerated", domain)
    a, b = drawing.sample([domain] * len(drawing.seeds), drawing.indices(), side="test")
    return Problems(str(domain), a, b, "sampled", domain)


def given_problems(path: Path, task: Task, width: int, device: torch.device) -> Problems:
    """A user's own pairs, two numbers a line."""
    pairs, longest = read_pairs(path, task), task.base**width
    for line, pair in enumerate(pairs, start=1):
        if max(pair) >= longest:
            raise InputError(f"pair {line} of {path} has more digits than the {width} that this model reads")
    a, b = from_pairs(pairs, width, task.base)
    return Problems(path.name, a.to(device), b.to(device), "given")


def read_pairs(path: Path, task: Task) -> list[tuple[int, int]]:
    """The problems in a file, one per line; empty lines and text after # are ignored."""
    try:
        lines = [line.partition("#")[0] for line in read_file(path).decode().splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read pairs from {path}: {error}") from None
    pairs: list[tuple[int, int]] = []
    for number, line in enumerate(lines, start=1):
        try:
            pairs += [read_problem(line, task)] if line.strip() else []
        except InputError as error:
            raise InputError(f"line {number} of {path}: {error}") from None
    if not pairs:
        raise InputError(f"{path} contains no problems (two numbers per line)")
    return pairs


def read_problem(text: str, task: Task) -> tuple[int, int]:
    """The operands in a text: two numbers with the task's sign, a comma or a space between them. An answer after
    =, as in files of `lengthwise data` and of the paper, must be right, in natural order or reversed.

    >>> read_problem("12 + 345", Task.parse("add")), read_problem("12x3", Task.parse("mul"))
    ((12, 345), (12, 3))
    >>> read_problem("9 − 4", Task.parse("sub"))
    (9, 4)
    >>> read_problem("0012+0345=75300;", Task.parse("add"))
    (12, 345)
    """
    own, asked = [task.symbol, *task.op.signs], " ".join(text.split())
    sign = rf"{'|'.join(map(re.escape, own))}|[^\w=;]" + ("" if task.base > X_DIGIT else "|x")
    # Where no sign is a digit, a number ends at the first one: nothing of a long text is read twice.
    number = "[0-9A-Za-z]+" if task.base > X_DIGIT else rf"(?:(?!{sign})[0-9A-Za-z])++"
    match = re.fullmatch(rf"({number}) ?({sign}) ?({number}) ?(?:= ?([0-9A-Za-z]*);?)?", asked)
    if match is None:
        raise InputError(f"cannot read problem {asked!r} (two numbers, as in '345 {task.symbol} 12')")
    if max(len(match[1]), len(match[3]), len(match[4] or "") // 2) > MAX_LENGTH:
        raise InputError(f"problem {asked!r} has a number of more than {MAX_LENGTH:,} digits")
    if match[2] not in own and match[2] != "," and not match[2].isspace():
        raise InputError(f"problem {asked!r} does not have the task's sign {task.symbol!r}")
    try:
        given = [match[4], match[4][::-1]] if match[4] else []
        a, b, *answers = (int(text, task.base) for text in (match[1], match[3], *given))
    except ValueError:
        raise InputError(f"problem {asked!r} contains digits that are not valid in base {task.base}") from None
    if answers and task(a, b) not in answers:
        raise InputError(f"problem {asked!r} has a wrong answer for {task}")
    return a, b


def reference_answers(
    tasks: Sequence[Task], hypotheses: Sequence[Hypothesis], a: Tensor, b: Tensor, width: int
) -> Tensor:
    """The answers [M, N, A] of each member's hypothesis to its operands [M, N, W]."""
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
    return Answers([task], width)(a, b)


OPERANDS: dict[str, Callable[[Tensor, Tensor, int, int], Pair]] = {
    "truncated": lambda a, b, size, base: (truncate(a, size), truncate(b, size)),
    "leading": lambda a, b, size, base: leading(a, b, size),
    "folded": lambda a, b, size, base: (fold(a, size, base), fold(b, size, base)),
}
"""For hypotheses that apply the task to other operands: these, from (a, b), the hypothesis's size and the base."""
