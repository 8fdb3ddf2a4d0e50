"""A task is an operation with an optional modulus, in a base.

An operation is a function of two natural numbers, how it is written and named, its form on digits, and what theory
knows of it. One file has all of it: those of `lengthwise.operations`, or of an installed package.

>>> task = Task.parse("add%101")
>>> task(1234, 5678)
44
>>> str(task), str(Task.parse("mul"))
('add%101', 'mul')
>>> OPERATIONS["sub"].compute(4, 9), OPERATIONS["sub"].formula("a", "b")
(5, '|a − b|')
"""

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from lengthwise.errors import InputError, unknown
from lengthwise.registry import Registry

MIN_BASE, MAX_BASE = 2, 36
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"

_FORM = re.compile(r"(?P<operation>[A-Za-z_]\w*)(?:%(?P<modulus>-?\d+))?", re.ASCII)


class Operation(ABC):
    """An operation on two numbers. A subclass defines what it computes; everything else has defaults.

    >>> class Maximum(Operation):
    ...     symbol, noun, verb = "^", "Maximum", "take the larger of"
    ...
    ...     def compute(self, a, b):
    ...         return max(a, b)
    ...
    ...     def answer_digits(self, n, m):
    ...         return max(n, m)
    >>> OPERATIONS["max"] = Maximum()
    >>> OPERATIONS["max"].compute(4, 9)
    9
    >>> del OPERATIONS["max"]
    """

    symbol: ClassVar[str]
    """The token between the operands in prompts and files."""
    signs: ClassVar[str] = ""
    """Other signs that people write for it, the usual one first."""
    noun: ClassVar[str]
    """Its name in titles, such as Addition."""
    verb: ClassVar[str] = "compute"
    """Its name in sentences: it will *add* the last 4 digits of each operand."""
    answers: ClassVar[str] = "answers"
    """The name of its answers: *sums*, trained on up to 20 digits."""
    has_carries: ClassVar[bool] = False
    """Whether answers are sums of columns with carries, so that windows, carry chains and coverage are defined."""
    theory: ClassVar[Any] = None
    """Its `OperationTheory`; without one nothing is predicted."""

    @abstractmethod
    def compute(self, a: int, b: int) -> int:
        """The answer, a non-negative integer."""

    @abstractmethod
    def answer_digits(self, n: int, m: int) -> int:
        """The number of digits of the longest answer for operands of n and m digits, in every base."""

    def digits(self, a: Any, b: Any, base: int) -> Any:
        """Answers [..., A] of operands [..., n], int8 tensors with the least significant digit first, without
        synchronizing the device. None, the default, means `compute` on integers: slower, and only on a CPU."""
        return None

    def formula(self, a: str, b: str) -> str:
        """The operation as people write it."""
        return f"{a} {self.sign} {b}"

    @property
    def sign(self) -> str:
        """The symbol as people write it."""
        return self.signs[:1] or self.symbol


OPERATIONS: Registry[Operation] = Registry(
    "operations",
    {
        "add": "lengthwise.operations.add:ADDITION",
        "mul": "lengthwise.operations.mul:MULTIPLICATION",
        "sub": "lengthwise.operations.sub:DIFFERENCE",
    },
    kind=Operation,
)


@dataclass(frozen=True, slots=True)
class Task:
    operation: str
    modulus: int | None = None
    base: int = 10

    def __post_init__(self) -> None:
        if self.operation not in OPERATIONS:
            raise unknown("operation", self.operation, OPERATIONS)
        if self.modulus is not None and self.modulus < 1:
            raise InputError(f"modulus {self.modulus} is too small (1 or more)")
        check_base(self.base)

    @classmethod
    def parse(cls, text: str, base: int = 10) -> Self:
        match = _FORM.fullmatch(text.strip())
        if match is None:
            raise InputError(f"invalid task {text!r} (write {', '.join(OPERATIONS)}, or with a modulus add%101)")
        modulus = match["modulus"]
        return cls(match["operation"], None if modulus is None else int(modulus), base)

    def __str__(self) -> str:
        return self.operation if self.modulus is None else f"{self.operation}%{self.modulus}"

    def __call__(self, a: int, b: int) -> int:
        value = self.op.compute(a, b)
        return value if self.modulus is None else value % self.modulus

    @property
    def op(self) -> Operation:
        """The operation object."""
        return OPERATIONS[self.operation]

    @property
    def symbol(self) -> str:
        return self.op.symbol

    @property
    def plain_sum(self) -> bool:
        """Whether answers are sums with carries, without a modulus."""
        return self.op.has_carries and self.modulus is None

    def answer_digits(self, operand_digits: int, others: int | None = None) -> int:
        """The number of digits of the longest answer for operands of `operand_digits` digits; b may have `others`
        instead."""
        if self.modulus is not None:
            return digit_count(self.modulus - 1, self.base)
        return self.op.answer_digits(operand_digits, operand_digits if others is None else others)


def check_base(base: int) -> None:
    if not MIN_BASE <= base <= MAX_BASE:
        raise InputError(f"base {base} is out of range ({MIN_BASE} to {MAX_BASE})")


def digit_count(value: int, base: int) -> int:
    """The number of digits of a non-negative integer; zero has one.

    >>> digit_count(0, 10), digit_count(9, 10), digit_count(1000, 10), digit_count(8, 2)
    (1, 1, 4, 4)
    """
    return len(in_base(value, base))


def in_base(value: int, base: int) -> str:
    """A non-negative integer as text.

    >>> in_base(255, 16), in_base(0, 2)
    ('ff', '0')
    """
    digits: list[str] = []
    while value or not digits:
        value, digit = divmod(value, base)
        digits.append(DIGITS[digit])
    return "".join(reversed(digits))
