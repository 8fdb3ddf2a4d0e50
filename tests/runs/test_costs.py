"""What --dry-run tells before anything is trained."""

import torch
from fakes import tiny_config

from lengthwise.runs.build import build
from lengthwise.runs.costs import costs


def test_costs_are_those_of_the_model_that_would_train():
    config = tiny_config(training={"optimizer": "adamw"})
    found = costs(config, "cpu")
    model = build([config], torch.device("cpu")).model
    assert found["parameters"] == model.parameter_count() and found["steps"] == config.training.steps
    # Weights, gradients, and AdamW's two averages, four bytes each; a few counters come on top.
    assert 0 <= found["state_bytes"] - 4 * 4 * found["parameters"] < 64
    assert found["activation_bytes"] > 0 and found["seconds_per_step"] > 0


def test_more_problems_keep_more_activations():
    small, large = (costs(tiny_config(training={"batch": batch}), "cpu") for batch in (8, 32))
    assert large["activation_bytes"] > 2 * small["activation_bytes"]
    assert large["state_bytes"] == small["state_bytes"]
