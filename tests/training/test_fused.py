"""Fused steps against plain ones, step by step: losses, every parameter and the optimizer's state.

Where there is no GPU, kernels run in Triton's interpreter, in float32.
"""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch
from fakes import losses_of, tiny_config

from lengthwise.runs.build import build, training_steps
from lengthwise.training.trainer import answer_losses

if find_spec("triton") is None:
    pytest.skip("needs triton, which `make test-slow` installs", allow_module_level=True)
ROOT = Path(__file__).parents[2]
if not torch.cuda.is_available():
    import interpreted  # noqa: F401
from lengthwise.training import fused, graph

slow = pytest.mark.slow
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
    "width-no-power-of-two": {"model": {"layers": 1, "heads": 3, "width": 48}},
}


@pytest.fixture(autouse=True)
def _few_programs(monkeypatch):
    """Each takes milliseconds in the interpreter."""
    if not torch.cuda.is_available():
        monkeypatch.setattr(graph, "WINDOW", 2)
        monkeypatch.setattr(fused, "ROWS", 16)
        monkeypatch.setattr(fused, "BACKWARD_ROWS", 16)
        monkeypatch.setattr(fused, "UPDATE_ROWS", 128)
        monkeypatch.setattr(fused, "BLOCK", 8192)


def stack_of_two(case, device):
    """Members differ in seed, rates, decay and dropout."""
    model = {"layers": 2, "heads": 2, "width": 32, "dropout": 0.2}
    config = tiny_config(model=model, training={"batch": 4}).changed(**CASES[case])
    drops = {"dropout": config.model.dropout / 2}
    other = {"learning_rate": 2e-3, "muon_learning_rate": 0.01, "weight_decay": 0.3}
    return build([config, config.changed(seed=5, training=other, model=drops)], torch.device(device))


on_cpu = pytest.mark.skipif(torch.cuda.is_available(), reason="kernels are not interpreted where they can run")


@slow
@on_cpu
@pytest.mark.parametrize("case", CASES)
def test_interpreted_steps_equal_plain_ones(case):
    assert_equal_after_three_steps(*(stack_of_two(case, "cpu") for _ in range(2)))


@slow
@on_cpu
def test_a_member_that_is_no_longer_finite_stays_as_it_was():
    stacks = [stack_of_two("one-layer", "cpu") for _ in range(2)]
    for stack in stacks:
        stack.model.tokens.weight.data[0, 0, 0] = torch.inf
    fused = assert_equal_after_three_steps(*stacks)
    assert fused.alive() == [False, True]


def assert_equal_after_three_steps(plain_stack, fused_stack):
    plain, fused = training_steps(plain_stack), training_steps(fused_stack, "fused")
    factors = [[1.0, 0.5], [0.9, 0.4], [0.8, 0.3]]
    for number, factor in enumerate(factors):
        plain.take(number, [factor])
    fused.take(0, factors[:2])
    fused.take(2, factors[2:])
    largest = {name: tensor[tensor.isfinite()].abs().max().item() for name, tensor in plain.state().items()}
    # AdamW divides gradients by their size, those that are all but zero too: rounding, which differs from one
    # processor to another, then moves a weight.
    compare(fused.state(), plain.state(), {name: 1e-4 * most for name, most in largest.items()})
    weights = plain_stack.model.state_dict()
    compare(fused_stack.model.state_dict(), weights, dict.fromkeys(weights, 5e-5))
    return fused


def compare(found, wanted, tolerances):
    assert found.keys() == wanted.keys()
    for name, tensor in wanted.items():
        torch.testing.assert_close(
            found[name],
            tensor,
            rtol=0,
            atol=tolerances[name],
            equal_nan=True,
            msg=lambda m, name=name: f"{name}: {m}",
        )


@slow
def test_kernels_that_cannot_be_prepared_are_left_to_the_first_launch():
    launch = fused.kernels.Launches()
    launch.prepare(lambda: 1 / 0)
    assert launch.compiling is None


@slow
@on_cpu
def test_compiles_for_a_card_without_spilling():
    """All kernels at the real shapes; that takes a minute."""
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    call = [sys.executable, ROOT / "scripts" / "compile_kernels.py"]
    done = subprocess.run(call, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


# --- on a GPU -----------------------------------------------------------------------------------------------


@pytest.mark.gpu
@pytest.mark.parametrize("case", CASES)
def test_captured_steps_equal_plain_ones(case):
    plain = training_steps(stack_of_two(case, "cuda"), "plain")
    fused = training_steps(stack_of_two(case, "cuda"))
    assert isinstance(fused, graph.FusedSteps)
    assert "kernels" in fused.seconds, "they were compiled before the first step"
    torch.testing.assert_close(losses_of(fused, 40), losses_of(plain, 40), rtol=0.02, atol=0.01)


@pytest.mark.gpu
def test_kernels_in_bfloat16_have_the_gradients_of_float32():
    """The gradient of the first step, against that of PlainSteps in float32 on the CPU."""
    config = stack_of_two("muon", "cpu").config
    gradients = []
    for device in ("cpu", "cuda"):
        stack = build([config], torch.device(device))
        if device == "cuda":
            steps = training_steps(stack)
            steps.take(0, [0.0])
            gradients.append([gradient.float().cpu() for gradient in steps.update.gradients])
        else:
            steps = training_steps(stack)
            answer_losses(stack.model.train(), steps.data(0), steps.dropout(0)).sum().backward()
            gradients.append([group.take_gradient() for group in steps.optimizer.groups])
    for wanted, found in zip(*gradients, strict=True):
        assert (found - wanted).norm() < 0.03 * wanted.norm()
