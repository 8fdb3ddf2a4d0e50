"""The loop itself: when it stops, what it refuses, and what a step depends on."""

import subprocess

import pytest
import torch
from fakes import tiny_config, train

from lengthwise.errors import InputError
from lengthwise.records.files import read_json
from lengthwise.records.folder import RunFolder
from lengthwise.runs import launch
from lengthwise.runs.build import build, training_data, training_steps
from lengthwise.training import trainer as loop
from lengthwise.training.checkpoint import load_state, load_tensors, save_checkpoint
from lengthwise.training.optimizer import learning_rate_factor
from lengthwise.training.trainer import Callbacks, Trainer, answer_losses

CPU = torch.device("cpu")


def trainer(*configs):
    return Trainer(training_steps(build(configs, CPU)))


class Log:
    """Callbacks that write down when they were called."""

    def __init__(self, accuracies=(), stop_at=None):
        self.evaluated, self.finished, self.saved, self.losses, self.read = [], [], [], [], []
        self.steps, self.accuracies, self.stop_at = 0, dict(accuracies), stop_at

    def callbacks(self):
        return Callbacks(self.evaluate, self.finish, self.record_losses, self.save, self.after_step, self.stop)

    def evaluate(self, own):
        self.evaluated.append(own.step)
        self.losses.append(list(own.losses))
        return self.accuracies.get(own.step, [0.0] * own.model.members)

    def record_losses(self, own):
        self.read.append((own.step, own.loss_steps))

    def finish(self, own):
        assert not own.finished
        self.finished.append(own.step)

    def save(self, own):
        self.saved.append((own.step, own.finished))

    def after_step(self, own):
        self.steps = own.step

    def stop(self):
        return self.steps == self.stop_at


def test_what_happens_when():
    log, own = Log(), trainer(tiny_config(training={"steps": 12, "evaluate_every": 3, "checkpoint_every": 4}))
    own.run(log.callbacks())
    assert log.evaluated == [0, 3, 6, 9]
    assert log.finished == [12]
    assert log.saved == [(4, False), (8, False), (12, True)]
    assert own.finished and own.seconds > 0
    own.run(log.callbacks())
    assert log.finished == [12], "what is finished stays so"


def test_losses_are_means_since_the_reading_before(monkeypatch):
    """Every second step here; an evaluation reads them too."""
    monkeypatch.setattr(loop, "LOSS_READINGS", 4)
    config = tiny_config(training={"steps": 8, "evaluate_every": 4})
    log, own, plain = Log(), trainer(config), trainer(config)
    own.run(log.callbacks())
    losses = []
    for step in range(4):
        plain.steps.take(step, [learning_rate_factor(config.training, step, step / 8)])
        losses.append(plain.steps.losses.sums.item() - sum(losses))
    assert log.losses[0] == []
    assert log.losses[1] == pytest.approx([sum(losses[2:]) / 2], rel=1e-5)
    assert log.read == [(2, 2), (6, 2)], "the step, and over how many steps the mean is"


def test_a_target_ends_training():
    log = Log(accuracies={3: [0.98], 6: [0.99], 9: [1.0]})
    trainer(tiny_config(training={"target": 0.99, "evaluate_every": 3})).run(log.callbacks())
    assert (log.evaluated, log.finished) == ([0, 3, 6], [6])
    assert log.saved[-1] == (6, True)


def test_all_members_must_reach_the_target():
    log = Log(accuracies={3: [1.0, 0.5], 6: [0.99, 1.0]})
    configs = [tiny_config(seed=seed, training={"target": 0.99, "evaluate_every": 3}) for seed in (1, 2)]
    trainer(*configs).run(log.callbacks())
    assert log.finished == [6]


WSD = {"schedule": "wsd", "target": 0.99, "cooldown": 4, "steps": 20, "warmup": 0, "evaluate_every": 3}


def test_a_cooldown_starts_where_the_training_domain_is_learned():
    log = Log(accuracies={3: [0.98], 6: [0.99], 9: [0.5]})
    own = trainer(tiny_config(training=WSD))
    own.run(log.callbacks())
    assert own.learned_at == [6]
    assert (log.evaluated, log.finished) == ([0, 3, 6, 9], [10])


def test_a_cooldown_starts_early_enough_to_end_with_the_steps():
    log, own = Log(accuracies={18: [1.0]}), trainer(tiny_config(training=WSD))
    factors = [*map(own._factors, (0, 15, 16, 17, 19))]
    assert factors == [[1.0], [1.0], [1.0], [0.75], [0.25]]
    own.run(log.callbacks())
    assert log.finished == [20], "learned within the last cool-down, it ends when that does"


def test_members_cool_down_each_by_itself():
    """The first member ends at step 7 and stays as it is then, as if it had trained alone."""
    configs = [tiny_config(seed=seed, training=WSD) for seed in (1, 2)]
    log, own = Log(accuracies={3: [1.0, 0.0], 6: [1.0, 0.0], 9: [1.0, 1.0]}), trainer(*configs)
    own.run(log.callbacks())
    assert (own.learned_at, log.finished, own.steps_taken()) == ([3, 9], [13], [7, 13])
    alone = trainer(configs[0])
    alone.run(Log(accuracies={3: [1.0]}).callbacks())
    assert alone.step == 7
    for name, tensor in alone.model.state_dict().items():
        torch.testing.assert_close(own.model.state_dict()[name][:1], tensor, rtol=1e-4, atol=1e-5)


def test_a_cooldown_fits_into_the_seconds():
    log, own = (
        Log(),
        trainer(tiny_config(training={**WSD, "seconds": 0.3, "steps": 100_000, "evaluate_every": 1_000})),
    )
    own.run(log.callbacks())
    assert own.learned_at[0] is not None
    assert log.finished == [own.learned_at[0] + 4]


def test_a_stop_saves_where_it_is():
    log, own = Log(stop_at=5), trainer(tiny_config())
    own.run(log.callbacks())
    assert log.saved == [(4, False), (5, False)]
    assert log.finished == [] and not own.finished


def test_seconds_end_training():
    log, own = Log(), trainer(tiny_config(training={"seconds": 0.05, "steps": 100_000}))
    own.run(log.callbacks())
    assert 1 <= log.finished[0] < 100_000
    assert own.seconds >= 0.05


def moved(seconds_so_far, **changes):
    """How far one AdamW step without decay, the fifth, moves the parameters, in sum."""
    config = tiny_config(training={"optimizer": "adamw", "weight_decay": 0.0, "steps": 1000, **changes})
    own = trainer(config)
    before = [p.detach().double().clone() for p in own.model.parameters()]
    own.step, own.seconds = 4, seconds_so_far
    own.run(Log(stop_at=5).callbacks())
    after = own.model.parameters()
    return sum((a - b).abs().sum().item() for a, b in zip(after, before, strict=True))


def test_the_schedule_follows_seconds_where_these_run_out_first():
    changes = {"warmup": 0, "schedule": "linear"}
    full = moved(0.0, warmup=0, schedule="constant")
    assert moved(0.0, **changes) == pytest.approx(0.996 * full, rel=1e-4)
    assert moved(7.5, seconds=10.0, **changes) == pytest.approx(0.25 * full, rel=1e-4)
    assert moved(0.001, seconds=10.0, **changes) == pytest.approx(0.996 * full, rel=1e-4)


def test_a_step_is_a_function_of_its_number_and_the_state():
    """Dropout and data included: two trainers at step 5 with equal state take equal steps."""
    config = tiny_config(model={"dropout": 0.3})
    one, two, other = trainer(config), trainer(config), trainer(config)
    one.steps.take(0, [1.0] * 5)
    for copy in (two, other):
        for name, tensor in copy.state().items():
            tensor.copy_(one.state()[name])
    one.steps.take(5, [1.0])
    torch.rand(17)  # whoever else draws random numbers must not matter
    two.steps.take(5, [1.0])
    assert all(torch.equal(tensor, two.state()[name]) for name, tensor in one.state().items())
    other.steps.take(7, [1.0])
    assert not all(torch.equal(tensor, other.state()[name]) for name, tensor in one.state().items())


def test_a_broken_member_is_frozen_and_the_others_go_on():
    configs = [tiny_config(seed=seed) for seed in (1, 2)]
    stack, single = trainer(*configs), trainer(configs[1])
    with torch.no_grad():
        stack.model.tokens.weight[0] = float("nan")
    before = {name: tensor[0].clone() for name, tensor in stack.model.state_dict().items()}
    log = Log()
    stack.run(log.callbacks())
    assert log.finished == [24]
    assert stack.alive == [False, True]
    single.run(Log().callbacks())
    for name, tensor in stack.model.state_dict().items():
        assert torch.equal(tensor[0].nan_to_num(7.0), before[name].nan_to_num(7.0)), name
        torch.testing.assert_close(tensor[1], single.model.state_dict()[name][0], rtol=1e-4, atol=1e-4)


def test_the_loss_is_of_answer_tokens_alone():
    """Written out for each problem; and the prompt's own tokens have no part in it."""
    parts = build([tiny_config(seed=seed) for seed in (1, 2)], CPU)
    batch = training_data(parts, 8)(0)
    with torch.no_grad():
        losses = answer_losses(parts.model, batch, None)
        logits = parts.model(batch.ids, batch.positions.expand(2, 8, -1))
    start = parts.layout.length - batch.tail
    assert start == 2 * parts.layout.operand_width + 3
    for k in range(2):
        terms = [
            -logits[k, problem, place - 1].log_softmax(-1)[batch.ids[k, problem, place]].item()
            for problem in range(8)
            for place in range(start, parts.layout.length)
        ]
        assert losses[k].item() == pytest.approx(sum(terms) / len(terms), rel=1e-5)


@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
def test_a_loss_that_is_no_longer_finite(tmp_path, optimizer):
    """A sane run is stopped, and goes on with a rate that breaks it: its checkpoint survives that."""
    config = tiny_config(training={"optimizer": optimizer, "learning_rate": 1e30, "warmup": 0})
    with pytest.raises(InputError, match="no longer finite") as error:
        train(config, tmp_path)
    assert "\n" not in str(error.value) and "learning rate" in str(error.value)
    status = read_json(tmp_path / config.name / "status.json")
    assert status["status"] == "failed" and "no longer finite" in status["reason"]
    assert not list((tmp_path / config.name / "checkpoint").iterdir()), "no checkpoint of a broken model"


def test_the_checkpoint_before_a_broken_loss_is_intact(tmp_path):
    """With a rate that breaks the model only once warm-up has brought it up."""
    config = tiny_config(
        training={"optimizer": "adamw", "learning_rate": 1e22, "warmup": 10**9, "checkpoint_every": 1}
    )
    with pytest.raises(InputError, match="no longer finite"):
        train(config, tmp_path)
    folder = tmp_path / config.name / "checkpoint"
    state = load_state(folder)
    assert state.step >= 1
    assert all(tensor.isfinite().all() for tensor in load_tensors(folder, state).values())


def test_a_disk_that_fills_up_in_training(tmp_path):
    """Refused in one line, the checkpoint before is whole; with room again, the run ends as it would have."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o"]
    try:
        subprocess.run([*mount, "size=100k", "tmpfs", str(disk)], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"mounting is not permitted here: {error}")
    try:
        config = tiny_config()
        with pytest.raises(InputError, match="No space left") as error:
            train(config, disk)
        assert "\n" not in str(error.value) and "cannot write" in str(error.value)
        folder = disk / config.name / "checkpoint"
        assert 4 <= load_state(folder).step < 24
        load_tensors(folder, load_state(folder))
        # Where not even the status can be written, it is seen that nobody trains this run.
        assert RunFolder(disk / config.name).state() in ("failed", "interrupted")
        subprocess.run([*mount, "remount,size=10m", str(disk)], check=True)
        train(config, disk)
        train(config, tmp_path / "whole")
        name = load_state(folder).tensors
        places = (path / config.name / "checkpoint" / name for path in (disk, tmp_path / "whole"))
        resumed, whole = (path.read_bytes() for path in places)
        assert resumed == whole
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_cooldown_goes_on_where_a_crash_left_it(tmp_path, monkeypatch):
    """Learned at step 2, the run ends at step 8, whether or not it dies after the checkpoint of step 3."""
    training = {**WSD, "cooldown": 6, "evaluate_every": 2, "checkpoint_every": 3}
    config = tiny_config(training=training)
    learned_once = lambda stack, records: [1.0 if records[0].step == 2 else 0.0]  # noqa: E731
    monkeypatch.setattr(launch, "training_accuracies", learned_once)
    (whole,) = train(config, tmp_path / "whole", device="cpu")

    def save_and_die(*arguments, **options):
        save_checkpoint(*arguments, **options)
        raise RuntimeError("the power failed")

    with monkeypatch.context() as dying, pytest.raises(RuntimeError):
        dying.setattr(launch, "save_checkpoint", save_and_die)
        train(config, tmp_path / "killed", device="cpu")
    (killed,) = train(config, tmp_path / "killed", device="cpu")
    assert load_state(whole.checkpoint_path).step == 8
    assert killed.records_path.read_bytes() == whole.records_path.read_bytes()
