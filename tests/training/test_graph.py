"""Captured steps against plain ones. Needs a GPU: skipped elsewhere, CI included."""

import pytest
import torch
from fakes import losses_of, tiny_config

from lengthwise.recipes import RECIPES, Setting
from lengthwise.runs.build import build, training_steps

pytestmark = pytest.mark.gpu


DROPS = {"heads": 2, "width": 32, "dropout": 0.1}
KINDS = pytest.mark.parametrize("kind", ["compiled", "fused"])


def steps_of(configs, kind):
    return training_steps(build(configs, torch.device("cuda")), kind)


CASES = {
    "adamw": {"training": {"optimizer": "adamw", "learning_rate": 1e-3}},
    "muon": {},
    "coupled": {"encoding": "coupled"},
    "natural-length": {"encoding": "abacus"},
    "relative": {"encoding": "t5"},
    "concatenated": {"data": {"packing": "concatenated", "row_tokens": 64}},
    "dropout": {"model": {"dropout": 0.2}},
    "both-kinds-of-heads": {
        "encoding": "coupled",
        "model": {"place_attention": True, "position_waves": True, "token_heads": 1},
        "data": {"packing": "concatenated", "row_tokens": 64},
    },
}


@pytest.mark.parametrize("case", CASES)
def test_compiled_steps_equal_plain_ones(case):
    check(tiny_config(**CASES[case]), members=2)


def check(config, members):
    configs = [config.changed(seed=seed) for seed in range(members)]
    captured, plain = (losses_of(steps_of(configs, kind), 40) for kind in ("compiled", "plain"))
    torch.testing.assert_close(captured, plain, rtol=0.02, atol=0.01)


@pytest.mark.parametrize("members", [1, 3])
def test_published_position_coupling_alone_and_in_a_stack(members):
    """In full width and batch: sums over many rows of a single model are compiled differently."""
    check(
        RECIPES["coupling-published"].rows(Setting())["coupling-published"].changed(train="D1..10", test="D10"),
        members,
    )


@KINDS
def test_a_window_is_the_same_as_its_steps_one_by_one(kind):
    config = tiny_config(model=DROPS)
    one_by_one = losses_of(steps_of([config], kind), 20).sum(0)
    steps = steps_of([config], kind)
    steps.take(0, [1.0] * 20)
    torch.testing.assert_close(steps.losses.sums, one_by_one, rtol=1e-3, atol=1e-3)


@KINDS
def test_warming_up_leaves_no_trace(kind):
    config = tiny_config(model=DROPS)
    parts = build([config], torch.device("cuda"))
    before = {name: tensor.clone() for name, tensor in parts.model.state_dict().items()}
    steps = training_steps(parts, kind)
    for name, tensor in parts.model.state_dict().items():
        torch.testing.assert_close(tensor, before[name], rtol=0, atol=0)
    assert all(not tensor.any() for name, tensor in steps.state().items() if name != "alive")


@KINDS
def test_a_resumed_run_goes_on_as_if_uninterrupted(kind):
    """The same problems in the same order, and losses equal within rounding."""
    config = tiny_config(model=DROPS)
    whole = losses_of(steps_of([config], kind), 60)
    first = steps_of([config], kind)
    first.take(0, [1.0] * 30)
    second = steps_of([config], kind)
    for name, tensor in first.state().items():
        second.state()[name].copy_(tensor)
    for group, own in zip(first.optimizer.groups, second.optimizer.groups, strict=True):
        own.values.copy_(group.values)
    second.losses.clear()
    second.take(30, [1.0] * 30)
    torch.testing.assert_close(second.losses.sums, whole[30:].sum(0), rtol=0.02, atol=0.05)
