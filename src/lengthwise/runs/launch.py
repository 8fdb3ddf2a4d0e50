"""Training runs: claim their folders, stack those that can train together, resume, measure and record."""

import logging
import math
import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from threading import Event, current_thread, main_thread

import torch
from rich.console import Console

from lengthwise.errors import InputError, unknown
from lengthwise.evaluation.measure import record_maker
from lengthwise.model.positions import check_encoding
from lengthwise.progress import TrainingBar, news_console
from lengthwise.records.files import fault_point, folder_lock
from lengthwise.records.folder import RunFolder
from lengthwise.records.schema import TRAIN_LOSS, TRUTH, Record
from lengthwise.runs.build import (
    Module,
    build,
    check_memory,
    stack_key,
    tokens_per_step,
    training_steps,
)
from lengthwise.runs.config import RunConfig, completed
from lengthwise.runs.evaluate import Assessment, assess_held_out, training_accuracies
from lengthwise.runs.load import OWN_MODULE, own_module
from lengthwise.runs.machine import choose_device, environment, memory_errors_explained
from lengthwise.training.checkpoint import (
    Place,
    agree,
    copy_into,
    drop_previous,
    load_state,
    load_tensors,
    place,
    remove_leftovers,
    save_checkpoint,
)
from lengthwise.training.trainer import Callbacks, Trainer

log = logging.getLogger(__name__)

STATE_NEWS = {
    "done": "is done already",
    "stopped": "was stopped; training resumes from its last checkpoint",
    "interrupted": "was interrupted; training resumes from its last checkpoint, if there is one",
}


Write = Callable[[Sequence[Record]], object]
"""A function that shows records of a run elsewhere."""


@dataclass(frozen=True)
class Job:
    """A run to train, and its folder."""

    config: RunConfig
    folder: RunFolder

    @property
    def place(self) -> Place:
        """Where its checkpoint resumes."""
        return place(load_state(self.folder.checkpoint_path))


def train_jobs(
    jobs: Sequence[Job],
    *,
    device: str = "auto",
    mirror: str | None = None,
    console: Console | None = None,
    module: Module | None = None,
) -> list[RunFolder]:
    """Train runs, each into the folder of its job. Finished ones are skipped, interrupted ones resume.

    A `module` builds a custom network in place of the config's model (docs/extend.md).
    """
    where = choose_device(device)
    if mirror is not None and mirror not in MIRRORS:
        raise unknown("mirror", mirror, MIRRORS)
    for job in jobs:
        check_encoding(job.config.model, job.config.encoding)
    own = {} if module is None else {OWN_MODULE: getattr(module, "__name__", type(module).__name__)}
    facts = environment(where) | own
    new = [job for job in jobs if not job.folder.path.exists()]
    states, console = [job.folder.state() for job in jobs], console or news_console()
    with stops_recorded(jobs), ExitStack() as locks:
        for job in jobs:
            RunFolder.claim(job.folder.path, job.config.model_dump(mode="json"), facts, completed)
            check_module(job.folder, own.get(OWN_MODULE))
        unfinished = [job for job in jobs if job.folder.status() != "done"]
        for job in unfinished:
            locks.enter_context(folder_lock(job.folder.path))
            log.info("%s: %s", job.folder.path, "new" if job in new else f"at step {job.place[0]:,}")
        agree([job.folder.checkpoint_path for job in unfinished])
        if len(jobs) == 1 and states[0] in STATE_NEWS:
            if states[0] == "done":
                jobs[0].folder.records()  # what is wrong with them is told alone
            news = f"{jobs[0].folder.path} {STATE_NEWS[states[0]]}"
            console.print(news, soft_wrap=True, markup=False)
        for members in stacks(unfinished) if module is None else [[job] for job in unfinished]:
            run = None
            try:
                with memory_errors_explained(len(members)), ExitStack() as opened:
                    mirrors = [_mirror_into(mirror, job.folder, opened) for job in members]
                    run = StackRun(members, where, mirrors, console, module)
                    run.to_the_end()
            except InputError as error:
                for job in (job for job in members if job in new and run is None):
                    shutil.rmtree(job.folder.path)  # a run that cannot be built leaves no folder
                record_failure(members, str(error))
                raise
    return [job.folder for job in jobs]


def check_module(folder: RunFolder, module: str | None) -> None:
    """Refuse a folder that was started with another module: configs do not name custom modules."""
    there = own_module(folder)
    if there != module:
        shown = [f"the module {name}" if name else "the config's model" for name in (there, module)]
        raise InputError(f"{folder.path} was started with {shown[0]}, not with {shown[1]}; try another --out")


def stacks(jobs: Sequence[Job]) -> list[list[Job]]:
    """Runs of equal shape at the same step train as one stack, together with members that died before."""
    keys = [stack_key(job.config) for job in jobs]
    died: dict[tuple[str, str], Place] = {}
    for key, job in zip(keys, jobs, strict=True):
        state = load_state(job.folder.checkpoint_path)
        died |= {(key, name): job.place for name in (state.dead if state else ())}
    groups: dict[tuple[str, Place], list[Job]] = {}
    for key, job in zip(keys, jobs, strict=True):
        where = max(job.place, died.get((key, job.folder.name), job.place))
        groups.setdefault((key, where), []).append(job)
    return list(groups.values())


def record_failure(jobs: Sequence[Job], reason: str) -> None:
    """Record in their folders that runs have failed, and why."""
    for job in jobs:
        if job.folder.path.exists():
            with suppress(InputError):  # cannot be written on a full disk; the run then counts as interrupted
                job.folder.set_status("failed", reason=reason)


@contextmanager
def stops_recorded(jobs: Sequence[Job]) -> Iterator[None]:
    """Record in their folders that runs were stopped by the user."""
    try:
        yield
    except KeyboardInterrupt:
        for job in jobs:
            if job.folder.path.exists() and job.folder.status() == "running":
                job.folder.set_status("stopped", step=job.place[0])
        raise


class StackRun:
    """The training of one stack from its checkpoint to the end."""

    def __init__(
        self,
        jobs: Sequence[Job],
        device: torch.device,
        mirrors: Sequence[Write],
        console: Console,
        module: Module | None,
    ) -> None:
        self.jobs, self.mirrors = jobs, mirrors
        names, configs = [job.folder.name for job in jobs], [job.config for job in jobs]
        check_memory(configs, device)
        self.stack = build(configs, device, names, module=module)
        self.assess = Assessment(self.stack)
        self.trainer = Trainer(training_steps(self.stack))
        title = names[0] if len(jobs) == 1 else f"{len(jobs)} models"
        self.bar = TrainingBar(title, self.stack.config.training.steps, console)
        self.evaluation_seconds = 0.0
        self._resume()

    def to_the_end(self) -> None:
        trainer, measuring = self.trainer, (self._evaluate, self._finish, self._record_losses)
        with self.bar, _stop_signal() as stop:
            trainer.run(Callbacks(*measuring, self._checkpoint, self.bar.step, stop.is_set))
        log.info("%.1f s of steps, %.1f s of evaluations", trainer.seconds, self.evaluation_seconds)
        if not trainer.finished:
            raise KeyboardInterrupt(f"stopped after step {trainer.step}; the same command resumes it")
        sets = trainer.steps.data.sets
        for k, (job, steps) in enumerate(zip(self.jobs, trainer.steps_taken(), strict=True)):
            alive = trainer.alive[k]
            job.folder.set_status(
                "done" if alive else "failed",
                **({} if alive else {"reason": "the loss is no longer finite"}),
                step=steps,
                tokens=steps * tokens_per_step(self.stack),
                seconds=round(trainer.seconds, 3),
                evaluation_seconds=round(self.evaluation_seconds, 3),
                **({"samples": sets[k].counts} if sets else {}),
            )

    def _resume(self) -> None:
        """Load each member's checkpoint; without one, start with empty records."""
        trainer, whole, where = self.trainer, self.trainer.state(), max(job.place for job in self.jobs)
        for k, job in enumerate(self.jobs):
            folder, state = job.folder.checkpoint_path, load_state(job.folder.checkpoint_path)
            if job.place < where:  # it died before this checkpoint of the others
                whole["training/alive"][k] = 0.0
            elif state is None:
                job.folder.cut_records(0)
            else:
                own = {name: tensor[k : k + 1] for name, tensor in whole.items()}
                copy_into(own, load_tensors(folder, state), folder)
                job.folder.cut_records(state.records_size)
                remove_leftovers(folder, state)
                trainer.step, trainer.seconds, trainer.finished = state.step, state.seconds, state.finished
                trainer.learned_at[k] = state.learned_at
                self.evaluation_seconds = state.evaluation_seconds
        trainer.alive = trainer.steps.alive()

    def _evaluate(self, trainer: Trainer) -> list[float]:
        accuracies = training_accuracies(self.stack, self._measure([trainer.step] * len(self.jobs), detail=False))
        self.bar.evaluated(trainer, accuracies)
        return accuracies

    def _finish(self, trainer: Trainer) -> None:
        self._measure(trainer.steps_taken(), detail=True)

    def _measure(self, steps: Sequence[int], *, detail: bool) -> list[Record]:
        """Measure and record. It is timed separately from training, and waits for the device itself, so the clock
        need not."""
        start = time.perf_counter()
        fault_point("mid-evaluation")
        records = self.assess(steps, detail=detail)
        if detail:
            records += assess_held_out(self.stack.after(steps), self.trainer.steps.data.sets)
        self._record(records)
        seconds = time.perf_counter() - start
        log.info("evaluated at step %d in %.2f s", self.trainer.step, seconds)
        self.evaluation_seconds += seconds
        return records

    def _record_losses(self, trainer: Trainer) -> None:
        self._record([])
        self.bar.read_losses(trainer)

    def _record(self, records: Sequence[Record]) -> None:
        trainer = self.trainer
        for k, member in enumerate(self.stack.after(trainer.steps_taken()).members):
            if not trainer.alive[k]:
                continue
            # A member whose training has ended gets no records from later evaluations of the others, and one that
            # diverged none of values that are not finite.
            own = [r for r in records if (r.run, r.step) == (member.run, member.step)]
            own = [r for r in own if r.value is None or math.isfinite(r.value)]
            if trainer.losses and member.step == trainer.step:
                total = trainer.loss_steps * trainer.config.batch
                make = partial(record_maker(member), domain=str(member.train), selection="sampled", seen=1.0)
                own.append(make(metric=TRAIN_LOSS, value=trainer.losses[k], total=total))
            self.jobs[k].folder.append(own)
            self.mirrors[k](own)

    def _checkpoint(self, trainer: Trainer) -> None:
        """Save all members in one transaction: each keeps its old checkpoint until all have a new one."""
        start, whole, names = time.perf_counter(), trainer.state(), [job.folder.name for job in self.jobs]
        live = [k for k, alive in enumerate(trainer.alive) if alive]
        for k in live:
            save_checkpoint(
                self.jobs[k].folder.checkpoint_path,
                {name: tensor[k : k + 1] for name, tensor in whole.items()},
                step=trainer.step,
                finished=trainer.finished,
                learned_at=trainer.learned_at[k],
                seconds=trainer.seconds,
                evaluation_seconds=self.evaluation_seconds,
                records_size=self.jobs[k].folder.records_size(),
                dead=[name for k, name in enumerate(names) if k not in live],
                stack=[names[k] for k in live] if len(live) > 1 else (),
            )
        for k in live:
            drop_previous(self.jobs[k].folder.checkpoint_path)
        log.info("saved step %d in %.2f s", trainer.step, time.perf_counter() - start)


@contextmanager
def _stop_signal() -> Iterator[Event]:
    """Let a first SIGINT or SIGTERM stop training after the current step, with a checkpoint; a second one acts at
    once."""
    stop = Event()
    # Signals can be caught only in the main thread.
    caught = (signal.SIGINT, signal.SIGTERM) if current_thread() is main_thread() else ()
    before = {number: signal.getsignal(number) for number in caught}

    def ask(number: int, frame: object) -> None:
        stop.set()
        signal.signal(number, before[signal.Signals(number)])

    for number in caught:
        signal.signal(number, ask)
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


# --- records shown elsewhere too ------------------------------------------------------------------------------


def _mirror_into(name: str | None, folder: RunFolder, opened: ExitStack) -> Write:
    """A function that sends a run's records to the mirror of this name; it does nothing without a name."""
    if name is None:
        return lambda records: None
    try:
        return opened.enter_context(MIRRORS[name](folder))
    except ImportError:
        raise InputError(f"{name} is not installed: pip install 'lengthwise[{name}]'") from None


@contextmanager
def _tensorboard(folder: RunFolder) -> Iterator[Write]:
    """Writes to the run folder's `tensorboard`: `tensorboard --logdir runs`."""
    from torch.utils.tensorboard import SummaryWriter  # noqa: PLC0415 (an extra)

    def write(records: Sequence[Record]) -> None:
        for name, value, step in _scalars(records):
            writer.add_scalar(name, value, step)
        writer.flush()

    with SummaryWriter(log_dir=str(folder.path / "tensorboard")) as writer:
        yield write


@contextmanager
def _wandb(folder: RunFolder) -> Iterator[Write]:
    """Logs to the project `lengthwise`; WANDB_MODE=offline keeps it on this machine."""
    import wandb  # noqa: PLC0415 (an extra)

    def write(records: Sequence[Record]) -> None:
        for step in sorted({record.step for record in records}):
            run.log({name: value for name, value, at in _scalars(records) if at == step}, step=step)

    place = {"name": folder.name, "dir": str(folder.path), "config": folder.config()}
    try:
        run = wandb.init(project=os.environ.get("WANDB_PROJECT", "lengthwise"), reinit="create_new", **place)
    except wandb.Error as error:
        raise InputError(f"cannot start wandb: {error}") from None
    with run:
        yield write


MIRRORS = {"tensorboard": _tensorboard, "wandb": _wandb}


def _scalars(records: Sequence[Record]) -> Iterator[tuple[str, float, int]]:
    """The name, value and step of each record."""
    for record in records:
        words = [record.metric, record.domain, *([] if record.reference == TRUTH else [record.reference])]
        value = record.value if record.correct is None else record.correct / record.total
        assert value is not None
        yield "/".join(words), value, record.step
