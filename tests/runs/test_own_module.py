"""A module of one's own trains in a stack of one, by the same trainer, and is asked and judged as any run is."""

import pytest
import torch
from torch import nn
from torch.nn import functional

import lengthwise
from lengthwise.errors import InputError
from lengthwise.runs.build import build, training_data
from lengthwise.runs.config import RunConfig
from lengthwise.runs.load import load

BATCH, RATE, DECAY = 16, 0.01, 0.1


class Recurrent(nn.Module):
    """No transformer, no member axis, nothing of lengthwise. The scale is frozen, the head has a bias."""

    def __init__(self, vocabulary: int, length: int) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.tokens, self.places = nn.Embedding(vocabulary, 16), nn.Embedding(length, 16)
        self.cell, self.head = nn.GRU(16, 24, batch_first=True), nn.Linear(24, vocabulary)
        self.scale = nn.Parameter(torch.ones(1), requires_grad=False)

    def forward(self, ids):
        x = self.tokens(ids) + self.places(torch.arange(ids.shape[1]))
        return self.scale * self.head(self.cell(x)[0])


@pytest.fixture(scope="module")
def config():
    return RunConfig(
        task="add",
        train="D1",
        test="D1..2",
        base=2,
        evaluation={"decoded": 10},
        training={"optimizer": "adamw", "steps": 120, "batch": BATCH, "learning_rate": RATE, "evaluate_every": 120}
        | {"schedule": "constant", "warmup": 0, "weight_decay": DECAY, "checkpoint_every": 50},
    )


@pytest.fixture(scope="module")
def folder(config, tmp_path_factory):
    return lengthwise.train(config, out=tmp_path_factory.mktemp("runs"), module=Recurrent)


def test_it_ends_where_torchs_own_optimizer_does(config, tmp_path):
    """By hand, with nothing of the trainer: the same batches, the loss of answer tokens, AdamW, clipping."""
    few = config.changed(training={"steps": 10})
    folder = lengthwise.train(few, out=tmp_path, module=Recurrent)
    stack = build([config], torch.device("cpu"))
    data = training_data(stack, BATCH)
    module = Recurrent(len(stack.layout.vocabulary), stack.layout.length)
    learned = [p for p in module.parameters() if p.requires_grad]
    groups = [
        {"params": [p for p in learned if p.dim() > 1], "weight_decay": DECAY},
        {"params": [p for p in learned if p.dim() == 1], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=RATE, betas=config.training.betas)
    for step in range(10):
        batch = data(step * BATCH)
        logits, targets = module(batch.ids[0, :, :-1])[:, -batch.tail :], batch.ids[0, :, -batch.tail :]
        loss = functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(learned, config.training.clip)
        optimizer.step()
    trained = load(folder.path, module=Recurrent).stack.model.state_dict()
    for name, tensor in module.state_dict().items():
        torch.testing.assert_close(trained[name.replace(".", "/")][0], tensor, atol=1e-5, rtol=1e-4)


def test_it_is_measured_judged_and_asked(folder):
    run = lengthwise.load(folder.path, module=Recurrent)
    found = lengthwise.evaluate(run)
    assert [verdict.word for verdict in found.verdicts][:1] == ["holds"]
    assert run.ask(1, 1).answered == 2
    decoded = [r for r in folder.view.records if r.mode == "decoded" and r.metric == "exact" and r.domain == "D1"]
    assert [(r.correct, r.total) for r in decoded] == [(4, 4)]


def test_whose_folder_it_is_is_told(config, folder):
    with pytest.raises(InputError, match=r"has a custom module; open it in Python with load"):
        load(folder.path)
    with pytest.raises(InputError, match="started with the module Recurrent, not with the config's model"):
        lengthwise.train(config, out=folder.path.parent)
    inside = config.changed(evaluation={"anatomy": 5})
    with pytest.raises(InputError, match="anatomy cannot be used with a custom module"):
        lengthwise.train(inside, out=folder.path.parent / "other", module=Recurrent)
    assert not list((folder.path.parent / "other").glob("*"))
