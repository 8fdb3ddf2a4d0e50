"""Progress: a bar in a terminal, plain lines elsewhere.

It goes to stderr, so that stdout has only results. Work that takes less than two seconds shows no progress.
"""

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Timer
from typing import Protocol

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Column
from rich.text import Text

from lengthwise.errors import InputError

MOMENT = 2.0
"""Seconds of work before progress is shown."""
PATIENCE = 60.0
"""Most seconds between two lines of a log."""
REFRESH_STEPS = 10

Watch = Callable[[int, int], object]
"""Called with the amount done and the total."""


def unwatched(done: int, total: int) -> None:
    """A Watch that ignores progress."""


def news_console(*, quiet: bool = False) -> Console:
    """The console for everything but results."""
    return Console(stderr=True, highlight=False, quiet=quiet)


@dataclass(frozen=True, kw_only=True)
class Verbosity:
    """How much a verb prints besides its results."""

    quiet: bool = False
    """Print nothing but results and errors."""
    verbose: bool = False
    """Also print details: device, folders, compilation, times."""

    def news(self) -> Console:
        """The console for everything but results. With --verbose the package's log messages go there too."""
        if self.quiet and self.verbose:
            raise InputError("--quiet and --verbose cannot be combined")
        console, log = news_console(quiet=self.quiet), logging.getLogger("lengthwise")
        log.handlers = []
        log.setLevel(logging.INFO if self.verbose else logging.NOTSET)
        if self.verbose:
            handler = logging.Handler()
            handler.emit = lambda record: console.print(
                record.getMessage(), style="dim", markup=False, soft_wrap=True
            )
            log.addHandler(handler)
        return console


@contextmanager
def progress_shown(what: str, console: Console | None = None, *, at_once: bool = False) -> Iterator[Watch]:
    """Show that `what` is being done if it takes longer than MOMENT after the first call of `watch`, or from here
    on if `at_once`. Input is checked before that call, so that bad input prints only its one line."""
    bar = Progress(
        TextColumn(what),
        BarColumn(),
        TextColumn("{task.fields[count]}"),
        TimeElapsedColumn(),
        console=console or news_console(),
        transient=True,
    )
    row = bar.add_task("", total=None, count="")

    def start() -> None:
        if bar.console.is_terminal and not bar.console.quiet:
            bar.start()
        else:
            bar.console.print(f"{what}: please wait")

    timer = Timer(MOMENT, start)
    timer.daemon = True

    def watch(done: int, total: int) -> None:
        if timer.ident is None:
            timer.start()
        if total > 1:
            bar.update(row, completed=done, total=total, count=f"{done}/{total}")

    if at_once:
        watch(0, 1)
    try:
        yield watch
    finally:
        timer.cancel()
        if timer.ident is not None:
            timer.join()
        if bar.live.is_started:
            bar.stop()


def duration(seconds: float) -> str:
    """
    >>> duration(42.4), duration(600), duration(10_000), duration(181_083)
    ('42 s', '10 minutes', '2.8 hours', '2.1 days')
    """
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7_200:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds / 3_600:.1f} hours" if seconds < 172_800 else f"{seconds / 86_400:.1f} days"


# --- training -------------------------------------------------------------------------------------------------


class Training(Protocol):
    """The state of training that is shown (training/trainer.py)."""

    step: int
    seconds: float
    losses: list[float]

    def last_step(self) -> int:
        """The last step of training, as far as it is known."""
        ...


class Shortened(ProgressColumn):
    """A field of the task that is cut off where the terminal is narrow."""

    def __init__(self, field: str, width: int | None = None) -> None:
        super().__init__(Column(max_width=width))
        self.field = field

    def render(self, task: Task) -> Text:
        return Text(task.fields[self.field], no_wrap=True, overflow="ellipsis")


class TrainingBar(Progress):
    """A bar with step, speed, time left, loss, and accuracy on the training domain. Without a terminal, a line
    with these for each evaluation, and at least every PATIENCE seconds."""

    def __init__(self, title: str, steps: int, console: Console) -> None:
        super().__init__(
            Shortened("title", width=20),
            BarColumn(bar_width=8),
            MofNCompleteColumn(),
            TextColumn("{task.fields[speed]}"),
            TextColumn("{task.fields[left]}"),
            Shortened("news"),
            console=console,
            disable=console.quiet or not console.is_terminal,
        )
        self.title, self.right = title, ""
        self.row = self.add_task("", total=steps, title=title, speed="", left="", news="")
        self.began: tuple[int, float] | None = None
        self.said = time.monotonic()

    def step(self, training: Training) -> None:
        if training.step % REFRESH_STEPS == 0:
            speed, left = self._pace(training)
            self.update(self.row, completed=training.step, total=training.last_step(), speed=speed, left=left)

    def evaluated(self, training: Training, accuracies: Sequence[float]) -> None:
        """`accuracies` on each member's training domain."""
        low, high = (f"{100 * share:.1f}" for share in (min(accuracies), max(accuracies)))
        self.right = f"{low} %" if low == high else f"{low} to {high} %"
        self._say(training)

    def read_losses(self, training: Training) -> None:
        """Called when losses were read between evaluations."""
        if not self.disable or time.monotonic() - self.said > PATIENCE:
            self._say(training)

    def _say(self, training: Training) -> None:
        self.said = time.monotonic()
        losses = training.losses
        loss = f"loss {sum(losses) / len(losses):.4f}" if losses else ""
        self.update(self.row, completed=training.step, news=", ".join(filter(None, (loss, self.right))))
        if self.disable:
            words = [
                f"step {training.step:,} of {training.last_step():,}",
                loss,
                f"{self.right} accuracy on trained lengths",
            ]
            words += self._pace(training)
            self.console.print(f"{self.title}: {', '.join(filter(None, words))}", markup=False, soft_wrap=True)

    def _pace(self, training: Training) -> tuple[str, str]:
        """The speed, and the time left by the clock since the first step, so that evaluations count too."""
        speed = f"{training.step / training.seconds:.3g} steps/s" if training.step and training.seconds else ""
        if self.began is None:
            self.began = training.step, time.monotonic()
        first, start = self.began
        if training.step == first:
            return speed, ""
        each = (time.monotonic() - start) / (training.step - first)
        return speed, f"{duration(each * (training.last_step() - training.step))} left"
