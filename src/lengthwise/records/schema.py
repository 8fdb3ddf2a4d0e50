"""A record is one measured number with its provenance: a line in records.jsonl."""

from collections.abc import Iterable
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt, model_validator

TRUTH, TRAIN_LOSS = "truth", "train_loss"

Integer = Annotated[int, Field(le=2**63 - 1)]
"""An integer that fits into a column of int64."""


class Record(BaseModel):
    """A count has `correct` of `total`; any other measurement has a `value`, taken over `total` problems.

    The values of `metric`:

    - `exact`: answers equal to the reference's, digit for digit (the paper's standard form)
    - `digit:3`: answers whose third digit from the right is right; recorded for the lowest 100 digits
    - `coincides`: problems on which the reference itself equals truth
    - `weak`: answers of which every digit has a probability above the threshold
    - `strong`: value, the mean probability of the reference's whole answer
    - `support:5`: value, the mean probability outside the digits that training showed at position 5
    - `loss`: value, cross-entropy per answer token, in nats
    - `train_loss`: value, the same in training, averaged over the steps since the record before; about 200 in a
      run, also at steps without an evaluation
    - `r2:3`: value, how well its own column and the carry from the column below explain digit 3 of decoded
    answers,
      out of sample (`evaluation/probes.py`); the domain is that of the problems before the digits around it were
      replaced; no record if the digit is constant
    - `depends:3:1`: decoded answers whose digit 3 changes when digit 1 of operand a is replaced
      (`evaluation/probes.py`); the domain is `digits:9` for operands of 9 random digits, which `Domain.parse`
      refuses
    - `malformed`, `wrong_length`, `first_wrong:3`: decoded answers by kind of failure
    - `chain:2`: exact, on problems whose longest carry chain has 2 columns (`theory/columns.py`); for a sampled
      domain, on separate problems with equally many of every chain that occurs (`evaluation/strata.py`)
    - `steps:sums`, `steps:carries`, `steps:answer`: problems of a layout with intermediate steps in which all raw
      sums, carries or answer digits are right, given the right tokens before them
    - `after_change`: sums in which one answer digit was replaced, before the model read it, by the digit of the
      other carry, and the next digit is that of the reference, `local` or `truth` (`evaluation/probes.py`)
    - `carry_after:9:0`: sums whose digits in one column sum to 9 and in which the model read a 0 there, right or
      not, and the next digit has a carry
    - `exact_at:64`: exact, with 64 added to all positions of the problems
    - `near_at:64`: the same if no digit or sign attends to digits further away than two digits of one operand are
      in training (`evaluation/probes.py`)
    - `pair:20:3`: exact, on problems whose operands a and b have 20 and 3 digits; the domain is that of the longer
    - `first_wrong_tenth:3`, `wrong_end`: of all wrong answers, those whose first wrong token is a digit in the
      third tenth of the answer as written, or not a digit of it (`evaluation/anatomy.py`)
    - `margin_mean`, `margin_low`: value, right logit minus best other, at the token of an answer where it is
      smallest: the mean over answers, and the lowest tenth
    - `attention:2:1`, `on_column:2:1`: value, for layer 2, head 1, the mean over answer digits of the largest
      attention weight, and of the weight on the operand digits of its own column and the column below

    Special sets (`evaluation/strata.py`) are `exact` on a domain such as `D100:carry`, which `Domain.parse`
    refuses: there is no verdict on it.
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
    """All problems of the domain, a random sample, or problems given by the user."""
    seen: float = 0.0
    """The share of these problems that training has drawn: zero for held-out ones."""

    @model_validator(mode="after")
    def _counts_part_of_them(self) -> Self:
        if self.correct is not None and self.correct > self.total:
            raise ValueError(f"has {self.correct} correct of {self.total}")
        return self


def record_lines(records: Iterable[Record]) -> bytes:
    """Records as lines of records.jsonl."""
    return "".join(record.model_dump_json() + "\n" for record in records).encode()
