"""A record is one measured number with its provenance: a line in records.jsonl."""

from collections.abc import Iterable
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt, model_validator

TRUTH, TRAIN_LOSS = "truth", "train_loss"

Integer = Annotated[int, Field(le=2**63 - 1)]
"""As a column of a table holds it."""


class Record(BaseModel):
    """Counts have `correct` of `total`; other measurements have a `value`, taken over `total` problems.

    What `metric` names, counted or measured:

    - `exact`: answers equal to the reference's, digit for digit (the paper's standard form)
    - `digit:3`: the third digit from the right alone; no more than the lowest 100 are told
    - `coincides`: problems on which the reference itself equals truth
    - `weak`: answers whose every digit has a probability above the stated threshold
    - `strong`: value, the mean probability of the reference's whole answer
    - `support:5`: value, the mean probability outside the digits that training ever showed at position 5
    - `loss`: value, cross-entropy per answer token, in nats
    - `train_loss`: value, the same in training, the mean over the steps since the record before; about 200 in a
      run, also at steps without an evaluation
    - `r2:3`: value, how well digit 3 of decoded answers follows from its own column and the carry of the one
      below, out of sample (`evaluation/probes.py`); the domain is that of the problems before digits around it
      were drawn anew; no record where the digit is constant
    - `depends:3:1`: decoded answers whose digit 3 changes where digit 1 of operand a does
      (`evaluation/probes.py`); the domain is `digits:9` for operands of 9 random digits, which is no domain of the
      grammar
    - `malformed`, `wrong_length`, `first_wrong:3`: decoded answers by the way they fail
    - `chain:2`: exact, of problems whose longest carry chain has 2 columns (`theory/carries.py`); of a domain that
      is sampled these are drawn apart, with every chain that occurs alike (`evaluation/strata.py`)
    - `steps:sums`, `steps:carries`, `steps:answer`: problems of a layout with intermediate steps whose every raw
      sum, carry or answer digit is right, given what truly stands before it
    - `after_change`: sums of which one answer digit was replaced before the model read it: the next digit is the
      one that the reference says, `local` or `truth` (`evaluation/probes.py`)
    - `pair:20:3`: exact, of problems whose operands a and b have 20 and 3 digits; the domain is that of the longer
    - `first_wrong_tenth:3`, `wrong_end`: wrong answers, which are the total, whose first wrong token is a digit in
      the third tenth of the answer as written, or no digit of it (`evaluation/anatomy.py`)
    - `margin_mean`, `margin_low`: value, right logit minus best other, at the token of an answer where this is
      least: the mean over answers, and what a tenth of them lies below
    - `attention:2:1`, `on_column:2:1`: value, of layer 2, head 1, the mean over answer digits of the largest
      weight, and of the weight on operand digits of the digit's own column and of the one below

    Special sets (`evaluation/strata.py`) are `exact` on a domain called `D100:carry`, which is none of the
    grammar: no verdict is about it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    run: str
    seed: Integer
    step: Integer
    task: str
    base: int
    domain: str
    reference: str = TRUTH
    mode: Literal["forced", "decoded"] = "forced"
    metric: str = "exact"
    correct: NonNegativeInt | None = None
    value: float | None = None
    total: Annotated[Integer, Field(gt=0)]
    selection: Literal["enumerated", "sampled", "given"]
    """Every problem of the domain, a random sample of it, or problems the user gave."""
    seen: float = 0.0
    """Share of these problems that training has met: zero for reserved ones."""

    @model_validator(mode="after")
    def _counts_part_of_them(self) -> Self:
        if self.correct is not None and self.correct > self.total:
            raise ValueError(f"has {self.correct} correct of {self.total}")
        return self


def record_lines(records: Iterable[Record]) -> bytes:
    """As records.jsonl has them."""
    return "".join(record.model_dump_json() + "\n" for record in records).encode()
