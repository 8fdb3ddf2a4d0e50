"""Models from Hugging Face folders: exported runs measured again, and any model that answers in text."""

import json
import re
import shutil

import pytest
import torch
from fakes import tiny_config, train

from lengthwise import cli
from lengthwise.arithmetic import Task, in_base
from lengthwise.errors import InputError
from lengthwise.evaluation.text import Prompts, ask, examples, find_functions, read_number, text_records
from lengthwise.explorer.runs import judge
from lengthwise.records.spec import RunSpec
from lengthwise.records.verdicts import verdicts
from lengthwise.records.view import RunView
from lengthwise.runs.evaluate import evaluate
from lengthwise.theory.hypotheses import TRUTH, Hypothesis
from lengthwise.tokens.digits import from_ints
from lengthwise.tokens.hashing import is_reserved


def spec_of(**changes) -> RunSpec:
    question = {"task": "add", "train": "D3", "test": "D1..5", "encoding": "learned", "layout": "padded"}
    return RunSpec.of({**question, "base": 10, "seed": 3, **changes})


class Computes:
    """Reads operands off the last line of a prompt, and writes what a hypothesis makes of them; every seventh
    time, if told so, no number."""

    def __init__(self, task: Task, hypothesis: Hypothesis, *, stutters: bool = False) -> None:
        self.task, self.hypothesis, self.stutters, self.asked = task, hypothesis, stutters, []

    def __call__(self, prompts, digits):
        self.asked += prompts
        pairs = [re.findall(r"[0-9a-z]+", prompt.splitlines()[-1])[:2] for prompt in prompts]
        values = [self.hypothesis(self.task, *(int(number, self.task.base) for number in pair)) for pair in pairs]
        texts = [f" {in_base(value, self.task.base)}\nand so on" for value in values]
        return [text if not self.stutters or i % 7 else "well, 12" for i, text in enumerate(texts)]


FUNCTIONS = [
    "truth",
    "truncated:3",
    "truncated:1",
    "windowed:2",
    "windowed:3",
    "leading:2",
    "leading:4",
    "folded:2",
]


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("template", ["equation", "spaced"])
def test_the_function_that_a_model_computes_is_named(name, template):
    spec, hypothesis = spec_of(), Hypothesis.parse(name)
    found = ask(Computes(spec.task, hypothesis), spec, Prompts(spec.task, template), 300)
    functions = {row.where: row for row in find_functions(spec.task, found)}
    assert functions["all"].function == hypothesis
    assert all(row.agrees == row.total for row in functions.values())
    assert functions["D1"].function == TRUTH or name == "folded:1"
    assert (
        sum(row.total for where, row in functions.items() if where.startswith("chain")) == functions["all"].total
    )
    # A chain that the window does not hold is what it gets wrong.
    if name == "windowed:2":
        assert functions["chain 1"].function == TRUTH and functions["chain 3"].function == hypothesis


@pytest.mark.parametrize(
    ("task", "name"), [("mul", "truncated:2"), ("mul%51", "leading:2"), ("add%51", "folded:2")]
)
def test_products_and_residues_have_their_functions_named_too(task, name):
    spec = spec_of(task=task, base=12)
    model = Computes(spec.task, Hypothesis.parse(name))
    template = "{a} {symbol} {b} =" if task == "mul" else "{a}|{b}:"
    *_, whole = find_functions(spec.task, ask(model, spec, Prompts(spec.task, template), 300))
    assert str(whole.function) == name and whole.agrees == whole.total


def test_records_have_fixed_denominators_and_give_verdicts():
    spec = spec_of()
    found = ask(Computes(spec.task, Hypothesis.parse("truncated:3")), spec, Prompts(spec.task), 600)
    records = list(text_records(spec, "fake", found))
    assert {row.word for row in verdicts(spec.predictions(), spec.train, records)} == {"holds"}
    stuttering = ask(Computes(spec.task, TRUTH, stutters=True), spec, Prompts(spec.task), 70)
    for record in text_records(spec, "fake", stuttering):
        assert record.total == 70
        if record.metric == "malformed":
            assert record.correct == 10
        if record.metric == "exact" and record.reference == "truth":
            assert record.correct == 60


def test_examples_are_never_test_problems():
    spec = spec_of(train="D4")
    shown = examples(spec, 200)
    a, b = (from_ints(list(numbers), 4, 10) for numbers in zip(*shown, strict=True))
    assert len(shown) == 200 and not is_reserved(a, b, 10).any()
    model = Computes(spec.task, TRUTH)
    ask(model, spec, Prompts(spec.task, "spaced", shown[:2]), 20)
    lines = model.asked[-1].splitlines()
    assert (
        len(lines) == 3 and lines[0] == f"{shown[0][0]} + {shown[0][1]} = {sum(shown[0])}" and lines[2][-1] == "="
    )


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("12;", 12),
        ("\n 0012", 12),
        ("1,234,567.", 1234567),
        ("12.5", None),
        ("12th", None),
        ("", None),
        ("x", None),
    ],
)
def test_numbers_are_read_strictly(text, number):
    assert read_number(text, 10) == number
    assert read_number("21;", 10, reverse=True) == 12 and read_number("ff", 16) == 255


@pytest.mark.parametrize("template", ["{a}+5=", "{a}+{c}=", "{a}+{b", "{0}{1}", "sums"])
def test_a_template_without_both_operands_is_refused(template):
    with pytest.raises(InputError, match="invalid template"):
        Prompts(Task.parse("add"), template)


# --- Hugging Face folders -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A run, and its exported folder, for each of two encodings."""
    pytest.importorskip("transformers")
    from lengthwise.interop.huggingface import export
    from lengthwise.runs.load import load

    folder = tmp_path_factory.mktemp("trained")
    for name in ("learned", "t5"):
        (run,) = train(tiny_config(encoding=name, training={"steps": 8}), folder / "runs", device="cpu")
        run.path.rename(folder / name)
        export(load(folder / name, device="cpu"), folder / f"{name}-hf")
    return folder


def printed(capsys, *arguments) -> dict:
    cli.main([*map(str, arguments), "--json"])
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("name", ["learned", "t5"])
def test_an_exported_run_gives_its_own_records_again(trained, name, capsys, tmp_path):
    again = printed(capsys, "evaluate", "--hf", trained / f"{name}-hf", "--out", tmp_path / "again", "--functions")
    own = evaluate(trained / name, device="cpu")
    for theirs, ours in zip(again["records"], (record.model_dump() for record in own.records), strict=True):
        assert theirs.pop("value") == (None if ours["value"] is None else pytest.approx(ours["value"], abs=1e-4))
        ours.pop("value")
        assert theirs == ours
    assert [row["verdict"] for row in again["verdicts"]] == [row.word for row in own.verdicts]
    assert RunView.of(tmp_path / "again").verdicts() == own.verdicts
    assert again["functions"][-1]["where"] == "all"


def write_llm(folder, kind):
    """A random model that lengthwise did not write, with a tokenizer that has no [bos] to add."""
    transformers = pytest.importorskip("transformers")
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers

    texts = ["<end>", "<unk>", *"0123456789+=*()% \nQAWhatis?:mod"]
    vocabulary = {text: i for i, text in enumerate(dict.fromkeys(texts))}
    words = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    words.decoder = decoders.Fuse()
    transformers.PreTrainedTokenizerFast(tokenizer_object=words, eos_token="<end>").save_pretrained(folder)
    torch.manual_seed(1)
    shape = {"vocab_size": len(vocabulary), "eos_token_id": 0, "bos_token_id": 0}
    if kind == "gpt2":
        config = transformers.GPT2Config(n_embd=16, n_layer=1, n_head=2, **shape)
    else:
        small = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
        config = transformers.LlamaConfig(**small, **shape)
    transformers.AutoModelForCausalLM.from_config(config).save_pretrained(folder)


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_any_causal_lm_is_asked_by_its_own_tokenizer(kind, tmp_path, capsys):
    write_llm(tmp_path / kind, kind)
    options = ("--task", "add", "--train", "D2", "--test", "D1..3", "--problems", 30, "--shots", 2)
    asked = "--template", "question", "--out", tmp_path / "out"
    found = printed(capsys, "evaluate", "--hf", tmp_path / kind, *options, *asked)
    totals = {(r["domain"], r["metric"]): r["total"] for r in found["records"]}
    assert {*totals.values()} == {30} and ("D3", "malformed") in totals
    assert found["verdicts"][0]["verdict"] is None and found["functions"][-1]["total"] == 90
    assert [str(row.prediction.domain) for row in RunView.of(tmp_path / "out").verdicts()] == ["D1", "D2", "D3"]
    cli.main(["report", str(tmp_path / "out"), "--out", str(tmp_path / "report.html")])
    assert "D3" in (tmp_path / "report.html").read_text()
    assert [row["domain"] for row in judge(path=str(tmp_path / "out"))["verdicts"]] == ["D1", "D2", "D3"]
    environment = json.loads((tmp_path / "out" / "environment.json").read_text())
    assert environment["asked"]["template"] == "question" and environment["asked"]["shots"] == 2


def test_what_an_exported_run_was_is_not_asked_otherwise(trained, capsys):
    with pytest.raises(SystemExit):
        cli.main(["evaluate", "--hf", str(trained / "t5-hf"), "--train", "D3"])
    assert "has its own task and training domain" in capsys.readouterr().err


def test_an_exported_folder_that_was_changed_to_ask_more_than_it_reads(trained, tmp_path, capsys):
    path = shutil.copytree(trained / "learned-hf", tmp_path / "hf") / "config.json"
    content = json.loads(path.read_text())
    content["lengthwise"]["config"]["test"] = "D30"
    path.write_text(json.dumps(content))
    with pytest.raises(SystemExit) as stopped:
        cli.main(["evaluate", "--hf", str(path.parent), "--device", "cpu"])
    (line,) = capsys.readouterr().err.splitlines()
    assert stopped.value.code == 2 and "hf cannot answer" in line


REFUSED = [
    (["--hf", "nowhere", "--task", "add"], "is not a Hugging Face folder"),
    (["--hf", "broken", "--task", "add"], "cannot load"),
    (["--hf", "odd", "--task", "add"], "odd cannot answer"),
    (["--hf", "broken"], "--hf requires --task"),
    (["--hf", "gpt2"], "--hf requires --task"),
    (["--hf", "gpt2", "--task", "add", "--out", "gpt2"], "not an empty folder"),
    (["--hf", "gpt2", "--task", "add", "--test", "D600", "--problems", "1"], "gpt2 cannot answer"),
    (["--hf", "gpt2", "--task", "add", "--shots", "-1"], "shots is -1"),
    (["--hf", "gpt2", "--task", "add", "--decode"], "--decode cannot be used"),
    (["somewhere", "--hf", "gpt2"], "either a run folder or --hf"),
    (["addition", "--template", "spaced"], "require --hf"),
]


def write_odd_llm(folder):
    """Its tokenizer begins with a token that it does not know, where the library behind it panics."""
    write_llm(folder, "gpt2")
    path = folder / "tokenizer.json"
    template = [{"SpecialToken": {"id": "none", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]
    odd = {"type": "TemplateProcessing", "single": template, "pair": template, "special_tokens": {}}
    path.write_text(json.dumps({**json.loads(path.read_text()), "post_processor": odd}))


@pytest.mark.parametrize(("arguments", "message"), REFUSED)
def test_what_cannot_be_asked_is_told_in_one_line(arguments, message, tmp_path, capsys, monkeypatch):
    write_llm(tmp_path / "gpt2", "gpt2")
    write_odd_llm(tmp_path / "odd")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "config.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    capsys.readouterr()
    with pytest.raises(SystemExit) as stopped:
        cli.main(["evaluate", *arguments, "--quiet"])
    said = capsys.readouterr().err
    assert stopped.value.code == 2 and message in said and said.count("\n") == 1
