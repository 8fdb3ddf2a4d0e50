"""Looks inside: what is attended to, and the bounds, which are on the problem as asked."""

import asyncio

import pytest
import torch
from fakes import attention_weights
from test_ask import LAYOUTS, untrained

from lengthwise.errors import InputError
from lengthwise.explorer import ask
from lengthwise.explorer.ask import (
    answer_attention,
    answer_within,
    attention,
    read_operands,
    visible_weights,
    write_answer,
)
from lengthwise.runs.load import LoadedRun


def by_place() -> LoadedRun:
    """A run whose model can look at nothing."""
    return untrained("level", "coupled", model={"position_waves": True, "place_attention": True})


@pytest.mark.parametrize(("layout", "encoding"), [*LAYOUTS, ("aligned", "alibi"), ("level", "by place")])
def test_attention_is_that_of_a_whole_pass_at_the_places_that_wrote(layout, encoding, monkeypatch):
    monkeypatch.setattr(ask, "ATTENTION_AT_ONCE", 2)
    run = by_place() if encoding == "by place" else untrained(layout, encoding)
    problem = read_operands(run, 12, 1)
    answer = [written.token for written in write_answer(problem)]
    layers = answer_attention(problem, answer)
    passed = attention_weights(run.stack.model, *problem.sequence(answer))
    reply = asyncio.run(attention(problem))
    for i, (layer, whole) in enumerate(zip(layers, passed, strict=True)):
        expected = whole[0, 0].mean(0)[problem.prompt_length - 1 : -1]
        torch.testing.assert_close(layer, expected)
        if run.config.model.place_attention:
            nothing = torch.tensor(reply["nothing"][i])
            torch.testing.assert_close(layer.sum(-1) + nothing, torch.ones(len(answer)), atol=6e-5, rtol=0)
            assert (nothing > 0.01).any()
        else:
            assert reply["nothing"] is None
            torch.testing.assert_close(layer.sum(-1), torch.ones(len(answer)))
        told = torch.zeros_like(layer)
        for row, places in enumerate(visible_weights(layer)):
            for place, weight in places:
                told[row, place] = weight
        torch.testing.assert_close(told, torch.where(layer < 0.005, 0, layer), atol=6e-5, rtol=0)


def test_the_places_of_digits_read():
    a = {(name, i) for name in "ab" for i in (1, 2, 3)}
    padded, natural = (read_operands(untrained(*pair), 12, 1).operand_places for pair in (LAYOUTS[0], LAYOUTS[2]))
    assert {place for place in padded if place} == a
    assert padded[0] is padded[-1] is None and padded[1] == ("a", 3)
    assert natural == [None, ("a", 1), ("a", 2), ("a", 3), None, ("b", 1), None]


@pytest.mark.parametrize(("layout", "encoding"), LAYOUTS)
def test_the_bound_is_on_tokens_read_and_written(layout, encoding, monkeypatch):
    problem = read_operands(untrained(layout, encoding), 12, 1)
    answer = [written.token for written in write_answer(problem)]
    tokens = problem.sequence(answer)[0].shape[-1]
    assert asyncio.run(answer_within(problem, tokens)) == answer
    fixed = problem.run.stack.layout.fixed_width
    with pytest.raises(InputError, match="3 digits of each number" if fixed else "numbers are long"):
        asyncio.run(answer_within(problem, tokens - 1))
    for most, is_refused in ((tokens, False), (tokens - 1, True)):
        monkeypatch.setattr(ask, "MAX_DEPENDENCE_TOKENS", most)
        assert (asyncio.run(attention(problem))["no_dependence"] is not None) == is_refused


def test_a_slow_model_is_refused(monkeypatch):
    monkeypatch.setattr(ask, "LOOK_SECONDS", -1.0)
    with pytest.raises(InputError, match="too slow"):
        asyncio.run(answer_within(read_operands(untrained(*LAYOUTS[0]), 12, 1), 1_000))
