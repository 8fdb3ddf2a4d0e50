"""Batches: which problems a step meets, with which answers, at which positions."""

import re

import pytest
import torch
from fakes import read_text, tiny_config
from torch._subclasses.fake_tensor import FakeTensorMode

from lengthwise.errors import InputError
from lengthwise.runs.build import Form, build, training_data, training_steps
from lengthwise.tokens.hashing import is_reserved
from lengthwise.tokens.layouts import LAYOUTS
from lengthwise.tokens.sampling import Sampler, Stream
from lengthwise.training.trainer import answer_losses

CPU = torch.device("cpu")
BATCH = 8


def batches(*configs, size=BATCH):
    parts = build(configs, CPU)
    return parts, training_data(parts, size)


def read(parts, batch, k):
    """The problems of member k's batch, read back from its tokens."""
    return [read_text(parts.layout, parts.layout.render(ids)) for ids in batch.ids[k]]


def test_a_batch_is_the_next_problems_of_each_members_stream():
    configs = [tiny_config(seed=1, train="D6", test="D6"), tiny_config(seed=2, train="D5..6", test="D6")]
    parts, data = batches(*configs)
    sampler = Sampler([Stream(c.seed, c.spec.train) for c in configs], 6, side="train")
    seen = set()
    for step in (0, 1, 5):
        batch = data(step * BATCH)
        a, b = sampler(torch.arange(BATCH) + step * BATCH)
        assert not is_reserved(a, b, 3).any()
        tokens = parts.layout.encode(a, b, torch.zeros(2, BATCH, 7, dtype=torch.int8))
        prompt = tokens.prompt_length
        assert torch.equal(batch.ids[..., :prompt], tokens.ids[..., :prompt])
        assert batch.tail == parts.layout.length - prompt
        for k in range(2):
            found = read(parts, batch, k)
            assert all(problem.c == problem.a + problem.b for problem in found)
            seen |= set(found)
    assert len(seen) > 0.9 * 2 * 3 * BATCH, "members and steps meet different problems"


@pytest.mark.parametrize("task", ["mul", "add%300", "mul%300"])
def test_answers_are_the_tasks(task):
    config = tiny_config(task=task, train="D4", test="D4")
    parts, data = batches(config)
    for problem in read(parts, data(0), 0):
        assert problem.c == config.spec.task(problem.a, problem.b)


def test_a_window_is_its_batches_one_after_another():
    config = tiny_config(encoding="coupled", train="D4", test="D4")
    _, window = batches(config, size=4 * BATCH)
    _, single = batches(config)
    whole = window(0)
    for step in range(4):
        batch, cut = single(step * BATCH), slice(step * BATCH, (step + 1) * BATCH)
        assert torch.equal(whole.ids[:, cut], batch.ids)
        assert torch.equal(whole.positions[:, cut], batch.positions)


def test_offsets_are_drawn_for_each_problem_of_each_member():
    configs = [tiny_config(encoding="coupled", seed=seed) for seed in (1, 2)]
    _, data = batches(*configs, size=400)
    batch = data(0)
    offsets = batch.positions.amax(-1) - batch.positions.amax(-1).min()
    assert offsets.shape == (2, 400)
    assert set(offsets.unique().tolist()) == set(range(data.offsets)), "every row is met"
    assert not torch.equal(offsets[0], offsets[1])
    assert not torch.equal(data(400).positions, batch.positions)
    assert torch.equal(data(0).positions, batch.positions)


@pytest.mark.parametrize("encoding", ["coupled", "abacus"])
def test_a_problem_may_have_every_offset_with_which_it_fits_the_table(encoding):
    """As published: of a table with positions 1 to P, numbers that take up n of them start at 1 to P - n + 1, each
    alike, whatever the longest problem needs."""
    sampled = {"sampling": "balanced", "own_offset_range": True}
    config = tiny_config(
        encoding=encoding, layout="level", train="D1..4", test="D4", data=sampled, model={"context": 13}
    )
    parts, data = batches(config, size=8000)
    positions = data(0).positions[0]
    first, last = positions.masked_fill(positions == 0, 99).amin(-1), positions.amax(-1)
    assert (first >= 1).all() and (last <= parts.encoding.rows - 1).all()
    for taken in (last - first + 1).unique().tolist():
        starts = torch.bincount(first[last - first + 1 == taken], minlength=15)
        possible = 12 - taken + 1
        assert (starts[1 : possible + 1] > 0).all() and starts[possible + 1 :].sum() == 0
        assert starts[1 : possible + 1].min() > 0.5 * starts[1 : possible + 1].max()


def test_an_own_offset_range_requires_lines():
    with pytest.raises(InputError, match="own_offset_range requires packing lines"):
        tiny_config(data={"own_offset_range": True, "packing": "concatenated"})


@pytest.mark.parametrize("waves", [False, True])
@pytest.mark.parametrize("encoding", ["coupled", "abacus"])
def test_positions_of_packed_problems_run_in_a_circle(encoding, waves):
    """Every position is met as often as any other, and after the last comes 1. With waves, but for one problem
    of a row, which stands as in evaluation."""
    config = tiny_config(
        encoding=encoding,
        train="D3",
        test="D6",
        layout="padded",
        data={"packing": "concatenated", "row_tokens": 60},
        model={"width": 32, "position_waves": waves},
    )
    parts, data = batches(config, size=2000)
    batch, rows = data(0), parts.encoding.rows
    starts = (batch.ids[0, 0] == parts.layout.vocabulary.bos).nonzero().flatten() + parts.layout.prompt_length
    first, second = (batch.positions[0, :, start : start + 3] for start in starts.tolist()[:2])
    if waves:
        lowest = {"abacus": 1, "coupled": 2}[encoding]
        for as_tested in (first[::3], second[1::3]):
            assert as_tested.unique(dim=0).tolist() == [[lowest, lowest + 1, lowest + 2]]
    for answer in (first[1::3], second[::3]):
        steps = answer[:, 1:] - answer[:, :-1]
        assert set(steps.unique().tolist()) == {1, 2 - rows}, "one after the other, or from the last to the first"
        counts = torch.bincount(answer.flatten(), minlength=rows)
        assert counts[0] == 0
        assert counts[1:].min() > 0.6 * counts[1:].max()


@pytest.mark.parametrize("by_place", [False, True])
def test_packed_problems_train_on_the_circle_of_the_waves(by_place):
    """Where the circles differed, a column across the end of the table would look unlike any other."""
    config = tiny_config(
        encoding="coupled",
        layout="level",
        data={"packing": "concatenated"},
        model={"width": 32, "position_waves": True, "place_attention": by_place, "context": 24},
        training={"learning_rate": 3e-3},
    )
    parts, data = batches(config, size=200)
    assert data.circle == parts.encoding.waves.circle == 23
    batch = data(0)
    assert set(batch.positions.unique().tolist()) == set(range(24))
    with torch.no_grad():
        before = answer_losses(parts.model, batch, None)
    training_steps(parts).take(0, [1.0] * 100)
    with torch.no_grad():
        assert answer_losses(parts.model, batch, None).item() < 0.7 * before.item()


@pytest.mark.parametrize("packing", ["lines", "concatenated"])
def test_without_offsets_problems_are_numbered_as_in_evaluation(packing):
    config = tiny_config(encoding="coupled", layout="level", data={"packing": packing, "offsets": False})
    _, data = batches(config, size=200)
    assert data.circle == 0
    positions = data(0).positions
    assert set(positions.unique().tolist()) == set(range(config.spec.train.length + 3))


def test_a_fixed_set_is_all_that_training_meets():
    config = tiny_config(data={"samples": 20}, train="D3", test="D3")
    parts, data = batches(config)
    met = {problem for step in range(40) for problem in read(parts, data(step * BATCH), 0)}
    assert len(met) == 18, "nine tenths of it"


PACKINGS = ("lines", "concatenated")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_batches_of_every_layout(layout):
    config = tiny_config(layout=layout, train="D1..4", test="D6")
    parts, data = batches(config, size=100)
    batch = data(0)
    form = Form(config)
    own = form.training
    assert batch.ids.shape[-1] == own.length
    assert (own is form.layout) == own.fixed_width
    assert form.layout.length == parts.layout.length
    lengths = (batch.ids != own.vocabulary.line_break).sum(-1)
    assert own.fixed_width or lengths.max() == own.length, "no longer than the longest problem of training"
    for problem in read(parts, batch, 0):
        assert problem.c == problem.a + problem.b < 2 * 3**4
    answer = batch.answer.expand_as(batch.ids)
    assert not answer[..., : -batch.tail].any() and answer[..., -batch.tail :].any(-1).all()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_loss_is_that_of_each_problem_alone(layout):
    """What pads a problem has no part in it."""
    config = tiny_config(layout=layout, train="D1..3", test="D3")
    parts, data = batches(config)
    batch = data(0)
    terms = []
    with torch.no_grad():
        for ids, answer in zip(batch.ids[0], batch.answer.expand_as(batch.ids)[0], strict=True):
            end = int(answer.nonzero().max()) + 1
            positions = torch.arange(end).view(1, 1, -1)
            chances = parts.model(ids[:end].view(1, 1, -1), positions).log_softmax(-1)[0, 0]
            terms += [-chances[i - 1, ids[i]].item() for i in answer.nonzero().flatten().tolist()]
        assert answer_losses(parts.model, batch, None).item() == pytest.approx(sum(terms) / len(terms), rel=1e-5)


def test_the_loss_of_heads_by_tokens_is_that_of_each_problem_alone():
    """Though several share a row. What comes by place, which sees them all, is silenced."""
    heads = {"place_attention": True, "position_waves": True, "token_heads": 1}
    config = tiny_config(encoding="coupled", model=heads, data={"packing": "concatenated", "row_tokens": 40})
    parts, data = batches(config)
    batch = data(0)
    terms = []
    with torch.no_grad():
        for block in parts.model.blocks:
            block.attention.v.weight[..., : -config.model.width // config.model.heads] = 0
        for ids, places, answer, problem in zip(
            batch.ids[0], batch.positions[0], batch.answer[0], batch.problem[0], strict=True
        ):
            for number in range(int(problem.max()) + 1):
                own = problem == number
                chances = parts.model(ids[own].view(1, 1, -1), places[own].view(1, 1, -1)).log_softmax(-1)[0, 0]
                wanted = answer[own].nonzero().flatten().tolist()
                terms += [-chances[i - 1, ids[own][i]].item() for i in wanted]
        assert answer_losses(parts.model, batch, None).item() == pytest.approx(sum(terms) / len(terms), rel=1e-5)


@pytest.mark.parametrize("encoding", ["learned", "coupled"])
@pytest.mark.parametrize("layout", ["padded", "reversed"])
def test_rows_of_concatenated_problems(layout, encoding):
    """Each row is the text of consecutive problems, cut; what is known of tokens is as in lines."""
    changes = {"layout": layout, "encoding": encoding, "train": "D1..3", "test": "D3"}
    parts, data = batches(tiny_config(data={"packing": "concatenated", "row_tokens": 40}, **changes))
    _, lines = batches(tiny_config(**changes), size=BATCH * data.per_row)
    batch, single = data(2 * BATCH), lines(2 * BATCH * data.per_row)
    assert batch.ids.shape == (1, BATCH, 40)
    words = [parts.layout.render(ids) for ids in single.ids[0]]
    for row, ids in enumerate(batch.ids[0]):
        text = parts.layout.render(ids)
        own = words[row * data.per_row : (row + 1) * data.per_row]
        assert "".join(own).startswith(text)
        assert text.count("[bos]") > 1 and "\n" not in text
        answer = re.sub(r"=[^=]*?(\[eos\]|$)", lambda match: "=" + "#" * (len(match[0]) - 1), text)
        marked = parts.layout.vocabulary.ids(re.sub(r"#+", "", answer))
        assert marked is not None and len(marked) == 40 - int(batch.answer[0, row].sum())
        lengths = [len(parts.layout.vocabulary.ids(word)) for word in own]
        counted = torch.arange(data.per_row).repeat_interleave(torch.tensor(lengths))[:40]
        assert torch.equal(batch.problem[0, row], counted), "which problem a token is of"
    assert single.problem is None
    if encoding == "learned":
        assert batch.positions.tolist() == [[list(range(40))]], "the index runs through a row"
        return
    written = single.ids[0] != parts.layout.vocabulary.line_break
    for row, positions in enumerate(batch.positions[0]):
        own = slice(row * data.per_row, (row + 1) * data.per_row)
        in_lines = single.positions[0, own][written[own]][:40]
        assert torch.equal(positions > 0, in_lines > 0), "every problem is numbered by itself, as in a line"
        starts = (batch.ids[0, row] == parts.layout.vocabulary.bos).nonzero().flatten().tolist()
        shift = (positions - in_lines) % (parts.encoding.rows - 1)
        for start, end in zip(starts, [*starts[1:], 40], strict=True):
            numbered = positions[start:end] > 0
            assert len(shift[start:end][numbered].unique()) <= 1, "and shifted as a whole"
    equals = batch.ids[0] == parts.layout.vocabulary.equals
    starts = [row[is_equals].unique() for row, is_equals in zip(batch.positions[0], equals, strict=True)]
    assert any(len(found) > 1 for found in starts), "by an offset of its own"


def test_rows_in_a_window_are_those_of_its_steps():
    config = tiny_config(encoding="abacus", data={"packing": "concatenated"})
    _, window = batches(config, size=4 * BATCH)
    _, single = batches(config)
    whole = window(0)
    for step in range(4):
        batch, cut = single(step * BATCH), slice(step * BATCH, (step + 1) * BATCH)
        for part in ("ids", "positions", "answer", "problem"):
            assert torch.equal(getattr(whole, part)[:, cut], getattr(batch, part))


def test_rows_shorter_than_a_problem_are_refused():
    config = tiny_config(data={"packing": "concatenated", "row_tokens": 13})
    with pytest.raises(InputError, match=r"row_tokens 13 is less than the longest problem \(15 or more\)"):
        build([config], CPU)


@pytest.mark.parametrize("packing", PACKINGS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_making_a_batch_never_waits_for_the_device(layout, packing):
    config = tiny_config(layout=layout, encoding="none", data={"packing": packing})
    _, data = batches(config)
    expected = data(0)
    with FakeTensorMode(allow_non_fake_inputs=True):
        batch = data(torch.zeros((), dtype=torch.long))
        assert batch.ids.shape == expected.ids.shape
