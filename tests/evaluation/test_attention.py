import pytest
import torch
from fakes import attention_weights

from lengthwise.evaluation.anatomy import sharpest
from lengthwise.model.config import ModelConfig
from lengthwise.model.gpt import GPT
from lengthwise.model.positions import ENCODINGS

TOKENS = 9


def build(encoding: str, **options) -> GPT:
    config = ModelConfig(layers=2, heads=2, width=16, **options)
    model = GPT(config, encoding, vocabulary=16, positions_count=2 * TOKENS, seeds=[3]).eval()
    with torch.no_grad():
        # Larger weights than at the start, so that attention is not almost even.
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1)), alpha=0.4)
    return model


@pytest.mark.parametrize(
    ("encoding", "options"),
    [
        *((name, {}) for name in ENCODINGS),
        ("rotary", {"normalized_attention": True}),
        ("learned", {"log_length_scale": True}),
        ("t5", {"loops": 2}),
    ],
)
def test_weights_times_values_is_what_attention_puts_out(encoding, options):
    model = build(encoding, **options)
    ids = torch.randint(0, 16, (1, 1, TOKENS), generator=torch.Generator().manual_seed(2))
    positions = torch.arange(TOKENS).view(1, 1, -1)
    passed = []
    for block in model.blocks:
        block.attention.register_forward_hook(lambda module, given, out: passed.append((module, given[0], out)))
    with torch.no_grad():
        model(ids, positions)
    expected, weights = list(passed), attention_weights(model, ids, positions)
    assert len(weights) == len(expected) == 2 * options.get("loops", 1)
    for (module, x, out), share in zip(expected, weights, strict=True):
        *_, v = module.qkv(x).unflatten(-1, (3, 2, -1)).permute(3, 0, 1, 4, 2, 5)
        again = module.out((share @ v).transpose(2, 3).flatten(3))
        torch.testing.assert_close(again, out, atol=1e-5, rtol=1e-4)
        torch.testing.assert_close(share.sum(-1), torch.ones(share.shape[:-1]))


def test_a_model_is_left_as_it_was():
    model = build("learned")
    attention_weights(model, torch.zeros(1, 1, 3, dtype=torch.long), torch.arange(3).view(1, 1, -1))
    assert not any(block.attention._forward_pre_hooks for block in model.blocks)


def test_the_sharpest_layer_attends_to_the_fewest_tokens():
    even, one, two = torch.full((3, 4), 0.25), torch.eye(4)[:3], torch.tensor([[0.5, 0.5, 0.0, 0.0]]).expand(3, 4)
    assert sharpest([even, two]) == 1
    assert sharpest([even, one, two]) == 1


def test_a_layer_that_looks_at_nothing_is_not_the_sharpest():
    even, one, two = torch.full((3, 4), 0.25), torch.eye(4)[:3], torch.tensor([[0.5, 0.5, 0.0, 0.0]]).expand(3, 4)
    for nearly in (0.0, 1e-30, 0.01):
        assert sharpest([nearly * even, nearly * one, two]) == 2
    assert sharpest([even, two, 0.73 * one]) == 2, "to one token, and the rest to none"
    some = torch.tensor([[1.0], [1.0], [0.001]])
    assert sharpest([two, some * one]) == 1, "a row that finds nothing says little"
    assert sharpest([two, some * even]) == 0
