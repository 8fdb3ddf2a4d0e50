"""Each encoding against its definition: Hugging Face's where there is one, else the formula, pair by pair."""

import math

import pytest
import torch

from lengthwise.errors import InputError
from lengthwise.model.attention import softmax_attention
from lengthwise.model.config import ModelConfig
from lengthwise.model.layers import Initializer
from lengthwise.model.positions import find_encoding

MEMBERS, BATCH, WIDTH = 2, 3, 48


def build(name, heads=3):
    config = ModelConfig(heads=heads, width=WIDTH, embedding_std=0.5, position_std=None)
    return find_encoding(name)(config, 300, Initializer(range(MEMBERS)))


def draw(heads, length):
    shape = (3, MEMBERS, BATCH, heads, length, WIDTH // heads)
    return torch.randn(shape, generator=torch.Generator().manual_seed(0))


@torch.no_grad()
def attend(encoding, q, k, v, positions):
    """[M, B, H, T, D], by the encoding."""
    q, k, bias = encoding.attend(q, k, encoding.relate(positions, positions))
    return softmax_attention(q, k, v, bias, None)


@torch.no_grad()
def attend_by_definition(q, k, v, bias):
    length = q.shape[-2]
    scores = q @ k.mT / math.sqrt(q.shape[-1]) + bias
    future = torch.ones(length, length, dtype=torch.bool).triu(1)
    return scores.masked_fill(future, -math.inf).softmax(-1) @ v


def index(length):
    return torch.arange(length).view(1, 1, -1)


@pytest.mark.parametrize("heads", [1, 3, 4])
def test_rotary_is_llamas(heads):
    llama = pytest.importorskip("transformers.models.llama.modeling_llama")
    q, k, v = draw(heads, 200)
    config = llama.LlamaConfig(hidden_size=WIDTH, num_attention_heads=heads)
    positions = torch.randint(1000, (MEMBERS, BATCH, 200), generator=torch.Generator().manual_seed(1))
    rotary = llama.LlamaRotaryEmbedding(config)
    for m in range(MEMBERS):
        cos, sin = rotary(q[m], positions[m])
        turned = llama.apply_rotary_pos_emb(q[m], k[m], cos, sin)
        ours = build("rotary", heads).attend(
            q[m : m + 1],
            k[m : m + 1],
            build("rotary", heads).relate(positions[m : m + 1], positions[m : m + 1]),
        )
        for mine, theirs in zip(ours, turned, strict=False):
            torch.testing.assert_close(mine[0], theirs, atol=1e-5, rtol=0)
        expected = attend_by_definition(*turned, v[m], 0)
        y = attend(build("rotary", heads), *(x[m : m + 1] for x in (q, k, v)), positions[m : m + 1])
        torch.testing.assert_close(y[0], expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize("heads", [1, 2, 3, 6, 8, 12, 16])
def test_alibi_is_blooms(heads):
    """Bloom adds slope x key position, which softmax cannot tell from minus slope x distance."""
    bloom = pytest.importorskip("transformers.models.bloom.modeling_bloom")
    q, k, v = draw(heads, 100)
    bias = bloom.build_alibi_tensor(torch.ones(1, 100, dtype=torch.long), heads, torch.float32)
    expected = attend_by_definition(q, k, v, bias)
    torch.testing.assert_close(attend(build("alibi", heads), q, k, v, index(100)), expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize("length", [9, 300])
def test_t5_is_t5s(length):
    t5 = pytest.importorskip("transformers.models.t5.modeling_t5")
    q, k, v = draw(3, length)
    encoding = build("t5")
    config = t5.T5Config(d_model=WIDTH, num_heads=3, d_kv=16, is_decoder=True)
    reference = t5.T5Attention(config, has_relative_attention_bias=True)
    y = attend(encoding, q, k, v, index(length))
    for m in range(MEMBERS):
        with torch.no_grad():
            reference.relative_attention_bias.weight.copy_(encoding.table.weight[m])
            bias = reference.compute_bias(length, length)
        seen = torch.ones(length, length, dtype=torch.bool).tril()
        torch.testing.assert_close(encoding.relate(*[index(length)] * 2)[m][:, :, seen], bias[..., seen])
        torch.testing.assert_close(y[m], attend_by_definition(q[m], k[m], v[m], bias), atol=1e-5, rtol=0)


def test_sinusoids_by_their_formula():
    """Sines, then cosines, of position over 10000^(2i/C), with the spread of a learned table's start."""
    waves = build("sinusoidal").embed(torch.tensor([[[0, 1, 77, 5000]]]))
    for t, position in enumerate([0, 1, 77, 5000]):
        for i in range(WIDTH // 2):
            angle = position / 10_000 ** (2 * i / WIDTH)
            pair = [waves[0, 0, t, i].item(), waves[0, 0, t, WIDTH // 2 + i].item()]
            size = 0.5 * math.sqrt(2)
            assert pair == pytest.approx([size * math.sin(angle), size * math.cos(angle)], abs=1e-3)
    assert build("sinusoidal").embed(index(300)).square().mean().sqrt().item() == pytest.approx(0.5)


@torch.no_grad()
def test_shaw_by_its_formula():
    """A query meets the key plus the vector of their distance."""
    q, k, v = draw(3, 140)
    encoding = build("shaw")
    bias = torch.zeros(MEMBERS, BATCH, 3, 140, 140)
    for i in range(140):
        for j in range(i + 1):
            vector = encoding.vectors[:, None, :, min(i - j, 128)]
            bias[..., i, j] = (q[..., i, :] * vector).sum(-1) / 4
    y = attend(encoding, q, k, v, index(140))
    torch.testing.assert_close(y, attend_by_definition(q, k, v, bias), atol=1e-5, rtol=0)


@torch.no_grad()
@pytest.mark.parametrize(("i", "j"), [(0, 0), (5, 2), (511, 3), (600, 3), (2000, 1999), (2000, 0)])
def test_fire_by_its_formula(i, j):
    encoding = build("fire")
    bias = encoding.relate(torch.tensor([[[i]]]), torch.tensor([[[j]]]))
    assert bias.shape == (MEMBERS, 1, 3, 1, 1)
    share = math.log(1 + 0.1 * (i - j)) / math.log(1 + 0.1 * max(i, 512))
    for m in range(MEMBERS):
        hidden = torch.relu(encoding.slope[m, 0] * share + encoding.shift[m, 0])
        torch.testing.assert_close(bias[m].flatten(), hidden @ encoding.out[m], atol=1e-5, rtol=0)


@torch.no_grad()
def test_fire_in_blocks_is_fire_at_once():
    encoding = build("fire")
    whole = encoding.relate(*[index(600)] * 2)
    torch.testing.assert_close(whole, encoding._bias(*[index(600)] * 2), atol=1e-5, rtol=0)


@pytest.mark.parametrize("name", ["rotary", "randomized:rotary"])
def test_rotary_refuses_heads_of_odd_width(name):
    with pytest.raises(InputError, match=r"the width of a head must be even, .* and is 3"):
        build(name, heads=16)


def test_sinusoidal_refuses_an_odd_width():
    with pytest.raises(InputError, match=r"width must be even, .* and is 9"):
        find_encoding("sinusoidal")(ModelConfig(width=9, heads=1), 9, Initializer([0]))
