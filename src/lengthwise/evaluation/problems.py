"""Test problems: a small domain whole, a sample of a large one's reserved pairs, or a user's own.

Shapes: M members, N problems, W operand digits.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor

from lengthwise.arithmetic import Domain, Task
from lengthwise.errors import InputError
from lengthwise.tokens.digits import from_ints, resize
from lengthwise.tokens.fixed import enumerate_pairs
from lengthwise.tokens.reserve import WHOLE_LIMIT
from lengthwise.tokens.sampling import Member, Sampler

X_DIGIT = 33
"""What x stands for in bases above this; in others it is a sign of multiplication."""


@dataclass(frozen=True)
class Problems:
    """Operands [M, N, W] of a row of an evaluation."""

    domain: str
    a: Tensor
    b: Tensor
    selection: Literal["enumerated", "sampled", "given"]


def test_problems(
    domain: Domain,
    seeds: Sequence[int],
    width: int,
    count: int,
    device: torch.device,
    *,
    whole: int = WHOLE_LIMIT,
) -> Problems:
    """Each member has `count` problems of its own evaluation stream, unless the domain has `whole` or fewer."""
    if len(domain.parts) == 1 and domain.size <= whole:
        a, b = (resize(digits, width).to(device) for digits in enumerate_pairs(domain.parts[0]))
        shape = (len(seeds), -1, -1)
        return Problems(str(domain), a.expand(shape), b.expand(shape), "enumerated")
    members = [Member(seed, domain) for seed in seeds]
    sampler = Sampler(members, width, side="test", stream="evaluation", device=device)
    return Problems(str(domain), *sampler(torch.arange(count, device=device)), "sampled")


def given_problems(path: Path, task: Task, members: int, width: int, device: torch.device) -> Problems:
    """A user's own pairs, two numbers a line."""
    base = task.base
    pairs = read_pairs(path, task)
    longest = base**width
    for line, pair in enumerate(pairs, start=1):
        if max(pair) >= longest:
            raise InputError(f"pair {line} of {path} has more digits than this model reads: allowed is {width}")
    a, b = (from_ints(numbers, width, base).to(device) for numbers in zip(*pairs, strict=True))
    return Problems(path.name, a.expand(members, -1, -1), b.expand(members, -1, -1), "given")


def read_pairs(path: Path, task: Task) -> list[tuple[int, int]]:
    """Lines such as `12 345`, `12,345`, `12 + 345`; empty lines and lines from # on are passed over."""
    try:
        lines = path.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read pairs from {path}: {error}") from None
    written = [(number, line) for number, line in enumerate(lines, start=1) if _words(line, task.base)]
    pairs = [_pair(line, number, path, task) for number, line in written]
    if not pairs:
        raise InputError(f"{path} holds no pairs: allowed are two numbers a line")
    return pairs


def _words(line: str, base: int) -> list[str]:
    signs = ",+*x" if base <= X_DIGIT else ",+*"
    return line.partition("#")[0].translate(str.maketrans(signs, " " * len(signs))).split()


def _sign(line: str, base: int) -> str:
    """The operator between the numbers of a line, if there is one."""
    written = line.partition("#")[0]
    if "+" in written:
        return "+"
    return "*" if "*" in written or ("x" in written and base <= X_DIGIT) else ""


def _pair(line: str, number: int, path: Path, task: Task) -> tuple[int, int]:
    base = task.base
    try:
        a, b = (int(word, base) for word in _words(line, base))
    except ValueError:
        raise InputError(
            f"line {number} of {path} is {line.strip()!r}: allowed are two numbers in base {base}"
        ) from None
    if _sign(line, base) not in (task.symbol, ""):
        raise InputError(f"line {number} of {path} is {line.strip()!r}: allowed are {task.symbol!r} or no sign")
    if min(a, b) < 0:
        raise InputError(f"line {number} of {path} has a negative number: allowed are natural numbers")
    return a, b
