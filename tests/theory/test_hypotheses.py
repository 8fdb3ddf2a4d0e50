import pytest
from brute_force import digits
from hypothesis import given
from hypothesis import strategies as st

from lengthwise.arithmetic import Domain, Task
from lengthwise.errors import InputError
from lengthwise.theory.accuracy import accuracy, within_reach
from lengthwise.theory.hypotheses import Hypothesis, windowed_sum
from lengthwise.theory.predict import predict


def column_by_column(a, b, window, base):
    """Each digit from its own small addition, as the definition says."""
    columns = max(len(digits_of(a, base)), len(digits_of(b, base)))
    x, y = digits(a, base, columns + 1), digits(b, base, columns + 1)
    total = 0
    for i in range(columns + 1):
        carry = 0
        for j in range(max(0, i - window + 1), i):
            carry = (x[j] + y[j] + carry) // base
        total += (x[i] + y[i] + carry) % base * base**i
    return total


def digits_of(value, base):
    found = []
    while value:
        found.append(value % base)
        value //= base
    return found


@given(st.integers(0, 10**8), st.integers(0, 10**8), st.integers(1, 10), st.integers(2, 36))
def test_windowed_sum_sees_its_columns_alone(a, b, window, base):
    assert windowed_sum(a, b, window, base) == column_by_column(a, b, window, base)


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(2, 36))
def test_a_window_over_everything_is_the_truth(a, b, base):
    assert windowed_sum(a, b, 25, base) == a + b


def test_truncated_drops_high_digits_of_operands_not_of_the_answer():
    assert Hypothesis.parse("truncated:2")(Task.parse("add"), 1299, 99) == 198
    assert Hypothesis.parse("truncated:2")(Task.parse("mul%50"), 312, 405) == 12 * 5 % 50


@given(st.integers(0, 10**8), st.integers(0, 10**8), st.integers(1, 9), st.integers(2, 36))
def test_leading_and_folded_by_writing_digits_down(a, b, size, base):
    """Digits are lists here, lowest first."""
    add = Task("add", None, base)
    length = max(1, len(digits_of(max(a, b), base)))
    x, y = digits(a, base, length), digits(b, base, length)
    first = [number(d[-size:], base) for d in (x, y)]
    assert Hypothesis("leading", size)(add, a, b) == sum(first)
    blocks = [number(d[k : k + size], base) for d in (x, y) for k in range(0, length, size)]
    assert Hypothesis("folded", size)(add, a, b) == sum(blocks)


def number(lowest_first, base):
    return sum(digit * base**i for i, digit in enumerate(lowest_first))


def test_a_window_modulo_p_is_the_residue_of_the_windowed_sum():
    assert Hypothesis.parse("windowed:2")(Task.parse("add%7"), 999, 1) == 900 % 7


@pytest.mark.parametrize("text", ["windowed:2", "leading:2", "folded:1"])
def test_candidates_have_no_exact_accuracy(text):
    task, hypothesis, domain = Task.parse("add%7"), Hypothesis.parse(text), Domain.parse("D3")
    assert not within_reach(task, hypothesis)
    assert predict(task, "D2", [domain], hypothesis=hypothesis).rows[0].accuracy is None
    with pytest.raises(InputError, match=f"exact accuracy of {text} on add%7 is not known"):
        accuracy(task, hypothesis, domain)


@pytest.mark.parametrize("text", ["truth", "truncated:4", "windowed:12", "leading:3", "folded:1"])
def test_round_trip(text):
    assert str(Hypothesis.parse(text)) == text


@pytest.mark.parametrize("text", ["truncated", "truncated:0", "truth:3", "windowed:x", "guess"])
def test_bad_hypotheses(text):
    with pytest.raises(InputError, match="choose from truth"):
        Hypothesis.parse(text)


def test_a_window_is_for_sums():
    with pytest.raises(InputError, match="mul"):
        Hypothesis.parse("windowed:2")(Task.parse("mul"), 1, 1)
