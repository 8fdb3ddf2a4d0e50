"""Every encoding of the table has these properties; a new one inherits the tests by being named there.

So does `Distance`, an encoding from outside the package, and so do randomized forms.
"""

from typing import final

import pytest
import torch
from torch.nn import functional

from lengthwise.errors import InputError
from lengthwise.model.config import ModelConfig
from lengthwise.model.gpt import GPT
from lengthwise.model.layers import Initializer
from lengthwise.model.positions import ENCODINGS, find_encoding
from lengthwise.model.positions.encoding import Encoding, IndexEncoding, number_tokens
from lengthwise.model.positions.randomized import PREFIX
from lengthwise.theory.encodings import ENCODING_FACTS, RANDOMIZED

MEMBERS, BATCH, VOCABULARY, ROWS = 3, 4, 16, 40
SEEDS = [11, 12, 13]

# ^12+3=51$ as the paper orders it: operands natural, answer reversed.
TOKENS = {
    "index": torch.arange(9),
    "significance": torch.tensor([-1, 2, 1, 0, 1, 0, 1, 2, -1]),
    "number": torch.tensor([0, 1, 1, 0, 2, 0, 3, 3, 0]),
}
LENGTH, DIGITS = 9, 2

BOUNDED = {"learned", "abacus", "coupled"}
SHIFTED = {"abacus", "coupled"}
RELATIVE = {"none", "rotary", "alibi", "t5", "shaw", "fire", "distance"}
BIASED = {"alibi", "t5", "fire", "distance"}
INDEXED = {"learned", "sinusoidal", "rotary", "alibi", "t5", "shaw", "fire"}


@final
class Distance(Encoding):
    """Each head turns towards or away from tokens in proportion to their distance; the rate is learned."""

    def __init__(self, config, rows, init):
        super().__init__(config, rows, init)
        self.rows = None
        self.rate = init.normal(1, config.heads, 1, 1, std=1.0)

    @staticmethod
    def needs(length, digits):
        return length

    @staticmethod
    def offsets(rows, needed):
        return 1

    def locate(self, index, significance, number, offset):
        return index + offset

    def embed(self, positions):
        return None

    def relate(self, queries, keys):
        return (queries.unsqueeze(-1) - keys.unsqueeze(-2)).unsqueeze(2)

    def attend(self, q, k, relation):
        return q, k, self.rate * relation


@pytest.fixture(params=[*ENCODINGS, *(PREFIX + name for name in sorted(INDEXED)), "distance"])
def name(request, monkeypatch):
    monkeypatch.setitem(ENCODINGS, "distance", Distance)
    return request.param


def inner(name):
    return name.removeprefix(PREFIX)


def build(name, seeds=SEEDS):
    """Wide initial tables, so that whatever positions do shows."""
    config = ModelConfig.named("nano", embedding_std=0.5, position_std=None, tied=True, bias=True)
    return GPT(config, name, VOCABULARY, ROWS, seeds).eval()


def encoding_of(name):
    return find_encoding(name)(ModelConfig.named("nano"), ROWS, Initializer([0]))


def random_ids(length=LENGTH):
    shape = (MEMBERS, BATCH, length)
    return torch.randint(VOCABULARY, shape, generator=torch.Generator().manual_seed(1))


def largest_offset(name):
    kind = find_encoding(name)
    return kind.offsets(ROWS, kind.needs(LENGTH, DIGITS)) - 1


def random_positions(name):
    """As in training: an offset for each example of each member."""
    generator = torch.Generator().manual_seed(2)
    offset = torch.randint(largest_offset(name) + 1, (MEMBERS, BATCH, 1), generator=generator)
    return number_tokens(encoding_of(name), TOKENS["significance"], TOKENS["number"], offset)


def evaluation_positions(name):
    return number_tokens(encoding_of(name), TOKENS["significance"], TOKENS["number"])


def index_positions(length=LENGTH):
    return torch.arange(length).view(1, 1, -1)


def test_the_table_has_the_names_theory_knows():
    assert list(ENCODINGS) == list(ENCODING_FACTS)
    assert PREFIX == RANDOMIZED


def test_randomized_goes_with_what_is_numbered_by_index():
    assert {name for name, kind in ENCODINGS.items() if issubclass(kind, IndexEncoding)} == INDEXED
    assert find_encoding("randomized:fire") is find_encoding("randomized:fire")
    with pytest.raises(InputError, match=r"'randomized:coupled' does not .* \(choose from randomized:learned"):
        find_encoding("randomized:coupled")
    with pytest.raises(InputError, match=r"unknown encoding 'randomized:tires' \(choose from none, learned"):
        find_encoding("randomized:tires")


def test_positions_are_int64_and_fit(name):
    encoding = encoding_of(name)
    for offset in (0, largest_offset(name)):
        positions = encoding.locate(**TOKENS, offset=torch.full((1, 1, 1), offset))
        assert positions.dtype == torch.int64
        assert positions.shape[-1] == LENGTH
        assert positions.min() >= 0
        assert positions.max() < ROWS


def test_needs_no_more_than_it_uses(name):
    needed = find_encoding(name).needs(LENGTH, DIGITS)
    used = LENGTH if name.startswith(PREFIX) else evaluation_positions(name).max() + 1
    assert used == needed
    assert find_encoding(name).offsets(needed, needed) == 1


def test_offsets_shift_digits_and_use_the_whole_table(name):
    encoding, largest = encoding_of(name), largest_offset(name)
    if name in SHIFTED:
        start = encoding.locate(**TOKENS, offset=torch.tensor([0]))
        for offset in range(largest + 1):
            shifted = encoding.locate(**TOKENS, offset=torch.tensor([offset]))
            assert torch.equal(shifted, torch.where(start > 0, start + offset, 0))
        assert shifted.max() == ROWS - 1
    else:
        assert (largest > 0) == name.startswith(PREFIX)


def test_positions_that_do_not_fit_are_refused(name):
    model = build(name)
    if name in BOUNDED or name.startswith(PREFIX):
        model.encoding.check(ROWS)
        with pytest.raises(InputError, match="41 positions do not fit in a table of 40 rows"):
            model.encoding.check(ROWS + 1)
    else:
        model.encoding.check(10**9)
        length = 5 * ROWS
        with torch.no_grad():
            assert model(random_ids(length), index_positions(length)).isfinite().all()


def test_positions_matter(name):
    model, ids = build(name), random_ids()
    swapped = evaluation_positions(name).clone()
    swapped[..., [1, 3]] = swapped[..., [3, 1]]
    with torch.no_grad():
        same = torch.allclose(model(ids, evaluation_positions(name)), model(ids, swapped), atol=1e-3)
    assert same == (name == "none")


def test_a_shift_of_all_positions_shows_in_absolute_encodings_alone(name):
    model, ids = build(name), random_ids()
    with torch.no_grad():
        here, there = (model(ids, index_positions() + shift) for shift in (0, 7))
    if inner(name) in RELATIVE:
        torch.testing.assert_close(here, there, atol=2e-5, rtol=0)
    else:
        assert (here - there).abs().max() > 1e-2


def test_shared_positions_equal_repeated_ones(name):
    model, ids, shared = build(name), random_ids(), evaluation_positions(name)
    with torch.no_grad():
        expected = model(ids, shared)
        for shape in [(MEMBERS, 1, LENGTH), (1, BATCH, LENGTH), (MEMBERS, BATCH, LENGTH)]:
            torch.testing.assert_close(model(ids, shared.expand(shape)), expected, atol=1e-5, rtol=0)


def test_examples_with_shared_positions_share_their_bias(name, monkeypatch):
    attention, held = functional.scaled_dot_product_attention, []

    def spy(*args, attn_mask=None, **kwargs):
        held.append(0 if attn_mask is None else attn_mask.untyped_storage().nbytes() // 4)
        return attention(*args, attn_mask=attn_mask, **kwargs)

    model = build(name)
    monkeypatch.setattr(functional, "scaled_dot_product_attention", spy)
    model(random_ids(), index_positions())
    heads = model.config.heads
    if inner(name) in BIASED:
        assert set(held) == {MEMBERS * heads * LENGTH**2}
    else:
        assert set(held) == {MEMBERS * BATCH * heads * LENGTH**2 if inner(name) == "shaw" else 0}


def test_no_value_ever_reaches_the_host(name):
    """On the meta device tensors have shapes and no values."""
    model, encoding = build(name).to("meta"), encoding_of(name).to("meta")
    facts = [TOKENS[key].to("meta") for key in ("significance", "number")]
    offset = torch.empty(MEMBERS, BATCH, 1, dtype=torch.long, device="meta")
    logits = model(random_ids().to("meta"), number_tokens(encoding, *facts, offset))
    assert logits.shape == (MEMBERS, BATCH, LENGTH, VOCABULARY)


def test_causality(name):
    model, ids, positions = build(name), random_ids(), random_positions(name)
    with torch.no_grad():
        before = model(ids, positions)
        for t in range(LENGTH):
            changed = ids.clone()
            changed[..., t] = (changed[..., t] + 1) % VOCABULARY
            after = model(changed, positions)
            torch.testing.assert_close(after[:, :, :t], before[:, :, :t], atol=1e-6, rtol=0)
            assert ((after - before)[:, :, t:].abs().amax(-1) > 1e-5).all()


def test_examples_do_not_see_each_other(name):
    model, ids, positions = build(name), random_ids(), random_positions(name)
    with torch.no_grad():
        together = model(ids, positions)
        for b in range(BATCH):
            alone = model(ids[:, b : b + 1], positions[:, b : b + 1] if positions.shape[1] > 1 else positions)
            torch.testing.assert_close(together[:, b : b + 1], alone, atol=1e-5, rtol=0)


def test_members_equal_single_models_with_their_gradients(name):
    stack, ids, positions = build(name), random_ids(), random_positions(name).expand(MEMBERS, BATCH, LENGTH)
    weights = torch.randn(BATCH, LENGTH, VOCABULARY, generator=torch.Generator().manual_seed(3)) / 100
    logits = stack(ids, positions)
    (logits * weights).sum().backward()
    for k, seed in enumerate(SEEDS):
        single = build(name, [seed])
        alone = single(ids[k : k + 1], positions[k : k + 1])
        torch.testing.assert_close(logits[k], alone[0], atol=5e-6, rtol=1e-6)
        (alone * weights).sum().backward()
        gradients = {n: p.grad for n, p in single.named_parameters()}
        for n, parameter in stack.named_parameters():
            torch.testing.assert_close(parameter.grad[k], gradients[n][0], atol=1e-6, rtol=1e-4, msg=n)


def test_states_of_members_join_to_the_stack(name):
    stack = build(name)
    assert all(len(tensor) == MEMBERS for tensor in stack.state_dict().values())
    members = [stack.member(k) for k in range(MEMBERS)]
    other = build(name, [0, 0, 0])
    other.load_state_dict({n: torch.cat([state[n] for state in members]) for n in members[0]})
    with torch.no_grad():
        arguments = random_ids(), random_positions(name)
        assert torch.equal(stack(*arguments), other(*arguments))


def test_weights_and_logits_are_float32(name):
    model = build(name)
    assert {tensor.dtype for tensor in model.state_dict().values()} == {torch.float32}
    assert model(random_ids(), random_positions(name)).dtype == torch.float32


@pytest.mark.parametrize("tail", [1, 3, LENGTH])
def test_tail_is_the_end_of_all_logits(name, tail):
    model, ids, positions = build(name), random_ids(), random_positions(name)
    with torch.no_grad():
        full = model(ids, positions)
        end = model(ids, positions, tail=tail)
    torch.testing.assert_close(end, full[:, :, -tail:], atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("chunks", [[LENGTH], [1] * LENGTH, [4, 3, 2], [5, 1, 1, 1, 1]])
@pytest.mark.parametrize("number", [random_positions, evaluation_positions])
def test_cached_logits_equal_uncached_ones(name, number, chunks):
    model, ids, positions = build(name), random_ids(), number(name)
    with torch.no_grad():
        cache = model.cache(BATCH, LENGTH)
        pieces = zip(ids.split(chunks, -1), positions.split(chunks, -1), strict=True)
        cached = torch.cat([model(*piece, cache=cache) for piece in pieces], dim=2)
        torch.testing.assert_close(cached, model(ids, positions), atol=2e-5, rtol=0)


def test_gradients_reach_every_parameter(name):
    model, ids = build(name), random_ids()
    logits = model(ids, random_positions(name))
    functional.cross_entropy(logits.flatten(0, -2), ids.flatten()).backward()
    for n, parameter in model.named_parameters():
        assert parameter.grad is not None, n
        assert (parameter.grad.flatten(1).abs().amax(1) > 0).all(), n


def test_concrete_methods_are_never_overridden(name):
    """Of all classes an encoding descends from, exactly one says what a method does."""
    ours = [c for c in find_encoding(name).__mro__ if issubclass(c, Encoding)]
    for method in ("needs", "offsets", "locate", "embed", "relate", "attend", "check"):
        bodies = [vars(c)[method] for c in ours if method in vars(c)]
        assert sum(not getattr(body, "__isabstractmethod__", False) for body in bodies) == 1, method


@pytest.mark.parametrize("shape", [(LENGTH,), (MEMBERS, BATCH, LENGTH)])
@pytest.mark.parametrize("offset", [None, torch.arange(MEMBERS * BATCH).view(MEMBERS, BATCH, 1)])
def test_numbering_has_three_axes(name, shape, offset):
    facts = [TOKENS[key].expand(shape) for key in ("significance", "number")]
    positions = number_tokens(encoding_of(name), *facts, offset)
    assert positions.dim() == 3
    expected = encoding_of(name).locate(**TOKENS, offset=torch.tensor([0]) if offset is None else offset)
    assert torch.equal(*torch.broadcast_tensors(positions, expected))


def test_a_class_numbers_tokens_where_there_is_no_model(name):
    if not name.startswith(PREFIX):
        positions = number_tokens(find_encoding(name), TOKENS["significance"], TOKENS["number"])
        assert torch.equal(positions, evaluation_positions(name))


# Known answers, written by hand.


@pytest.mark.parametrize("name", [*sorted(INDEXED)])
def test_indexed_encodings_number_by_index(name):
    assert evaluation_positions(name).tolist() == [[[0, 1, 2, 3, 4, 5, 6, 7, 8]]]
    assert find_encoding(name).needs(length=66, digits=21) == 66


def test_none_numbers_nothing():
    assert evaluation_positions("none").tolist() == [[[0, 0, 0, 0, 0, 0, 0, 0, 0]]]


def test_coupled_numbers_by_significance():
    coupled = encoding_of("coupled")
    assert evaluation_positions("coupled").tolist() == [[[0, 3, 2, 1, 2, 1, 2, 3, 0]]]
    assert coupled.locate(**TOKENS, offset=torch.tensor([[0], [4]])).tolist() == [
        [0, 3, 2, 1, 2, 1, 2, 3, 0],
        [0, 7, 6, 5, 6, 5, 6, 7, 0],
    ]
    assert coupled.needs(length=66, digits=21) == 23
    assert coupled.offsets(rows=40, needed=23) == 18


def test_abacus_numbers_digits_within_their_number():
    abacus = encoding_of("abacus")
    assert evaluation_positions("abacus").tolist() == [[[0, 2, 1, 0, 1, 0, 1, 2, 0]]]
    assert abacus.locate(**TOKENS, offset=torch.tensor([[0], [4]])).tolist() == [
        [0, 2, 1, 0, 1, 0, 1, 2, 0],
        [0, 6, 5, 0, 5, 0, 5, 6, 0],
    ]
    assert abacus.needs(length=66, digits=21) == 22
    assert abacus.offsets(rows=40, needed=22) == 19


# [bos]012+345=7530;[eos], the padded layout at width 3.
PADDED_SIGNIFICANCE = torch.tensor([-1, 3, 2, 1, 0, 3, 2, 1, 0, 1, 2, 3, 4, -1, -1])
PADDED_NUMBER = torch.tensor([0, 1, 1, 1, 0, 2, 2, 2, 0, 3, 3, 3, 3, 0, 0])


@pytest.mark.parametrize(
    ("name", "offset", "expected"),
    [
        ("abacus", 0, [0, 3, 2, 1, 0, 3, 2, 1, 0, 1, 2, 3, 4, 0, 0]),
        ("abacus", 5, [0, 8, 7, 6, 0, 8, 7, 6, 0, 6, 7, 8, 9, 0, 0]),
        ("coupled", 0, [0, 4, 3, 2, 1, 4, 3, 2, 1, 2, 3, 4, 5, 0, 0]),
        ("coupled", 5, [0, 9, 8, 7, 6, 9, 8, 7, 6, 7, 8, 9, 10, 0, 0]),
    ],
)
def test_positions_of_one_padded_addition(name, offset, expected):
    offset = torch.full((1, 1, 1), offset)
    positions = number_tokens(encoding_of(name), PADDED_SIGNIFICANCE, PADDED_NUMBER, offset)
    assert positions.tolist() == [[expected]]


def test_coupled_digits_of_equal_significance_look_alike():
    """With one position for both operands' columns, the table adds the same to each."""
    model = build("coupled")
    embedded = model.encoding.embed(evaluation_positions("coupled"))
    assert embedded is not None
    assert torch.equal(embedded[:, :, 2], embedded[:, :, 4])
    assert torch.equal(embedded[:, :, 2], embedded[:, :, 6])
    assert not torch.equal(embedded[:, :, 1], embedded[:, :, 2])


def test_fire_interpolates_beyond_its_threshold():
    """Where queries lie beyond L, the same distance means less the farther out it is."""
    fire = encoding_of("fire")
    near, far = (fire.relate(*[index_positions() + shift] * 2) for shift in (0, 1000))
    assert not torch.allclose(near, far, atol=1e-3)
    ends = [fire.relate(torch.full((1, 1, 1), end), torch.zeros(1, 1, 1)) for end in (600, 3000)]
    torch.testing.assert_close(*ends)


def test_randomized_positions_are_distinct_ordered_and_uniform():
    encoding = encoding_of("randomized:rotary")
    offset = torch.arange(1, 20_001).view(-1, 1)
    positions = encoding.locate(**TOKENS, offset=offset)
    assert (positions.diff(dim=-1) > 0).all()
    counts = torch.bincount(positions.flatten(), minlength=ROWS)
    expected = 20_000 * LENGTH / ROWS  # 4,500, with a standard deviation of 59
    assert (counts - expected).abs().max() < 4 * 59
    assert len(positions.unique(dim=0)) > 19_990
    means = positions.double().mean(0)
    spread = (torch.arange(LENGTH) + 1) * (ROWS + 1) / (LENGTH + 1) - 1
    torch.testing.assert_close(means, spread.double(), atol=0.15, rtol=0)


def test_randomized_positions_depend_on_the_offset_alone():
    encoding = encoding_of("randomized:alibi")
    offset = torch.tensor([[17], [40], [17]])
    one, two, three = encoding.locate(**TOKENS, offset=offset)
    assert torch.equal(one, three)
    assert not torch.equal(one, two)


def test_randomized_positions_are_spread_evenly_in_evaluation():
    assert evaluation_positions("randomized:t5").tolist() == [[[3, 7, 11, 15, 19, 23, 27, 31, 35]]]
    whole = number_tokens(encoding_of("randomized:t5"), *torch.zeros(2, ROWS, dtype=torch.long))
    assert torch.equal(whole, index_positions(ROWS))
