"""Problems as files: text, JSON lines or Parquet, written block by block, so that memory use stays constant.

>>> few = DataSet(task="add", domain="D2", number=2)
>>> [row.text for row in few.rows()]
['77+99=671;', '91+49=041;']

Problem k depends only on (seed, k). The training side has no problem that is held out for tests; the test side of
a seed has the problems on which `lengthwise evaluate` measures runs of that seed. In the layout `padded` a line of
text is as in the paper: operands in natural order, the answer reversed, all zero-padded, then `;`.
"""

import json
import tomllib
from collections.abc import Iterator
from functools import cache, cached_property
from importlib.resources import files
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Literal, NamedTuple, Self

import torch
from pydantic import Field, model_validator

from lengthwise.arithmetic import Domain, Task, in_base
from lengthwise.config import Config, Count
from lengthwise.records.files import fill_output, replace_file
from lengthwise.report.words import domain_words, task_words
from lengthwise.tokens import Sampling, check_sampling
from lengthwise.tokens.digits import Answers, to_ints
from lengthwise.tokens.hashing import reserves
from lengthwise.tokens.layouts import Layout, build_layout
from lengthwise.tokens.sampling import Sampler, Stream

BLOCK, BLOCK_DIGITS = 1 << 13, 1 << 20
"""The most problems that are in memory at once, and digits of one of their operands: 104 problems of 10,000."""

STREAMS = {"train": "data", "test": "evaluation"}


class WrittenProblem(NamedTuple):
    """A problem: its numbers in their base, and its text as the layout writes it, without [bos] and [eos]."""

    a: str
    b: str
    answer: str
    text: str


class DataSet(Config):
    task: str
    domain: str
    number: Count
    layout: str = "padded"
    side: Literal["train", "test"] = "train"
    sampling: Sampling = "uniform"
    base: int = 10
    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] = 0
    operand_width: Count | None = None

    @model_validator(mode="after")
    def _everything_reads(self) -> Self:
        check_sampling(self.sampling, self._parts[0])
        assert self._sampler and self._layout, "built once, and refused here"
        return self

    @cached_property
    def _parts(self) -> tuple[Task, Domain]:
        return Task.parse(self.task, self.base), Domain.parse(self.domain, self.base)

    @property
    def width(self) -> int:
        return self.operand_width or self._parts[1].length

    @cached_property
    def _sampler(self) -> Sampler:
        streams = [Stream(self.seed, self._parts[1])]
        return Sampler(streams, self.width, mode=self.sampling, side=self.side, stream=STREAMS[self.side])

    @cached_property
    def _layout(self) -> Layout:
        return build_layout(self.layout, self._parts[0], self.width)

    def rows(self) -> Iterator[WrittenProblem]:
        return chain.from_iterable(self.blocks())

    def blocks(self) -> Iterator[list[WrittenProblem]]:
        rows = max(min(BLOCK, BLOCK_DIGITS // self.width), 1)
        for start in range(0, self.number, rows):
            yield self._block(torch.arange(start, min(start + rows, self.number)))

    def _block(self, indices: torch.Tensor) -> list[WrittenProblem]:
        task, layout = self._parts[0], self._layout
        a, b = self._sampler(indices)
        c = Answers([task], layout.answer_width)(a, b)
        numbers = ([in_base(n, self.base) for n in to_ints(digits, self.base)] for digits in (a, b, c))
        texts = [layout.render(ids) for ids in layout.encode(a, b, c).ids[0].tolist()]
        bare = [text.removeprefix("[bos]").removesuffix("[eos]") for text in texts]
        return [WrittenProblem(*row) for row in zip(*numbers, bare, strict=True)]

    def card(self, form: str) -> str:
        task, domain = self._parts
        whole = ", ".join(str(part) for part in domain.parts if not reserves(part))
        both = f" Lengths without held-out problems, where both sides have all problems: {whole}." if whole else ""
        options = self.model_dump(exclude_none=True, exclude={"task", "domain"})
        flags = " ".join(f"--{name.replace('_', '-')} {value}" for name, value in options.items())
        return cards()["data"].format(
            task=task_words(task),
            domain=domain,
            number=self.number,
            domain_words=domain_words(domain),
            sampling=self.sampling,
            side=cards()["sides"][self.side],
            both=both,
            layout=self.layout,
            width=self.width,
            example=next(self.rows()).text,
            columns=cards()["columns"][form],
            task_name=task,
            domain_name=self.domain,
            flags=flags,
            form=form,
        )


@cache
def cards() -> dict[str, Any]:
    """The texts of dataset and model cards."""
    return tomllib.loads(files("lengthwise.interop").joinpath("cards.toml").read_text())


def write(data: DataSet, form: str, path: Path) -> None:
    """Write a file atomically, with its card; to a pipe or device only the problems."""

    def fill(file: BinaryIO) -> None:
        if form == "parquet":
            _write_parquet(data, file)
        else:
            file.writelines(line.encode() for line in lines(data, form))

    if fill_output(path, fill):
        replace_file(path.with_name(path.name + ".md"), lambda aside: aside.write_text(data.card(form)))


def lines(data: DataSet, form: str) -> Iterator[str]:
    """The lines of a text format."""
    for row in data.rows():
        yield (row.text if form == "text" else json.dumps(row._asdict())) + "\n"


def _write_parquet(data: DataSet, file: BinaryIO) -> None:
    import polars as pl  # noqa: PLC0415 (may be missing on a training machine)
    from polars.io.plugins import register_io_source  # noqa: PLC0415

    def frames(columns: list[str] | None, *_: object) -> Iterator[pl.DataFrame]:
        for block in data.blocks():
            yield pl.DataFrame(block, schema=schema, orient="row").select(columns or list(schema))

    schema = dict.fromkeys(WrittenProblem._fields, pl.String)
    made = {"lengthwise": data.model_dump_json()}
    register_io_source(frames, schema=schema).sink_parquet(file, metadata=made, row_group_size=BLOCK)
