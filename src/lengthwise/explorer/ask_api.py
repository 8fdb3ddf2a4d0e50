"""The API of the Ask part: the models there are, their answers, and a look inside."""

import json
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse

from lengthwise.arithmetic import in_base
from lengthwise.explorer.bounds import ANSWER_SECONDS, MAX_ATTENTION_TOKENS, MAX_DEPENDENCE_TOKENS, MAX_TEXT
from lengthwise.explorer.catalogue import Catalogue
from lengthwise.explorer.models import Models
from lengthwise.explorer.numbers import read_number
from lengthwise.explorer.schema import AttentionReply, DependenceReply, ModelList

if TYPE_CHECKING:
    from lengthwise.experiments.load import Run

MAX_OPERAND_TEXT = 10_000

Name = Annotated[str, Query(max_length=MAX_TEXT, description="A name that /api/models lists.")]
Operand = Annotated[str, Query(max_length=MAX_OPERAND_TEXT, description="A number in the model's base.")]


def ask_routes(catalogue: Catalogue, models: Models) -> APIRouter:
    router = APIRouter(tags=["ask"])

    def read(model: str, a: str, b: str) -> "tuple[Run, tuple[int, int]]":
        run = models.get(catalogue.model(model))
        base, width = run.config.base, run.parts.layout.operand_width
        return run, (read_number(a, base, width, "a"), read_number(b, base, width, "b"))

    @router.get("/api/models", response_model=ModelList)
    def list_models() -> dict[str, Any]:
        """Models that can be asked: shipped ones, and runs with a checkpoint."""
        from lengthwise.explorer.description import describe_model

        return {"models": [describe_model(name, path) for name, path in catalogue.models().items()]}

    @router.get("/api/ask", response_class=StreamingResponse)
    def ask(model: Name, a: Operand, b: Operand) -> StreamingResponse:
        """The answer as it is written, a line of JSON each: first {"problem"}, then {"token"} for each token
        with its probability, last {"answer"}, or {"error"} where it takes too long."""
        run, pair = read(model, a, b)
        return StreamingResponse(answer_lines(run, pair, models), media_type="application/x-ndjson")

    @router.get("/api/attention", response_model=AttentionReply)
    def attention(model: Name, a: Operand, b: Operand) -> dict[str, Any]:
        """What each token of the answer attended to when it was written."""
        from lengthwise.evaluation.attention import sharpest
        from lengthwise.explorer import looking
        from lengthwise.explorer.asking import sheet

        run, pair = read(model, a, b)
        problem = sheet(run, *pair)
        answer = looking.answer_within(problem, MAX_ATTENTION_TOKENS, models.computing)
        layers = looking.attended(problem, answer, models.computing)
        ids, _ = problem.sequence(answer)
        return {
            "tokens": [run.parts.layout.vocabulary.texts[token] for token in ids[0, 0].tolist()],
            "prompt_length": problem.prompt_length,
            "places": problem.operand_places,
            "layers": [looking.noticeable(layer.tokens) for layer in layers],
            "nothing": [[round(share, 4) for share in layer.nothing.tolist()] for layer in layers]
            if run.config.model.place_attention
            else None,
            # Shown first, as it shows which digits are read: the last layer's attention is often nearly even.
            # One layer for the whole answer, so that it stays while a reader goes from digit to digit.
            "sharpest": sharpest([layer.tokens for layer in layers]),
            "no_dependence": looking.no_dependence(problem, answer),
        }

    @router.get("/api/dependence", response_model=DependenceReply)
    def depends(model: Name, a: Operand, b: Operand) -> dict[str, Any]:
        """Which digits of the operands change each token of the answer when they are replaced."""
        from lengthwise.explorer.asking import sheet
        from lengthwise.explorer.dependence import dependence
        from lengthwise.explorer.looking import answer_within

        run, pair = read(model, a, b)
        problem = sheet(run, *pair)
        answer = answer_within(problem, MAX_DEPENDENCE_TOKENS, models.computing)
        causes = dependence(problem, pair, answer, models.computing)
        return {"causes": [cause._asdict() for cause in causes]}

    return router


def answer_lines(run: "Run", pair: tuple[int, int], models: Models) -> Iterator[str]:
    from lengthwise.explorer.asking import sheet, spell

    problem, base, layout = sheet(run, *pair), run.config.base, run.parts.layout
    truth = run.compare(*pair, run.config.task_object(*pair))
    yield _line(
        problem={
            "prompt": layout.render(problem.reading.prompt[0, 0]),
            "truth": in_base(truth.truth, base),
            "hypothesis": None if truth.hypothesis is None else str(truth.hypothesis),
            "predicted": None if truth.predicted is None else in_base(truth.predicted, base),
            "last_digit_first": run.config.resolved_layout != "plain",
        }
    )
    tokens: list[int] = []
    end = time.monotonic() + ANSWER_SECONDS
    for written in spell(problem, models.computing):
        tokens.append(written.token)
        yield _line(token={key: value for key, value in written._asdict().items() if key != "token"})
        if time.monotonic() > end:
            return (yield _line(error=f"the answer takes longer than the {ANSWER_SECONDS:g} s allowed here"))
    answer = layout.read_answer(tokens)
    number = isinstance(answer, int)
    yield _line(
        answer={
            "answered": in_base(answer, base) if number else None,
            "malformed": None if number else answer.reason,
            "right": answer == truth.truth,
            "as_predicted": None if truth.predicted is None else answer == truth.predicted,
        }
    )


def _line(**content: Any) -> str:
    return json.dumps(content) + "\n"
