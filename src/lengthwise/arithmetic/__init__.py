"""What is computed, on Python integers: tasks and the domains their operands come from."""

from lengthwise.arithmetic.domain import Domain, Part, parse_test_domains
from lengthwise.arithmetic.task import OPERATIONS, Operation, Task, digit_count

__all__ = ["OPERATIONS", "Domain", "Operation", "Part", "Task", "digit_count", "parse_test_domains"]
