"""Batches: which problems a step meets, with which answers, at which positions."""

import pytest
import torch
from fakes import tiny_config

from lengthwise.experiments.build import build, training_data
from lengthwise.tokens.layouts import Problem
from lengthwise.tokens.reserve import is_reserved
from lengthwise.tokens.sampling import Member, Sampler

CPU = torch.device("cpu")
BATCH = 8


def batches(*configs, size=BATCH):
    parts = build(configs, CPU)
    return parts, training_data(parts, size)


def read(parts, batch, k):
    """The problems of member k's batch, read back from its tokens."""
    problems = [parts.layout.parse(parts.layout.render(ids)) for ids in batch.ids[k]]
    assert all(isinstance(problem, Problem) for problem in problems)
    return problems


def test_a_batch_is_the_next_problems_of_each_members_stream():
    configs = [tiny_config(seed=1, train="D6", test="D6"), tiny_config(seed=2, train="D5..6", test="D6")]
    parts, data = batches(*configs)
    sampler = Sampler([Member(c.seed, c.train_domain) for c in configs], 6, side="train")
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
        assert problem.c == config.task_object(problem.a, problem.b)


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


def test_a_fixed_set_is_all_that_training_meets():
    config = tiny_config(data={"samples": 20}, train="D3", test="D3")
    parts, data = batches(config)
    met = {problem for step in range(40) for problem in read(parts, data(step * BATCH), 0)}
    assert len(met) == 18, "nine tenths of it"
