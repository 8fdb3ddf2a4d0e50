"""Run with pytest once the package is installed: pip install -e . && pytest"""

import pytest
import torch

from lengthwise.arithmetic import Task
from lengthwise.model.config import ModelConfig
from lengthwise.model.gpt import GPT
from lengthwise.theory.predict import predict
from lengthwise.tokens.digits import Answers, from_ints, to_ints
from lengthwise.tokens.layouts import build_layout


@pytest.mark.parametrize("base", [2, 10, 36])
def test_digits_say_what_integers_say(base):
    a, b = torch.randint(0, base, (2, 1, 50, 6), dtype=torch.int8)
    task = Task.parse("double", base)
    answers = to_ints(Answers([task], task.answer_digits(6))(a, b), base)
    assert answers == [task(x, y) for x, y in zip(to_ints(a, base), to_ints(b, base), strict=True)]


def test_nothing_is_predicted_without_a_theory():
    (row,) = predict("double", train="D2", test="D3", encoding="fading", layout="swapped").rows
    assert row.hypothesis is None


def test_a_token_does_not_see_those_after_it():
    model = GPT(ModelConfig.named("nano"), "fading", vocabulary=16, positions_count=9, seeds=[1])
    ids, positions = torch.zeros(1, 1, 9, dtype=torch.long), torch.arange(9).view(1, 1, 9)
    other = ids.clone()
    other[..., 5:] = 1
    torch.testing.assert_close(model(ids, positions)[:, :, :5], model(other, positions)[:, :, :5])


def test_a_problem_is_written_and_its_answer_read_back():
    layout = build_layout("swapped", Task.parse("add"), operand_width=3)
    ids = layout.encode(*(from_ints([n], 3, 10) for n in (12, 345, 357))).ids[0]
    assert layout.render(ids) == "[bos]345+012=7530;[eos]"
    assert layout.read_answer(ids[9:]) == 357
