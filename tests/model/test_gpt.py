"""The transformer itself: against Hugging Face's GPT-2, by count, at its start, and with its options."""

import math
from itertools import product

import pytest
import torch
from torch.nn import functional

from lengthwise.errors import InputError
from lengthwise.model import attention, gpt
from lengthwise.model.attention import Pass, softmax_attention
from lengthwise.model.config import ModelConfig
from lengthwise.model.gpt import GPT
from lengthwise.model.layers import Noise, drop

VOCABULARY = 16


def build(seeds=(1, 2, 3), rows=12, *, size="nano", **changes):
    config = ModelConfig.named(size, **{"tied": True, "position_std": None, **changes})
    return GPT(config, "learned", VOCABULARY, rows, seeds).eval()


def batch(members, tokens=12, size=5):
    ids = torch.randint(VOCABULARY, (members, size, tokens), generator=torch.Generator().manual_seed(0))
    return ids, torch.arange(tokens).view(1, 1, -1)


def whole_pass(model, positions):
    """Over all tokens at once."""
    return Pass(model.encoding, None, positions, positions, positions.shape[-1], torch.float32)


def disturb(model):
    """Move every parameter away from its start, where biases are 0 and norms 1."""
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn(parameter.shape, generator=generator))


def hugging_face(config, state, rows):
    """The GPT-2 of transformers with the weights of one member."""
    transformers = pytest.importorskip("transformers")
    reference = transformers.GPT2LMHeadModel(
        transformers.GPT2Config(
            vocab_size=VOCABULARY,
            n_positions=rows,
            n_embd=config.width,
            n_layer=config.layers,
            n_head=config.heads,
            activation_function="gelu",
            layer_norm_epsilon=1e-5,
            tie_word_embeddings=config.tied,
        )
    ).eval()
    names = {
        "attention_norm": "ln_1",
        "attention.qkv": "attn.c_attn",
        "attention.out": "attn.c_proj",
        "mlp_norm": "ln_2",
        "mlp.up": "mlp.c_fc",
        "mlp.down": "mlp.c_proj",
    }
    weights = {
        f"transformer.h.{layer}.{theirs}.{kind}": state[f"blocks.{layer}.{ours}.{kind}"].squeeze()
        for layer in range(config.layers)
        for ours, theirs in names.items()
        for kind in ("weight", "bias")
    }
    weights |= {f"transformer.ln_f.{kind}": state[f"norm.{kind}"].squeeze() for kind in ("weight", "bias")}
    weights["transformer.wte.weight"] = state["tokens.weight"][0]
    weights["transformer.wpe.weight"] = state["encoding.table.weight"][0]
    weights["lm_head.weight"] = state["tokens.weight"][0] if config.tied else state["head.weight"][0].T
    reference.load_state_dict(weights, strict=True)
    return reference


@pytest.mark.parametrize("members", [1, 3])
@pytest.mark.parametrize("tied", [True, False])
def test_every_member_equals_its_hugging_face_model(members, tied):
    model = build(range(members), bias=True, tied=tied)
    disturb(model)
    ids, positions = batch(members)
    with torch.no_grad():
        logits = model(ids, positions)
        for k in range(members):
            expected = hugging_face(model.config, model.member(k), rows=12)(ids[k]).logits
            torch.testing.assert_close(logits[k], expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("size", ["nano", "micro", "mini"])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("tied", [False, True])
def test_parameter_count(size, bias, tied):
    model = build([0, 1], size=size, context=256, bias=bias, tied=tied)
    layers, width = model.config.layers, model.config.width
    matrices = 3 * width**2 + width**2 + 4 * width**2 + 4 * width**2
    biases = 3 * width + width + 4 * width + width
    norm = 2 * width if bias else width
    block = matrices + (biases if bias else 0) + 2 * norm
    tables = 16 * width + 256 * width + (0 if tied else 16 * width)
    assert model.parameter_count() == layers * block + norm + tables


def test_mini_has_the_papers_parameters():
    assert build([0], size="mini", context=256).parameter_count() == 10_726_272


def test_members_start_from_their_own_seed_bit_for_bit():
    stack = build([7, 8, 9], tied=False, bias=True)
    for k, seed in enumerate([7, 8, 9]):
        single = build([seed], tied=False, bias=True).state_dict()
        assert stack.member(k).keys() == single.keys()
        assert all(torch.equal(stack.member(k)[name], single[name]) for name in single)
    assert not torch.equal(stack.tokens.weight[0], stack.tokens.weight[1])


def test_building_a_model_leaves_the_default_generator_alone():
    before = torch.get_rng_state()
    build()
    assert torch.equal(torch.get_rng_state(), before)


def test_the_encoding_leaves_other_initial_weights_alone():
    config = ModelConfig.named("nano")
    learned, coupled = (GPT(config, name, 16, 9, [4]).state_dict() for name in ("learned", "coupled"))
    assert all(torch.equal(learned[k], coupled[k]) for k in learned if not k.startswith("encoding"))


def test_initial_standard_deviations():
    model = build([0], rows=400, size="micro", embedding_std=0.3, tied=False, bias=True)
    branch = 0.02 / math.sqrt(2 * model.config.layers)
    block = model.blocks[1]
    expected = {
        model.tokens.weight: 0.3,
        model.encoding.table.weight: 0.3,
        model.head.weight: 0.02,
        block.attention.qkv.weight: 0.02,
        block.attention.out.weight: branch,
        block.mlp.up.weight: 0.02,
        block.mlp.down.weight: branch,
    }
    for parameter, std in expected.items():
        assert parameter.std().item() == pytest.approx(std, rel=0.05)
        assert abs(parameter.mean().item()) < 0.05 * std
    for name, parameter in model.named_parameters():
        if name.endswith("bias"):
            assert (parameter == 0).all()
        elif "norm" in name:
            assert (parameter == 1).all()


@pytest.mark.parametrize("tied", [True, False])
def test_gradients_reach_every_parameter(tied):
    model = build(tied=tied, bias=True)
    ids, positions = batch(3)
    functional.cross_entropy(model(ids, positions).flatten(0, -2), ids.flatten()).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert (parameter.grad.flatten(1).abs().amax(1) > 0).all(), name


def noise(rates, number=0):
    return Noise.of_step(torch.arange(len(rates)) + 2**40, number, torch.tensor(rates))


def test_dropout_depends_on_the_noise_alone():
    model = build()
    ids, positions = batch(3)
    with torch.no_grad():
        clean, first, second = (
            model(ids, positions, noise=n) for n in (None, noise([0.5] * 3), noise([0.5] * 3, 1))
        )
        assert torch.equal(clean, model(ids, positions))
        assert not torch.equal(first, second)
        assert torch.equal(first, model(ids, positions, noise=noise([0.5] * 3)))


def test_a_member_drops_at_its_own_rate_and_as_it_would_alone():
    model, single = build(), build(seeds=(2,))
    ids, positions = batch(3)
    with torch.no_grad():
        together = noise([0.0, 0.5, 0.2])
        found = model(ids, positions, noise=together)
        torch.testing.assert_close(found[0], model(ids, positions)[0])
        alone = Noise(together.seeds[1:2], together.rates[1:2])
        single.load_state_dict(model.member(1))
        torch.testing.assert_close(found[1:2], single(ids[1:2], positions, noise=alone))


def test_dropout_is_at_nanogpts_four_places(monkeypatch):
    """Embedding, and in each block attention weights and two branches."""
    shapes = []

    def spy(x, given):
        shapes.append(tuple(x.shape))
        return drop(x, given)

    monkeypatch.setattr(gpt, "drop", spy)
    monkeypatch.setattr(attention, "drop", spy)
    model = build()
    model(*batch(3), noise=noise([0.25] * 3))
    activations, weights = (3, 5, 12, 48), (3, 5, 3, 12, 12)
    assert shapes == [activations, *[weights, activations, activations] * 3]


def test_weights_and_logits_are_float32():
    model = build()
    assert model.compute_dtype == torch.float32
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}
    assert model(*batch(3)).dtype == torch.float32


@pytest.mark.gpu
def test_cuda_computes_in_bfloat16_and_agrees_with_the_cpu():
    model = build()
    ids, positions = batch(3)
    with torch.no_grad():
        expected = model(ids, positions)
        model.cuda()
        logits = model(ids.cuda(), positions.cuda())
    assert model.compute_dtype == torch.bfloat16
    assert logits.dtype == torch.float32
    torch.testing.assert_close(logits.cpu(), expected, atol=0.05, rtol=0)


def test_context_asks_for_rows_and_is_refused_when_short():
    assert build(rows=12, context=30).encoding.rows == 30
    with pytest.raises(InputError, match="12 positions do not fit in a table of 11 rows"):
        build(rows=12, context=11)


def test_a_full_cache_is_refused():
    model = build()
    ids, positions = batch(3)
    with pytest.raises(AssertionError, match="full"):
        model(ids, positions, cache=model.cache(batch=5, length=11))


def test_unknown_encoding_names_the_known_ones():
    with pytest.raises(InputError, match=r"unknown encoding 'leaned' \(choose from none, learned, .*:NAME"):
        GPT(ModelConfig.named("nano"), "leaned", 16, 9, [0])


@pytest.mark.parametrize("queries", [1, 4, 7])
@pytest.mark.parametrize("shape", [None, (1, 1, 1), (3, 1, 2), (1, 5, 2), (3, 5, 1), (3, 5, 2)])
def test_attention_by_its_formula(queries, shape):
    """The last `queries` of 7 tokens attend, with a bias of every shape that broadcasts, or none."""
    generator = torch.Generator().manual_seed(0)
    q, k, v = torch.randn(3, 3, 5, 2, 7, 4, generator=generator)
    bias = None if shape is None else torch.randn(*shape, queries, 7, generator=generator)
    scores = q[..., -queries:, :] @ k.mT / 4**0.5 + (0 if bias is None else bias)
    future = torch.ones(7, 7, dtype=torch.bool).triu(1)[-queries:]
    expected = scores.masked_fill(future, -math.inf).softmax(-1) @ v
    torch.testing.assert_close(softmax_attention(q[..., -queries:, :], k, v, bias, None), expected)


OPTIONS = [
    {"normalized_attention": True},
    {"log_length_scale": True},
    {"loops": 3},
    {"normalized_attention": True, "log_length_scale": True, "loops": 2, "layers": 2},
]


WAVES = {"position_waves": True}
BY_PLACE = {"position_waves": True, "place_attention": True}
WITH_A_TABLE = [WAVES, BY_PLACE, *({**BY_PLACE, **options} for options in OPTIONS)]


@pytest.mark.parametrize(
    ("options", "encoding"),
    [
        *product(OPTIONS, ["learned", "rotary", "t5", "shaw"]),
        *product(WITH_A_TABLE, ["learned", "abacus", "coupled"]),
    ],
)
def test_options_keep_causality_members_caching_and_gradients(options, encoding):
    config = ModelConfig.named("nano", embedding_std=0.5, **options)
    model = GPT(config, encoding, VOCABULARY, 12, [1, 2]).eval()
    ids, positions = batch(2)
    logits = model(ids, positions)
    functional.cross_entropy(logits.flatten(0, -2), ids.flatten()).backward()
    for name, parameter in model.named_parameters():
        assert (parameter.grad.flatten(1).abs().amax(1) > 0).all(), name
    with torch.no_grad():
        early = model(ids[..., :7], positions[..., :7])
        torch.testing.assert_close(logits[:, :, :7], early, atol=1e-5, rtol=0)
        alone = GPT(config, encoding, VOCABULARY, 12, [2]).eval()(ids[1:], positions)
        torch.testing.assert_close(logits[1:], alone, atol=1e-5, rtol=0)
        cache = model.cache(batch=5, length=12)
        pieces = zip(ids.split([5, 4, 1, 1, 1], -1), positions.split([5, 4, 1, 1, 1], -1), strict=True)
        cached = torch.cat([model(*piece, cache=cache) for piece in pieces], dim=2)
        torch.testing.assert_close(cached, logits, atol=2e-5, rtol=0)


def test_options_leave_initial_weights_alone():
    plain = build([4]).state_dict()
    other = build([4], normalized_attention=True, log_length_scale=True).state_dict()
    assert {name.split(".", 2)[2] for name in other.keys() - plain.keys()} == {"attention.scale"}
    assert all(torch.equal(plain[name], other[name]) for name in plain)


@torch.no_grad()
def test_scaled_and_normalized_attention_by_its_formula():
    """As in the probe that reached hundreds of digits: queries and keys over their root mean square, and the
    query of token t, counted from 0, times a head's factor times log(t + 2)."""
    model = build([0, 1], normalized_attention=True, log_length_scale=True)
    layer = model.blocks[0].attention
    layer.scale.copy_(torch.tensor([[1.0, 2.0, 3.0], [0.5, 1.5, 2.5]]).view(2, 1, 3, 1, 1))
    x = torch.randn(2, 5, 12, 48, generator=torch.Generator().manual_seed(0))
    q, k, v = layer.qkv(x).unflatten(-1, (3, 3, 16)).permute(3, 0, 1, 4, 2, 5)
    q, k = (vectors / vectors.square().mean(-1, keepdim=True).sqrt() for vectors in (q, k))
    scores = q @ k.mT / 16**0.5 * torch.log(torch.arange(12) + 2.0).unsqueeze(-1) * layer.scale
    weights = scores.masked_fill(torch.ones(12, 12, dtype=torch.bool).triu(1), -math.inf).softmax(-1)
    expected = layer.out((weights @ v).transpose(2, 3).flatten(3))
    y = layer(x, whole_pass(model, torch.arange(12).view(1, 1, -1)))
    torch.testing.assert_close(y, expected, atol=1e-5, rtol=1e-4)


@torch.no_grad()
def test_loops_apply_the_blocks_again_to_stream_plus_input():
    model = build(loops=2)
    ids, positions = batch(3)
    embedded = model.tokens(ids) + model.encoding.embed(positions)
    x, run = embedded, whole_pass(model, positions)
    for block in model.blocks:
        x = block(x, run)
    x = x + embedded
    for block in model.blocks:
        x = block(x, run)
    torch.testing.assert_close(model(ids, positions), model.read_out(x), atol=1e-6, rtol=0)
    assert model.parameter_count() == build().parameter_count()
