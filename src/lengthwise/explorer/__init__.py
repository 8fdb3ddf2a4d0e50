"""A page to play with: predictions, trained models and runs, served to the browser of this machine. Here are the
parameters of its requests and their limits: FastAPI checks them, and an error message names the limit.
"""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from lengthwise.arithmetic.task import DIGITS, MAX_BASE, MIN_BASE
from lengthwise.errors import InputError

MAX_TEXT = 200
"""Most characters of a text parameter, and of an error message about a folder."""

MAX_NAME = 1_000
"""Most characters in the name of a run, which has up to four folders."""

MAX_DIGITS = 100
"""Most digits of an operand, and largest length of a domain, in a prediction."""

MAX_ROWS = 100
"""Most test domains in one prediction."""

MAX_MODULUS = 10**18

MAX_PRODUCT_MODULUS = 20_000
"""The time to count modular products grows with the square of the modulus."""

WORK_SECONDS = {"check": 5.0, "explain": 5.0, "predict": 20.0, "judge": 20.0, "judge_some": 20.0, "report": 60.0}
"""Longest time for each kind of work."""

BATCH_SECONDS = 1.0
"""Time after which a reply judges no further run of the list."""

WAIT_SECONDS = 20.0
"""Longest time that work may wait for its turn."""

MAX_OPERAND_TEXT = 10_000
"""Most characters of an operand put to a model."""

MAX_QUEUED_TOKENS = 40_000
"""Most tokens of all waiting problems: 19 sums of 1,000 digits, or hundreds of short ones."""

ANSWER_SECONDS = 60.0
"""Longest time for one answer."""

LOOK_SECONDS = 20.0
"""Longest time to write an answer for attention or dependence, and again to replace its digits."""

MAX_DEPENDENCE_TOKENS = 500
"""Most tokens of a problem and its answer for which dependence is measured: a sum of 165 digits.
A small model takes 1 s for 100 digits on one core. Wrong answers are written token by token, so a model that errs
takes longer and may reach LOOK_SECONDS first, as larger models do."""

MAX_ATTENTION_TOKENS = 3_100
"""Most tokens of a problem and its answer for which attention is shown: a sum of 1,000 digits, in one pass."""

LEAST_ATTENTION = 0.005
"""Smallest attention weight that is sent to the page."""

LOADED_MODELS = 4
"""Most models kept in memory."""

MAX_LISTED = 1_000
"""Most run folders in the list, which the page reads every 2.5 s."""

MAX_COMPARED = 50
"""Most run folders in one report."""

MAX_FILE_BYTES = 2**20
"""Largest config or status file that is read."""

MAX_PACKED_BYTES = 2**24
"""Size of a file of packed runs that is read: thousands of runs."""

RECORD_BYTES = 2**20
"""Most bytes of a run's records read for one reply."""


class RefusedError(InputError):
    """Why a request is refused, the parameter that caused it, and the HTTP status."""

    def __init__(self, message: str, *, field: str | None = None, status: int = 422) -> None:
        super().__init__(message)
        self.field, self.status = field, status


def read_number(text: str, base: int, width: int, field: str) -> int:
    """The number typed in, of up to `width` digits; spaces are ignored.

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


class NoQuery(BaseModel):
    """A request without parameters, and the base of the others: an unknown parameter is refused."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)


class SettingQuery(NoQuery):
    """What a model learns, as typed in. An empty text stands for the default."""

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
    """Empty: the encoding's usual one."""


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


class AskQuery(NoQuery):
    model: Annotated[str, Field(max_length=MAX_NAME)]
    """A name that /api/models lists."""
    a: Operand
    b: Operand


class RunQuery(NoQuery):
    run: RunName


class PointsQuery(RunQuery):
    offset: int = Field(default=0, ge=0, le=2**53)


class ReportQuery(NoQuery):
    run: list[RunName] = Field(min_length=1, max_length=MAX_COMPARED)
