"""lengthwise export: a trained run as a folder that other tools load."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from lengthwise.records.files import refuse_used_folder


@dataclass(frozen=True, kw_only=True)
class Export:
    """Write a trained run as a Hugging Face folder: weights, tokenizer, generation config and model card.

    AutoModelForCausalLM loads it; `lengthwise evaluate --hf` measures it again.

    Example: lengthwise export runs/add-D4-learned-s1 --to huggingface exported/addition
    """

    run_folder: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """A run folder, or a model that comes with the package."""
    folder: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="DIR")]
    """Folder to write: a new or an empty one."""
    to: Literal["huggingface"] = "huggingface"
    """Whose format."""

    def run(self) -> None:
        from lengthwise.interop.huggingface import export
        from lengthwise.runs.load import load

        refuse_used_folder(self.folder)
        architecture = export(load(self.run_folder, device="cpu"), self.folder)
        print(f"{self.folder}: {architecture}")
