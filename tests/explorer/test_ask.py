import asyncio
from dataclasses import replace

import pytest
import torch
from fakes import TheoryModel, tiny_config

from lengthwise.explorer.ask import dependence, read_operands, write_answer
from lengthwise.records.folder import RunFolder
from lengthwise.runs.build import build
from lengthwise.runs.load import LoadedRun
from lengthwise.theory.hypotheses import Hypothesis

LAYOUTS = [
    ("padded", "learned"),
    ("aligned", "rotary"),
    ("reversed", "abacus"),
    ("level", "coupled"),
    ("level", "abacus"),
    ("plain", "learned"),
    ("scratchpad", "learned"),
]
PAIRS = [(0, 0), (5, 26), (12, 1)]


def untrained(layout: str, encoding: str, seed: int = 7, **changes) -> LoadedRun:
    config = tiny_config(layout=layout, encoding=encoding, **changes)
    stack = build([config], torch.device("cpu"))
    with torch.no_grad():
        for parameter in stack.model.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=torch.Generator().manual_seed(seed)), alpha=0.3)
    stack.model.eval()
    return LoadedRun(RunFolder("nowhere"), config, stack, 0)


def theorist(layout: str, encoding: str, hypothesis: str) -> LoadedRun:
    """A run whose model computes a hypothesis without having learned it."""
    run = untrained(layout, encoding)
    model = TheoryModel(run.stack.layout, [run.config.spec.task], [Hypothesis.parse(hypothesis)])
    return LoadedRun(run.folder, run.config, replace(run.stack, model=model), 0)


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize(("layout", "encoding"), LAYOUTS)
def test_an_answer_spelled_is_the_answer_asked_for(layout, encoding, pair):
    """Also of a model that writes nonsense: malformed is malformed in both."""
    run = untrained(layout, encoding)
    tokens = [written.token for written in write_answer(read_operands(run, *pair))]
    assert run.stack.layout.read_answer(tokens) == run.ask(*pair).answered


@pytest.mark.parametrize(("layout", "encoding"), [*LAYOUTS, ("reversed", "coupled")])
def test_probabilities_are_those_of_one_pass_over_the_whole(layout, encoding):
    """Nonsense is written too: symbols among digits, whose positions may differ from a digit's."""
    texts = set()
    for seed in range(8):
        run = untrained(layout, encoding, seed)
        problem = read_operands(run, 12, 1)
        written = list(write_answer(problem))
        ids, positions = problem.sequence([w.token for w in written])
        with torch.no_grad():
            shares = run.stack.model(ids, positions)[0, 0].softmax(-1)
        for place, token in enumerate(written, start=problem.prompt_length - 1):
            assert token.probability == pytest.approx(float(shares[place, token.token]), abs=1e-5)
            assert token.probability == max(share for _, share in token.alternatives)
        texts |= {w.kind for w in written[:-1]}
    assert "symbol" in texts


@pytest.mark.parametrize(("layout", "encoding"), LAYOUTS)
def test_digits_of_the_answer_are_told_from_steps(layout, encoding):
    run = theorist(layout, encoding, "truth")
    written = list(write_answer(read_operands(run, 14, 5)))
    digits = "".join(w.text for w in written if w.kind == "digit")
    number = digits if layout == "plain" else digits[::-1]
    assert int(number, 3) == 19
    assert any(w.kind == "step" for w in written) == (layout == "scratchpad")


@pytest.mark.parametrize("hypothesis", ["truth", "truncated:2"])
@pytest.mark.parametrize(("layout", "encoding"), LAYOUTS[:-1])
def test_dependence_is_what_replacing_each_digit_changes(layout, encoding, hypothesis):
    """Against the function itself, on integers, for every digit and every replacement."""
    run, a, b, base = theorist(layout, encoding, hypothesis), 14, 5, 3
    function, task = Hypothesis.parse(hypothesis), run.config.spec.task
    answer = [w.token for w in write_answer(read_operands(run, a, b))]
    causes = asyncio.run(dependence(read_operands(run, a, b)))["causes"]
    fixed = run.stack.layout.fixed_width
    read = {"a": 3, "b": 3 if fixed or layout == "level" else 2}
    places = [(c["operand"], c["significance"]) for c in causes]
    assert places == [(name, i + 1) for name, digits in read.items() for i in range(digits)]

    def written(x: int, y: int) -> list[int]:
        return [w.token for w in write_answer(read_operands(run, x, y))]

    for cause in causes:
        number, unit = (a if cause["operand"] == "a" else b), base ** (cause["significance"] - 1)
        old = number // unit % base
        assert cause["digit"] == str(old)
        others = [number + (d - old) * unit for d in range(base) if d != old]
        if not fixed:
            others = [x for x in others if x >= unit or unit == 1]
        pairs = [(x, b) if cause["operand"] == "a" else (a, x) for x in others]
        assert all(function(task, *pair) == run.ask(*pair).answered for pair in pairs)
        answers = [[*written(*pair), *[-1] * len(answer)] for pair in pairs]
        for place, share in enumerate(cause["changes"]):
            changed = sum(other[place] != answer[place] for other in answers)
            shorter = any(other[place] == -1 for other in answers)
            assert shorter or share == pytest.approx(changed / len(answers))


def test_dependence_where_an_answer_has_no_room():
    """Of a model of one short operand, asked about two long ones."""
    run = untrained("level", "coupled", task="mul", train="2x1", test="3x1")
    a, b = 26, 25
    assert run.config.spec.task(a, b) >= 3**run.stack.layout.answer_width
    problem = read_operands(run, a, b)
    answer = [w.token for w in write_answer(problem)]
    causes = asyncio.run(dependence(problem))["causes"]
    assert len(causes) == 6 and all(len(cause["changes"]) == len(answer) for cause in causes)
