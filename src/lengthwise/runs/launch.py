"""Training runs: claim folders, pack what can train side by side, resume, measure, record."""

import math
import shutil
import signal
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from rich.console import Console

from lengthwise.errors import InputError
from lengthwise.model.positions import check_encoding
from lengthwise.records.faults import fault_point
from lengthwise.records.folder import RunFolder
from lengthwise.records.lock import kept
from lengthwise.records.schema import Record
from lengthwise.runs.assess import Assessment, measured_members, training_accuracies
from lengthwise.runs.build import (
    Parts,
    build,
    choose_device,
    stack_key,
    tokens_per_step,
    training_steps,
)
from lengthwise.runs.config import RunConfig, completed
from lengthwise.runs.environment import environment
from lengthwise.runs.memory import memory_told
from lengthwise.runs.mirror import Mirror, check_mirror, open_mirrors
from lengthwise.runs.progress import TrainingBar
from lengthwise.runs.samples import assess_held_out, fixed_set, sample_counts
from lengthwise.training.checkpoint import (
    copy_into,
    has_checkpoint,
    load_state,
    load_tensors,
    remove_leftovers,
    save_checkpoint,
)
from lengthwise.training.trainer import Callbacks, Progress, Trainer


@dataclass(frozen=True)
class Claim:
    config: RunConfig
    folder: RunFolder

    @property
    def step(self) -> int:
        """Where a checkpoint lets it go on."""
        path = self.folder.checkpoint_path
        return load_state(path).step if has_checkpoint(path) else 0


def train(
    config: RunConfig | Sequence[RunConfig],
    out: Path | str = "runs",
    *,
    device: str = "auto",
    mirror: str | None = None,
    console: Console | None = None,
) -> list[RunFolder]:
    """Train runs, each into its folder under `out`. Finished ones are left alone, interrupted ones resume."""
    configs = [config] if isinstance(config, RunConfig) else list(config)
    claims = [Claim(c, RunFolder(Path(out) / c.name)) for c in dict.fromkeys(configs)]
    return train_claims(claims, device=device, mirror=mirror, console=console)


def train_claims(
    claims: Sequence[Claim], *, device: str, mirror: str | None = None, console: Console | None = None
) -> list[RunFolder]:
    where = choose_device(device)
    check_mirror(mirror)
    for claim in claims:
        check_encoding(claim.config.model, claim.config.encoding)
    facts = environment(where)
    new = [claim for claim in claims if not claim.folder.path.exists()]
    for claim in claims:
        RunFolder.claim(claim.folder.path, claim.config.model_dump(mode="json"), facts, completed)
    open_claims = [claim for claim in claims if claim.folder.status() != "done"]
    with ExitStack() as keeping:
        for claim in open_claims:
            keeping.enter_context(kept(claim.folder.path))
        for stack in stacks(open_claims):
            with failures_told(stack), memory_told(len(stack)):
                with nothing_left_of(claim for claim in stack if claim in new):
                    mirrors = open_mirrors(mirror, [claim.folder for claim in stack])
                    run = StackRun(stack, where, mirrors, console or Console())
                run.run()
    return [claim.folder for claim in claims]


@contextmanager
def nothing_left_of(claims: Iterable[Claim]) -> Iterator[None]:
    """What cannot even be built leaves no folder behind."""
    try:
        yield
    except InputError:
        for claim in claims:
            shutil.rmtree(claim.folder.path)
        raise


@contextmanager
def failures_told(claims: Sequence[Claim]) -> Iterator[None]:
    """A run that cannot go on says so, and why, in its folder too."""
    try:
        yield
    except InputError as error:
        for claim in claims:
            if claim.folder.path.exists():
                claim.folder.set_status("failed", reason=str(error))
        raise


def stacks(claims: Sequence[Claim]) -> list[list[Claim]]:
    """Runs of equal shape that stand at the same step train as one program."""
    groups: dict[tuple[str, int], list[Claim]] = {}
    for claim in claims:
        groups.setdefault((stack_key(claim.config), claim.step), []).append(claim)
    return list(groups.values())


class StackRun:
    """One stack from where it stands to its end."""

    def __init__(
        self, claims: Sequence[Claim], device: torch.device, mirrors: Sequence[Mirror], console: Console
    ) -> None:
        self.claims, self.mirrors, self.console = claims, mirrors, console
        self.names = [claim.folder.name for claim in claims]
        self.parts: Parts = build([claim.config for claim in claims], device)
        self.assess = Assessment(self.parts, self.names)
        self.trainer = Trainer(self.parts.model, training_steps(self.parts), self.parts.configs[0].training)
        self.sets = [fixed_set(config) for config in self.parts.configs]
        self.evaluation_seconds = 0.0
        self._resume()

    def run(self) -> None:
        title = self.names[0] if len(self.names) == 1 else f"{len(self.names)} models"
        bar = TrainingBar(title, self.trainer.config.steps, self.console)
        try:
            with bar, _stop_signal() as stop:
                self.trainer.run(
                    Callbacks(
                        evaluate=lambda progress: self._evaluate(progress, bar),
                        finish=self._finish,
                        checkpoint=self._checkpoint,
                        after_step=lambda progress: bar.step(progress, self.trainer.last_step()),
                        stop=stop.asked,
                    )
                )
        finally:
            for mirror in self.mirrors:
                mirror.close()
        if not self.trainer.progress.finished:
            step = self.trainer.progress.step
            raise KeyboardInterrupt(f"stopped after step {step}; the same command goes on from there")
        for k, (claim, alive) in enumerate(zip(self.claims, self.trainer.progress.alive, strict=True)):
            if alive:
                claim.folder.set_status("done", **self._facts(k))
            else:
                claim.folder.set_status("failed", reason="the loss is no longer finite", **self._facts(k))

    def _facts(self, k: int) -> dict[str, Any]:
        """What status.json tells of a run that is over."""
        progress, fixed = self.trainer.progress, self.sets[k]
        steps = self.trainer.steps_taken()[k]
        return {
            "step": steps,
            "tokens": steps * tokens_per_step(self.parts),
            "seconds": round(progress.seconds, 3),
            "evaluation_seconds": round(self.evaluation_seconds, 3),
            **({} if fixed is None else {"samples": sample_counts(fixed)}),
        }

    def _resume(self) -> None:
        """Take up each member's checkpoint; without one, start its records anew."""
        whole = self.trainer.state()
        for k, claim in enumerate(self.claims):
            folder = claim.folder.checkpoint_path
            if not has_checkpoint(folder):
                claim.folder.cut_records(0)
                continue
            state = load_state(folder)
            own = {name: tensor[k : k + 1] for name, tensor in whole.items()}
            copy_into(own, load_tensors(folder, state), folder)
            claim.folder.cut_records(state.records_size)
            remove_leftovers(folder, state)
            progress = self.trainer.progress
            progress.step, progress.seconds, progress.finished = state.step, state.seconds, state.finished
            progress.learned_at[k] = state.learned_at
            self.evaluation_seconds = state.evaluation_seconds
        self.trainer.progress.alive = self.trainer.steps.alive()

    def _evaluate(self, progress: Progress, bar: TrainingBar) -> list[float]:
        with self._timed():
            records = self.assess([progress.step] * len(self.claims), detail=False)
            self._record(progress, records)
        accuracies = training_accuracies(self.parts, self.names, records)
        bar.evaluated(progress, accuracies)
        return accuracies

    def _finish(self, progress: Progress) -> None:
        with self._timed():
            steps = self.trainer.steps_taken()
            records = self.assess(steps, detail=True)
            records += assess_held_out(self.parts, measured_members(self.parts, self.names, steps), self.sets)
            self._record(progress, records)

    @contextmanager
    def _timed(self) -> Iterator[None]:
        """Evaluations count apart from training. Their counts wait for the device, so the clock need not."""
        start = time.perf_counter()
        yield
        self.evaluation_seconds += time.perf_counter() - start

    def _record(self, progress: Progress, records: Sequence[Record]) -> None:
        fault_point("mid-evaluation")
        losses, steps = progress.losses or [None] * len(self.claims), self.trainer.steps_taken()
        for k, (claim, loss) in enumerate(zip(self.claims, losses, strict=True)):
            if not progress.alive[k]:
                continue
            # Of a member whose training ended earlier, an evaluation of the others tells nothing new.
            own = [r for r in records if r.run == claim.folder.name and r.step == steps[k] and _is_number(r)]
            if loss is not None and steps[k] == progress.step:
                own.append(_training_loss(claim, progress, loss))
            claim.folder.append(own)
            for mirror in self.mirrors[k : k + 1]:
                mirror.write(own)

    def _checkpoint(self, progress: Progress) -> None:
        whole = self.trainer.state()
        for k, claim in enumerate(self.claims):
            if not progress.alive[k]:
                continue
            save_checkpoint(
                claim.folder.checkpoint_path,
                {name: tensor[k : k + 1] for name, tensor in whole.items()},
                step=progress.step,
                finished=progress.finished,
                learned_at=progress.learned_at[k],
                seconds=progress.seconds,
                evaluation_seconds=self.evaluation_seconds,
                records_size=claim.folder.records_size(),
            )


def _is_number(record: Record) -> bool:
    """A member that broke since the last look has losses that are none."""
    return record.value is None or math.isfinite(record.value)


def _training_loss(claim: Claim, progress: Progress, loss: float) -> Record:
    return Record(
        run=claim.folder.name,
        seed=claim.config.seed,
        step=progress.step,
        task=claim.config.task,
        base=claim.config.base,
        domain=str(claim.config.train_domain),
        metric="train_loss",
        value=loss,
        total=progress.loss_steps * claim.config.training.batch,
        selection="sampled",
        seen=1.0,
    )


class _Stop:
    def __init__(self) -> None:
        self.requested = False

    def asked(self) -> bool:
        return self.requested


@contextmanager
def _stop_signal() -> Iterator[_Stop]:
    """Let a first Ctrl-C, or a first request to end, as a cluster's scheduler sends it, stop training after the
    current step, with a checkpoint; a second one is not held."""
    stop = _Stop()
    before: dict[int, Any] = {}

    def ask(number: int, frame: object) -> None:
        stop.requested = True
        signal.signal(number, before[number])

    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            before[number] = signal.signal(number, ask)
    except ValueError:  # not in the main thread: whoever runs this there stops it in their own way
        yield stop
        return
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
