"""A run that is killed, wherever and however often, and resumed ends in the bits of one that was not."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
from itertools import count
from pathlib import Path

import pytest
import safetensors.torch
import torch
from crash_driver import STOPPED
from fakes import tiny_config

from lengthwise.records.files import read_json
from lengthwise.records.folder import RunFolder
from lengthwise.runs.build import build, training_data
from lengthwise.runs.launch import Job, stacks
from lengthwise.training.checkpoint import agree, load_state, place, save_checkpoint

KILLED = -9
CONFIGS = {
    "learned": tiny_config(model={"dropout": 0.1}),
    "coupled": tiny_config(
        encoding="coupled",
        model={"dropout": 0.1, "tied": False, "bias": True},
        data={"sampling": "balanced"},
        training={"optimizer": "adamw", "schedule": "cosine"},
    ),
    "concatenated": tiny_config(encoding="abacus", data={"packing": "concatenated"}),
}
STEPS, EVALUATIONS = 24, 5
CHECKPOINTS = (4, 8, 12, 16, 20, 24)


@pytest.fixture(scope="module")
def driver():
    script = Path(__file__).with_name("crash_driver.py")
    process = subprocess.Popen(
        [sys.executable, str(script)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"},
    )
    yield process
    process.stdin.close()
    assert process.wait(timeout=60) == 0
    process.stdout.close()


class Runs:
    """Trainings of one config in folders of their own, through the driver."""

    def __init__(self, driver, root, configs):
        self.driver, self.root, self.configs = driver, root, configs
        self.numbers = count()
        out = self.fresh()
        ended = self.train(out)
        assert ended["code"] == 0, out.with_suffix(".log").read_text()
        self.seconds = ended["seconds"]
        self.whole = [self.contents(out / config.name) for config in configs]

    def fresh(self):
        out = self.root / f"runs-{next(self.numbers)}"
        out.mkdir()
        return out

    def train(self, out, **how):
        job = {"configs": [config.model_dump() for config in self.configs], "out": str(out), **how}
        self.driver.stdin.write(json.dumps(job) + "\n")
        self.driver.stdin.flush()
        return json.loads(self.driver.stdout.readline())

    def contents(self, path):
        """Everything a run leaves behind, but for the time it took."""
        folder = RunFolder(path)
        state = load_state(folder.checkpoint_path)
        tensors = (folder.checkpoint_path / state.tensors).read_bytes()
        return {
            "config": folder.config(),
            "status": folder.status(),
            "step": read_json(path / "status.json")["step"],
            "state": state.model_dump(exclude={"seconds", "evaluation_seconds"}),
            "tensors": tensors,
            "records": folder.records_path.read_bytes(),
            "files": sorted(p.name for p in path.iterdir()),
        }

    def assert_whole(self, out):
        for config, whole in zip(self.configs, self.whole, strict=True):
            found = self.contents(out / config.name)
            for key, expected in whole.items():
                assert found[key] == expected, f"{key} of {out} differs"

    def resume(self, out):
        ended = self.train(out)
        assert ended["code"] == 0, out.with_suffix(".log").read_text()
        self.assert_whole(out)


@pytest.fixture(scope="module", params=CONFIGS)
def runs(request, driver, tmp_path_factory):
    return Runs(driver, tmp_path_factory.mktemp(request.param), [CONFIGS[request.param]])


@pytest.fixture(scope="module")
def learned(driver, tmp_path_factory):
    return Runs(driver, tmp_path_factory.mktemp("learned-only"), [CONFIGS["learned"]])


def test_the_uninterrupted_run_is_what_it_should_be(runs):
    (config,), (whole,) = runs.configs, runs.whole
    assert (whole["status"], whole["step"]) == ("done", STEPS)
    assert whole["state"]["finished"]
    records = RunFolder(runs.root / "runs-0" / config.name).records()
    assert sorted({r.step for r in records if r.metric == "exact"}) == [0, 6, 12, 18, 24]
    assert [r.step for r in records if r.metric == "train_loss"] == [*range(1, STEPS + 1)]
    tensors = safetensors.torch.load(whole["tensors"])
    assert all(tensor.isfinite().all() for tensor in tensors.values())
    assert {name.split("/")[0] for name in tensors} == {"model", "training"}
    runs.resume(runs.fresh())


def test_the_coupled_run_draws_offsets():
    """What makes it a harder case than learned positions."""
    data = training_data(build([CONFIGS["coupled"]], torch.device("cpu")), 8)
    assert data.offsets > 1


def test_killed_at_random_moments(runs):
    """Twenty kills, up to five in a row in the same folder."""
    rng, kills, seconds = random.Random(runs.configs[0].encoding), 0, runs.seconds
    for _ in range(60):
        out = runs.fresh()
        for _ in range(rng.randint(1, 5)):
            ended = runs.train(out, kill_after=rng.uniform(0.0, seconds))
            assert ended["code"] in (KILLED, 0)
            if ended["code"] == 0:  # it was faster than thought
                seconds *= 0.9
                break
            kills += 1
        runs.resume(out)
        if kills >= 20:
            return
    pytest.fail(f"only {kills} kills found a run alive")


def fault_points():
    """Every file a run replaces, before and after the step that counts, and the middle of its other work."""
    files = [
        ("config.json", 1),
        ("environment.json", 1),
        ("status.json", 2),
        ("state.json", len(CHECKPOINTS)),
    ]
    for name, times in files:
        for k in range(1, times + 1):
            yield f"before-rename-{name}:{k}"
            yield f"after-rename-{name}:{k}"
    for k in range(1, EVALUATIONS + 1):
        yield f"mid-record:{k}"
        yield f"mid-evaluation:{k}"


def tensor_fault_points(whole):
    for name in ("step-000000004.safetensors", "step-000000020.safetensors", whole["state"]["tensors"]):
        yield f"before-rename-{name}:1"
        yield f"after-rename-{name}:1"


def test_killed_at_every_fault_point(learned):
    for fault in (*fault_points(), *tensor_fault_points(learned.whole[0])):
        out = learned.fresh()
        assert learned.train(out, fault=fault)["code"] == KILLED, f"{fault} was never passed"
        learned.resume(out)


def test_killed_again_and_again_on_the_way(runs):
    """Each resume gets a little further: into half a record, half a replacement, half an evaluation."""
    out = runs.fresh()
    faults = [
        "mid-record:1",
        "before-rename-step-000000004.safetensors:1",
        "mid-record:2",
        "before-rename-state.json:3",
        "after-rename-state.json:1",
        "mid-evaluation:1",
        "mid-record:1",
        "before-rename-state.json:2",
        "after-rename-state.json:1",
        "before-rename-status.json:2",
        "after-rename-status.json:2",
    ]
    for fault in faults:
        assert runs.train(out, fault=fault)["code"] == KILLED, fault
    runs.resume(out)


@pytest.mark.parametrize("step", [1, 4, 7, 12, 23])
def test_interrupted_in_a_step(runs, step):
    out = runs.fresh()
    assert runs.train(out, interrupt_at=step)["code"] == STOPPED
    folder = RunFolder(out / runs.configs[0].name)
    state = load_state(folder.checkpoint_path)
    assert (state.step, state.finished) == (step, False)
    assert (folder.status(), folder.costs()["step"]) == ("stopped", step)
    assert f"stopped after step {step}" in out.with_suffix(".log").read_text()
    runs.resume(out)


def test_interrupted_in_the_last_step_then_killed_over_its_last_checkpoint(learned):
    """Two checkpoints of one step, before and after the last evaluation, must not be mixed."""
    for fault in ("before-rename-state.json:1", "after-rename-state.json:1"):
        out = learned.fresh()
        assert learned.train(out, interrupt_at=STEPS)["code"] == STOPPED
        assert learned.train(out, fault=fault)["code"] == KILLED
        learned.resume(out)


def test_no_stale_tensors_stay_in_a_finished_run(learned):
    """Killed between the last state.json and the removal of the tensors before it."""
    out = learned.fresh()
    assert learned.train(out, fault=f"after-rename-state.json:{len(CHECKPOINTS)}")["code"] == KILLED
    learned.resume(out)
    folder = RunFolder(out / learned.configs[0].name).checkpoint_path
    assert sorted(p.name for p in folder.iterdir()) == ["state.json", learned.whole[0]["state"]["tensors"]]


def test_interrupted_then_killed_then_interrupted(learned):
    out = learned.fresh()
    assert learned.train(out, interrupt_at=5)["code"] == STOPPED
    assert learned.train(out, fault="mid-record:1")["code"] == KILLED
    assert learned.train(out, interrupt_at=14)["code"] == STOPPED
    learned.resume(out)


def test_a_stack_interrupted_is_stopped_and_resumes(stack):
    out = stack.fresh()
    assert stack.train(out, interrupt_at=7)["code"] == STOPPED
    assert [(job.folder.status(), job.place) for job in jobs_of(stack, out)] == [("stopped", (7, False))] * 3
    stack.resume(out)


def test_asked_to_end_as_a_scheduler_does(learned):
    out = learned.fresh()
    assert learned.train(out, interrupt_at=9, signal=int(signal.SIGTERM))["code"] == STOPPED
    assert load_state(RunFolder(out / learned.configs[0].name).checkpoint_path).step == 9
    learned.resume(out)


def test_a_finished_run_is_not_redone(runs):
    out = runs.fresh()
    runs.resume(out)
    paths = [path for path in (out / runs.configs[0].name).rglob("*") if path.is_file()]
    before = {path: (path.stat().st_mtime_ns, path.stat().st_ino) for path in paths}
    for fault in ("mid-evaluation:1", "mid-record:1", "before-rename-state.json:1"):
        assert runs.train(out, fault=fault)["code"] == 0, "it is not even begun"
    assert {path: (path.stat().st_mtime_ns, path.stat().st_ino) for path in paths} == before


# --- stacks ---------------------------------------------------------------------------------------------------

STACK = [
    tiny_config(seed=1, model={"dropout": 0.1}),
    tiny_config(seed=2, train="D1..2", training={"learning_rate": 3e-3}),
    tiny_config(seed=3, task="add%7"),
]
STACK = [config.changed(data={"operand_width": 3, "answer_width": 4}) for config in STACK]


@pytest.fixture(scope="module")
def stack(driver, tmp_path_factory):
    runs = Runs(driver, tmp_path_factory.mktemp("stack"), STACK)
    assert [[job.config.seed for job in jobs] for jobs in stacks(jobs_of(runs, runs.fresh()))] == [[1, 2, 3]]
    return runs


def jobs_of(runs, out):
    return [Job(config, RunFolder(out / config.name)) for config in runs.configs]


def test_a_stack_killed_at_random_moments(stack):
    """LENGTHWISE_STACK_KILLS asks for more kills than continuous integration has time for."""
    rng, kills, identical, seconds = random.Random(24), 0, 0, stack.seconds
    asked = int(os.environ.get("LENGTHWISE_STACK_KILLS", "8"))
    while kills < asked:
        out = stack.fresh()
        for _ in range(rng.randint(1, 4)):
            ended = stack.train(out, **random_death(rng, seconds))
            assert ended["code"] in (KILLED, 0)
            if ended["code"] == 0:
                seconds *= 0.98
                break
            kills += 1
        stack.resume(out)
        identical += 1
        shutil.rmtree(out)
    print(f"{kills} kills of {identical} stacks: all {identical} ended as the one that was not killed")


def random_death(rng, seconds):
    """Half of them anywhere, half between the checkpoints of two members, where few moments would find it."""
    if rng.random() < 0.5:
        return {"kill_after": rng.uniform(0.0, seconds)}
    return {"fault": f"{rng.choice(STACK_FAULTS)}:{rng.randint(1, len(STACK) * len(CHECKPOINTS))}"}


STACK_FAULTS = [
    "before-rename-previous.json",
    "after-rename-previous.json",
    "before-rename-state.json",
    "after-rename-state.json",
    "after-removal-previous.json",
    "before-rename-step-000000008.safetensors",
    "after-rename-step-000000008.safetensors",
]


@pytest.mark.parametrize("checkpoint", [1, len(CHECKPOINTS)])
def test_a_stack_killed_between_its_members(stack, checkpoint):
    """In the first checkpoint, before which there is none, and in the last."""
    first = len(STACK) * (checkpoint - 1) + 1
    for fault in ("after-rename-previous.json", "after-rename-state.json", "after-removal-previous.json"):
        for k in (first, first + 1):
            out = stack.fresh()
            assert stack.train(out, fault=f"{fault}:{k}")["code"] == KILLED, fault
            stack.resume(out)


def test_members_go_back_to_the_last_checkpoint_that_all_have(stack):
    out = stack.fresh()
    assert stack.train(out, fault="after-rename-state.json:5")["code"] == KILLED
    folders = [job.folder.checkpoint_path for job in jobs_of(stack, out)]
    assert [place(load_state(folder))[0] for folder in folders] == [8, 8, 4]
    # Killed again while they go back, which they do in this order.
    assert stack.train(out, fault="before-rename-state.json:2")["code"] == KILLED
    assert [place(load_state(folder))[0] for folder in folders] == [4, 8, 4]
    agree(folders)
    assert [place(load_state(folder))[0] for folder in folders] == [4, 4, 4]
    assert all(sorted(p.name for p in folder.iterdir()) == ["state.json", TENSORS_4] for folder in folders)
    stack.resume(out)


TENSORS_4 = "step-000000004.safetensors"


def test_a_run_that_was_no_member_holds_nobody_back(stack):
    """All members have the checkpoint of step 8; another run of equal shape happens to stand at step 4."""
    out = stack.fresh()
    assert stack.train(out, fault="after-removal-previous.json:4")["code"] == KILLED
    other = RunFolder(out / "other").checkpoint_path
    other.mkdir(parents=True)
    save_checkpoint(other, {"w": torch.zeros(1)}, step=4, finished=False, seconds=0.0, records_size=0)
    folders = [job.folder.checkpoint_path for job in jobs_of(stack, out)]
    agree([other, *folders])
    assert [place(load_state(folder))[0] for folder in (other, *folders)] == [4, 8, 8, 8]


def test_a_member_that_died_is_dead_after_a_resume_too(driver, tmp_path):
    """Its rate breaks it after the first checkpoint; the others end as in the stack that was not killed."""
    broken = {"optimizer": "adamw", "learning_rate": 1e22, "warmup": 10**9}
    sane = {**broken, "learning_rate": 1e-3}
    rates = [sane, broken, sane]
    configs = [tiny_config(seed=seed, training=rate) for seed, rate in enumerate(rates, start=1)]
    out, killed = tmp_path / "whole", tmp_path / "killed"
    for folder in (out, killed):
        folder.mkdir()
    runs = Runs.__new__(Runs)
    runs.driver, runs.configs = driver, configs
    assert runs.train(out)["code"] == 0, out.with_suffix(".log").read_text()
    assert [RunFolder(out / config.name).status() for config in configs] == ["done", "failed", "done"]
    assert runs.train(killed, fault="mid-evaluation:4")["code"] == KILLED
    assert runs.train(killed)["code"] == 0, killed.with_suffix(".log").read_text()
    assert [RunFolder(killed / config.name).status() for config in configs] == ["done", "failed", "done"]
    for config in (configs[0], configs[2]):
        assert runs.contents(killed / config.name) == runs.contents(out / config.name)
    records = [RunFolder(folder / configs[1].name).records_path.read_bytes() for folder in (out, killed)]
    assert records[0] == records[1]


def test_alone_and_in_a_stack_differ_by_rounding_alone(driver, stack):
    """What the README says: matrix products of a stack may sum in another order than those of one model."""
    for config, whole in zip(STACK, stack.whole, strict=True):
        alone = Runs(driver, stack.fresh(), [config])
        tensors = safetensors.torch.load(alone.whole[0]["tensors"])
        for name, expected in safetensors.torch.load(whole["tensors"]).items():
            torch.testing.assert_close(tensors[name], expected, rtol=1e-4, atol=1e-4, msg=name)
