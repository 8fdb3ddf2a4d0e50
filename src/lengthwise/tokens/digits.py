"""Batched arithmetic on numbers of any length, without synchronizing the device.

>>> a, b = from_ints([95, 7], 3, base=10), from_ints([87, 5], 3, base=10)
>>> a.tolist()
[[5, 9, 0], [7, 0, 0]]
>>> to_ints(add(a, b, 10), 10), to_ints(multiply(a, b, 10), 10)
([182, 12], [8265, 35])

`Answers` computes those of a stack of members, each with its own task:

>>> answers = Answers([Task.parse("add"), Task.parse("mul%7")], answer_width=3)
>>> a, b = from_ints([12], 2, 10), from_ints([34], 2, 10)
>>> to_ints(answers(torch.stack([a, a]), torch.stack([b, b])), 10)
[46, 2]

Shapes: n, m digits of an operand, A of an answer; ... any leading dims, later [M members, B problems].
A number is an int8 tensor [..., n], least significant digit first, in a base of 2 to 36.
"""

from collections.abc import Sequence
from functools import reduce
from itertools import groupby

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from lengthwise.arithmetic import Task, digit_count
from lengthwise.errors import InputError

MAX_MODULUS = 2**31
"""A power is a product of two residues, and a residue is a sum of n powers: both stay far below 2^63."""

DIRECT_WIDTH = 48
"""Up to this many digits, adding shifted rows is faster than a Fourier transform (measured on one core)."""


def from_ints(values: Sequence[int], width: int, base: int) -> Tensor:
    """Non-negative integers as digits [len(values), width]."""
    end = base**width
    for value in values:
        if not 0 <= value < end:
            raise InputError(f"{_shown(value)} is out of range (0 to {base}^{width} - 1)")
    per_chunk = _chunk_digits(base)
    rows = [_chunks(value, base**per_chunk, -(-width // per_chunk)) for value in values]
    chunks = torch.tensor(rows, dtype=torch.int64).reshape(len(rows), -1, 1)
    return split(chunks, base, per_chunk).flatten(-2)[:, :width].contiguous()


def to_ints(digits: Tensor, base: int) -> list[int]:
    """Digits [..., n] as a flat list of Python integers."""
    per_chunk = _chunk_digits(base)
    flat = digits.reshape(-1, digits.shape[-1]).to("cpu", torch.int64)
    padded = F.pad(flat, (0, -flat.shape[-1] % per_chunk)).unflatten(-1, (-1, per_chunk))
    chunks = (padded * _places(base, per_chunk, flat.device)).sum(-1)
    size = base**per_chunk
    return [reduce(lambda value, chunk: value * size + chunk, reversed(row), 0) for row in chunks.tolist()]


def from_pairs(pairs: Sequence[tuple[int, int]], width: int, base: int) -> tuple[Tensor, Tensor]:
    """Pairs of integers as operands a and b [1, len(pairs), width] of one member."""
    a, b = (from_ints(numbers, width, base)[None] for numbers in zip(*pairs, strict=True))
    return a, b


def to_pairs(operands: tuple[Tensor, Tensor], base: int) -> list[tuple[int, int]]:
    """Operands a and b as pairs of integers."""
    a, b = (to_ints(digits, base) for digits in operands)
    return list(zip(a, b, strict=True))


def add(a: Tensor, b: Tensor, base: int) -> Tensor:
    """The sum [..., n+1] of two numbers of equal width."""
    return _carry(a + b, base)


def multiply(a: Tensor, b: Tensor, base: int) -> Tensor:
    """The product [..., n+m].

    Column sums reach min(n, m) (base-1)^2; each round of partial carries divides them by about the base,
    until a prefix carry can finish. No carry leaves the top column, as the product has n+m digits.
    """
    n, m = a.shape[-1], b.shape[-1]
    columns = column_products(a, b)
    largest = min(n, m) * (base - 1) ** 2
    while largest > 2 * (base - 1):
        carries = columns // base
        columns = columns - base * carries
        columns[..., 1:] += carries[..., :-1]
        largest = base - 1 + largest // base
    return _carry(columns.to(torch.int8), base)[..., :-1]


def column_products(a: Tensor, b: Tensor) -> Tensor:
    """The columns of a product before any carry, int32 [..., n+m]; the top one is zero.

    >>> column_products(from_ints([12], 2, 10), from_ints([34], 2, 10)).tolist()
    [[8, 10, 3, 0]]
    """
    direct = min(a.shape[-1], b.shape[-1]) <= DIRECT_WIDTH
    return _columns_direct(a, b) if direct else _columns_fourier(a, b)


def modulo(digits: Tensor, modulus: int | Tensor, base: int, width: int) -> Tensor:
    """The residue [..., width]; a tensor of moduli (int64) broadcasts to the leading dims.

    >>> to_ints(modulo(from_ints([6912], 4, 10), 101, 10, width=3), 10)
    [44]
    """
    if isinstance(modulus, int):
        modulus = torch.full((), check_modulus(modulus), device=digits.device)
    powers = _powers(modulus.unsqueeze(-1), base, digits.shape[-1])
    residue = (digits * powers).sum(-1) % modulus
    return split(residue.unsqueeze(-1), base, width)


def check_modulus(modulus: int) -> int:
    if not 1 <= modulus <= MAX_MODULUS:
        raise InputError(f"modulus {modulus} is out of range (1 to {MAX_MODULUS})")
    return modulus


def truncate(digits: Tensor, length: int) -> Tensor:
    """The number modulo base^length, at the same width.

    >>> to_ints(truncate(from_ints([51234], 5, 10), 4), 10)
    [1234]
    """
    return digits * (_columns_of(digits) < length)


def leading(a: Tensor, b: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The first `count` columns of a pair, from the top digit of the longer number, at the same width.

    >>> a, b = from_ints([51234, 7], 5, 10), from_ints([99, 88], 5, 10)
    >>> [to_ints(digits, 10) for digits in leading(a, b, 3)]
    [[512, 7], [0, 88]]
    """
    source = _columns_of(a) + (digit_lengths(a | b) - count).clamp(min=0).unsqueeze(-1)
    inside = source < a.shape[-1]
    index = torch.where(inside, source, 0)
    return a.gather(-1, index) * inside, b.gather(-1, index) * inside


def fold(digits: Tensor, length: int, base: int) -> Tensor:
    """The sum of a number's blocks of `length` digits, at the same width.

    >>> to_ints(fold(from_ints([987654], 6, 10), 3, 10), 10)
    [1641]
    """
    total = torch.zeros_like(digits)
    for start in range(0, digits.shape[-1], length):
        block = truncate(digits[..., start:], length)
        total = resize(add(total, resize(block, digits.shape[-1]), base), digits.shape[-1])
    return total


def windowed_add(a: Tensor, b: Tensor, window: int, base: int) -> Tensor:
    """The sum [..., n+1] whose digit i is computed from columns i-window+1 to i only, with no carry entering them.

    >>> a, b = from_ints([95], 2, 10), from_ints([87], 2, 10)
    >>> [to_ints(windowed_add(a, b, w, 10), 10) for w in (1, 2, 3)]
    [[72], [182], [182]]
    """
    sums = F.pad(a + b, (0, 1))
    stops, generates = last_stops(sums, base)
    columns = _columns_of(sums)
    carries = torch.zeros_like(sums)
    carries[..., 1:] = (generates & (columns + 1 - stops < window))[..., :-1]
    return _reduce(sums + carries, base)


def last_stops(sums: Tensor, base: int) -> tuple[Tensor, Tensor]:
    """For each column, the nearest column at or below it that does not pass a carry on, and whether it makes one.

    A column passes a carry on if its digits sum to base-1, and makes one if they sum to base or more. The first
    result, int32, is -1 where every column passes it on.
    """
    columns = _columns_of(sums)
    marked = torch.where(sums == base - 1, -1, 2 * columns + (sums >= base))
    nearest = marked.cummax(-1).values
    return nearest >> 1, (nearest >= 0) & (nearest & 1 == 1)


def digit_lengths(digits: Tensor) -> Tensor:
    """The number of digits of numbers [..., n] without leading zeros: int64 [...]; zero has one."""
    columns = torch.arange(1, digits.shape[-1] + 1, device=digits.device)
    return (columns * (digits != 0)).amax(-1).clamp(min=1)


def resize(digits: Tensor, width: int) -> Tensor:
    """The lowest `width` digits, with zeros above where there are fewer."""
    return F.pad(digits, (0, width - digits.shape[-1]))


def split(values: Tensor, base: int, width: int) -> Tensor:
    """Non-negative int64 values [..., 1] as digits [..., width]."""
    return (values // _places(base, width, values.device) % base).to(torch.int8)


def operate(task: Task, a: Tensor, b: Tensor) -> Tensor:
    """A task's operation, without the modulus, on digits: by its own method, or else through integers."""
    digits = task.op.digits(a, b, task.base)
    if digits is not None:
        return digits
    if a.is_cuda:
        raise InputError(f"operation {task.operation!r} has no method for digits, which a GPU requires; try a CPU")
    pairs = zip(to_ints(a, task.base), to_ints(b, task.base), strict=True)
    width = task.op.answer_digits(a.shape[-1], b.shape[-1])
    return from_ints([task.op.compute(*pair) for pair in pairs], width, task.base).view(*a.shape[:-1], width)


class Answers:
    """Called with operands [M, B, n], gives answers [M, B, A], padded with zeros.

    If one operand is short, A may be smaller than for two operands of n digits.
    """

    def __init__(self, tasks: Sequence[Task], answer_width: int) -> None:
        assert len({task.base for task in tasks}) == 1
        self.answer_width = answer_width
        self.groups = [(task, len(list(members))) for task, members in groupby(tasks)]
        """Neighbouring members with the same task, which are answered together."""
        for task, _ in self.groups:
            if task.modulus is not None:
                assert digit_count(check_modulus(task.modulus) - 1, task.base) <= answer_width

    def __call__(self, a: Tensor, b: Tensor) -> Tensor:
        tasks, sizes = zip(*self.groups, strict=True)
        groups = zip(tasks, a.split(sizes), b.split(sizes), strict=True)
        return torch.cat([self._answer(*group) for group in groups])

    def _answer(self, task: Task, a: Tensor, b: Tensor) -> Tensor:
        values = operate(task, a, b)
        if task.modulus is not None:
            return modulo(values, task.modulus, task.base, self.answer_width)
        # Checking values on a GPU would wait for it.
        if values.shape[-1] > self.answer_width and not values.is_cuda:
            fits = not values[..., self.answer_width :].any()
            assert fits, f"answers do not fit into {self.answer_width} digits"
        return resize(values, self.answer_width)


def _carry(sums: Tensor, base: int) -> Tensor:
    """Column sums [..., n] of 0 to 2 base-2 as digits [..., n+1]."""
    total = F.pad(sums, (0, 1))
    total[..., 1:] += last_stops(sums, base)[1]
    return _reduce(total, base)


def _reduce(columns: Tensor, base: int) -> Tensor:
    return torch.where(columns >= base, columns - base, columns)


def _columns_direct(a: Tensor, b: Tensor) -> Tensor:
    n, m = a.shape[-1], b.shape[-1]
    if n < m:
        return _columns_direct(b, a)
    shape = torch.broadcast_tensors(a[..., 0], b[..., 0])[0].shape
    columns = torch.zeros(*shape, n + m, dtype=torch.int32, device=a.device)
    wide_a, wide_b = a.to(torch.int32), b.to(torch.int32)
    for j in range(m):
        columns[..., j : j + n].addcmul_(wide_a, wide_b[..., j : j + 1])
    return columns


def _columns_fourier(a: Tensor, b: Tensor) -> Tensor:
    """Exact: sums stay below 10^4 35^2 < 2^24, where the transform's error in float64 is under 10^-6."""
    width = a.shape[-1] + b.shape[-1]
    size = 1 << (width - 1).bit_length()
    spectrum = torch.fft.rfft(a.double(), size) * torch.fft.rfft(b.double(), size)
    return torch.fft.irfft(spectrum, size)[..., :width].round().to(torch.int32)


def _powers(modulus: Tensor, base: int, count: int) -> Tensor:
    """base^0 .. base^(count-1) modulo the modulus [..., 1] -> [..., count], doubled until long enough."""
    powers, step = torch.ones_like(modulus) % modulus, modulus.new_full((), base) % modulus
    while powers.shape[-1] < count:
        powers = torch.cat([powers, powers * step % modulus], -1)
        step = step * step % modulus
    return powers[..., :count]


def _places(base: int, width: int, device: torch.device) -> Tensor:
    """base^0 .. base^(width-1), clamped at the largest power that fits into 62 bits."""
    return base ** torch.arange(width, device=device).clamp(max=_chunk_digits(base))


def _columns_of(digits: Tensor) -> Tensor:
    return torch.arange(digits.shape[-1], dtype=torch.int32, device=digits.device)


def _chunk_digits(base: int) -> int:
    """The number of digits that always fit into 62 bits."""
    return digit_count(2**62 - 1, base) - 1


def _chunks(value: int, size: int, count: int) -> list[int]:
    chunks: list[int] = []
    for _ in range(count):
        value, chunk = divmod(value, size)
        chunks.append(chunk)
    return chunks


def _shown(value: int) -> str:
    """A number for messages; Python refuses to print very long ones."""
    return str(value) if abs(value) < 10**40 else f"a number of {value.bit_length()} bits"
