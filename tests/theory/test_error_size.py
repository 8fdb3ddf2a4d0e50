from fractions import Fraction

import pytest
from brute_force import all_pairs

from lengthwise.arithmetic import Domain, Task
from lengthwise.errors import InputError
from lengthwise.theory.accuracy import truncation_error
from lengthwise.theory.hypotheses import Hypothesis


def enumerated(task, digits, domain):
    hypothesis = Hypothesis("truncated", digits)
    least, mean = [], Fraction()
    for weight, part in zip(domain.weights, domain.parts, strict=True):
        pairs = all_pairs(Domain((part,), (Fraction(1),)))
        errors = [abs(task(a, b) - hypothesis(task, a, b)) for a, b in pairs]
        least.append(min(errors))
        mean += weight * Fraction(sum(errors), len(errors))
    return min(least), mean


@pytest.mark.parametrize("base", [2, 3, 5])
@pytest.mark.parametrize("task", ["add", "mul"])
@pytest.mark.parametrize("digits", [1, 2, 3])
@pytest.mark.parametrize(
    "name", ["D1", "D2", "D3", "B3", "3x1", "1x3", "3x2", "D3[lead>=1]", "D1..3", "0.9*D2+0.1*B3"]
)
def test_equals_enumeration(task, digits, name, base):
    task, domain = Task.parse(task, base), Domain.parse(name, base)
    assert truncation_error(task, digits, domain) == enumerated(task, digits, domain)


@pytest.mark.parametrize("n", [2, 4])
@pytest.mark.parametrize("m", [5, 9, 40])
def test_corollary_2(n, m):
    """Not less than 10^n, and on D_m not less than 10^(m-1)."""
    add = Task.parse("add")
    least = truncation_error(add, n, Domain.parse(f"D{m}")).least
    assert least == 10 ** (m - 1) >= 10**n
    assert truncation_error(add, n, Domain.parse(f"B{m}")).least == 2 * 10 ** (m - 1)
    assert truncation_error(add, n, Domain.parse(f"D{n}")) == (0, 0)


def test_a_modulus_is_refused():
    with pytest.raises(InputError, match="add%7"):
        truncation_error(Task.parse("add%7"), 4, Domain.parse("D5"))
