"""Records of a run shown elsewhere too, on request: in TensorBoard or W&B."""

import os
from collections.abc import Callable, Sequence
from typing import Protocol

from lengthwise.errors import InputError
from lengthwise.records.folder import RunFolder
from lengthwise.records.schema import Record


class Mirror(Protocol):
    """Shows the records of a run elsewhere too: the same numbers, nothing measured twice."""

    def write(self, records: Sequence[Record]) -> None: ...

    def close(self) -> None: ...


class TensorBoardMirror:
    """Writes to the run folder's `tensorboard`: `tensorboard --logdir runs`."""

    def __init__(self, folder: RunFolder) -> None:
        from torch.utils.tensorboard import SummaryWriter  # noqa: PLC0415 (an extra)

        self.writer = SummaryWriter(log_dir=str(folder.path / "tensorboard"))

    def write(self, records: Sequence[Record]) -> None:
        for record in records:
            self.writer.add_scalar(_name(record), _value(record), record.step)
        self.writer.flush()

    def close(self) -> None:
        self.writer.close()


class WandbMirror:
    """Logs to the project `lengthwise`; WANDB_MODE=offline keeps it on this machine."""

    def __init__(self, folder: RunFolder) -> None:
        import wandb  # noqa: PLC0415 (an extra)

        try:
            self.run = wandb.init(
                project=os.environ.get("WANDB_PROJECT", "lengthwise"),
                name=folder.name,
                dir=str(folder.path),
                config=folder.config(),
                reinit="create_new",
            )
        except wandb.Error as error:
            raise InputError(f"wandb does not start: {error}") from None

    def write(self, records: Sequence[Record]) -> None:
        for step in sorted({record.step for record in records}):
            self.run.log({_name(r): _value(r) for r in records if r.step == step}, step=step)

    def close(self) -> None:
        self.run.finish()


MIRRORS: dict[str, Callable[[RunFolder], Mirror]] = {"tensorboard": TensorBoardMirror, "wandb": WandbMirror}


def check_mirror(name: str | None) -> None:
    if name is not None and name not in MIRRORS:
        raise InputError(f"unknown mirror {name!r} (choose from {', '.join(MIRRORS)})")


def open_mirrors(name: str | None, folders: Sequence[RunFolder]) -> list[Mirror]:
    """A mirror for each run, or none."""
    if name is None:
        return []
    try:
        return [MIRRORS[name](folder) for folder in folders]
    except ImportError:
        raise InputError(f"{name} is not installed: pip install 'lengthwise[{name}]'") from None


def _name(record: Record) -> str:
    words = [record.metric, record.domain]
    return "/".join(words if record.reference == "truth" else [*words, record.reference])


def _value(record: Record) -> float:
    if record.correct is not None:
        return record.correct / record.total
    assert record.value is not None
    return record.value
