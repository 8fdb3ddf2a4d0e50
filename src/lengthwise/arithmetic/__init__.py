"""Tasks and domains on Python integers: what is computed, and where operands come from."""

from lengthwise.arithmetic.domain import Domain as Domain
from lengthwise.arithmetic.domain import Part as Part
from lengthwise.arithmetic.domain import default_test as default_test
from lengthwise.arithmetic.domain import pair_length as pair_length
from lengthwise.arithmetic.domain import parse_test_domains as parse_test_domains
from lengthwise.arithmetic.task import OPERATIONS as OPERATIONS
from lengthwise.arithmetic.task import Operation as Operation
from lengthwise.arithmetic.task import Task as Task
from lengthwise.arithmetic.task import digit_count as digit_count
from lengthwise.arithmetic.task import in_base as in_base
