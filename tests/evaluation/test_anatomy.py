"""What is told of answers from inside: recounted problem by problem, token by token, from plain passes."""

import math
from dataclasses import replace

import pytest
import torch
from fakes import attention_weights, tiny_config

from lengthwise.evaluation import anatomy
from lengthwise.evaluation.anatomy import NO_DIGIT, dissect, measure_anatomy
from lengthwise.evaluation.decode import written_digits
from lengthwise.evaluation.problems import CHUNK_TOKENS
from lengthwise.model.positions.encoding import number_tokens
from lengthwise.runs.build import build
from lengthwise.runs.evaluate import few_rows
from lengthwise.tokens.layouts.layout import A, B, C

LAYOUTS = [
    ("coupled", "reversed"),
    ("coupled", "level"),
    ("abacus", "level"),
    ("t5", "aligned"),
    ("rotary", "plain"),
    ("learned", "padded"),
]
NAMES = ["one", "two"]


def untrained(encoding, layout, **model):
    """Two untrained models whose attention and answers vary."""
    options = {"layers": 2, "heads": 2, "width": 16, "tied": False, **model}
    config = tiny_config(encoding=encoding, layout=layout, test="D2,D4", model=options)
    stack = build([config.changed(seed=seed) for seed in (1, 2)], torch.device("cpu"), NAMES)
    noise = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for parameter in stack.model.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=noise), alpha=0.5)
    stack.model.eval()
    return stack


def problems(stack, count=12):
    """What the models themselves answer counts as right, but for a digit here and there: these are then the
    first ones wrong."""
    pair = few_rows(stack, count)[-1].problems.pair
    answers = written_digits(stack, pair)
    for n in range(3, count):
        place = n % answers.shape[-1]
        answers[:, n, place] = (answers[:, n, place] + 1) % 3
    return pair, answers.to(torch.int8)


def recounted(stack, pair, answers, k, n):
    """Of problem n of member k: tenth of the first wrong digit, margin, and per layer and head the largest
    weight and the weight on needed digits of each answer digit."""
    tokens = stack.layout.encode(*(x[:, n : n + 1] for x in (*pair, answers))).spread()
    positions = number_tokens(stack.encoding, tokens.significance, tokens.number)
    with torch.no_grad():
        logits = stack.model(tokens.ids, positions)[k, 0].tolist()
    layers = [weights[k, 0].tolist() for weights in attention_weights(stack.model, tokens.ids, positions)]
    ids, number, significance = (x[k, 0].tolist() for x in (tokens.ids, tokens.number, tokens.significance))
    places = [place for place, is_answer in enumerate(tokens.answer[k, 0].tolist()) if is_answer]
    margins = {
        p: logits[p - 1][ids[p]] - max(x for i, x in enumerate(logits[p - 1]) if i != ids[p]) for p in places
    }
    digits = [p for p in places if number[p] == C]
    wrong = [p for p in places if margins[p] <= 0]
    tenth = 0
    if wrong:
        tenth = math.floor(10 * digits.index(wrong[0]) / len(digits)) + 1 if wrong[0] in digits else NO_DIGIT
    sharp = [[[max(head[p - 1]) for p in digits] for head in layer] for layer in layers]
    needed = [
        [
            [
                sum(
                    head[p - 1][j]
                    for j in range(p)
                    if number[j] in (A, B) and significance[j] in (significance[p], significance[p] - 1)
                )
                for p in digits
            ]
            for head in layer
        ]
        for layer in layers
    ]
    return tenth, min(margins.values()), sharp, needed


@pytest.mark.parametrize(("encoding", "layout"), LAYOUTS)
def test_equal_to_a_count_by_hand(encoding, layout, monkeypatch):
    stack = untrained(encoding, layout, log_length_scale=True)
    pair, answers = problems(stack)
    # Few weights at once and few problems in a pass, so that both are cut into pieces.
    monkeypatch.setattr(anatomy, "WEIGHTS_AT_ONCE", 600)
    monkeypatch.setitem(CHUNK_TOKENS, "cpu", 5 * 2 * stack.layout.length)
    found = dissect(stack, pair, answers)
    for k in range(2):
        every = [recounted(stack, pair, answers, k, n) for n in range(12)]
        assert found.first_wrong[k].tolist() == [tenth for tenth, *_ in every]
        torch.testing.assert_close(found.margin[k], torch.tensor([margin for _, margin, *_ in every]))
        for measured, which in ((found.sharpness, 2), (found.on_column, 3)):
            for layer in range(2):
                for head in range(2):
                    values = [value for one in every for value in one[which][layer][head]]
                    assert measured[layer, k, head].item() == pytest.approx(sum(values) / len(values), abs=1e-5)
    assert found.first_wrong.any()


def test_every_applied_layer_is_told():
    stack = untrained("coupled", "reversed", loops=3)
    pair, answers = problems(stack)
    found = dissect(stack, pair, answers)
    assert found.sharpness.shape == found.on_column.shape == (6, 2, 2)
    assert (found.on_column <= 1).all() and (found.sharpness <= 1).all()


def test_records():
    stack = untrained("coupled", "reversed")
    rows = few_rows(stack, 12)
    records = list(measure_anatomy(stack.after([5, 5]), rows))
    for name in NAMES:
        for row in rows:
            own = {r.metric: r for r in records if (r.run, r.domain) == (name, row.problems.name)}
            assert {"margin_mean", "margin_low", "attention:1:1", "attention:2:2", "on_column:2:1"} < set(own)
            assert own["margin_mean"].total == row.problems.a.shape[1] <= 12
            assert own["margin_low"].value <= own["margin_mean"].value
            counted = [own[f"first_wrong_tenth:{t}"] for t in range(1, 11)] + [own["wrong_end"]]
            assert sum(r.correct for r in counted) == counted[0].total, "each wrong answer is somewhere"
            assert {r.step for r in own.values()} == {5}


def test_right_answers_have_no_first_wrong_digit():
    stack = untrained("coupled", "reversed")
    (row,) = few_rows(stack, 12)[-1:]
    found = dissect(stack, *problems(stack))
    right = replace(found, first_wrong=torch.zeros_like(found.first_wrong))
    metrics = {r.metric for r in anatomy._records(anatomy.row_makers(stack.members, row.problems)[0], right, 0)}
    assert not [metric for metric in metrics if "wrong" in metric]
