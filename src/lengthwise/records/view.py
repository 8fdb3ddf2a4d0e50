"""A run as its files tell it: what was asked, what theory says of it, what was measured. No torch, no model."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from lengthwise.arithmetic import Domain, Task, default_test, parse_test_domains
from lengthwise.errors import InputError
from lengthwise.records.packed import open_run
from lengthwise.records.schema import Record
from lengthwise.records.source import RunSource
from lengthwise.records.verdicts import Measured, Verdict, measured, verdicts
from lengthwise.theory.encodings import encoding_facts
from lengthwise.theory.predict import Case, Prediction, predict_case


@dataclass(frozen=True)
class RunView:
    source: RunSource

    @classmethod
    def of(cls, path: Path | str) -> "RunView":
        """Of a run folder, or of a run of a packed file, as results/addition.json/addition-D4-s1."""
        return cls(open_run(path))

    @property
    def name(self) -> str:
        return self.source.name

    @cached_property
    def config(self) -> dict[str, Any]:
        return self.source.config()

    @property
    def seed(self) -> int:
        return self.config["seed"]

    @property
    def encoding(self) -> str:
        return self.config["encoding"]

    @property
    def positions(self) -> str:
        """The encoding, and whether attention knows nothing else, or some heads tokens instead."""
        model = self.config["model"]
        if not model.get("place_attention", False):
            return self.encoding
        return f"{self.encoding} by place" + (" and by tokens" if model.get("token_heads", 0) else "")

    @property
    def layout(self) -> str:
        return self.config["layout"] or encoding_facts(self.encoding).layout

    @property
    def task(self) -> Task:
        return Task.parse(self.config["task"], self.config["base"])

    @property
    def train(self) -> Domain:
        return Domain.parse(self.config["train"], self.config["base"])

    @property
    def tests(self) -> list[Domain]:
        return parse_test_domains(self.config["test"] or default_test(self.train), self.config["base"])

    @cached_property
    def records(self) -> list[Record]:
        return self.source.records()

    @property
    def last_step(self) -> int:
        if not self.records:
            raise InputError(f"{self.source.path} has no records yet")
        return max(record.step for record in self.records)

    def at(self, step: int) -> list[Record]:
        return [record for record in self.records if record.step == step]

    @cached_property
    def final_counts(self) -> dict[tuple[str, str], Measured]:
        """Exact match after training, by domain and by what it was compared with."""
        return {
            (record.domain, record.reference): measured(record)
            for record in self.at(self.last_step)
            if record.metric == "exact" and record.mode == "forced" and record.correct is not None
        }

    def predictions(self, domains: Sequence[Domain] | None = None) -> list[Prediction]:
        """What theory says, domain by domain; by default of the test domains."""
        cases = [
            Case(self.task, self.train, domain, self.encoding, self.layout)
            for domain in (self.tests if domains is None else domains)
        ]
        return [predict_case(case) for case in cases]

    def verdicts(self) -> list[Verdict]:
        """One per test domain, after the last evaluation."""
        return verdicts(self.predictions(), str(self.train), self.at(self.last_step))
