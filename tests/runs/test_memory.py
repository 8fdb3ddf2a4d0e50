"""What cannot fit is refused before anything is allocated, and what fits is not."""

import pytest
import torch
from fakes import tiny_config, train

from lengthwise.errors import InputError
from lengthwise.runs import machine
from lengthwise.runs.build import Form, build, check_memory
from lengthwise.runs.costs import costs
from lengthwise.runs.machine import SMALLER_MODEL, device_memory, parameter_count, training_memory

CPU = torch.device("cpu")


@pytest.mark.parametrize(
    ("changes", "advice"),
    [
        ({"training": {"batch": 10**8}}, "--training.batch"),
        ({"model": {"width": 2**16, "heads": 2, "layers": 1_000}}, "--model.width"),
        ({"evaluation": {"problems": 10**9}, "data": {"operand_width": 1_000}}, "--evaluation.problems"),
        ({"data": {"samples": 10**9, "operand_width": 1_000}}, "--data.samples"),
    ],
)
def test_what_cannot_fit_is_refused_at_once(tmp_path, changes, advice):
    with pytest.raises(InputError, match=r"needs at least [\d,.]+ GB of memory; this machine has") as error:
        train(tiny_config(**changes), tmp_path, device="cpu")
    assert advice in str(error.value)
    assert not list(tmp_path.iterdir())


def test_a_stack_is_told_to_be_smaller():
    with pytest.raises(InputError, match="fewer than these 1,000 runs side by side"):
        check_memory([tiny_config(training={"batch": 10**6})] * 1_000, CPU)


def test_loading_needs_room_for_the_weights_alone(monkeypatch):
    config = tiny_config(training={"batch": 10**8})
    build([config], CPU)
    monkeypatch.setattr(machine, "device_memory", lambda device: 1_000)
    with pytest.raises(InputError, match=r"--model\.width"):
        build([config], CPU)


@pytest.mark.parametrize("changes", [{}, {"encoding": "coupled"}, {"training": {"optimizer": "adamw"}}])
def test_the_estimate_is_a_lower_bound_and_no_small_one(changes):
    """Against what is really allocated: nothing that fits may be refused."""
    config = tiny_config(**changes).changed(model={"layers": 3, "heads": 4, "width": 64}, training={"batch": 64})
    found = costs(config, "cpu")
    form = Form(config)
    parameters = parameter_count(config.model, len(form.layout.vocabulary), 0)
    assert 0.8 * found["parameters"] < parameters <= found["parameters"]
    needed = training_memory(config, parameters, form.row_tokens, 1, CPU)
    assert found["state_bytes"] / 2 < needed[SMALLER_MODEL] <= found["state_bytes"]
    assert found["activation_bytes"] / 4 < needed["a smaller --training.batch"] <= found["activation_bytes"]


def test_the_memory_of_this_machine():
    assert 2**28 < device_memory(CPU) < 2**50
