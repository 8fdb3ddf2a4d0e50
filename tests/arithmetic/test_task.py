import pytest

from lengthwise.arithmetic import Task, digit_count
from lengthwise.errors import InputError


@pytest.mark.parametrize("text", ["add", "mul", "add%101", "mul%1", "add%99991"])
def test_parse_and_print_round_trip(text):
    assert str(Task.parse(text)) == text


@pytest.mark.parametrize(
    ("text", "base", "named"),
    [
        ("div", 10, ["div", "add", "mul"]),
        ("add%0", 10, ["0", "1 or more"]),
        ("add%-3", 10, ["-3"]),
        ("add%", 10, ["add%"]),
        ("", 10, ["add%101"]),
        ("add", 1, ["1", "2 to 36"]),
        ("add", 37, ["37", "2 to 36"]),
    ],
)
def test_bad_tasks_name_the_value_and_what_is_allowed(text, base, named):
    with pytest.raises(InputError) as error:
        Task.parse(text, base)
    assert all(word in str(error.value) for word in named)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("base", [2, 7, 10, 36])
@pytest.mark.parametrize("text", ["add", "mul", "add%50", "mul%37"])
def test_answer_digits_hold_the_largest_answer_and_no_more(text, base):
    task = Task.parse(text, base)
    largest = base**3 - 1
    top = task.modulus - 1 if task.modulus else task(largest, largest)
    assert task.answer_digits(3) == digit_count(top, base)
