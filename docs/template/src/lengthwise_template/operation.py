"""a + 2 b, without a theory, so nothing is predicted; lengthwise/operations/sub.py is an example with one."""

from typing import Any, final

from lengthwise.arithmetic import Operation


@final
class Double(Operation):
    symbol, noun, verb = "#", "First plus twice the second", "add the first to twice the second of"

    def compute(self, a: int, b: int) -> int:
        return a + 2 * b

    def answer_digits(self, n: int, m: int) -> int:
        return max(n, m) + 2  # in base 2; others need no more

    def digits(self, a: Any, b: Any, base: int) -> Any:
        """Optional: `compute` is slower and does not run on a GPU. Import torch here, not above."""
        from lengthwise.tokens.digits import add, resize

        twice = add(b, b, base)
        return add(resize(a, twice.shape[-1]), twice, base)


DOUBLE = Double()
