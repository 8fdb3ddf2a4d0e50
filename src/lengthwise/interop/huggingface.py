"""Hugging Face folders: exporting trained runs, and reading exported models and any causal LM.

A run is exported as a stock architecture if one fits exactly, else with modeling_lengthwise.py. If positions are
added to the token embeddings and depend only on a token's index, a model is a GPT-2 (with biases of 0, and the
rows of the position table in the order of the run's positions); with rotary positions it is a GPT-NeoX with
sequential branches. The key `lengthwise` in a folder's config.json has the run's config, so that `lengthwise
evaluate --hf` measures it on the same problems.
"""

import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from operator import attrgetter
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from lengthwise.arithmetic import in_base
from lengthwise.errors import InputError
from lengthwise.evaluation import Asked
from lengthwise.evaluation.decode import answer_tokens
from lengthwise.evaluation.text import Prompts, examples
from lengthwise.interop.data import cards
from lengthwise.model.positions import IndexEncoding
from lengthwise.model.positions.randomized import PREFIX
from lengthwise.progress import Watch
from lengthwise.records.files import read_json, refuse_used_folder
from lengthwise.records.folder import RunFolder
from lengthwise.records.view import RunView
from lengthwise.report.run_tables import QUANTITIES, verdict_cells
from lengthwise.report.words import domain_words, glossary, glosses, task_words
from lengthwise.runs.build import Single, Stack, as_gpt, build
from lengthwise.runs.config import RunConfig, read_config
from lengthwise.runs.evaluate import Evaluation, evaluate_text, few_rows
from lengthwise.runs.load import LoadedRun
from lengthwise.runs.machine import choose_device
from lengthwise.tokens.digits import from_ints
from lengthwise.tokens.layouts.layout import Vocabulary

try:
    import transformers
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, processors

    from lengthwise.interop.modeling_lengthwise import LengthwiseConfig, LengthwiseForCausalLM
except ImportError as missing:
    raise InputError(f"{missing.name} is not installed (pip install 'lengthwise[huggingface]')") from None

# Progress bars and warnings of transformers are not for users of lengthwise.
transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()
# Our own architecture then needs no code from the folder.
transformers.AutoConfig.register("lengthwise", LengthwiseConfig, exist_ok=True)
transformers.AutoModelForCausalLM.register(LengthwiseConfig, LengthwiseForCausalLM, exist_ok=True)

UNBOUNDED = 1024
"""Rows of a table that replaces unbounded positions, unless problems are longer."""

CHECKED_TOKENS, TOLERANCE = 1 << 10, 1e-4
"""Tokens of the first and the last test domain, at least one problem each, on which both models are compared
before a folder is written; logits may differ by this much, relative to the largest."""

ADDED = ("learned", "sinusoidal", "none", "coupled", "abacus")
RELATIVE = ("rotary", "alibi", "t5", "shaw", "fire")
OPTIONS = ("normalized_attention", "log_length_scale", "place_attention")

NAMES = {
    "tokens": ("transformer.wte", "gpt_neox.embed_in"),
    "encoding.table": ("transformer.wpe", ""),
    "blocks": ("transformer.h", "gpt_neox.layers"),
    "attention_norm": ("ln_1", "input_layernorm"),
    "attention.qkv": ("attn.c_attn", "attention.query_key_value"),
    "attention.out": ("attn.c_proj", "attention.dense"),
    "mlp_norm": ("ln_2", "post_attention_layernorm"),
    "mlp.up": ("mlp.c_fc", "mlp.dense_h_to_4h"),
    "mlp.down": ("mlp.c_proj", "mlp.dense_4h_to_h"),
    "norm": ("transformer.ln_f", "gpt_neox.final_layer_norm"),
    "head": ("lm_head", "lm_head"),
}
"""Names of modules: ours, GPT-2's and GPT-NeoX's."""

BATCH = 64
"""Prompts per batch."""

SPARE_TOKENS = 8
"""Tokens besides the digits of the longest answer: spaces, separators, the end."""


# --- a run as a folder --------------------------------------------------------------------------------------


def export(run: LoadedRun, folder: Path) -> str:
    """Write a run as a Hugging Face folder, atomically; returns the name of the architecture."""
    refuse_used_folder(folder)
    model = convert(run.stack)
    model.config.lengthwise = {
        "run": run.folder.name,
        "step": run.step,
        "config": run.config.model_dump(mode="json"),
    }
    model.generation_config = _generation(run.stack)
    _check_equal(run.stack, model)
    folder.parent.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        model.save_pretrained(aside)
        tokenizer(run.stack.layout.vocabulary).save_pretrained(aside)
        (aside / "README.md").write_text(model_card(run, type(model).__name__))
        aside.chmod(0o755)
        aside.rename(folder)
    except BaseException:
        shutil.rmtree(aside, ignore_errors=True)
        raise
    return type(model).__name__


def convert(stack: Stack) -> Any:
    """The transformers model that is equivalent to the first member of a stack."""
    config = stack.config.model
    kind = stack.config.encoding.removeprefix(PREFIX)
    if kind not in ADDED + RELATIVE:
        raise InputError(f"encoding {kind!r} cannot be exported (choose from {', '.join(ADDED + RELATIVE)})")
    if config.block != "gpt":
        raise InputError(f"block {config.block!r} cannot be exported (choose from gpt)")
    weights = {name: tensor[0].float().cpu() for name, tensor in stack.model.member(0).items()}
    weights = {name.replace("encoding.inner.", "encoding."): tensor for name, tensor in weights.items()}
    plain = config.loops == 1 and not config.position_waves and not any(getattr(config, name) for name in OPTIONS)
    numbering = _numbering(stack)
    by_index = numbering not in ("coupled", "abacus")
    if kind in ADDED and not config.position_waves and by_index:
        weights["encoding.table.weight"] = _rows_by_index(stack, numbering)
        numbering = "index"
    if plain and kind in ADDED and by_index:
        return _gpt2(stack, weights)
    if plain and kind == "rotary" and numbering == "index":
        return _gpt_neox(stack, weights)
    added = "waves" if config.position_waves else "added"
    return _own(stack, weights, added if kind in ADDED else kind, numbering)


def _numbering(stack: Stack) -> str | list[int]:
    """The `numbering` of modeling_lengthwise.py."""
    encoding, name = stack.encoding, stack.config.encoding
    if isinstance(encoding, IndexEncoding) or name == "none":
        return "index"
    if name in ("coupled", "abacus") and not stack.layout.fixed_width:
        return name
    zero = torch.zeros(1, 1, 1, dtype=torch.int8, device=stack.device)
    return stack.read(zero, zero, zero)[1].flatten().tolist()


def _rows_by_index(stack: Stack, numbering: str | list[int]) -> Tensor:
    """The position vectors by index, [rows, C]."""
    encoding, length = stack.encoding, max(stack.layout.length, UNBOUNDED)
    positions = list(range(encoding.rows or length)) if isinstance(numbering, str) else numbering
    added = encoding.embed(torch.tensor(positions, device=stack.device).view(1, 1, -1))
    if added is None:
        return torch.zeros(length, stack.config.model.width)
    return added[0, 0].detach().float().cpu()


# --- architectures ------------------------------------------------------------------------------------------


def _gpt2(stack: Stack, weights: Mapping[str, Tensor]) -> Any:
    config, table = stack.config.model, weights["encoding.table.weight"]
    model = transformers.GPT2LMHeadModel(
        transformers.GPT2Config(
            n_positions=len(table),
            n_embd=config.width,
            n_layer=config.layers,
            n_head=config.heads,
            activation_function="gelu",
            **dict.fromkeys(("embd_pdrop", "attn_pdrop", "resid_pdrop"), config.dropout),
            **_common(stack),
        )
    )
    return _filled(model, weights, {ours: names[0] for ours, names in NAMES.items()})


def _gpt_neox(stack: Stack, weights: Mapping[str, Tensor]) -> Any:
    config = stack.config.model
    model = transformers.GPTNeoXForCausalLM(
        transformers.GPTNeoXConfig(
            max_position_embeddings=max(stack.layout.length, UNBOUNDED),
            hidden_size=config.width,
            num_hidden_layers=config.layers,
            num_attention_heads=config.heads,
            intermediate_size=4 * config.width,
            hidden_act="gelu",
            use_parallel_residual=False,
            **{"rotary_pct": 1.0, "rotary_emb_base": 10_000},
            **_common(stack),
        )
    )
    names = {ours: names[1] for ours, names in NAMES.items()}
    if hasattr(model, "embed_out"):  # before transformers 5
        names["head"] = "embed_out"

    # GPT-NeoX interleaves the queries, keys and values of each head.
    by_head = {
        name: value.unflatten(-1, (3, config.heads, -1)).transpose(-3, -2).flatten(-3)
        for name, value in weights.items()
        if ".qkv." in name
    }
    return _filled(model, {**weights, **by_head}, names)


def _own(stack: Stack, weights: Mapping[str, Tensor], encoding: str, numbering: str | list[int]) -> Any:
    config, table = stack.config.model, weights.get("encoding.table.weight")
    shared = ("width", "layers", "heads", "bias", "tied", "loops", "attention_clip", "token_heads", *OPTIONS)
    rows = (stack.encoding.rows or 0) if table is None else len(table)
    given: dict[str, Any] = {name: getattr(config, name) for name in shared} | _common(stack)
    own = LengthwiseForCausalLM(
        LengthwiseConfig(
            base=stack.config.base,
            encoding=encoding,
            numbering=numbering,
            rows=rows,
            equals_without_position=stack.config.encoding == "abacus",
            **given,
        )
    )
    # So that save_pretrained copies the file to the folder and names it in config.json.
    LengthwiseConfig.register_for_auto_class()
    LengthwiseForCausalLM.register_for_auto_class("AutoModelForCausalLM")
    return _filled(own, weights, {"encoding.waves": "encoding"})


def _common(stack: Stack) -> dict[str, Any]:
    vocabulary, tied = stack.layout.vocabulary, stack.config.model.tied
    return {"vocab_size": len(vocabulary), "tie_word_embeddings": tied, **_symbols(stack)}


def _symbols(stack: Stack) -> dict[str, int]:
    vocabulary = stack.layout.vocabulary
    return {
        "bos_token_id": vocabulary.bos,
        "eos_token_id": vocabulary.eos,
        "pad_token_id": vocabulary.line_break,
    }


@torch.no_grad()
def _filled(model: nn.Module, weights: Mapping[str, Tensor], names: Mapping[str, str]) -> nn.Module:
    """A model with these weights under its own names; biases that we do not have are 0."""
    for parameter in model.parameters():
        parameter.zero_()
    for name, value in weights.items():
        module, _, kind = _renamed(name, names).rpartition(".")
        owner = model.get_submodule(module)
        # Ours are [in, out].
        is_transposed = isinstance(owner, nn.Linear) and kind == "weight"
        target = getattr(owner, kind)
        target.copy_((value.T if is_transposed else value).reshape(target.shape))
    return model.eval()


def _renamed(name: str, names: Mapping[str, str]) -> str:
    """The model's own name for one of our weights, such as blocks.0.mlp.up.weight."""
    path, _, kind = name.rpartition(".")
    if path.startswith("blocks."):
        blocks, number, module = path.split(".", 2)
        return f"{names.get(blocks, blocks)}.{number}.{names.get(module, module)}.{kind}"
    return f"{names.get(path, path)}.{kind}"


# --- tokenizer and generation config ------------------------------------------------------------------------


def tokenizer(vocabulary: Vocabulary) -> Any:
    """A tokenizer with one token per character, [bos] at the beginning, and left padding for generation. Unknown
    characters become line breaks, as other tools try arbitrary text on a tokenizer."""
    pad = vocabulary.texts[vocabulary.line_break]
    words = Tokenizer(models.WordLevel({text: i for i, text in enumerate(vocabulary.texts)}, unk_token=pad))
    words.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    words.decoder = decoders.Fuse()
    bos = [("[bos]", vocabulary.bos)]
    words.post_processor = processors.TemplateProcessing("[bos] $A", "[bos] $A $B", bos)
    symbols = {"bos_token": "[bos]", "eos_token": "[eos]", "pad_token": pad, "unk_token": pad}
    return transformers.PreTrainedTokenizerFast(tokenizer_object=words, padding_side="left", **symbols)


def _generation(stack: Stack) -> Any:
    longest = answer_tokens(stack.layout)
    return transformers.GenerationConfig(do_sample=False, max_new_tokens=longest, **_symbols(stack))


@torch.no_grad()
def _check_equal(stack: Stack, model: Any) -> None:
    """Refuse a model whose exported form gives other logits: custom layouts or encodings may number tokens in
    another way."""
    rows = few_rows(stack, max(1, CHECKED_TOKENS // stack.layout.length))
    for row in (rows[0], rows[-1]):
        tokens, positions = stack.read(*row.problems.pair, row.truth)
        ours = stack.model(tokens.ids, positions)[0].cpu()
        theirs = model(tokens.ids[0].cpu()).logits
        if (ours - theirs).abs().max() > TOLERANCE * (1 + ours.abs().max()):
            layout, encoding = stack.config.spec.layout, stack.config.encoding
            raise InputError(f"layout {layout!r} with encoding {encoding!r} cannot be exported exactly")


# --- model card ---------------------------------------------------------------------------------------------


def model_card(run: LoadedRun, architecture: str) -> str:
    config, spec, base, width = run.config, run.config.spec, run.config.base, run.stack.layout.operand_width
    a, b = 12 % base**width, 3 % base
    prompt, answer = example(run.stack, a, b)
    own = architecture.startswith("Lengthwise")
    return cards()["model"].format(
        name=run.folder.name,
        task=task_words(spec.task),
        train=config.train,
        train_words=domain_words(spec.train),
        encoding=spec.encoding,
        layout=spec.layout,
        base=base,
        width=width,
        step=run.step,
        seed=config.seed,
        architecture=architecture,
        code=cards()["code"]["own" if own else "stock"],
        trust=", trust_remote_code=True" if own else "",
        problem=f"{in_base(a, base)} {spec.task.symbol} {in_base(b, base)}",
        prompt=prompt,
        answer=answer,
        measured=_measured(run),
    )


def example(stack: Stack, a: int, b: int) -> tuple[str, str]:
    """The prompt of a problem after [bos] and the right answer, as its layout writes them."""
    layout, task = stack.layout, stack.config.spec.task
    widths = layout.operand_width, layout.operand_width, layout.answer_width
    numbers = zip((a, b, task(a, b)), widths, strict=True)
    text = layout.render(layout.encode(*(from_ints([n], width, task.base) for n, width in numbers)).ids[0])
    prompt, _, answer = text.removeprefix("[bos]").removesuffix("[eos]").partition("=")
    return f"{prompt}=", answer


def _measured(run: LoadedRun) -> str:
    try:
        _, verdicts = RunView.of(run.folder.path).last_whole()
    except InputError:
        return cards()["not_measured"]
    columns = ("test on", "computes", *QUANTITIES, "verdict")
    rows = [[*verdict_cells(row), row.word or "–"] for row in verdicts]
    lines = [f"| {' | '.join(cells)} |" for cells in [columns, ["---"] * len(columns), *rows]]
    functions = glosses((row.prediction.hypothesis for row in verdicts), run.config.spec.task)
    table = "\n".join([*lines, *(f"\n- {gloss}" for gloss in functions)])
    return cards()["measured"].format(table=table, glossary=glossary())


# --- models of folders --------------------------------------------------------------------------------------


def exported_run(folder: Path, device: str = "auto") -> LoadedRun | None:
    """The run in a folder that `lengthwise export` wrote, with its Hugging Face model; None for other folders."""
    written = read_json(folder / "config.json")
    own = written.get("lengthwise") if isinstance(written, dict) else None
    if not isinstance(own, dict) or not {"run", "step", "config"} <= own.keys():
        return None
    config = read_config(own["config"], f"{folder}/config.json")
    stack = build([config], choose_device(device), [own["run"]])
    loaded = _load(transformers.AutoModelForCausalLM, folder).to(stack.device)
    loaded.forward = _explained(f"{folder} cannot answer")(loaded.forward)
    model = Single(loaded, attrgetter("logits")).eval()
    return LoadedRun(RunFolder(folder), config, replace(stack, model=as_gpt(model)), own["step"])


class CausalLM:
    """Any causal LM in a folder with its own tokenizer: from prompts to greedily decoded text."""

    def __init__(self, folder: Path, device: str = "auto", *, trust_remote_code: bool = False) -> None:
        self.folder, where = folder, choose_device(device)
        self.tokenizer = _load(transformers.AutoTokenizer, folder, trust_remote_code)
        self.tokenizer.padding_side = "left"
        if self.tokenizer.pad_token is None:
            self.tokenizer.pad_token = self.tokenizer.eos_token
        model = _load(transformers.AutoModelForCausalLM, folder, trust_remote_code).to(where).eval()
        # On some CPUs bfloat16 instructions kill the process.
        self.model = model.float() if where.type == "cpu" else model

    def __call__(self, prompts: Sequence[str], digits: int) -> list[str]:
        written: list[str] = []
        for start in range(0, len(prompts), BATCH):
            with _explained(f"{self.folder} cannot answer {prompts[start]!r}"):
                written += self._answers(list(prompts[start : start + BATCH]), digits)
        return written

    def _answers(self, prompts: list[str], digits: int) -> list[str]:
        batch = self.tokenizer(prompts, return_tensors="pt", padding=True)
        batch = {name: batch[name].to(self.model.device) for name in ("input_ids", "attention_mask")}
        room = {"max_new_tokens": digits + SPARE_TOKENS, "pad_token_id": self.tokenizer.pad_token_id}
        ids = self.model.generate(**batch, do_sample=False, num_beams=1, **room)
        answers = ids[:, batch["input_ids"].shape[1] :]
        return self.tokenizer.batch_decode(answers, skip_special_tokens=True)


def _load(kind: Any, folder: Path, trust_remote_code: bool = False) -> Any:
    if not (folder / "config.json").is_file():
        raise InputError(f"{folder} is not a Hugging Face folder: it has no config.json")
    with _explained(f"cannot load {folder}"):
        return kind.from_pretrained(folder, local_files_only=True, trust_remote_code=trust_remote_code)


@contextmanager
def _explained(what: str) -> Iterator[None]:
    """Turn any error inside into one line: folders may come from anyone, and libraries raise many kinds of
    errors."""
    try:
        yield
    except BaseException as error:
        # A panic of the tokenizers library is not an Exception.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        if "trust_remote_code" in str(error):
            raise InputError(f"{what}: it has its own code; add --trust-remote-code to run it") from None
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise InputError(f"{what}: {reason}") from None


def evaluate_causal_lm(asked: Asked, config: RunConfig, device: str, watch: Watch) -> Evaluation:
    """Ask the model in a folder the problems of a config, in text."""
    assert asked.hf is not None
    spec, folder = config.spec, Path(asked.hf)
    shown = examples(spec, asked.shots)
    prompts = Prompts(spec.task, asked.template or "equation", shown, reverse=asked.reverse)
    model = CausalLM(folder, device, trust_remote_code=asked.trust_remote_code)
    return evaluate_text(model, config, prompts, folder.name, watch=watch)
