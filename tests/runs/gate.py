"""Sweeps that are disturbed in mid-run, without a race: training stands still at a gate until a test opens it.

A stack that has reached the gate says so in GATE/ENCODING/PID, a file with the id of its Ray node if it has one.
Training goes on once GATE/open exists.
"""

import os
import shutil
import signal
import sys
import time
from pathlib import Path

from fakes import tiny_config

from lengthwise.records.folder import RunFolder
from lengthwise.runs.launch import Job, TrainingBar
from lengthwise.runs.sweep import Failures, Work, finish, pieces

STEP, FOLDER, LIMIT = 7, "LENGTHWISE_TEST_GATE", 400
STACKS = ("learned", "coupled")


def jobs(root: Path) -> list[Job]:
    """Two stacks of two runs, by encoding."""
    configs = [tiny_config(encoding=encoding, seed=seed) for encoding in STACKS for seed in (1, 2)]
    return [Job(config, RunFolder(root / config.name)) for config in configs]


def finish_behind_gate(work: Work) -> Failures:
    gate, plain = Path(os.environ[FOLDER]), TrainingBar.step

    def stop_at_gate(self, training):
        plain(self, training)
        if training.step == STEP and not (gate / "open").exists():
            _tell(gate / next(iter(work.runs.values()))["encoding"])
            while not (gate / "open").exists():
                time.sleep(0.02)

    TrainingBar.step = stop_at_gate
    try:
        return finish(work)
    finally:
        TrainingBar.step = plain


def _tell(reached: Path) -> None:
    reached.mkdir(parents=True, exist_ok=True)
    ray = sys.modules.get("ray")
    node = ray.get_runtime_context().get_node_id() if ray and ray.is_initialized() else ""
    (reached / ".aside").write_text(node)
    (reached / ".aside").rename(reached / str(os.getpid()))


class Gate:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def open(self) -> None:
        self.folder.mkdir(exist_ok=True)
        (self.folder / "open").touch()

    def close(self) -> None:
        shutil.rmtree(self.folder)

    def at(self, stack: str) -> dict[int, str]:
        """The processes that have reached it with a stack, each with its node."""
        found = (self.folder / stack).glob("[0-9]*")
        return {int(path.name): path.read_text() for path in found}

    def waits_for(self, stack: str, processes: int):
        """Steps of a scenario until so many processes, one after the other, have stood there with a stack."""
        yield from until(lambda: len(self.at(stack)) == processes)

    def kill(self, stack: str, by: signal.Signals = signal.SIGKILL) -> None:
        """Send a signal to the process that stands there."""
        (alive,) = [process for process in self.at(stack) if not gone(process)]
        os.kill(alive, by)


def until(holds):
    deadline = time.monotonic() + LIMIT
    while not holds():
        assert time.monotonic() < deadline
        yield


def gone(process: int) -> bool:
    """Dead, also if nobody has asked yet how it ended."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


class Disturbed:
    """An engine, and a scenario of which a step is played at each of its events."""

    def __init__(self, engine, scenario) -> None:
        self.engine, self.scenario = engine, scenario

    def run(self, finish, works):
        for event in self.engine.run(finish, works):
            next(self.scenario, None)
            yield event


def undisturbed(root: Path) -> Path:
    for work in pieces(jobs(root), "cpu", 8):
        assert finish(work) == {}
    return root


def assert_equal(disturbed: Path, reference: Path) -> None:
    """Configs, records and last checkpoints, to the byte."""
    names = sorted(path.name for path in reference.iterdir())
    assert sorted(path.name for path in disturbed.iterdir() if path.name != "logs") == names
    for name in names:
        assert RunFolder(disturbed / name).status() == "done"
        files = sorted((reference / name).rglob("*"))
        for file in files:
            if file.is_file() and file.name not in ("status.json", "state.json"):
                assert (disturbed / file.relative_to(reference)).read_bytes() == file.read_bytes(), file
        assert any(file.suffix == ".safetensors" for file in files)
