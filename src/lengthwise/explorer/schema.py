"""What the API is asked and what it replies: FastAPI checks both, and /openapi.json describes them."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from lengthwise.arithmetic.task import MAX_BASE, MIN_BASE
from lengthwise.explorer.bounds import (
    LEAST_ATTENTION,
    MAX_COMPARED,
    MAX_DIGITS,
    MAX_LISTED,
    MAX_MODULUS,
    MAX_NAME,
    MAX_OPERAND_TEXT,
    MAX_PRODUCT_MODULUS,
    MAX_TEXT,
)

Text = Annotated[str, Field(max_length=MAX_TEXT)]
Operand = Annotated[str, Field(max_length=MAX_OPERAND_TEXT, description="A number in the model's base.")]
RunName = Annotated[str, Field(max_length=MAX_NAME, description="A name that /api/runs lists.")]


class Query(BaseModel):
    """The parameters of a request. A misspelt one is refused, never ignored."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)


class SettingQuery(Query):
    """What a model learns, as it was typed. An empty text stands for the usual choice."""

    operation: Text = "add"
    """add or mul."""
    modulus: Text = Field(
        default="", description=f"1 to {MAX_MODULUS}, for mul to {MAX_PRODUCT_MODULUS}; empty: none."
    )
    base: Text = Field(default="10", description=f"{MIN_BASE} to {MAX_BASE}.")
    train: Text = Field(
        default="D4", description=f"Training domain, as D4 or D1..4, of up to {MAX_DIGITS} digits."
    )
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


class Reply(BaseModel):
    model_config = ConfigDict(use_attribute_docstrings=True)


class Refusal(Reply):
    """Why a request was refused."""

    error: str
    field: str | None
    """The parameter that is to blame, where it is one."""


class Check(Reply):
    problem: Refusal | None
    """What is wrong with a question, or null."""


class Example(Reply):
    """Numbers are text in the task's base."""

    a: str
    b: str
    truth: str
    hypothesis: str | None
    predicted: str | None


class Explanation(Reply):
    """Which function a model will learn, and why."""

    task: str
    symbol: str
    base: int
    train: str
    trained_length: int
    """Digits of the longest operand in training."""
    layout: str
    hypothesis: str | None
    """The function on longer operands: truth, truncated:4, windowed:5."""
    headline: str
    formula: str | None
    rule: str
    within_theorem: bool
    generalizes: bool | None
    example: Example


class PredictedRow(Reply):
    domain: str
    length: int
    hypothesis: str | None
    rule: str
    within_theorem: bool
    generalizes: bool | None
    accuracy: str | None
    """An exact fraction."""
    percent: float | None
    shown: str
    """Percent, with as many digits as keep it from a false 0 or 100."""
    paper_percent: float | None


class Rows(Reply):
    task: str
    base: int
    train: str
    trained_length: int
    encoding: str
    layout: str
    rows: list[PredictedRow]


class Described(Reply):
    """A run folder as its config describes it."""

    name: str
    error: str | None = None
    """What is wrong with a folder that cannot be read; all else is then empty."""
    task: str = ""
    base: int = 10
    train: str = ""
    encoding: str = ""
    layout: str = ""
    seed: int = 0


class ModelEntry(Described):
    """A model that can be asked."""

    shipped: bool
    symbol: str = ""
    trained_lengths: tuple[tuple[int, int], tuple[int, int]] = ((0, 0), (0, 0))
    """The fewest and the most digits of a in training, and those of b."""
    operand_digits: int = 0
    """The longest operand it accepts."""
    headline: str = ""


class ModelList(Reply):
    models: list[ModelEntry]


class AttentionReply(Reply):
    tokens: list[str]
    """All that was read and written."""
    prompt_length: int
    places: list[tuple[str, int] | None]
    """For each token read, the operand and significance of a digit: [b, 1] is b's last."""
    layers: list[list[list[tuple[int, float]]]] = Field(
        description="For each layer and each token of the answer, the places that the one that wrote it attends "
        f"to, and how much, averaged over heads. Less than {LEAST_ATTENTION} is left out."
    )
    nothing: list[list[float]] | None
    """For each layer and each token of the answer, the attention that counts for nothing: on no token, or too
    faint. Null for models where all counts: the attention to all tokens is then one together."""
    sharpest: int
    """The layer, counted from 0, that attends to the fewest tokens."""
    no_dependence: str | None
    """Why /api/dependence refuses this problem, where it does."""


class Cause(Reply):
    """A digit of an operand, and what replacing it changes."""

    operand: str
    significance: int
    """1 is the last digit."""
    digit: str
    changes: list[float]
    """For each token of the answer, the share of replacements that change it."""


class DependenceReply(Reply):
    causes: list[Cause]


class RunSummary(Described):
    status: str | None = None
    steps: int = 0
    tests: tuple[str, ...] = ()
    group: str = ""
    """Equal for runs that differ in their seed alone."""
    records_size: int = 0
    has_model: bool = False


class RunList(Reply):
    runs: list[RunSummary]
    left_out: int = Field(description=f"How many more there are: {MAX_LISTED:,} are listed at most.")


class Point(Reply):
    step: int
    domain: str
    metric: str
    """train_loss or exact, the share of right answers."""
    value: float


class Points(Reply):
    points: list[Point]
    restarted: bool
    """The records were cut since: forget the points before these."""
    offset: int
    """Ask for what comes after this next time."""
    more: bool
    status: str | None


class Judgement(Reply):
    step: int | None
    verdicts: list[dict[str, Any]]
    """As lengthwise evaluate --json prints them."""
    why: str | None
    """Why there are none yet."""
