"""The digits of decoded answers, in every layout, whatever was written."""

import pytest
import torch
from fakes import PerfectModel

from lengthwise.arithmetic import Task
from lengthwise.evaluation.decode import read_digits, written_digits
from lengthwise.evaluation.problems import Subject
from lengthwise.model.positions import find_encoding
from lengthwise.tokens.digits import from_ints, to_ints
from lengthwise.tokens.layouts import LAYOUTS, build_layout

ADD = Task.parse("add")


@pytest.mark.parametrize(
    ("layout", "text", "digits"),
    [
        ("padded", "7040;[eos]", [7, 0, 4, 0]),
        ("padded", "70;[eos]40", [7, 0, 0, 0]),
        ("padded", "70+4;[eos]", [7, 0, 0, 0]),
        ("padded", ";7040[eos]", [0, 0, 0, 0]),
        ("padded", "704012", [7, 0, 4, 0]),
        ("aligned", "7040;[eos]", [7, 0, 4, 0]),
        ("reversed", "704;[eos]\n", [7, 0, 4, 0]),
        ("level", "7040;[eos]", [7, 0, 4, 0]),
        ("level", "70;[eos]\n\n", [7, 0, 0, 0]),
        ("level", "7+40;[eos]", [7, 0, 0, 0]),
        ("plain", "407;[eos]\n", [7, 0, 4, 0]),
        ("plain", "1407;[eos]", [7, 0, 4, 1]),
        ("plain", "7;[eos]\n\n\n", [7, 0, 0, 0]),
        ("plain", ";[eos]1234", [0, 0, 0, 0]),
        ("scratchpad", "211000000=7040;[eos]", [7, 0, 4, 0]),
        ("scratchpad", "+++++++++=7040;[eos]", [7, 0, 4, 0]),
    ],
)
def test_one_answer(layout, text, digits):
    layout = build_layout(layout, ADD, operand_width=3)
    ids = torch.tensor([[layout.vocabulary.ids(text)]])
    assert read_digits(ids, layout).tolist() == [[digits]]


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_perfect_model_writes_the_sum(name):
    layout = build_layout(name, ADD, operand_width=3)
    pairs = [(0, 0), (7, 5), (999, 1), (120, 45), (999, 999)]
    a, b = (from_ints(numbers, 3, 10)[None] for numbers in zip(*pairs, strict=True))
    written = written_digits(Subject(PerfectModel(layout, [ADD]), layout, find_encoding("learned")), (a, b))
    assert to_ints(written, 10) == [x + y for x, y in pairs]
