"""What is compiled of a model: few pieces, shared by models of equal shape, with the plain model's numbers.

Traced here without a GPU; tests/training/test_graph.py runs the compiled steps on one.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from fakes import tiny_config
from torch._dynamo.backends.common import aot_autograd
from torch._dynamo.utils import counters
from torch._functorch.aot_autograd import make_boxed_func
from torch.func import functional_call

from lengthwise.runs.build import build, training_data
from lengthwise.tokens.hashing import derive
from lengthwise.training import graph
from lengthwise.training.optimizer import Optimizer
from lengthwise.training.trainer import Dropout, answer_losses

BATCH = 4


@pytest.fixture(autouse=True)
def traced(monkeypatch):
    monkeypatch.setitem(graph.COMPILED, "backend", "aot_eager")
    torch.compiler.reset()
    yield
    torch.compiler.reset()
    graph._compiled.clear()


def gradients(config):
    """Losses and flat gradients of one batch: compiled, and as the model itself has them."""
    parts = build([config], torch.device("cpu"))
    optimizer, batch = Optimizer(parts.model, [config.training]), training_data(parts, BATCH)(0)
    noise = Dropout([derive(config.seed, "dropout")], [config.model.dropout], parts.model.device)(3)
    program = graph.compiled_model(parts.model, tuple(batch.ids.shape))
    leaves = [group.values.detach().requires_grad_() for group in optimizer.groups]
    views = [group.named(leaf) for group, leaf in zip(optimizer.groups, leaves, strict=True)]
    weights = {**dict(parts.model.named_buffers()), **views[0], **views[1]}
    losses = answer_losses(
        lambda ids, positions, **rest: functional_call(program, weights, (ids, positions), rest), batch, noise
    )
    compiled = [losses, *torch.autograd.grad(losses.sum(), leaves)]
    plain = answer_losses(parts.model, batch, noise)
    plain.sum().backward()
    return compiled, [plain, *(group.take_gradient() for group in optimizer.groups)]


@pytest.mark.parametrize(
    "changes",
    [
        {"encoding": "learned", "model": {"dropout": 0.2, "layers": 3}},
        {"encoding": "rotary", "model": {"layers": 2}},
        {"encoding": "coupled", "model": {"place_attention": True, "position_waves": True, "layers": 2}},
        {"encoding": "coupled", "model": {"block": "t5", "tied": True, "layers": 2}},
    ],
    ids=["learned", "rotary", "position-only", "t5"],
)
def test_compiled_pieces_have_the_plain_models_numbers(changes):
    for ours, plain in zip(*gradients(tiny_config(**changes)), strict=True):
        torch.testing.assert_close(ours, plain, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("block", ["gpt", "t5"])
def test_no_gradient_of_a_single_model_is_a_sum_that_keeps_its_axes(block, monkeypatch):
    """Torch 2.10 and 2.11 compile a large one for a GPU so that it loses these axes, and then refuse its shape."""
    backward = []

    def keep(program, _):
        backward.append(program.graph)
        return make_boxed_func(program)

    backend = aot_autograd(fw_compiler=lambda program, _: make_boxed_func(program), bw_compiler=keep)
    monkeypatch.setitem(graph.COMPILED, "backend", backend)
    gradients(tiny_config(encoding="coupled", model={"block": block, "tied": True, "layers": 2}))
    assert len(backward) == 4, "the embedding, a block, the last block, the read-out"
    returned = [node for found in backward for node in found.output_node().all_input_nodes]
    sums = [node for node in returned if node.target is torch.ops.aten.sum.dim_IntList]
    assert not [node for node in sums if node.args[2:] == (True,)]


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({"encoding": "learned"}, True),
        ({"encoding": "randomized:learned"}, True),
        ({"encoding": "sinusoidal", "training": {"optimizer": "adamw"}}, True),
        ({"encoding": "rotary"}, False),
        ({"model": {"bias": True}}, False),
        ({"model": {"loops": 2}}, False),
        ({"model": {"heads": 1, "width": 8}}, False),
        ({"encoding": "coupled", "model": {"position_waves": True}}, False),
        ({"data": {"packing": "concatenated", "row_tokens": 130}}, False),
    ],
    ids=str,
)
def test_only_plain_models_on_short_rows_have_steps_written_by_hand(changes, wanted, monkeypatch):
    monkeypatch.setattr(graph, "HAS_TRITON", True)
    config = tiny_config(model={"heads": 1, "width": 16}).changed(**changes)
    stack = build([config], torch.device("cpu"))
    assert graph.suits(stack.model, training_data(stack, BATCH).length) == wanted
    monkeypatch.setattr(graph, "HAS_TRITON", False)
    assert not graph.suits(stack.model, 10)


def test_steps_and_evaluations_import_no_compiler():
    """That takes seconds, which plain and fused steps do not need."""
    script = (
        "import sys, torch\n"
        "from fakes import tiny_config\n"
        "from lengthwise.runs.build import build, training_steps\n"
        "from lengthwise.runs.evaluate import Assessment\n"
        "stack = build([tiny_config(model={'dropout': 0.1})], torch.device('cpu'))\n"
        "training_steps(stack).take(0, [1.0])\n"
        "Assessment(stack)([1], detail=True)\n"
        "print(*{'torch._dynamo', 'torch._inductor', 'sympy'} & {*sys.modules})\n"
    )
    path = os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])
    ran = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": path},
        check=True,
        capture_output=True,
        text=True,
    )
    assert ran.stdout.split() == []


def test_one_block_is_compiled_for_all_but_the_last():
    counters.clear()
    gradients(tiny_config(model={"layers": 4, "dropout": 0.1}))
    assert counters["stats"]["unique_graphs"] == 4, "the embedding, a block, the last block, the read-out"


def test_other_seeds_and_rates_compile_nothing_anew():
    config = tiny_config(model={"dropout": 0.1})
    gradients(config)
    counters.clear()
    gradients(config.changed(seed=7, model={"dropout": 0.3}, training={"learning_rate": 0.1}))
    assert not counters["stats"]["unique_graphs"]


def test_many_shapes_stay_within_the_compilers_limit():
    """Nine shapes, where the compiler refuses a ninth variant of a block."""
    for width in range(4, 40, 4):
        gradients(tiny_config(model={"layers": 1, "heads": 1, "width": width}))
