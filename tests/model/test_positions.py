"""Every encoding of the table has these properties; a new one inherits the tests by being named there.

So does `Distance`, an encoding from outside the package, which works through a bias rather than a table.
"""

from typing import final

import pytest
import torch

from lengthwise.errors import InputError
from lengthwise.model.config import ModelConfig
from lengthwise.model.gpt import GPT
from lengthwise.model.positions import ENCODINGS, Encoding, find_encoding, number_tokens

MEMBERS, BATCH, VOCABULARY, ROWS = 3, 4, 16, 40
SEEDS = [11, 12, 13]

# ^12+3=51$ as the paper orders it: operands natural, answer reversed.
TOKENS = {
    "index": torch.arange(9),
    "significance": torch.tensor([-1, 2, 1, 0, 1, 0, 1, 2, -1]),
    "number": torch.tensor([0, 1, 1, 0, 2, 0, 3, 3, 0]),
}
LENGTH, DIGITS = 9, 2


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

    @staticmethod
    def locate(index, significance, number, offset):
        return index + offset

    def embed(self, positions):
        return None

    def relate(self, queries, keys):
        return (queries.unsqueeze(-1) - keys.unsqueeze(-2)).unsqueeze(2)

    def attend(self, q, k, relation):
        return q, k, self.rate * relation


@pytest.fixture(params=[*ENCODINGS, "distance"])
def name(request, monkeypatch):
    monkeypatch.setitem(ENCODINGS, "distance", Distance)
    return request.param


def build(name, seeds=SEEDS):
    """Wide initial tables, so that whatever positions do shows."""
    config = ModelConfig.named("nano", embedding_std=0.5, bias=True)
    return GPT(config, name, VOCABULARY, ROWS, seeds).eval()


def random_ids():
    shape = (MEMBERS, BATCH, LENGTH)
    return torch.randint(VOCABULARY, shape, generator=torch.Generator().manual_seed(1))


def random_positions(name):
    """As in training: an offset for each example of each member."""
    encoding = find_encoding(name)
    count = encoding.offsets(ROWS, encoding.needs(LENGTH, DIGITS))
    offset = torch.randint(count, (MEMBERS, BATCH, 1), generator=torch.Generator().manual_seed(2))
    return encoding.locate(**TOKENS, offset=offset)


def evaluation_positions(name):
    return find_encoding(name).locate(**TOKENS, offset=torch.zeros(1, 1, 1, dtype=torch.long))


def test_positions_are_int64_and_fit(name):
    encoding = find_encoding(name)
    needed = encoding.needs(LENGTH, DIGITS)
    largest = encoding.offsets(ROWS, needed) - 1
    assert largest >= 0
    for offset, bound in [(0, needed), (largest, ROWS)]:
        positions = encoding.locate(**TOKENS, offset=torch.full((1, 1, 1), offset))
        assert positions.dtype == torch.int64
        assert positions.shape == (1, 1, LENGTH)
        assert positions.min() >= 0
        assert positions.max() < bound


def test_needs_no_more_than_it_uses(name):
    assert evaluation_positions(name).max() + 1 == find_encoding(name).needs(LENGTH, DIGITS)


def test_offsets_use_the_whole_table_or_nothing(name):
    encoding = find_encoding(name)
    needed = encoding.needs(LENGTH, DIGITS)
    largest = encoding.offsets(ROWS, needed) - 1
    assert largest == 0 or encoding.locate(**TOKENS, offset=torch.tensor([largest])).max() == ROWS - 1
    assert encoding.offsets(needed, needed) == 1


def test_positions_that_do_not_fit_are_refused(name):
    encoding = build(name).encoding
    if encoding.rows is not None:
        encoding.check(ROWS)
        with pytest.raises(InputError, match="41 positions do not fit in a table of 40 rows"):
            encoding.check(ROWS + 1)


def test_positions_matter(name):
    model, ids = build(name), random_ids()
    swapped = evaluation_positions(name).clone()
    swapped[..., [1, 3]] = swapped[..., [3, 1]]
    with torch.no_grad():
        assert not torch.allclose(model(ids, evaluation_positions(name)), model(ids, swapped), atol=1e-3)


def test_shared_positions_equal_repeated_ones(name):
    model, ids, shared = build(name), random_ids(), evaluation_positions(name)
    with torch.no_grad():
        expected = model(ids, shared)
        for shape in [(MEMBERS, 1, LENGTH), (1, BATCH, LENGTH), (MEMBERS, BATCH, LENGTH)]:
            torch.testing.assert_close(model(ids, shared.expand(shape)), expected, atol=1e-5, rtol=0)


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
        torch.testing.assert_close(logits[k], alone[0], atol=2e-6, rtol=1e-6)
        (alone * weights).sum().backward()
        gradients = {n: p.grad for n, p in single.named_parameters()}
        for n, parameter in stack.named_parameters():
            torch.testing.assert_close(parameter.grad[k], gradients[n][0], atol=1e-6, rtol=1e-4, msg=n)


def test_states_of_members_join_to_the_stack(name):
    stack = build(name)
    members = [stack.member(k) for k in range(MEMBERS)]
    assert all(len(tensor) == 1 for state in members for tensor in state.values())
    other = build(name, [0, 0, 0])
    other.load_state_dict({n: torch.cat([state[n] for state in members]) for n in members[0]})
    with torch.no_grad():
        arguments = random_ids(), random_positions(name)
        assert torch.equal(stack(*arguments), other(*arguments))


@pytest.mark.parametrize("tail", [1, 3, LENGTH])
def test_tail_is_the_end_of_all_logits(name, tail):
    model, ids, positions = build(name), random_ids(), random_positions(name)
    with torch.no_grad():
        full = model(ids, positions)
        end = model(ids, positions, tail=tail)
    torch.testing.assert_close(end, full[:, :, -tail:], atol=1e-6, rtol=0)


@pytest.mark.parametrize("chunks", [[LENGTH], [1] * LENGTH, [4, 3, 2], [5, 1, 1, 1, 1]])
def test_cached_logits_equal_uncached_ones(name, chunks):
    model, ids, positions = build(name), random_ids(), random_positions(name)
    with torch.no_grad():
        cache = model.cache(BATCH, LENGTH)
        pieces = zip(ids.split(chunks, -1), positions.split(chunks, -1), strict=True)
        cached = torch.cat([model(*piece, cache=cache) for piece in pieces], dim=2)
        torch.testing.assert_close(cached, model(ids, positions), atol=1e-5, rtol=0)


def test_gradients_reach_the_encoding(name):
    model = build(name)
    model(random_ids(), random_positions(name)).square().sum().backward()
    for parameter in model.encoding.parameters():
        assert parameter.grad is not None
        assert (parameter.grad.flatten(1).abs().amax(1) > 0).all()


def test_concrete_methods_are_never_overridden(name):
    """Of all classes an encoding descends from, exactly one says what a method does."""
    ours = [c for c in find_encoding(name).__mro__ if issubclass(c, Encoding)]
    for method in ("needs", "offsets", "locate", "embed", "relate", "attend", "check"):
        bodies = [vars(c)[method] for c in ours if method in vars(c)]
        assert sum(not getattr(body, "__isabstractmethod__", False) for body in bodies) == 1, method


def test_learned_numbers_by_index():
    assert evaluation_positions("learned").tolist() == [[[0, 1, 2, 3, 4, 5, 6, 7, 8]]]
    assert find_encoding("learned").needs(length=66, digits=21) == 66


def test_coupled_numbers_by_significance():
    coupled = find_encoding("coupled")
    assert evaluation_positions("coupled").tolist() == [[[0, 3, 2, 1, 2, 1, 2, 3, 0]]]
    assert coupled.locate(**TOKENS, offset=torch.tensor([[0], [4]])).tolist() == [
        [0, 3, 2, 1, 2, 1, 2, 3, 0],
        [0, 7, 6, 5, 6, 5, 6, 7, 0],
    ]
    assert coupled.needs(length=66, digits=21) == 23
    assert coupled.offsets(rows=40, needed=23) == 18


@pytest.mark.parametrize("shape", [(LENGTH,), (MEMBERS, BATCH, LENGTH)])
@pytest.mark.parametrize("offset", [None, torch.arange(MEMBERS * BATCH).view(MEMBERS, BATCH, 1)])
def test_numbering_has_three_axes(name, shape, offset):
    facts = [TOKENS[key].expand(shape) for key in ("significance", "number")]
    positions = number_tokens(find_encoding(name), *facts, offset)
    assert positions.dim() == 3
    expected = find_encoding(name).locate(**TOKENS, offset=torch.tensor([0]) if offset is None else offset)
    assert torch.equal(*torch.broadcast_tensors(positions, expected))


def test_coupled_digits_of_equal_significance_look_alike():
    """With one position for both operands' columns, the table adds the same to each."""
    model = build("coupled")
    embedded = model.encoding.embed(evaluation_positions("coupled"))
    assert embedded is not None
    assert torch.equal(embedded[:, :, 2], embedded[:, :, 4])
    assert torch.equal(embedded[:, :, 2], embedded[:, :, 6])
    assert not torch.equal(embedded[:, :, 1], embedded[:, :, 2])
