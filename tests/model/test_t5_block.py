"""The published block of position coupling: against a model of plain torch modules, at its start, compiled."""

import math

import pytest
import torch
from torch import nn
from torch.nn import functional

from lengthwise.errors import InputError
from lengthwise.model.config import ModelConfig
from lengthwise.model.gpt import GPT

VOCABULARY, ROWS, TOKENS = 16, 12, 11
PUBLISHED = {"layers": 1, "heads": 4, "width": 32, "block": "t5", "tied": True, "embedding_std": 1.0}


def build(seeds=(1, 2, 3), **changes):
    config = ModelConfig(**{**PUBLISHED, "dropout": 0.0, "position_std": None, **changes})
    return GPT(config, "coupled", VOCABULARY, ROWS, seeds).eval()


def batch(members, size=5):
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(VOCABULARY, (members, size, TOKENS), generator=generator)
    return ids, torch.randint(ROWS, (1, size, TOKENS), generator=generator)


class RootMeanSquare(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return self.scale * x / (x.pow(2).mean(-1, keepdim=True).sqrt() + 1e-6)


class Published(nn.Module):
    """One member, written from the published description, one token and one head at a time."""

    def __init__(self, config):
        super().__init__()
        width, inner = config.width, 4 * config.width
        self.config = config
        self.words, self.places = nn.Embedding(VOCABULARY, width), nn.Embedding(ROWS, width)
        self.layers = nn.ModuleList()
        for _ in range(config.layers):
            layer = nn.ModuleDict({name: nn.Linear(width, width, bias=False) for name in "qkvo"})
            layer.update({name: nn.Linear(width, inner, bias=False) for name in ("gate", "value")})
            layer.update({"down": nn.Linear(inner, width, bias=False)})
            layer.update({f"norm{k}": RootMeanSquare(width) for k in range(4)})
            self.layers.append(layer)
        self.last = nn.LayerNorm(width, eps=1e-5)

    def attention(self, layer, x):
        rows = []
        for t in range(x.shape[1]):
            heads = []
            for head in range(self.config.heads):
                size = self.config.width // self.config.heads
                part = slice(head * size, (head + 1) * size)
                q, k, v = layer["q"](x[:, t])[:, part], layer["k"](x)[..., part], layer["v"](x)[..., part]
                weights = torch.stack([(q * k[:, s]).sum(-1) for s in range(t + 1)], -1).softmax(-1)
                heads.append((weights.unsqueeze(-1) * v[:, : t + 1]).sum(1))
            rows.append(layer["o"](torch.cat(heads, -1)))
        return torch.stack(rows, 1)

    def forward(self, ids, positions):
        x = self.words(ids) + self.places(positions)
        for layer in self.layers:
            x = layer["norm1"](x + self.attention(layer, layer["norm0"](x)))
            y = layer["norm2"](x)
            gelu = layer["gate"](y)
            gelu = gelu / 2 * (1 + torch.tanh(math.sqrt(2 / math.pi) * (gelu + 0.044715 * gelu**3)))
            x = layer["norm3"](x + layer["down"](gelu * layer["value"](y)))
        return self.last(x) / math.sqrt(self.config.width) @ self.words.weight.T


def published(model, member):
    """With the weights of one member."""
    reference, state = Published(model.config), model.member(member)
    weights = {"words.weight": state["tokens.weight"][0], "places.weight": state["encoding.table.weight"][0]}
    weights |= {f"last.{kind}": state[f"norm.{kind}"].flatten() for kind in ("weight", "bias")}
    for k in range(model.config.layers):
        ours, theirs = f"blocks.{k}", f"layers.{k}"
        for name, part in zip("qkv", state[f"{ours}.attention.qkv.weight"][0].chunk(3, -1), strict=True):
            weights[f"{theirs}.{name}.weight"] = part.T
        for name, part in zip(("gate", "value"), state[f"{ours}.mlp.up.weight"][0].chunk(2, -1), strict=True):
            weights[f"{theirs}.{name}.weight"] = part.T
        for name, owner in {"o": "attention.out", "down": "mlp.down"}.items():
            weights[f"{theirs}.{name}.weight"] = state[f"{ours}.{owner}.weight"][0].T
        for name, owner in enumerate(("attention_norm", "attention_end", "mlp_norm", "mlp_end")):
            weights[f"{theirs}.norm{name}.scale"] = state[f"{ours}.{owner}.weight"].flatten()
    reference.load_state_dict(weights, strict=True)
    return reference


def disturb(model):
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn(parameter.shape, generator=generator))


@torch.no_grad()
@pytest.mark.parametrize(("members", "layers"), [(1, 1), (3, 1), (2, 3)])
def test_every_member_equals_the_published_model(members, layers):
    model = build(range(members), layers=layers)
    disturb(model)
    ids, positions = batch(members)
    logits = model(ids, positions)
    for k in range(members):
        torch.testing.assert_close(logits[k], published(model, k)(ids[k], positions[0]), atol=2e-5, rtol=1e-4)
    torch.testing.assert_close(model(ids, positions, tail=4), logits[:, :, -4:], atol=2e-5, rtol=1e-4)


@pytest.mark.parametrize("options", [{}, {"tied": False, "bias": True}, {"position_waves": True, "loops": 2}])
def test_causality_members_caching_and_gradients(options):
    model = build((1, 2), layers=2, **options)
    ids, positions = batch(2)
    logits = model(ids, positions)
    functional.cross_entropy(logits.flatten(0, -2), ids.flatten()).backward()
    for name, parameter in model.named_parameters():
        assert (parameter.grad.flatten(1).abs().amax(1) > 0).all(), name
    with torch.no_grad():
        early = model(ids[..., :6], positions[..., :6])
        torch.testing.assert_close(logits[:, :, :6], early, atol=2e-5, rtol=0)
        alone = build((2,), layers=2, **options)(ids[1:], positions)
        torch.testing.assert_close(logits[1:], alone, atol=2e-5, rtol=0)
        cache = model.cache(batch=5, length=TOKENS)
        pieces = zip(ids.split([5, 4, 1, 1], -1), positions.split([5, 4, 1, 1], -1), strict=True)
        cached = torch.cat([model(*piece, cache=cache) for piece in pieces], dim=2)
        torch.testing.assert_close(cached, logits, atol=5e-5, rtol=0)


def test_initial_standard_deviations_are_t5s():
    model = build([0], width=128)
    q, k, v = model.blocks[0].attention.qkv.weight.chunk(3, -1)
    expected = {
        model.tokens.weight: 1.0,
        model.encoding.table.weight: 1.0,
        q: (128 * 32) ** -0.5,
        k: 128**-0.5,
        v: 128**-0.5,
        model.blocks[0].attention.out.weight: 128**-0.5,
        model.blocks[0].mlp.up.weight: 128**-0.5,
        model.blocks[0].mlp.down.weight: 512**-0.5,
    }
    for parameter, std in expected.items():
        assert parameter.std().item() == pytest.approx(std, rel=0.05)


def test_a_stack_is_one_graph_for_the_compiler():
    """As training on a GPU asks for it, where a break of the graph is an error."""
    model = build()
    compiled = torch.compile(model, backend="aot_eager", fullgraph=True, dynamic=False)
    ids, positions = batch(3)
    torch.testing.assert_close(compiled(ids, positions, tail=6), model(ids, positions, tail=6))


@pytest.mark.parametrize("option", ["place_attention", "normalized_attention", "log_length_scale"])
def test_attention_of_another_kind_is_refused(option):
    with pytest.raises(InputError, match=f"^{option} requires block gpt$"):
        build(position_waves=True, **{option: True})
