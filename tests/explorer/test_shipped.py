"""Models that come with the package, and the script that puts them there."""

import random
import runpy
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from lengthwise.cli import main
from lengthwise.evaluation.anatomy import watch
from lengthwise.evaluation.measure import right_answers
from lengthwise.model.positions.encoding import number_tokens
from lengthwise.records.folder import RunFolder
from lengthwise.runs.load import load
from lengthwise.shipped import shipped_models
from lengthwise.tokens.digits import from_ints

ROOT = Path(__file__).parent.parent.parent
ship = runpy.run_path(str(ROOT / "scripts" / "ship_model.py"))["ship"]


def test_one_model_per_story():
    assert list(shipped_models()) == [
        "addition",
        "coupled-addition",
        "coupled-multiplication",
        "mod-100",
        "mod-101",
    ]


@pytest.mark.parametrize("name", shipped_models())
def test_a_shipped_model_is_small_whole_and_knows_its_training_domain(name):
    folder = shipped_models()[name]
    assert sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) <= 4 * 2**20
    run = load(name, device="cpu")
    (weights,) = (folder / "checkpoint").glob("*.safetensors")
    kinds = {f"model/{key}": tensor.dtype for key, tensor in run.stack.model.state_dict().items()}
    assert {key: tensor.dtype for key, tensor in load_file(weights).items()} == kinds
    assert {parameter.dtype for parameter in run.stack.model.parameters()} == {torch.float32}
    shortest = [run.config.base ** (length - 1) for _, length in run.config.spec.train.operand_lengths]
    generator = random.Random(1)
    pairs = [[generator.randrange(low, run.config.base * low) for low in shortest] for _ in range(100)]
    answers = run.ask_all([(a, b) for a, b in pairs])
    assert sum(answer.answered == answer.truth for answer in answers) >= 0.99 * len(answers)


def test_a_model_is_shipped_without_what_only_training_needs(run_folders, tmp_path):
    source = next(run_folders.glob("add*"))
    target = ship(source, "tiny", tmp_path)
    pairs = [(0, 0), (5, 8), (26, 13)]
    theirs, ours = (
        [answer.answered for answer in load(path, device="cpu").ask_all(pairs)] for path in (source, target)
    )
    assert theirs == ours
    kept = load(target).folder.records()
    assert {record.step for record in kept} == {24} and {record.run for record in kept} == {"tiny"}
    size = {path: sum(f.stat().st_size for f in path.rglob("*.safetensors")) for path in (source, target)}
    assert size[target] < 0.5 * size[source]


def test_a_run_that_is_not_done_is_not_shipped(run_folders, tmp_path):
    source = shutil.copytree(next(run_folders.glob("add*")), tmp_path / "source")
    RunFolder(source).set_status("running")
    with pytest.raises(SystemExit, match="not done"):
        ship(source, "tiny", tmp_path)
    assert not (tmp_path / "tiny").exists()


def test_a_shipped_model_is_asked_by_its_name(capsys):
    main(["ask", "addition", "12 + 34", "--json", "--device", "cpu"])
    assert '"truth": "46"' in capsys.readouterr().out
    with pytest.raises(SystemExit) as refused:
        main(["ask", "subtraction", "1 + 1"])
    assert refused.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "subtraction" in line and "addition, coupled-addition, coupled-multiplication, mod-100, mod-101" in line


def pairs_of(digits: int, count: int) -> list[tuple[int, int]]:
    generator, low = random.Random(2), 10 ** (digits - 1)
    return [(generator.randrange(low, 10 * low), generator.randrange(low, 10 * low)) for _ in range(count)]


def test_coupled_addition_goes_on_far_beyond_its_training(capsys):
    run = load("coupled-addition", device="cpu")
    assert run.config.spec.train.length == 20
    right = [answer for answer in run.ask_all(pairs_of(60, 40)) if answer.answered == answer.truth]
    assert len(right) >= 38
    one = right[0]
    main(["ask", "coupled-addition", f"{one.a} + {one.b}", "--device", "cpu"])
    shown = "".join(capsys.readouterr().out.split())
    assert shown.count(str(one.truth)) == 3, "the model's, the true and the predicted answer, all in full"


def test_coupled_addition_adds_a_thousand_digits():
    """Scored in one pass, as decoding takes seconds for each."""
    run = load("coupled-addition", device="cpu")
    layout, pairs = run.stack.layout, pairs_of(1_000, 4)
    a, b = (from_ints(list(numbers), layout.operand_width, 10)[None] for numbers in zip(*pairs, strict=True))
    sums = from_ints([sum(pair) for pair in pairs], layout.answer_width, 10)[None]
    assert right_answers(run.stack, (a, b), sums).all()


def test_coupled_multiplication_goes_on_far_beyond_its_training():
    run = load("coupled-multiplication", device="cpu")
    assert run.config.spec.train.operand_lengths == ((1, 40), (2, 2))
    pairs = [(a, b % 90 + 10) for a, b in pairs_of(150, 6)]
    pairs += [(10**150 - 1, 99), (int("90" * 75), 91), (10**149, 10), (int("1" * 150), 11)]
    assert all(answer.answered == answer.truth == answer.a * answer.b for answer in run.ask_all(pairs))


def test_coupled_multiplication_has_a_head_for_each_digit_of_the_short_number():
    """As docs/thousand.md tells: in every column, of a number of 40 digits as of 400."""
    run = load("coupled-multiplication", device="cpu")
    layout = run.stack.layout
    for length in (40, 400):
        a, b = pairs_of(length, 1)[0][0], 73
        operands = (from_ints([number], layout.operand_width, 10)[None] for number in (a, b))
        tokens = layout.encode(*operands, from_ints([a * b], layout.answer_width, 10)[None]).spread()
        positions = number_tokens(run.stack.encoding, tokens.significance, tokens.number)
        written = int((tokens.ids != layout.vocabulary.line_break).sum())
        ids, number, significance = (
            part[0, 0, :written] for part in (tokens.ids, tokens.number, tokens.significance)
        )
        _, layers = watch(run.stack.model, ids.view(1, 1, -1), positions[..., :written])
        units, tens = ((number == 2) & (significance == place) for place in (1, 2))
        by_tokens = layers[1].weights(0, written)[0, 0, 3:, number == 3]
        on_units, on_tens = by_tokens[..., units].sum(-1), by_tokens[..., tens].sum(-1)
        assert on_tens[0].min() > 0.999 and on_units[1].min() > 0.999
