"""Fused steps against plain ones, step by step: losses, every parameter and the optimizer's state.

Where there is no GPU, kernels run in Triton's interpreter, in float32.
"""

import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch
from fakes import tiny_config

from lengthwise.runs.build import build, training_steps

if find_spec("triton") is None:
    pytest.skip("needs triton, which torch brings along where there is a GPU", allow_module_level=True)
sys.path.insert(0, str(Path(__file__).parents[2]))
if not torch.cuda.is_available():
    import trials.fused.interpreted
import trials.fused.network
import trials.fused.update
from trials.fused.steps import fused_steps

STEPS = 3
CASES = {
    "adamw": {"training": {"optimizer": "adamw", "learning_rate": 1e-3}},
    "muon": {},
    "no-dropout": {"model": {"dropout": 0.0}},
    "tied": {"model": {"tied": True}},
    "wide": {"data": {"operand_width": 7}},
    "sinusoidal": {"encoding": "sinusoidal"},
    "no-positions": {"encoding": "none"},
    "offsets": {"encoding": "abacus"},
    "randomized": {"encoding": "randomized:learned"},
    "concatenated": {"data": {"packing": "concatenated", "row_tokens": 40}},
    "one-layer": {"model": {"layers": 1}},
}


@pytest.fixture(autouse=True)
def _few_programs(monkeypatch):
    """Each takes milliseconds in the interpreter."""
    if not torch.cuda.is_available():
        monkeypatch.setattr(trials.fused.network, "ROWS", 16)
        monkeypatch.setattr(trials.fused.update, "ROWS", 128)
        monkeypatch.setattr(trials.fused.update, "BLOCK", 8192)


def stack_of_two(case, device):
    """Members differ in seed, rates, decay and dropout."""
    model = {"layers": 2, "heads": 2, "width": 32, "dropout": 0.2}
    config = tiny_config(model=model, training={"batch": 4}).changed(**CASES[case])
    drops = {"dropout": config.model.dropout / 2}
    other = {"learning_rate": 2e-3, "muon_learning_rate": 0.01, "weight_decay": 0.3}
    return build([config, config.changed(seed=5, training=other, model=drops)], torch.device(device))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.skipif(torch.cuda.is_available(), reason="the interpreter was not asked for")
def test_interpreted_steps_equal_plain_ones(case):
    plain_stack, fused_stack = (stack_of_two(case, "cpu") for _ in range(2))
    plain, fused = training_steps(plain_stack), fused_steps(fused_stack, window=2)
    factors = [[1.0, 0.5], [0.9, 0.4], [0.8, 0.3]]
    for number, factor in enumerate(factors):
        plain.take(number, [factor])
    fused.take(0, factors[:2])
    fused.take(2, factors[2:])
    state = {name: tensor.abs().max().item() for name, tensor in plain.state().items()}
    compare(fused.state(), plain.state(), {name: 2e-5 * largest for name, largest in state.items()})
    # AdamW divides gradients by their size, those that are all but zero too.
    weights = plain_stack.model.state_dict()
    compare(fused_stack.model.state_dict(), weights, dict.fromkeys(weights, 5e-5))


def compare(found, wanted, tolerances):
    assert found.keys() == wanted.keys()
    for name, tensor in wanted.items():
        off = (found[name] - tensor).abs().max().item()
        assert off <= tolerances[name], f"{name} is off by {off}"
