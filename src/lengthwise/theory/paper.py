"""What the paper itself states as numbers: approximations, kept beside the exact ones.

Xu, Zhao, Zhang, Yang: "Principled Understanding of Generalization for Generative Transformer Models in
Arithmetic Reasoning Tasks", ACL 2025.
"""

from fractions import Fraction

from lengthwise.arithmetic import Domain, Task
from lengthwise.theory.residues import shared_part


def modular_addition_accuracy(task: Task, digits: int, test_digits: int) -> Fraction:
    """Theorem 5 (3): 1 / p' on both-operands-long domains at or above a threshold length, else 0.

    >>> [modular_addition_accuracy(Task.parse("add%151"), 4, m) for m in (5, 6)]
    [Fraction(0, 1), Fraction(1, 151)]
    """
    assert task.modulus is not None
    rest = task.modulus // shared_part(task.modulus, task.base, digits)
    if rest == 1:
        return Fraction(1)
    # test_digits >= digits + log_base(rest / 2 + 1), in integers
    reached = test_digits > digits and 2 * task.base ** (test_digits - digits) >= rest + 2
    return Fraction(1, rest) if reached else Fraction()


def window_bound(base: int, digits: int) -> Fraction:
    """Theorem 3's bound on failing upward with relative positions, 1 / base^(n-1).

    It is the chance that one given position sees n-1 columns below it that all hand a carry on. A sum of m
    digits has many such positions, so the chance that some position fails may exceed it.
    """
    return Fraction(1, base ** (digits - 1))


def modular_error(task: Task, digits: int, a: int, b: int) -> Fraction:
    """The error f - f^ of the truncated modular sum, by the paper's two remainders.

    >>> task = Task.parse("add%151")
    >>> modular_error(task, 4, 51234, 65678), task(51234, 65678) - task(1234, 5678)
    (Fraction(-79, 1), -79)
    """
    assert task.modulus is not None
    unit = task.base**digits
    low = a % unit + b % unit
    high = a + b - low
    low_remainder = Fraction(low % task.modulus, task.modulus)
    high_remainder = Fraction(high % task.modulus, task.modulus)
    wraps = low_remainder + high_remainder >= 1
    return (high_remainder - wraps) * task.modulus


def stated_accuracy(task: Task, digits: int, relative: bool, test: Domain) -> Fraction | None:
    """The accuracy that the paper's statements give on a test domain, or None where it gives no formula."""
    if test.length <= digits:
        return Fraction(1)
    if task.modulus is not None and shared_part(task.modulus, task.base, digits) == task.modulus:
        return Fraction(1)
    if relative:
        plain_addition = (task.operation, task.modulus) == ("add", None)
        return 1 - window_bound(task.base, digits) if plain_addition else None
    if task.operation != "add":
        return None
    if task.modulus is None:
        # Each point above n is wrong, so only a mixture's share up to n is right.
        return Fraction(sum(w for w, part in zip(test.weights, test.parts, strict=True) if part.length <= digits))
    both_long = str(test) == f"B{test.length}"
    return modular_addition_accuracy(task, digits, test.length) if both_long else None
