import pytest

from lengthwise.arithmetic import Domain, Task
from lengthwise.errors import InputError
from lengthwise.theory.carries import digit_accuracy, digit_share
from lengthwise.theory.hypotheses import TRUTH, Hypothesis


def weighted_pairs(domain):
    limit = domain.base**domain.length
    pairs = [(a, b, domain.weight((a, b))) for a in range(limit) for b in range(limit)]
    return [pair for pair in pairs if pair[2]]


@pytest.mark.parametrize("base", [2, 3])
@pytest.mark.parametrize("text", ["D1", "D3", "B3", "D2+D3", "D1..3", "D3[lead>=1]", "3x1", "2x3", "1..3x2"])
def test_equals_counting(base, text):
    domain, task = Domain.parse(text, base), Task.parse("add", base)
    pairs = weighted_pairs(domain)
    for hypothesis in (TRUTH, Hypothesis("truncated", 1), Hypothesis("truncated", 2)):
        answers = [(hypothesis(task, a, b), a + b, weight) for a, b, weight in pairs]
        for position in range(1, domain.length + 3):
            unit = base ** (position - 1)
            counted = sum(w for said, true, w in answers if said // unit % base == true // unit % base)
            assert digit_accuracy(hypothesis, domain, position) == counted


@pytest.mark.parametrize("text", ["D1", "D2", "B2", "D2[lead>=6]", "D1+D2", "2x1"])
def test_shares_of_digits_equal_counting(text):
    domain = Domain.parse(text)
    pairs = weighted_pairs(domain)
    for position in range(1, 5):
        for digit in range(10):
            counted = sum(weight for a, b, weight in pairs if (a + b) // 10 ** (position - 1) % 10 == digit)
            assert digit_share(digit, domain, position) == counted


def test_the_paper_s_counterexample_has_one_fifth_digit():
    assert digit_share(1, Domain.parse("D4[lead>=6]"), 5) == 1
    assert digit_share(1, Domain.parse("D3"), 5) == 0


def test_windowed_is_refused():
    with pytest.raises(InputError, match="windowed:5"):
        digit_accuracy(Hypothesis("windowed", 5), Domain.parse("D4"), 2)
