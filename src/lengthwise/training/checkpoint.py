"""Checkpoints: tensors as safetensors, the rest as JSON, no pickle. The JSON is what makes one count.

A save writes the tensors under a name with the step in it, then replaces state.json, which names that file,
in one step. A crash at any moment leaves state.json naming a whole file.

The checkpoints of a stack count together. Each member keeps the one before, which previous.json tells, until all
have written the new one. If a crash comes in between, those that have it go back: see `agree`.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar

import torch
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from lengthwise.errors import InputError
from lengthwise.records.files import fault_point, read_json, replace_file, write_json

FORMAT, PREVIOUS = "lengthwise-checkpoint-1", "previous.json"

Place = tuple[int, bool]
"""The step from which a run goes on, and whether its last evaluation is recorded."""

Content = TypeVar("Content", bound=BaseModel)


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
    dead: tuple[str, ...] = ()
    """Members of its stack whose loss was no longer finite by then: they have no checkpoint of this step."""


class Previous(BaseModel):
    """The checkpoint before, while a stack writes a new one."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    stack: tuple[str, ...]
    """The runs that write it, by the names of their folders."""
    state: CheckpointState | None
    """None where the new checkpoint is the first."""


def save_checkpoint(
    folder: Path, tensors: dict[str, Tensor], *, step: int, finished: bool, stack: Sequence[str] = (), **facts: Any
) -> None:
    """Write a checkpoint in place of the one before; in a `stack`, beside it until `drop_previous`.

    `facts` are the fields of `CheckpointState` that are not about the tensors.
    """
    if stack:
        write_json(folder / PREVIOUS, Previous(stack=tuple(stack), state=load_state(folder)).model_dump())
    # A run stopped in its last step saves that step twice, before and after its last evaluation.
    name = f"step-{step:09d}{'-done' if finished else ''}.safetensors"
    whole = {key: tensor.detach().to("cpu", copy=True).contiguous() for key, tensor in tensors.items()}
    replace_file(folder / name, lambda aside: _write_tensors(whole, aside))
    size = (folder / name).stat().st_size
    state = CheckpointState(step=step, finished=finished, tensors=name, tensors_size=size, **facts)
    write_json(folder / "state.json", state.model_dump())
    if not stack:
        remove_leftovers(folder, state)


def drop_previous(folder: Path) -> None:
    """Keep the newest checkpoint alone."""
    (folder / PREVIOUS).unlink(missing_ok=True)
    fault_point(f"after-removal-{PREVIOUS}")
    if state := load_state(folder):
        remove_leftovers(folder, state)


def agree(folders: Sequence[Path]) -> None:
    """Let the members of each stack stand at the last checkpoint that all of them have.

    A member that has a new one goes back if another of its stack still stands at the one before. Decided anew
    after a crash on the way, it is decided alike.
    """
    places = {folder.parent.name: place(load_state(folder)) for folder in folders}
    for folder in folders:
        if not (folder / PREVIOUS).exists():
            continue
        previous = _load(Previous, folder / PREVIOUS)
        others = [places[name] for name in previous.stack if name in places and name != folder.parent.name]
        if place(previous.state) in others:  # then go back
            if previous.state is None:
                (folder / "state.json").unlink(missing_ok=True)
            else:
                write_json(folder / "state.json", previous.state.model_dump())
        drop_previous(folder)


def place(state: CheckpointState | None) -> Place:
    """Where a run with this checkpoint goes on."""
    return (0, False) if state is None else (state.step, state.finished)


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


def load_state(folder: Path) -> CheckpointState | None:
    """The last checkpoint; None without one."""
    if not (folder / "state.json").exists():
        return None
    state = _load(CheckpointState, folder / "state.json")
    if state.format != FORMAT:
        raise InputError(f"{folder / 'state.json'} has the unknown format {state.format!r} (not {FORMAT!r})")
    return state


def _load(kind: type[Content], path: Path) -> Content:
    content: Any = read_json(path)
    try:
        return kind.model_validate(content)
    except ValidationError:
        raise InputError(f"{path} is not a checkpoint of lengthwise") from None


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
