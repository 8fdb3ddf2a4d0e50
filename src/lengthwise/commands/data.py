"""lengthwise data: problems as a file."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from lengthwise.errors import InputError


@dataclass(frozen=True, kw_only=True)
class Data:
    """Write problems with their answers as text, JSON lines or Parquet, and a card beside them.

    Example: lengthwise data add D4 -n 100000 --operand-width 20 --out train.txt
    """

    task: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="TASK")]
    """Operation and modulus: add, mul, add%101, mul%150."""
    domain: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="DOMAIN")]
    """Where problems come from: D4, B4, 40x2, D4+D5, D1..4."""
    number: Annotated[int, tyro.conf.arg(aliases=["-n"], metavar="N")] = 1000
    """Number of problems."""
    layout: str = "padded"
    """How a problem is written: padded (the paper's), aligned, descending, reversed, level, plain,
    scratchpad."""
    format: Literal["text", "jsonl", "parquet"] = "text"
    """A line, an object or a row for each problem."""
    side: Literal["train", "test"] = "train"
    """train: no problem that is reserved for tests; test: those alone."""
    sampling: Literal["uniform", "paper", "balanced", "chains"] = "uniform"
    """How problems are drawn, as in training."""
    base: int = 10
    """Number base, 2 to 36."""
    seed: int = 0
    """Problem k follows from the seed and k alone."""
    operand_width: Annotated[
        int | None, tyro.conf.arg(metavar="N", help_behavior_hint="(default: the longest)")
    ] = None
    """Digits an operand is padded to."""
    out: Annotated[Path | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="(default: print)")] = None
    """File to write; FILE.md is its card."""

    def run(self) -> None:
        from lengthwise.interop.data import DataSet, write, write_lines

        data = DataSet(**{name: getattr(self, name) for name in DataSet.model_fields})
        if self.out is not None:
            return write(data, self.format, self.out)
        if self.format == "parquet":
            raise InputError("--format parquet requires --out FILE")
        return write_lines(data, self.format, sys.stdout)
