"""Checkpoints: tensors as safetensors, the rest as JSON, no pickle. The JSON is what makes one count.

A save writes the tensors under a name with the step in it, then replaces state.json, which names that file,
in one step. A crash at any moment leaves state.json naming a whole file.
"""

from pathlib import Path
from typing import Annotated, Any

import torch
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from lengthwise.errors import InputError
from lengthwise.records.files import read_json, replace_file, write_json

FORMAT = "lengthwise-checkpoint-1"


class CheckpointState(BaseModel):
    """What a run needs to go on besides its tensors."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: str = FORMAT
    step: int
    """Steps done."""
    finished: bool
    """Whether training is over and its last evaluation recorded."""
    learned_at: int | None = None
    """The step from which the learning rate falls, under the schedule wsd."""
    seconds: float
    """Seconds of training so far."""
    evaluation_seconds: float = 0.0
    """Seconds of evaluations so far."""
    records_size: int
    """Length of records.jsonl that belongs to this state."""
    tensors: Annotated[str, Field(pattern=r"^step-\d+(-done)?\.safetensors$")]
    """File beside this one that holds the tensors."""
    tensors_size: int
    """Its length, to notice a file cut short."""


def save_checkpoint(
    folder: Path,
    tensors: dict[str, Tensor],
    *,
    step: int,
    finished: bool,
    seconds: float,
    records_size: int,
    evaluation_seconds: float = 0.0,
    learned_at: int | None = None,
) -> None:
    # A run stopped in its last step saves that step twice, before and after its last evaluation.
    name = f"step-{step:09d}{'-done' if finished else ''}.safetensors"
    whole = {key: tensor.detach().to("cpu", copy=True).contiguous() for key, tensor in tensors.items()}
    replace_file(folder / name, lambda aside: _write_tensors(whole, aside))
    state = CheckpointState(
        step=step,
        finished=finished,
        learned_at=learned_at,
        seconds=seconds,
        evaluation_seconds=evaluation_seconds,
        records_size=records_size,
        tensors=name,
        tensors_size=(folder / name).stat().st_size,
    )
    write_json(folder / "state.json", state.model_dump())
    remove_leftovers(folder, state)


def remove_leftovers(folder: Path, state: CheckpointState) -> None:
    """Drop tensors that state.json does not name: older ones, or some that a crash left behind."""
    for path in folder.glob("step-*"):
        if path.name != state.tensors:
            path.unlink(missing_ok=True)


def _write_tensors(tensors: dict[str, Tensor], path: Path) -> None:
    try:
        save_file(tensors, path)
    except SafetensorError as error:
        # The library hides the operating system's error, such as a full disk, in its own.
        raise OSError(f"{error}") from error


def has_checkpoint(folder: Path) -> bool:
    return (folder / "state.json").exists()


def load_state(folder: Path) -> CheckpointState:
    path = folder / "state.json"
    content: Any = read_json(path)
    try:
        state = CheckpointState.model_validate(content)
    except ValidationError:
        raise InputError(f"{path} is not a checkpoint of lengthwise") from None
    if state.format != FORMAT:
        raise InputError(f"{path} has the unknown format {state.format!r} (not {FORMAT!r})")
    return state


def load_tensors(folder: Path, state: CheckpointState) -> dict[str, Tensor]:
    path = folder / state.tensors
    if not path.is_file():
        raise InputError(f"checkpoint {path} is missing, though state.json names it")
    if path.stat().st_size != state.tensors_size:
        raise InputError(
            f"checkpoint {path} has {path.stat().st_size} bytes where state.json says {state.tensors_size}: "
            "it was cut short or replaced"
        )
    try:
        return load_file(path)
    except (SafetensorError, OSError) as error:
        raise InputError(f"checkpoint {path} cannot be read: {error}") from None


@torch.no_grad()
def copy_into(targets: dict[str, Tensor], source: dict[str, Tensor], place: Path) -> None:
    """Fill tensors from loaded ones of the same names and shapes."""
    expected = {key: tuple(tensor.shape) for key, tensor in targets.items()}
    found = {key: tuple(tensor.shape) for key, tensor in source.items()}
    for key in sorted({*expected, *found}):
        if expected.get(key) != found.get(key):
            raise InputError(
                f"checkpoint in {place} does not fit this model: {key} is {found.get(key, 'missing')} there "
                f"and {expected.get(key, 'missing')} here"
            )
    for key, target in targets.items():
        target.copy_(source[key])
