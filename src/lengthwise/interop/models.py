"""Models of Hugging Face folders: an exported run as the run it was, any causal LM as a model asked in text."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from operator import attrgetter
from pathlib import Path
from typing import Any

from lengthwise.errors import InputError
from lengthwise.interop.huggingface import LengthwiseConfig, LengthwiseForCausalLM, transformers
from lengthwise.model.single import Single
from lengthwise.records.files import read_json
from lengthwise.records.folder import RunFolder
from lengthwise.runs.build import as_gpt, build
from lengthwise.runs.config import read_config
from lengthwise.runs.load import Run
from lengthwise.runs.machine import choose_device

# Our own architecture then needs no code from the folder.
transformers.AutoConfig.register("lengthwise", LengthwiseConfig, exist_ok=True)
transformers.AutoModelForCausalLM.register(LengthwiseConfig, LengthwiseForCausalLM, exist_ok=True)

BATCH = 64
"""Prompts answered at once."""

SPARE_TOKENS = 8
"""Written beyond the digits of the longest answer: blanks, separators, the end."""


def exported_run(folder: Path, device: str = "auto") -> Run | None:
    """A folder that `lengthwise export` wrote, as the run it was, with its Hugging Face model; None of others."""
    written = read_json(folder / "config.json")
    own = written.get("lengthwise") if isinstance(written, dict) else None
    if not isinstance(own, dict) or not {"run", "step", "config"} <= own.keys():
        return None
    config = read_config(own["config"], f"{folder}/config.json")
    stack = build([config], choose_device(device), [own["run"]])
    loaded = _load(transformers.AutoModelForCausalLM, folder).to(stack.device)
    loaded.forward = _explained(f"{folder} cannot answer")(loaded.forward)
    model = Single(loaded, attrgetter("logits")).eval()
    return Run(RunFolder(folder), config, replace(stack, model=as_gpt(model)), own["step"])


class CausalLM:
    """Any causal LM of a folder, by its own tokenizer: prompts in, text out, decoded greedily."""

    def __init__(self, folder: Path, device: str = "auto", *, trust_remote_code: bool = False) -> None:
        self.folder, where = folder, choose_device(device)
        self.tokenizer = _load(transformers.AutoTokenizer, folder, trust_remote_code)
        self.tokenizer.padding_side = "left"
        if self.tokenizer.pad_token is None:
            self.tokenizer.pad_token = self.tokenizer.eos_token
        model = _load(transformers.AutoModelForCausalLM, folder, trust_remote_code).to(where).eval()
        # Some CPUs announce bfloat16 instructions that kill the process.
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
    """Anyone may have written a folder, and every library behind it has errors of its own: one line for all."""
    try:
        yield
    except BaseException as error:
        # A panic of the tokenizers library is no Exception.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        if "trust_remote_code" in str(error):
            raise InputError(f"{what}: it has code of its own; --trust-remote-code runs it") from None
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise InputError(f"{what}: {reason}") from None
