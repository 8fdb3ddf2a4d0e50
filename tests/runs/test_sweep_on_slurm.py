"""Sweeps as submitit's jobs, on its executor for this machine: preempted and killed."""

import os
import signal
import sys
from pathlib import Path

import pytest
from gate import FOLDER, STACKS, Disturbed, Gate, assert_equal, finish_behind_gate, jobs, undisturbed
from rich.console import Console

from lengthwise.errors import InputError
from lengthwise.interop.clusters import SlurmEngine
from lengthwise.runs.sweep import sweep_jobs

submitit = pytest.importorskip("submitit", reason="needs the extra slurm")

PREEMPTED = signal.SIGUSR2


@pytest.fixture
def gate(tmp_path, monkeypatch):
    tests = Path(__file__).parent
    monkeypatch.setenv(FOLDER, str(tmp_path / "gate"))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tests), str(tests.parent), *sys.path]))
    return Gate(tmp_path / "gate")


def engine(tmp_path, **options):
    usual = {"parameters": (), "workers": None, "gpus": 0, "retries": 1, "cluster": "local"}
    return SlurmEngine(**{**usual, "logs": tmp_path / "runs" / "logs", **options})


@pytest.mark.slow
def test_preempted_and_killed_jobs_end_as_undisturbed_and_one_killed_again_is_listed(tmp_path, gate, monkeypatch):
    """One job is preempted, queued again, killed and submitted again; the other is killed twice."""
    monkeypatch.setattr(submitit.Job, "_results_timeout_s", 0)  # this disk is not a slow network's

    def scenario():
        for stack in STACKS:
            yield from gate.waits_for(stack, 1)
            gate.kill(stack, PREEMPTED if stack == STACKS[0] else signal.SIGKILL)
        for stack in STACKS:
            yield from gate.waits_for(stack, 2)
            gate.kill(stack)
        yield from gate.waits_for(STACKS[0], 3)
        gate.open()

    runs, how = jobs(tmp_path / "runs"), {"device": "cpu", "stack": 8, "console": Console(quiet=True)}
    failures = sweep_jobs(runs, Disturbed(engine(tmp_path), scenario()), finish=finish_behind_gate, **how)
    assert {Path(path).name for path in failures} == {job.folder.name for job in runs[2:]}
    assert all("ended without result" in reason for reason in failures.values())
    assert sweep_jobs(runs, engine(tmp_path), **how) == {}
    assert_equal(tmp_path / "runs", undisturbed(tmp_path / "reference"))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"parameters": ("partition",)}, "bad slurm parameter 'partition' \\(choose from time=..., "),
        ({"parameters": ("colour=red",)}, "bad slurm parameter 'colour=red'"),
        ({"parameters": ("time=long",)}, "slurm parameter time is 'long'"),
        ({"gpus": 0.5}, "gpus is 0.5 \\(must be a whole number on SLURM\\)"),
        ({"cluster": "slurm"}, "no SLURM here: sbatch is not on the path"),
    ],
)
def test_what_is_refused(options, said, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(InputError, match=said):
        next(engine(tmp_path, **options).run(finish_behind_gate, []))
    assert [*tmp_path.iterdir()] == []
