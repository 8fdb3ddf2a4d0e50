"""What a person sees while a stack trains: a bar in a terminal, nothing elsewhere."""

from collections.abc import Sequence
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from lengthwise.training.trainer import Progress as Training

REFRESH_STEPS = 10


class TrainingBar:
    """Loss, steps per second, time left, and each member's accuracy on its training domain."""

    def __init__(self, title: str, steps: int, console: Console) -> None:
        self.bar = Progress(
            TextColumn("[bold]{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.fields[speed]}"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[news]}"),
            console=console,
            disable=not console.is_terminal,
        )
        self.task = self.bar.add_task(title, total=steps, speed="", news="")

    def __enter__(self) -> Self:
        self.bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.bar.stop()

    def step(self, progress: Training, last: int) -> None:
        """`last` is the step with which training ends, as far as is known."""
        if progress.step % REFRESH_STEPS == 0:
            speed = progress.step / progress.seconds if progress.seconds else 0.0
            self.bar.update(self.task, completed=progress.step, total=last, speed=f"{speed:.0f} steps/s")

    def evaluated(self, progress: Training, accuracies: Sequence[float]) -> None:
        loss = f"loss {sum(progress.losses) / len(progress.losses):.4f}, " if progress.losses else ""
        right = " ".join(f"{100 * accuracy:.1f}" for accuracy in accuracies)
        self.bar.update(self.task, completed=progress.step, news=f"{loss}{right} % right in distribution")
