"""What is computed, on Python integers: tasks and the domains their operands come from."""

from lengthwise.arithmetic.domain import Domain, Part, default_test, pair_length, parse_test_domains
from lengthwise.arithmetic.task import OPERATIONS, Operation, Task, digit_count, in_base

__all__ = [
    "OPERATIONS",
    "Domain",
    "Operation",
    "Part",
    "Task",
    "default_test",
    "digit_count",
    "in_base",
    "pair_length",
    "parse_test_domains",
]
