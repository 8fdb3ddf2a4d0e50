r"""How much of a sum's digit its own column and the carry of the column below can tell, exactly.

The paper follows training by fitting a decision tree from x = (a_i + b_i) mod base and y = (a_{i-1} + b_{i-1})
div base to the model's digit i. Not even a perfect adder reaches R2 = 1: where y = 0 a carry may still come in,
through a column i-1 that sums to base - 1. With q the chance that a carry enters column i-1,

    r = 2 q / (base + 1)   is the chance of a carry where y = 0, and   R2 <= 1 - 6 r (1 - r) / base.

The digits of columns i-1 and i are uniform here, so x is uniform and independent of all below it. Given y = 0
the digit is x with chance 1 - r and x + 1 else, which is 0 where x = base - 1; given y = 1 it is certain. The
mean variance left is therefore (base + 1) / (2 base) r (1 - r) (base - 1), out of (base^2 - 1) / 12.

>>> [round(float(r2_ceiling(Domain.parse("D4"), position)), 4) for position in range(1, 8)]
[1.0, 1.0, 0.9549, 0.9509, 0.9505, 0.95, 1.0]
"""

from fractions import Fraction

from lengthwise.arithmetic import Domain
from lengthwise.theory.carries import carry_probability


def r2_ceiling(domain: Domain, position: int) -> Fraction:
    """The R2 of the best function of x and y on the digit at a position (1 is the lowest) of a sum.

    Problems are those of the domain with the digits of columns position - 1 to position + 1 drawn anew.
    """
    below = max(1, position - 1)  # nothing comes into the lowest column
    parts = zip(domain.weights, domain.parts, strict=True)
    carry = sum((weight * carry_probability(part, below) for weight, part in parts), Fraction())
    unseen = 2 * carry / (domain.base + 1)
    return 1 - 6 * unseen * (1 - unseen) / domain.base
