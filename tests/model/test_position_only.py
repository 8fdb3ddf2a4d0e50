"""Waves and position-only attention: against complex numbers, and by what must not matter."""

import math

import pytest
import torch
from fakes import attention_weights
from safetensors.torch import load, save

from lengthwise.errors import InputError
from lengthwise.model.attention import Pass
from lengthwise.model.config import ModelConfig
from lengthwise.model.gpt import GPT
from lengthwise.model.layers import Initializer, Linear, Noise
from lengthwise.model.positions.encoding import has_position
from lengthwise.model.positions.learned import Waves

VOCABULARY, ROWS, CIRCLE = 16, 24, 23
MEMBERS, BATCH, LENGTH = 2, 4, 10
SEEDS = [11, 12]
BOTH = pytest.mark.parametrize("position_only", [False, True])


def build(position_only=True, seeds=SEEDS, encoding="coupled", **changes):
    """Weights large enough that whatever positions do shows."""
    options = {"position_waves": True, "place_attention": position_only, "embedding_std": 1.0}
    model = GPT(ModelConfig.named("nano", **options, **changes), encoding, VOCABULARY, ROWS, seeds).eval()
    with torch.no_grad():
        for module in model.modules():
            if isinstance(module, Linear):
                module.weight.mul_(8)
    return model


def drawn(low, high, seed=1):
    return torch.randint(low, high, (MEMBERS, BATCH, LENGTH), generator=torch.Generator().manual_seed(seed))


def random_ids(seed=1):
    return drawn(0, VOCABULARY, seed)


def moved(positions, by):
    """Around the circle; tokens without a position stay so."""
    return torch.where(has_position(positions), (positions - 1 + by) % CIRCLE + 1, 0)


@BOTH
@torch.no_grad()
def test_a_shift_around_the_circle_changes_nothing(position_only):
    model, ids, positions = build(position_only), random_ids(), drawn(1, ROWS, seed=2)
    expected = model(ids, positions)
    for by in (1, 5, CIRCLE - 1):
        torch.testing.assert_close(model(ids, moved(positions, by)), expected, atol=1e-4, rtol=0)
    own = drawn(0, CIRCLE, seed=3)[..., :1]
    torch.testing.assert_close(model(ids, moved(positions, own)), expected, atol=1e-4, rtol=0)
    swapped = positions.flip(-1)
    assert (model(ids, swapped) - expected).abs().max() > 0.5, "yet positions matter"


@torch.no_grad()
def test_tokens_with_and_without_a_position_do_not_see_each_other():
    model, ids, positions = build(), random_ids(), drawn(1, ROWS, seed=2)
    positions[..., [0, 6]] = 0
    across = has_position(positions).unsqueeze(-1) != has_position(positions).unsqueeze(-2)
    for weights in attention_weights(model, ids, positions):
        assert weights.masked_select(across.unsqueeze(2)).max() < 1e-12
    expected = model(ids, positions)
    torch.testing.assert_close(model(ids, moved(positions, 7)), expected, atol=1e-4, rtol=0)


@torch.no_grad()
def test_tokens_without_a_position_differ_from_all_that_have_one():
    """Neither turns, at position 0 and where the circle closes, but each has vectors of its own."""
    waves = build().encoding.waves
    for positions in (0, CIRCLE):
        cos, sin = waves(torch.full((1, 1, 1), positions))
        assert (cos == 1).all() and (sin == 0).all()
    model, ids, positions = build(), random_ids(), drawn(1, ROWS, seed=2)
    positions[..., 3] = CIRCLE
    without = positions.clone()
    without[..., 3] = 0
    assert (model(ids, positions) - model(ids, without))[:, :, 3:].abs().amax((-1, -2)).min() > 0.01


@pytest.mark.parametrize(("position_only", "still"), [(True, 2), (False, 4)])
def test_some_pairs_of_every_head_do_not_turn_and_all_others_do(position_only, still):
    """Of eight pairs, half where tokens have a say in queries and keys."""
    frequency = build(position_only).encoding.waves.frequency
    assert frequency.shape == (MEMBERS, 3, 1, 8)
    assert (frequency[..., :still] == 0).all()
    assert (frequency[..., still:] > 0).all() and (frequency[..., still:] < CIRCLE // 2).all()
    assert not torch.equal(frequency[0], frequency[1]) and not torch.equal(frequency[:, 0], frequency[:, 1])


def test_frequencies_are_of_many_draws_those_that_keep_positions_apart():
    circle = 1_031
    waves = Waves(
        ModelConfig(width=128, heads=4, position_waves=True, place_attention=True), circle, Initializer([0])
    )
    distance = torch.arange(1, circle).unsqueeze(1)

    def alike(frequency):
        return (2 * math.pi / circle * (distance * frequency)).double().cos().mean(1).max().item()

    draws = [alike(torch.randint(1, circle // 2, (14,))) for _ in range(20)]
    assert max(alike(head[0, 2:]) for head in waves.frequency[0]) < min(0.5, sorted(draws)[10])


def test_waves_of_a_large_table_are_exact():
    """Angles of thousands of turns would be wrong in the third digit, were they computed as they are."""
    waves = Waves(ModelConfig.named("nano", position_waves=True), 10_007, Initializer([0]))
    positions = torch.arange(0, 10_008, 37).view(1, 1, -1)
    turns = positions.double().view(1, 1, 1, -1, 1) * waves.frequency.double().unsqueeze(1) / 10_007
    cos, sin = waves(positions)
    torch.testing.assert_close(cos, (2 * math.pi * turns).cos().float(), atol=2e-6, rtol=0)
    torch.testing.assert_close(sin, (2 * math.pi * turns).sin().float(), atol=2e-6, rtol=0)


@torch.no_grad()
def test_position_only_attention_does_not_see_the_tokens():
    positions = drawn(0, ROWS, seed=2)
    one, two = (attention_weights(build(), random_ids(seed), positions) for seed in (1, 4))
    for mine, other in zip(one, two, strict=True):
        assert torch.equal(mine, other)
        assert mine[0, 0, 0, -1].max() > 1.5 / LENGTH, "nor are they all alike"
    one, two = (attention_weights(build(position_only=False), random_ids(seed), positions) for seed in (1, 4))
    assert not torch.allclose(one[0], two[0], atol=0.01)


@pytest.mark.parametrize("normalized", [False, True])
@torch.no_grad()
def test_no_head_is_too_sharp_for_the_mask(normalized):
    """However sharp a head has learned to be, with normalized queries and keys and with large ones."""
    model = build(normalized_attention=normalized, log_length_scale=True)
    ids, positions = random_ids(), drawn(1, ROWS, seed=2)
    positions[..., [0, 6]] = 0
    for block in model.blocks:
        block.attention.scale.fill_(1000.0)
        # Towards the null key, as far as tokens without a position could be.
        block.attention.qk.weight[:, 0, :48].view(MEMBERS, 3, 16)[..., 8] = 100.0
    across = has_position(positions).unsqueeze(-1) != has_position(positions).unsqueeze(-2)
    for weights in attention_weights(model, ids, positions):
        assert weights.masked_select(across.unsqueeze(2)).max() < 1e-12
        assert weights.sum(-1)[..., 0].min() > 0.999
        assert weights.sum(-1)[..., 6].min() > 0.9 - 1e-6, "clipping takes a tenth of two equal weights"


@torch.no_grad()
def test_digits_may_attend_to_the_null_key_alone():
    """Not so tokens without a position: these always see themselves at least."""
    model, ids, positions = build(), random_ids(), drawn(1, ROWS, seed=2)
    positions[..., [0, 6]] = 0
    shares = torch.stack([weights.sum(-1) for weights in attention_weights(model, ids, positions)])
    assert shares.shape[-1] == LENGTH
    torch.testing.assert_close(shares[..., 0], torch.ones_like(shares[..., 0]))
    assert shares[..., 6].min() > 0.9 - 1e-6
    assert shares[..., 1:6].max() < 1 and shares[..., 1:6].min() < 0.5


@pytest.mark.parametrize(
    ("encoding", "token_heads"), [("coupled", 0), ("abacus", 0), ("coupled", 1), ("abacus", 2)]
)
@torch.no_grad()
def test_position_only_attention_agrees_however_it_is_computed(encoding, token_heads):
    """Token by token from a cache, the last tokens alone, and the way of training, with nothing dropped."""
    model, ids = build(encoding=encoding, token_heads=token_heads), random_ids()
    positions = drawn(1, ROWS, seed=2)
    positions[..., [0, 6]] = 0
    expected, cache = model(ids, positions), model.cache(BATCH, LENGTH)
    pieces = [model(ids[..., i : i + 1], positions[..., i : i + 1], cache=cache) for i in range(LENGTH)]
    torch.testing.assert_close(torch.cat(pieces, 2), expected, atol=1e-4, rtol=0)
    torch.testing.assert_close(model(ids, positions, tail=3), expected[:, :, -3:], atol=1e-4, rtol=0)
    noise = Noise.of_step(torch.tensor(SEEDS), 0, torch.zeros(MEMBERS))
    torch.testing.assert_close(model(ids, positions, noise=noise), expected, atol=1e-4, rtol=0)


@torch.no_grad()
def test_a_few_queries_at_a_time_give_the_same(monkeypatch):
    model, ids, positions = build(), random_ids(), drawn(1, ROWS, seed=2)
    expected = model(ids, positions)
    for at_once in (1, 300, 700):
        monkeypatch.setattr("lengthwise.model.position_only.MAX_ATTENTION_WEIGHTS", at_once)
        torch.testing.assert_close(model(ids, positions), expected, atol=1e-4, rtol=0)


@pytest.mark.parametrize(("token_heads", "clip"), [(0, 0.1), (1, 0.1), (2, 0.1), (0, 0.3), (1, 0.0)])
@torch.no_grad()
def test_weights_times_values_is_the_output_of_attention(token_heads, clip):
    model = build(token_heads=token_heads, attention_clip=clip)
    ids, positions = random_ids(), drawn(0, ROWS, seed=2)
    passed = []
    for block in model.blocks:
        block.attention.register_forward_hook(lambda module, given, out: passed.append((module, given[0], out)))
    layers = attention_weights(model, ids, positions)
    for (module, x, out), weights in zip(passed, layers, strict=True):
        values = module.v(x).unflatten(-1, (3, -1)).transpose(2, 3)
        again = module.out((weights @ values).transpose(2, 3).flatten(3))
        torch.testing.assert_close(again, out, atol=1e-3, rtol=1e-4)


@torch.no_grad()
def test_content_heads_see_tokens_and_no_positions():
    model, positions = build(token_heads=1), drawn(1, ROWS, seed=2)
    (one, *_), (moved_on, *_), (other, *_) = (
        attention_weights(model, ids, at)
        for ids, at in ((random_ids(), positions), (random_ids(), positions.flip(-1)), (random_ids(4), positions))
    )
    by_position, by_content = slice(0, 2), slice(2, 3)
    assert torch.equal(one[:, :, by_content], moved_on[:, :, by_content])
    assert not torch.allclose(one[:, :, by_content], other[:, :, by_content], atol=0.01)
    assert torch.equal(one[:, :, by_position], other[:, :, by_position])
    assert not torch.allclose(one[:, :, by_position], moved_on[:, :, by_position], atol=0.01)
    torch.testing.assert_close(one[:, :, by_content].sum(-1), torch.ones(MEMBERS, BATCH, 1, LENGTH))


@torch.no_grad()
def test_content_heads_see_their_own_problem_alone():
    """Of a row with two problems, the second comes out as it does by itself, count of keys included."""
    model = build(token_heads=2, normalized_attention=True, log_length_scale=True)
    ids, positions, start = random_ids(), drawn(1, ROWS, seed=2), 4
    for block in model.blocks:
        attention = block.attention
        attention.scale.copy_(torch.tensor([1.0, 0.5, 2.0]).view(-1, 1, 1))
        # Position-only heads bring nothing.
        attention.v.weight[..., : attention.v.weight.shape[-1] // 3] = 0
    problem = (torch.arange(LENGTH) >= start).long().expand(MEMBERS, BATCH, -1)
    alone = model(ids[..., start:], positions[..., start:])
    silent = Noise.of_step(torch.tensor(SEEDS), 0, torch.zeros(MEMBERS))
    for options in ({}, {"tail": LENGTH - start}, {"noise": silent}):
        row = model(ids, positions, problem=problem, **options)[:, :, start - LENGTH :]
        torch.testing.assert_close(row, alone, atol=1e-4, rtol=0)
    assert (model(ids, positions)[:, :, start:] - alone).abs().max() > 0.5, "without problem numbers they see both"


@torch.no_grad()
def test_attention_spread_over_many_tokens_is_clipped_to_zero():
    """However many they are: what a head without use brings does not change with the length of a number."""
    model = build(layers=1)
    model.blocks[0].attention.qk.weight.zero_()
    for length in (12, 50):
        ids = torch.randint(0, VOCABULARY, (MEMBERS, 1, length), generator=torch.Generator().manual_seed(1))
        positions = torch.arange(length).view(1, 1, -1) % CIRCLE + 1
        (weights,) = attention_weights(model, ids, positions)
        assert weights[..., :8, :].sum(-1).min() > 0 and weights[..., 10:, :].max() == 0
        others = torch.cat([ids[..., :-1].flip(-1), ids[..., -1:]], -1)
        assert torch.equal(model(ids, positions)[:, :, -1], model(others, positions)[:, :, -1])


def naive(attention, frequency, x, positions, *, position_only, equals_has_position):
    """One layer of one member for one example [T, C], on complex numbers: query by query, head by head."""
    width, heads = x.shape[-1], len(frequency)
    size = width // heads
    if position_only:
        vectors = torch.stack([attention["qk.weight"][1 if p else 0] for p in positions])
        values = x @ attention["v.weight"]
    else:
        whole = x @ attention["qkv.weight"]
        vectors, values = whole[:, : 2 * width], whole[:, 2 * width :]
    rows = []
    for i in range(len(x)):
        heads_out = []
        for h in range(heads):
            angle = torch.tensor(2 * math.pi / CIRCLE, dtype=torch.double) * frequency[h, 0]

            def turned(vector, position, angle=angle):
                half = torch.complex(vector[: size // 2], vector[size // 2 :])
                return half * torch.exp(1j * angle * position)

            q = turned(vectors[i, h * size : (h + 1) * size], positions[i])
            keys = [
                turned(vectors[j, width + h * size : width + (h + 1) * size], positions[j]) for j in range(i + 1)
            ]
            scores = torch.stack([(q * k.conj()).real.sum() for k in keys]) / math.sqrt(size)
            if position_only:
                first = torch.stack([(q[:2].real * k[:2].real).sum() for k in keys]) / math.sqrt(size)
                sees_digits = positions[i] > 0 or not equals_has_position
                across = torch.tensor([sees_digits != (positions[j] > 0) for j in range(i + 1)])
                scores = (scores - first).masked_fill(across, -math.inf)
            # The null key takes its share of whoever sees digits, and has no value.
            null = q[0].imag.exp() if position_only and sees_digits else 0
            weights = scores.exp() / (scores.exp().sum() + null)
            if position_only:
                weights = (weights - 0.1 * (1 - weights)).clamp(min=0)
            heads_out.append(weights @ values[: i + 1, h * size : (h + 1) * size])
        rows.append(torch.cat(heads_out) @ attention["out.weight"])
    return torch.stack(rows)


@pytest.mark.parametrize(("encoding", "position_only"), [("coupled", False), ("coupled", True), ("abacus", True)])
@torch.no_grad()
def test_one_layer_by_its_formula(encoding, position_only):
    """With abacus all tokens see digits alone, as `=` has no position and yet has to find the first ones."""
    model, positions = build(position_only, encoding=encoding), drawn(0, ROWS, seed=2)
    positions[..., [0, 1, 5]] = 0
    attention, waves = model.blocks[1].attention, model.encoding.waves
    for parameter in attention.parameters():
        parameter.copy_(torch.randn(parameter.shape, generator=torch.Generator().manual_seed(3)) / 4)
    x = torch.randn(MEMBERS, BATCH, LENGTH, 48, generator=torch.Generator().manual_seed(4))
    relation = model.encoding.relate(positions, positions)
    y = attention(x, Pass(model.encoding, relation, positions, positions, LENGTH, torch.float32))
    for k in range(MEMBERS):
        weights = {name: tensor[k].double() for name, tensor in attention.state_dict().items()}
        for b in range(BATCH):
            arguments = weights, waves.frequency[k].double(), x[k, b].double(), positions[k, b].tolist()
            expected = naive(*arguments, position_only=position_only, equals_has_position=encoding != "abacus")
            torch.testing.assert_close(y[k, b], expected.float(), atol=1e-5, rtol=1e-4)


@BOTH
@torch.no_grad()
def test_a_member_equals_its_single_model_and_survives_a_file(position_only):
    """Frequencies are no parameters, and are told with them."""
    stack, ids, positions = build(position_only), random_ids(), drawn(0, ROWS, seed=2)
    logits = stack(ids, positions)
    for k, seed in enumerate(SEEDS):
        arguments = ids[k : k + 1], positions[k : k + 1]
        single = build(position_only, [seed])
        assert all(torch.equal(single.state_dict()[name], tensor) for name, tensor in stack.member(k).items())
        torch.testing.assert_close(single(*arguments)[0], logits[k], atol=1e-4, rtol=0)
        other = build(position_only, [99])
        assert not torch.allclose(other(*arguments)[0], logits[k], atol=0.01)
        other.load_state_dict(load(save({name: tensor.clone() for name, tensor in stack.member(k).items()})))
        assert torch.equal(other(*arguments), single(*arguments))
    assert "encoding.waves.frequency" in stack.member(0)
    assert not any("waves" in name for name, _ in stack.named_parameters())


def test_waves_leave_other_initial_weights_alone():
    config = ModelConfig.named("nano")
    plain = GPT(config, "coupled", VOCABULARY, ROWS, [4]).state_dict()
    waves = GPT(ModelConfig.named("nano", position_waves=True), "coupled", VOCABULARY, ROWS, [4]).state_dict()
    assert plain.keys() ^ waves.keys() == {
        "encoding.table.weight",
        "encoding.waves.frequency",
    }
    assert all(torch.equal(plain[name], waves[name]) for name in plain.keys() & waves.keys())


def test_parameters_do_not_grow_with_the_rows():
    assert build(context=30).parameter_count() == build(context=300).parameter_count()
    saved = 3 * (2 * 48**2 - 2 * 2 * 48)  # in each layer two maps become two vectors each
    assert build().parameter_count() == build(position_only=False).parameter_count() - saved


@pytest.mark.parametrize("encoding", ["none", "sinusoidal", "rotary", "t5", "randomized:learned"])
def test_waves_without_a_table_are_refused(encoding):
    choices = "choose from learned, abacus, coupled"
    with pytest.raises(InputError, match=f"position_waves does not go with encoding '{encoding}' .{choices}"):
        build(encoding=encoding)


@torch.no_grad()
def test_heads_start_on_near_columns():
    """Their own, one up, one down; and `=` of abacus, which has no position, as if it stood before the first."""
    for encoding, asks in (("coupled", 9), ("abacus", 0)):
        model = build(encoding=encoding, log_length_scale=True, normalized_attention=True)
        positions = torch.tensor([*range(1, 13), asks]).view(1, 1, -1)
        (weights, *_) = attention_weights(model, torch.zeros(MEMBERS, 1, 13, dtype=torch.long), positions)
        for head, column in enumerate((asks, asks + 1, asks - 1)):
            found = positions.flatten()[weights[:, 0, head, -1].argmax(-1)]
            seen = weights[:, 0, head, -1].amax(-1) > 0.1
            assert column < 1 or (seen.any() and (found[seen] == column).all())


def test_where_heads_start_changes_the_first_queries_alone():
    near, far, anywhere = (build(head_start=choice).state_dict() for choice in ("near", "far", "random"))
    for other in (far, anywhere):
        differ = {name for name in near if not torch.equal(near[name], other[name])}
        assert differ == {f"blocks.{layer}.attention.qk.weight" for layer in range(3)}
        halves = near["blocks.0.attention.qk.weight"], other["blocks.0.attention.qk.weight"]
        assert torch.equal(*(half[..., 48:] for half in halves)), "keys stay"


@torch.no_grad()
def test_heads_that_start_far_look_past_the_columns_of_a_sum():
    model = build(head_start="far", context=90, log_length_scale=True, normalized_attention=True)
    positions = torch.tensor([*range(1, 40), 9]).view(1, 1, -1)
    (weights, *_) = attention_weights(model, torch.zeros(MEMBERS, 1, 40, dtype=torch.long), positions)
    for head, column in enumerate((21, 22, 20)):
        found, seen = weights[:, 0, head, -1].argmax(-1) + 1, weights[:, 0, head, -1].amax(-1) > 0.1
        assert seen.any() and (found[seen] == column).all()


def test_frozen_attention_is_no_parameter_and_computes_the_same():
    options = {"log_length_scale": True, "normalized_attention": True}
    trained, frozen = build(**options), build(frozen_attention=True, **options)
    assert trained.state_dict().keys() == frozen.state_dict().keys()
    missing = {name for name, _ in trained.named_parameters()} - {name for name, _ in frozen.named_parameters()}
    kept = ("qk.weight", "scale")
    assert missing == {f"blocks.{layer}.attention.{name}" for layer in range(3) for name in kept}
    ids, positions = random_ids(), drawn(0, ROWS, seed=2)
    assert torch.equal(trained(ids, positions), frozen(ids, positions))


@torch.no_grad()
def test_without_a_null_key_weights_sum_to_one():
    ids, positions = random_ids(), drawn(1, ROWS, seed=2)
    for null_key in (True, False):
        (weights, *_) = attention_weights(build(null_key=null_key, attention_clip=0.0), ids, positions)
        sums = weights.sum(-1)
        assert torch.allclose(sums, torch.ones_like(sums)) != null_key


def test_training_without_a_null_key_stays_finite():
    """The row that stands beside the null key sees nothing else."""
    model = build(null_key=False)
    model(random_ids(), drawn(0, ROWS, seed=2)).sum().backward()
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters())


@torch.no_grad()
def test_without_clipping_all_weights_count():
    ids, positions = random_ids(), drawn(1, ROWS, seed=2)
    plain, clipped = (attention_weights(build(attention_clip=clip), ids, positions)[0] for clip in (0.0, 0.25))
    torch.testing.assert_close((1.25 * plain - 0.25).clamp(min=0), clipped)
    assert (plain[..., -1, :] > 0).all() and (clipped[..., -1, :] == 0).any()


def test_more_draws_of_frequencies_tell_positions_apart_better():
    def likeness(draws):
        config = ModelConfig.named("nano", position_waves=True, place_attention=True, frequency_draws=draws)
        cos, _ = Waves(config, CIRCLE, Initializer(range(20)))(torch.arange(1, CIRCLE).view(1, 1, -1))
        return cos[..., 2:].mean(-1).amax(-1).mean().item()

    assert likeness(1) > likeness(10) > likeness(100)


@pytest.mark.parametrize(
    ("encoding", "options"),
    [
        ("rotary", {"loops": 2}),
        ("coupled", {"position_waves": True, "place_attention": True}),
        ("abacus", {"position_waves": True, "place_attention": True, "token_heads": 1, "log_length_scale": True}),
    ],
)
def test_forward_and_backward_are_one_graph(encoding, options):
    """As training on a GPU compiles them."""
    torch.compiler.reset()
    model = GPT(ModelConfig.named("nano", **options), encoding, VOCABULARY, ROWS, SEEDS)
    noise = Noise.of_step(torch.tensor(SEEDS), 0, torch.full((MEMBERS,), 0.2))
    problem = (torch.arange(LENGTH) >= 4).long().expand(MEMBERS, BATCH, -1)
    arguments = {"tail": 5, "noise": noise, "problem": problem}
    compiled = torch.compile(model, fullgraph=True, dynamic=False, backend="aot_eager")
    logits = compiled(random_ids(), drawn(0, ROWS, seed=2), **arguments)
    torch.testing.assert_close(logits, model(random_ids(), drawn(0, ROWS, seed=2), **arguments))
    logits.sum().backward()
    assert all(parameter.grad is not None for parameter in model.parameters())
