"""Sweeps: which runs they have, and that they end as they would undisturbed, whatever happens on the way."""

import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from fakes import tiny_config
from gate import FOLDER, STACKS, Disturbed, Gate, assert_equal, finish_behind_gate, jobs, undisturbed
from rich.console import Console

import lengthwise
from lengthwise.cli import main
from lengthwise.recipes.configure import grid
from lengthwise.records.files import read_json
from lengthwise.records.folder import RunFolder
from lengthwise.runs import local
from lengthwise.runs.engines import ScaleOut, train_recipe
from lengthwise.runs.launch import Job
from lengthwise.runs.local import LocalEngine, worker_environments
from lengthwise.runs.sweep import Board, Work, finish, pieces, sweep_jobs

TINY = "--base 3 --train D2 --test D1..3 --model.layers 1 --model.heads 2 --model.width 16 --device cpu"
QUIET = Console(quiet=True)


@pytest.fixture
def gate(tmp_path, monkeypatch):
    monkeypatch.setenv(FOLDER, str(tmp_path / "gate"))
    here = os.pathsep.join([str(Path(__file__).parent), str(Path(__file__).parent.parent), *sys.path])
    monkeypatch.setenv("PYTHONPATH", here)
    return Gate(tmp_path / "gate")


def engine(tmp_path, **options):
    return LocalEngine(**{"workers": 2, "gpus": 0, "retries": 1, "logs": tmp_path / "runs" / "logs", **options})


def swept(tmp_path, engine, **options):
    return sweep_jobs(jobs(tmp_path / "runs"), engine, device="cpu", stack=8, console=QUIET, **options)


# --- which runs -----------------------------------------------------------------------------------------------


def test_a_run_is_what_train_makes_of_its_options():
    """Defaults of the preset that depend on the task too, and any option of the config."""
    vary = {"task": ["add", "mul"], "seed": range(2), "training.learning-rate": ["0.01", 0.02]}
    runs = grid({"preset": "paper", "size": "nano", "steps": 7, "data": {"samples": 900}}, vary)
    assert [*runs][-1] == "mul-D4-learned-training.learning-rate=0.02-s1"
    assert len(runs) == 8
    config = runs["mul-D4-learned-training.learning-rate=0.01-s1"]
    assert (config.task, config.seed, config.training.learning_rate) == ("mul", 1, 0.01)
    assert {own.task: own.model.dropout for own in runs.values()} == {"add": 0.2, "mul": 0.1}
    assert (config.training.steps, config.data.samples, config.data.operand_width) == (7, 900, 20)


def test_values_of_every_type():
    runs = grid({"task": "add"}, {"test": ["B5,B6", None], "training.betas": [[0.9, 0.99]], "size": ["nano"]})
    (first, second) = runs.values()
    assert (first.test, second.test, first.training.betas) == ("B5,B6", None, (0.9, 0.99))
    assert next(iter(runs)) == "add-D4-learned-test=B5_B6-training.betas=_0.9_0.99_-size=nano-s0"


def test_stacks_depend_on_the_list_of_runs_alone(tmp_path):
    configs = [tiny_config(seed=seed, encoding=e) for seed in range(10) for e in ("learned", "coupled")]
    listed = [Job(config, RunFolder(tmp_path / config.name)) for config in configs]
    before = pieces(listed, "cpu", 4)
    assert [len(work.runs) for work in before] == [3, 3, 4, 3, 3, 4]
    assert {path: config for work in before for path, config in work.runs.items()} == {
        str(job.folder.path): job.config.model_dump(mode="json") for job in listed
    }
    RunFolder.claim(listed[0].folder.path, configs[0].model_dump(mode="json"), {}).set_status("done")
    assert pieces(listed, "cpu", 4) == before


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--vary seed 0..9", "missing task"),
        ("add --vary seeds 0..9", "unknown option 'seeds' (choose an option of train"),
        ("add --vary seed 9..0", "range 9..0 has 0 values (must be 1 to 100,000)"),
        ("add --vary seed ٣..٥", "seed is '٣..٥'"),
        ("add --vary seed 0..99999 --vary base 2,3", "more than 100,000 runs"),
        ("add --vary seed one,two", "seed is 'one'"),
        ("add --vary seed [1,", "not a JSON list"),
        ("--vary task add,div", "unknown operation 'div'"),
        ("add --vary training.steps 0,5", "steps is '0' (must be greater than or equal to 1)"),
        ("add --vary layout padded --vary layout None", "--vary layout is given twice"),
        ("add --seed 3 --vary seed 0..1", "--seed cannot be combined with --vary seed"),
        ("add --vary seed 0..1 --on moon", "unknown engine 'moon' (choose from local, ray, slurm)"),
        ("add --vary seed 0..1 --workers 0", "workers is 0 (must be 1 or more)"),
        ("add --vary seed 0..1 --workers 1000000000", "workers is 1000000000 (must be 10,000 or less)"),
        ("add --vary seed 0..1 --stack 0", "stack is 0 (must be 1 or more)"),
        ("add --vary seed 0..1 --device tpu", "unknown device 'tpu' (choose from auto, cpu, cuda)"),
        ("add --vary seed 0..1 --gpus 1", "no GPU here"),
        ("add --vary seed 0..1 --address here:1", "--address requires --on ray"),
        ("add --vary seed 0..1 --on slurm", "no SLURM here: sbatch is not on the path"),
    ],
)
def test_bad_input_is_one_line_and_starts_nothing(options, said, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    with pytest.raises(SystemExit) as stop:
        main(["sweep", *options.split(), "--out", str(tmp_path / "runs")])
    printed = capsys.readouterr()
    assert stop.value.code == 2
    assert said in printed.err and printed.err.startswith("error: ")
    assert printed.err.count("\n") == 1 and printed.out == ""
    assert [*tmp_path.iterdir()] == []


def test_a_folder_of_another_config_is_refused_before_anything_starts(tmp_path):
    first, *_ = jobs(tmp_path / "runs")
    other = first.config.changed(training={"steps": 9}).model_dump(mode="json")
    RunFolder.claim(first.folder.path, other, {})
    with pytest.raises(lengthwise.errors.InputError, match=r"training\.steps is 9 there and 24 here"):
        swept(tmp_path, engine(tmp_path))
    assert [path.name for path in (tmp_path / "runs").iterdir()] == [first.folder.name]


# --- workers on this machine ----------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_killed_worker_is_replaced_and_one_killed_again_is_listed(tmp_path, gate):
    """One stack is killed once, and finished; the other is killed twice, and taken up by the next call."""

    def scenario():
        for stack in STACKS:
            yield from gate.waits_for(stack, 1)
            gate.kill(stack)
        for stack in STACKS:
            yield from gate.waits_for(stack, 2)
        gate.kill("coupled")
        gate.open()

    failures = swept(tmp_path, Disturbed(engine(tmp_path), scenario()), finish=finish_behind_gate)
    assert {Path(path).name for path in failures} == {job.folder.name for job in jobs(tmp_path)[2:]}
    assert all("its worker was killed (SIGKILL)" in reason for reason in failures.values())
    assert {job.folder.status() for job in jobs(tmp_path / "runs")} == {"done", "running"}
    assert swept(tmp_path, engine(tmp_path, workers=1)) == {}
    assert_equal(tmp_path / "runs", undisturbed(tmp_path / "reference"))


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGKILL])
def test_workers_stop_with_a_checkpoint_when_the_command_ends(by, tmp_path):
    """By Ctrl-C, or killed."""
    options = f"sweep add --vary seed 1..2 {TINY} --evaluation.problems 20 --training.steps 1000000"
    command = [sys.executable, "-m", "lengthwise", *options.split(), "--out", str(tmp_path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    folders = [RunFolder(tmp_path / f"add-D2-base3-learned-s{seed}") for seed in (1, 2)]
    while not all(folder.records_size() for folder in folders):
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    process.send_signal(by)
    _, said = process.communicate()
    assert process.returncode == (130 if by == signal.SIGINT else -by)
    assert by == signal.SIGKILL or said == "stopped with 0 of 2 runs done; the same command resumes the others\n"
    while not all(folder.status() == "stopped" for folder in folders):
        time.sleep(0.05)
    assert all(read_json(folder.checkpoint_path / "state.json")["step"] > 0 for folder in folders)


def tell_place(work: Work) -> dict[str, str]:
    told = [os.environ.get("CUDA_VISIBLE_DEVICES"), torch.get_num_threads(), os.getpid()]
    return dict.fromkeys(work.runs, json.dumps(told))


def test_each_worker_has_a_gpu_and_a_thread_of_its_own(tmp_path, gate, monkeypatch):
    monkeypatch.setattr(local, "visible_gpus", lambda: ["3", "7"])
    monkeypatch.delenv("OMP_NUM_THREADS")
    works = [Work({f"run-{k}": {}}, "auto") for k in range(6)]
    events = [*engine(tmp_path, workers=None, gpus=None).run(tell_place, works)]
    told = [json.loads(reason) for event in events if event for reason in event[1].values()]
    assert len(told) == 6
    assert {gpu for gpu, _, _ in told} == {"3", "7"} and {threads for _, threads, _ in told} == {1}
    assert len({process for _, _, process in told}) == 2


def test_room_for_workers(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2,5")
    one_thread = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    places = [{"CUDA_VISIBLE_DEVICES": gpu, **one_thread} for gpu in ("2", "5")]
    assert worker_environments(None, None) == places
    assert worker_environments(0.5, None) == [*places, *places]
    assert worker_environments(None, 1) == [{"CUDA_VISIBLE_DEVICES": "2"}]
    assert worker_environments(0, 3) == [one_thread] * 3
    for share in (1e-9, 2.0, float("nan")):
        with pytest.raises(lengthwise.errors.InputError, match=r"gpus is .* \(must be 0, or 0\.01 to 1"):
            worker_environments(share, None)


# --- what fails, and what is shown ----------------------------------------------------------------------------


def test_a_run_that_fails_is_told_and_the_others_of_its_stack_go_on(tmp_path):
    (work, *_) = pieces(jobs(tmp_path), "cpu", 8)
    assert finish(work) == {}
    broken, whole = map(RunFolder, work.runs)
    for folder in (broken, whole):
        folder.set_status("running")
    next(broken.checkpoint_path.glob("*.safetensors")).write_bytes(b"")
    ((path, reason),) = finish(work).items()
    assert path == str(broken.path) and "it was cut short or replaced" in reason
    assert read_json(broken.path / "status.json") == {"status": "failed", "reason": reason}
    assert whole.status() == "done"


@pytest.fixture
def bare(tmp_path_factory, monkeypatch):
    """A machine that has what trains, and no more, for this process and for workers."""
    folder = tmp_path_factory.mktemp("bare")
    for name in ("polars", "plotly", "matplotlib", "fastapi", "ray", "submitit"):
        (folder / f"{name}.py").write_text("raise ImportError\n")
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(folder), *sys.path]))


@pytest.mark.usefixtures("bare")
def test_the_command_lists_failures_and_ends_with_1(tmp_path, capsys):
    options = f"sweep add --vary seed 1,2 {TINY} --training.steps 4 --evaluation.problems 20 --out {tmp_path}"
    broken = tmp_path / "add-D2-base3-learned-s1" / "checkpoint"
    broken.mkdir(parents=True)
    (broken / "state.json").write_text("{}")
    with pytest.raises(SystemExit) as stop:
        main([*options.split(), "--workers", "1"])
    assert stop.value.code == 1
    printed = capsys.readouterr().out
    assert "1/2 failed: add-D2-base3-learned-s1\n2/2 done: add-D2-base3-learned-s2\n" in printed
    assert "1 of 2 runs failed:\n  add-D2-base3-learned-s1: " in printed
    assert "is not a checkpoint of lengthwise" in printed


def test_a_terminal_shows_runs_by_state(tmp_path):
    console = Console(force_terminal=True, width=100, record=True, file=io.StringIO())
    first, second, third, fourth = (job.folder for job in jobs(tmp_path))
    RunFolder.claim(first.path, {}, {}).set_status("done")
    RunFolder.claim(second.path, {}, {})  # killed before this sweep
    board = Board([first, second, third, fourth], console)
    board.ended([str(third.path)], {str(third.path): "out of memory"})
    RunFolder.claim(fourth.path, {}, {})
    console.print(board.table())
    lines = [line.split() for line in console.export_text().splitlines()]
    assert lines[-4:] == [
        ["1", "waiting"],
        ["1", "running", fourth.name],
        ["1", "failed", third.name],
        ["1", "done"],
    ]
    # A whole record tells the step; what another process is writing does not.
    fourth.records_path.write_bytes(b'{"step": 1}\n{"step": 1200}\n{"step": 13')
    console.print(board.table())
    assert f"running  {fourth.name} at step 1,200" in console.export_text()


def test_reproduce_and_python_take_the_same_engines(tmp_path):
    config = tiny_config(seed=3)
    asked = {"scale": "full", "preset": "fast", "seeds": 1}
    on = ScaleOut(on="local", workers=1)
    out = tmp_path / "results"
    (folder,) = train_recipe(
        "own", {"row-s3": config}, out, asked=asked, device="cpu", scale_out=on, console=QUIET
    )
    assert folder.status() == "done" and read_json(out / "own.json")["runs"] == ["row-s3"]
    shared = {"train": "D2", "base": 3, "test": "D1..3", "training": {"steps": 4}, "problems": 20}
    model = {"layers": 1, "heads": 2, "width": 16}
    (own,) = lengthwise.sweep("add", vary={"seed": [5]}, out=tmp_path, device="cpu", model=model, **shared)
    assert own.status == "done" and own.config.seed == 5
