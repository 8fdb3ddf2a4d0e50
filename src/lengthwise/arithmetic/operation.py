"""What an operation is: a function of two natural numbers, how it is written and named, its form on digits, and
what theory knows of it. One file has all of it: those of `lengthwise.operations`, or of an installed package.

>>> OPERATIONS["sub"].compute(4, 9), OPERATIONS["sub"].formula("a", "b")
(5, '|a − b|')
"""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from lengthwise.registry import Registry


class Operation(ABC):
    """A final subclass says what it computes; the rest has defaults.

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
    """What stands between the operands in prompts and files, one token."""
    signs: ClassVar[str] = ""
    """What else people write for it, the usual sign first."""
    noun: ClassVar[str]
    """As a title: Addition."""
    verb: ClassVar[str] = "compute"
    """As in: it will add the last 4 digits of each operand."""
    answers: ClassVar[str] = "answers"
    """As in: sums, trained on up to 20 digits."""
    has_carries: ClassVar[bool] = False
    """Whether answers are sums of columns with carries, of which windows, chains and coverage speak."""
    theory: ClassVar[Any] = None
    """What theory knows of it, an `OperationTheory`; without one nothing is predicted."""

    @abstractmethod
    def compute(self, a: int, b: int) -> int:
        """The answer, a natural number."""

    @abstractmethod
    def answer_digits(self, n: int, m: int) -> int:
        """The number of digits that hold every answer of operands of n and m digits, in every base."""

    def digits(self, a: Any, b: Any, base: int) -> Any:
        """Answers [..., A] of operands [..., n], int8 tensors with the least significant digit first, without a
        step that waits for the device. None, the default, is `compute` on integers: slower, and on a CPU alone."""
        return None

    def formula(self, a: str, b: str) -> str:
        """As people write it."""
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
