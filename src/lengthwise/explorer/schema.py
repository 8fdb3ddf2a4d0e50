"""What the API replies, for its description at /openapi.json."""

from typing import Any

from pydantic import BaseModel, Field

from lengthwise.explorer.bounds import LEAST_ATTENTION, MAX_LISTED


class Problem(BaseModel):
    """Why a request was refused."""

    error: str
    field: str | None = Field(description="The parameter that is to blame, where it is one.")


class Check(BaseModel):
    """What is wrong with a question, or null."""

    problem: Problem | None


class Example(BaseModel):
    """Numbers are text in the task's base."""

    a: str
    b: str
    truth: str
    hypothesis: str | None
    predicted: str | None


class Explanation(BaseModel):
    """Which function a model will learn, and why."""

    task: str
    symbol: str
    base: int
    train: str
    trained_length: int = Field(description="Digits of the longest operand in training.")
    layout: str
    hypothesis: str | None = Field(description="The function on longer operands: truth, truncated:4, windowed:5.")
    headline: str
    formula: str | None
    rule: str
    within_theorem: bool
    generalizes: bool | None
    example: Example


class Row(BaseModel):
    domain: str
    length: int
    hypothesis: str | None
    rule: str
    within_theorem: bool
    generalizes: bool | None
    accuracy: str | None = Field(description="An exact fraction.")
    percent: float | None
    shown: str = Field(description="Percent, with as many digits as keep it from a false 0 or 100.")
    paper_percent: float | None


class Rows(BaseModel):
    task: str
    base: int
    train: str
    trained_length: int
    encoding: str
    layout: str
    rows: list[Row]


class Model(BaseModel):
    """A model that can be asked. `error` says why one cannot."""

    name: str
    shipped: bool
    error: str | None = None
    task: str = ""
    symbol: str = ""
    base: int = 10
    train: str = ""
    trained_lengths: tuple[tuple[int, int], tuple[int, int]] = Field(
        ((0, 0), (0, 0)), description="The fewest and the most digits of a in training, and those of b."
    )
    encoding: str = ""
    layout: str = ""
    seed: int = 0
    operand_digits: int = Field(0, description="The longest operand it accepts.")
    headline: str = ""


class ModelList(BaseModel):
    models: list[Model]


class AttentionReply(BaseModel):
    tokens: list[str] = Field(description="All that was read and written.")
    prompt_length: int
    places: list[tuple[str, int] | None] = Field(
        description="For each token read, the operand and significance of a digit: [b, 1] is b's last."
    )
    layers: list[list[list[tuple[int, float]]]] = Field(
        description="For each layer and each token of the answer, the places that the one that wrote it attends "
        f"to, and how much, averaged over heads. Less than {LEAST_ATTENTION} is left out."
    )
    nothing: list[list[float]] | None = Field(
        description="For each layer and each token of the answer, the attention that counts for nothing: on no "
        "token, or too faint. Null for models where all counts: the attention to all tokens is then one together."
    )
    sharpest: int = Field(description="The layer, counted from 0, that attends to the fewest tokens.")
    no_dependence: str | None = Field(description="Why /api/dependence refuses this problem, where it does.")


class CauseReply(BaseModel):
    operand: str
    significance: int = Field(description="1 is the last digit.")
    digit: str
    changes: list[float] = Field(description="For each token of the answer, the share that change it.")


class DependenceReply(BaseModel):
    causes: list[CauseReply]


class RunSummary(BaseModel):
    name: str
    error: str | None
    status: str | None
    task: str = ""
    base: int = 10
    train: str = ""
    encoding: str = ""
    layout: str = ""
    seed: int = 0
    steps: int = 0
    tests: list[str] = []
    group: str = Field("", description="Equal for runs that differ in their seed alone.")
    records_size: int = 0
    has_model: bool = False


class RunList(BaseModel):
    runs: list[RunSummary]
    left_out: int = Field(description=f"How many more there are: {MAX_LISTED:,} are listed at most.")


class Point(BaseModel):
    step: int
    domain: str
    metric: str = Field(description="train_loss or exact, the share of right answers.")
    value: float


class Points(BaseModel):
    points: list[Point]
    restarted: bool = Field(description="The records were cut since: forget the points before these.")
    offset: int = Field(description="Ask for what comes after this next time.")
    more: bool
    status: str | None


class Judgement(BaseModel):
    step: int | None
    verdicts: list[dict[str, Any]] = Field(description="As lengthwise evaluate --json prints them.")
    why: str | None = Field(description="Why there are none yet.")
