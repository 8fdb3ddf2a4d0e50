"""Exported folders: every encoding, option and layout computes in transformers what it computes here."""

from dataclasses import replace

import pytest
import torch
from fakes import tiny_config

from lengthwise.errors import InputError
from lengthwise.evaluation.decode import decode
from lengthwise.records.folder import RunFolder
from lengthwise.runs.build import build
from lengthwise.runs.evaluate import few_rows
from lengthwise.runs.load import LoadedRun, load

transformers = pytest.importorskip("transformers")

from lengthwise.interop import huggingface  # noqa: E402

CPU = torch.device("cpu")


def fresh(folder="fresh", **changes) -> LoadedRun:
    """A run with random weights, all away from their start: biases are not 0, norms not 1."""
    stack = build([tiny_config(**changes)], CPU)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in stack.model.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape, generator=generator))
    stack.model.eval()
    return LoadedRun(RunFolder(folder), stack.config, stack, 0)


PLAIN = {
    "learned": "GPT2LMHeadModel",
    "sinusoidal": "GPT2LMHeadModel",
    "none": "GPT2LMHeadModel",
    "randomized:learned": "GPT2LMHeadModel",
    "coupled": "GPT2LMHeadModel",
    "abacus": "LengthwiseForCausalLM",
    "rotary": "GPTNeoXForCausalLM",
    "randomized:rotary": "LengthwiseForCausalLM",
    "alibi": "LengthwiseForCausalLM",
    "t5": "LengthwiseForCausalLM",
    "shaw": "LengthwiseForCausalLM",
    "fire": "LengthwiseForCausalLM",
}
WAVES = {"position_waves": True, "width": 24}
PLACES = {**WAVES, "place_attention": True, "log_length_scale": True}
CASES = [
    *((name, {}, None, kind) for name, kind in PLAIN.items()),
    *((name, {"bias": True, "tied": False}, None, kind) for name, kind in PLAIN.items()),
    *((name, {"normalized_attention": True, "log_length_scale": True, "loops": 2}, None, None) for name in PLAIN),
    *(("learned", {}, layout, "GPT2LMHeadModel") for layout in ("aligned", "reversed", "plain", "scratchpad")),
    *(("coupled", {}, layout, None) for layout in ("level", "reversed", "aligned", "scratchpad")),
    *((name, WAVES, None, "LengthwiseForCausalLM") for name in ("learned", "coupled", "abacus")),
    *((name, PLACES, None, "LengthwiseForCausalLM") for name in ("learned", "coupled", "abacus")),
    ("coupled", {**PLACES, "token_heads": 1, "normalized_attention": True}, "level", "LengthwiseForCausalLM"),
]


@pytest.mark.parametrize(("encoding", "model", "layout", "architecture"), CASES)
def test_logits_and_answers_are_those_of_the_run(encoding, model, layout, architecture):
    run = fresh(encoding=encoding, model=model, layout=layout)
    stack, theirs = run.stack, huggingface.convert(run.stack)
    assert architecture in (None, type(theirs).__name__)
    longest = few_rows(stack, 8)[-1].problems.pair
    answers = decode(stack, longest)[0]
    for row in few_rows(stack, 8):
        tokens, positions = stack.read(*row.problems.pair, row.truth)
        with torch.no_grad():
            ours = stack.model(tokens.ids, positions)[0]
            torch.testing.assert_close(theirs(tokens.ids[0]).logits, ours, atol=1e-5, rtol=1e-5)
    tokens, _ = stack.read(*longest, torch.zeros_like(longest[0]))
    theirs.generation_config = huggingface._generation(stack)
    assert_generates(stack, theirs, tokens, answers)


def assert_generates(stack, model, tokens, answers):
    """Prompts of different lengths are padded on the left. What follows the first token that is no digit is
    compared where every place has its position whatever is written."""
    vocabulary = stack.layout.vocabulary
    lengths = tokens.prompt_length.expand(tokens.ids.shape[:2])[0].tolist()
    prompts = [ids[:length] for ids, length in zip(tokens.ids[0].tolist(), lengths, strict=True)]
    padded = torch.tensor([[vocabulary.line_break] * (max(lengths) - len(ids)) + ids for ids in prompts])
    mask = torch.tensor([[0] * (max(lengths) - n) + [1] * n for n in lengths])
    written = model.generate(padded, attention_mask=mask)[:, padded.shape[1] :].tolist()
    last = {vocabulary.eos} if stack.layout.fixed_width else {*range(vocabulary.base, len(vocabulary))}
    for ids, expected in zip(written, answers.tolist(), strict=True):
        ends = [i for i, token in enumerate(expected, start=1) if token in last]
        end = ends[0] if ends else len(expected)
        assert ids[:end] == expected[:end]


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """The shipped model of addition, and a tiny one with its own modeling file."""
    folder = tmp_path_factory.mktemp("exported")
    huggingface.export(load("addition", device="cpu"), folder / "addition")
    huggingface.export(fresh("tiny", encoding="t5"), folder / "t5")
    return folder


@pytest.mark.parametrize("name", ["addition", "t5"])
def test_auto_classes_load_a_folder_offline(exported, name, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    model = transformers.AutoModelForCausalLM.from_pretrained(exported / name, trust_remote_code=True)
    tokenizer = transformers.AutoTokenizer.from_pretrained(exported / name, trust_remote_code=True)
    card = (exported / name / "README.md").read_text()
    if name == "t5":
        assert "trust_remote_code=True" in card and "not been measured" in card
        return
    assert "| D5 | truncated:4 | 0 |" in card
    texts = ["0000001234+0000005678=", "0000091234+0000085678="]
    prompts = tokenizer(texts, return_tensors="pt")
    assert prompts.input_ids[0, 0] == tokenizer.bos_token_id
    written = tokenizer.batch_decode(model.generate(**prompts)[:, prompts.input_ids.shape[1] :], True)
    assert written == ["21960000000;", "21960000000;"]


def test_a_folder_in_use_is_refused_and_nothing_is_left_half_written(exported, tmp_path, monkeypatch):
    with pytest.raises(InputError, match="not an empty folder"):
        huggingface.export(fresh(), exported / "addition")
    monkeypatch.setattr(huggingface, "model_card", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        huggingface.export(fresh(), tmp_path / "new" / "folder")
    assert list((tmp_path / "new").iterdir()) == []


def test_what_would_not_be_exact_is_refused():
    run = fresh()
    other = huggingface.convert(fresh(seed=5).stack)
    with pytest.raises(InputError, match="cannot be exported exactly"):
        huggingface._check_equal(run.stack, other)


def test_another_kind_of_block_is_refused():
    with pytest.raises(InputError, match=r"^block 't5' cannot be exported \(choose from gpt\)$"):
        huggingface.convert(fresh(model={"block": "t5"}).stack)


def test_an_encoding_from_outside_is_refused():
    stack = fresh().stack
    config = stack.config.model_copy(update={"encoding": "mine"})
    with pytest.raises(InputError, match="encoding 'mine' cannot be exported"):
        huggingface.convert(replace(stack, configs=[config]))
