"""A run as read from its files: its setting, predictions, records and verdicts. It needs no torch and no model."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lengthwise.arithmetic import Domain, Task
from lengthwise.errors import InputError
from lengthwise.records.folder import RunSource, open_run
from lengthwise.records.schema import TRAIN_LOSS, TRUTH, Record
from lengthwise.records.spec import RunSpec, read_spec
from lengthwise.records.verdicts import Counts, Verdict, counted, passes_gate, verdicts

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class RunView:
    source: RunSource

    @classmethod
    def of(cls, path: Path | str) -> "RunView":
        """The view of a run folder, or of a packed run such as results/addition.json/addition-D4-s1."""
        return cls(open_run(path))

    @property
    def name(self) -> str:
        return self.source.name

    @cached_property
    def config(self) -> dict[str, Any]:
        return self.source.config()

    @cached_property
    def spec(self) -> RunSpec:
        """The question of the run."""
        return read_spec(self.config)

    @property
    def seed(self) -> int:
        return self.spec.seed

    @property
    def encoding(self) -> str:
        return self.spec.encoding

    @property
    def layout(self) -> str:
        return self.spec.layout

    @property
    def task(self) -> Task:
        return self.spec.task

    @property
    def train(self) -> Domain:
        return self.spec.train

    @property
    def tests(self) -> Sequence[Domain]:
        return self.spec.tests

    @property
    def row(self) -> str:
        """The name without the seed, which all seeds of a recipe's row share."""
        return self.name.removesuffix(f"-s{self.seed}")

    @cached_property
    def frame(self) -> "pl.DataFrame":
        """The records as a polars frame, with the run's setting (records/frame.py)."""
        # Training and evaluation work without polars.
        from lengthwise.records.frame import records_frame  # noqa: PLC0415

        return records_frame([self])

    @cached_property
    def records(self) -> list[Record]:
        return self.source.records()

    @cached_property
    def evaluated_steps(self) -> list[int]:
        """Steps with an evaluation, in order; the training loss is also recorded at other steps."""
        return sorted({record.step for record in self.records if record.metric != TRAIN_LOSS})

    @cached_property
    def last_step(self) -> int:
        """The step of the last evaluation."""
        if not self.evaluated_steps:
            raise InputError(f"{self.source.path} has no records yet")
        return self.evaluated_steps[-1]

    def at(self, step: int) -> list[Record]:
        return [record for record in self.records if record.step == step]

    def history(self, metric: str, domain: Domain | str, reference: str = TRUTH) -> dict[int, Record]:
        """The records of one metric, by teacher forcing, by step in order. Of two evaluations at one step the
        later one counts: that after training has more problems."""
        wanted = (metric, str(domain), reference, "forced")
        found = [r for r in self.records if (r.metric, r.domain, r.reference, r.mode) == wanted]
        return {record.step: record for record in sorted(found, key=lambda record: record.step)}

    @cached_property
    def final_counts(self) -> Counts:
        """Exact match after training, by domain and reference."""
        return counted(self.at(self.last_step))

    @property
    def converged(self) -> bool:
        """Whether the run passes the gate of verdicts after training."""
        return passes_gate(self.train, self.final_counts)

    def converged_at(self, step: int) -> bool:
        """Whether the run passes the gate of verdicts at the evaluation after this step."""
        return passes_gate(self.train, counted(self.at(step)))

    def last_whole(self) -> tuple[int, list[Verdict]]:
        """The step and verdicts of the last complete evaluation: one that is being written, or was cut off, cannot
        be judged."""
        why = "nothing measured yet"
        for step in reversed(self.evaluated_steps):
            try:
                return step, verdicts(self.spec.predictions(), self.train, self.at(step))
            except InputError as error:
                why = str(error)
        raise InputError(why)

    def verdicts(self) -> list[Verdict]:
        """One verdict per test domain, from the last evaluation."""
        return verdicts(self.spec.predictions(), self.train, self.at(self.last_step))
