"""Ship a trained run with the package: scripts/ship_model.py RUN NAME strips it into src/lengthwise/shipped/.

What only training needs is left out: the optimizer's state, and all records but the last evaluation's.
"""

import shutil
import sys
from pathlib import Path

from lengthwise.records.folder import RunFolder
from lengthwise.records.view import RunView
from lengthwise.training.checkpoint import load_state, load_tensors, save_checkpoint

SHIPPED = Path(__file__).parent.parent / "src" / "lengthwise" / "shipped"
MAX_BYTES = 4 * 2**20


def ship(run: Path, name: str, shipped: Path = SHIPPED) -> Path:
    source, target = RunFolder.existing(run), shipped / name
    if source.status() != "done":
        sys.exit(f"{run} is not done: ship a run that has finished")
    state = load_state(source.checkpoint_path)
    shutil.rmtree(target, ignore_errors=True)
    (target / "checkpoint").mkdir(parents=True)
    for file in ("config.json", "environment.json", "status.json"):
        shutil.copyfile(source.path / file, target / file)
    view = RunView(source)
    folder = RunFolder(target)
    folder.append(record.model_copy(update={"run": name}) for record in view.at(view.last_step))
    weights = {k: v for k, v in load_tensors(source.checkpoint_path, state).items() if k.startswith("model/")}
    save_checkpoint(
        folder.checkpoint_path,
        weights,
        step=state.step,
        finished=state.finished,
        seconds=state.seconds,
        records_size=folder.records_size(),
    )
    check_size(target)
    return target


def check_size(folder: Path) -> None:
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    if size > MAX_BYTES:
        shutil.rmtree(folder)
        sys.exit(f"{size} bytes are too many to ship: allowed are {MAX_BYTES}")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: python scripts/ship_model.py RUN NAME")
    print(ship(Path(sys.argv[1]), sys.argv[2]))
