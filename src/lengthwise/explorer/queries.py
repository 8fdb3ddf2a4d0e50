"""What may be asked, and the bounds of that: FastAPI checks it, and whoever exceeds a bound is told what it is."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from lengthwise.arithmetic.task import DIGITS, MAX_BASE, MIN_BASE
from lengthwise.errors import InputError

MAX_TEXT = 200
"""Characters of anything typed, and of what is wrong with a folder."""

MAX_NAME = 1_000
"""Characters in the name of a run: up to four folders."""

MAX_DIGITS = 100
"""Digits of an operand, and length of a domain, in a prediction."""

MAX_ROWS = 100
"""Test domains of one prediction."""

MAX_MODULUS = 10**18

MAX_PRODUCT_MODULUS = 20_000
"""Counts for modular products take time that grows with the square of the modulus."""

WORK_SECONDS = {"check": 5.0, "explain": 5.0, "predict": 20.0, "judge": 20.0, "judge_some": 20.0, "report": 60.0}
"""Time that one piece of work may take, by its name."""

BATCH_SECONDS = 1.0
"""Time after which no further run of the list is judged for one reply."""

WAIT_SECONDS = 20.0
"""Time that work may wait for its turn."""

MAX_OPERAND_TEXT = 10_000
"""Characters of a number that a model is asked about."""

MAX_QUEUED_TOKENS = 40_000
"""Tokens of the problems that wait for models: 19 sums of 1,000 digits, or hundreds of short ones."""

ANSWER_SECONDS = 60.0
"""Time that an answer may take."""

LOOK_SECONDS = 20.0
"""Time that writing an answer to look into may take, and replacing its digits."""

MAX_DEPENDENCE_TOKENS = 500
"""Tokens of a problem and its answer up to which each of its digits is replaced: a sum of 165 digits.
A small model takes 1 s for 100 digits on one core. Wrong answers are written token by token: a model that errs
takes longer, and may meet LOOK_SECONDS first, as larger ones do."""

MAX_ATTENTION_TOKENS = 3_100
"""Tokens of a problem and its answer up to which attention is shown: a sum of 1,000 digits. It takes one pass."""

LEAST_ATTENTION = 0.005
"""Attention that is told; less is shown as none."""

LOADED_MODELS = 4
"""Models kept in memory."""

MAX_LISTED = 1_000
"""Run folders listed. The page reads the list every 2.5 s."""

MAX_COMPARED = 50
"""Run folders in one report."""

MAX_FILE_BYTES = 2**20
"""Size of a config or status file that is read."""

MAX_PACKED_BYTES = 2**24
"""Size of a file of packed runs that is read: thousands of runs."""

RECORD_BYTES = 2**20
"""How much of a run's records is read for one reply."""


class RefusedError(InputError):
    """Why a request is refused, which of its parameters is to blame, and the HTTP status."""

    def __init__(self, message: str, *, field: str | None = None, status: int = 422) -> None:
        super().__init__(message)
        self.field, self.status = field, status


def read_number(text: str, base: int, width: int, field: str) -> int:
    """A natural number as people type it, of up to `width` digits; blanks between them do not matter.

    >>> read_number("12 345", 10, 6, "a"), read_number("FF", 16, 2, "b")
    (12345, 255)
    """
    digits = "".join(text.split()).lower()
    if not digits:
        raise RefusedError("type a number here", field=field)
    invalid = next((c for c in digits if c not in DIGITS[:base]), None)
    if invalid is not None:
        raise RefusedError(f"{invalid!r} is not a digit in base {base} (0 to {DIGITS[base - 1]})", field=field)
    if len(digits) > width:
        raise RefusedError(f"{len(digits)} digits are too many (up to {width} here)", field=field)
    return int(digits, base)


Text = Annotated[str, Field(max_length=MAX_TEXT)]
Operand = Annotated[str, Field(max_length=MAX_OPERAND_TEXT, description="A number in the model's base.")]
RunName = Annotated[str, Field(max_length=MAX_NAME, description="A name that /api/runs lists.")]


class Query(BaseModel):
    """The parameters of a request. A misspelt one is refused, never ignored."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)


class SettingQuery(Query):
    """What a model learns, as it was typed. An empty text stands for the usual choice."""

    operation: Text = "add"
    """add, mul, sub, or an operation of an installed package."""
    modulus: Text = Field(
        default="", description=f"1 to {MAX_MODULUS} (add) or {MAX_PRODUCT_MODULUS}; empty: none."
    )
    base: Text = Field(default="10", description=f"{MIN_BASE} to {MAX_BASE}.")
    train: Text = Field(default="D4", description=f"Training domain, D4 or D1..4, of up to {MAX_DIGITS} digits.")
    encoding: Text = "learned"
    """Positional encoding."""
    layout: Text = ""
    """Empty: the encoding's natural one."""


class CheckQuery(SettingQuery):
    test: Text = ""
    a: Text = ""
    b: Text = ""


class ExplainQuery(SettingQuery):
    a: Text = ""
    b: Text = ""
    draw: int = Field(default=0, ge=0, le=10**9)


class PredictQuery(SettingQuery):
    test: Text = ""


class AskQuery(Query):
    model: Annotated[str, Field(max_length=MAX_NAME)]
    """A name that /api/models lists."""
    a: Operand
    b: Operand


class RunQuery(Query):
    run: RunName


class PointsQuery(RunQuery):
    offset: int = Field(default=0, ge=0, le=2**53)


class ReportQuery(Query):
    run: list[RunName] = Field(min_length=1, max_length=MAX_COMPARED)
