"""The server: the page, a JSON API for its three parts, and how requests are refused.

Modules that take long to import are imported by the requests that need them, so that the server starts at once.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from fastapi import APIRouter, Depends, FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from fastapi.staticfiles import StaticFiles
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from lengthwise.errors import InputError
from lengthwise.explorer import (
    AskQuery,
    CheckQuery,
    ExplainQuery,
    NoQuery,
    PointsQuery,
    PredictQuery,
    RefusedError,
    ReportQuery,
    RunQuery,
    runs,
)
from lengthwise.explorer.guard import Guard
from lengthwise.explorer.runs import Catalogue
from lengthwise.explorer.workers import Models, Queue, Ticket, Workers, while_connected

if TYPE_CHECKING:
    from lengthwise.explorer.ask import AskedProblem

PAGE = Path(__file__).parent / "page"
SHOWN = 40
"""Most characters of a parameter that an error message repeats."""

DESCRIPTION = """\
Predictions, trained models and run folders of lengthwise. All requests are GET. A refused request gets a 4xx
status and says why: {"error", "field"}."""

NoParameters = Annotated[NoQuery, Query()]
Reply = dict[str, Any]


def create_app(roots: Sequence[Path], host: str = "127.0.0.1") -> FastAPI:
    workers, catalogue = Workers(), Catalogue(roots)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        starting = asyncio.ensure_future(workers.start())
        yield
        starting.cancel()

    app = FastAPI(
        title="lengthwise explore",
        description=DESCRIPTION,
        # FastAPI's own documentation pages load scripts from other sites.
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        responses={status: {"description": "Refused"} for status in (404, 422, 429)},
    )
    app.add_middleware(Guard, host=host)
    app.add_exception_handler(InputError, _refuse)
    app.add_exception_handler(RequestValidationError, _refuse_parameter)
    app.add_exception_handler(HTTPException, _refuse_path)
    for routes in (predict_routes(workers), ask_routes(catalogue), runs_routes(catalogue, workers)):
        app.include_router(routes)
    app.mount("/", StaticFiles(directory=PAGE, html=True))
    return app


def predict_routes(workers: Workers) -> APIRouter:
    router = APIRouter(tags=["predict"])

    @router.get("/api/choices")
    def choices(query: NoParameters) -> Reply:
        """All {"operations"}, {"encodings"} and {"layouts"}, including those of installed packages."""
        from lengthwise.arithmetic import OPERATIONS
        from lengthwise.theory.encodings import ENCODING_FACTS, LAYOUT_FACTS

        tables = {"operations": OPERATIONS, "encodings": ENCODING_FACTS, "layouts": LAYOUT_FACTS}
        return {kind: list(table.working()) for kind, table in tables.items()}

    @router.get("/api/check")
    async def check(request: Request, query: Annotated[CheckQuery, Query()]) -> Reply:
        """Checks the parameters of /api/explain and /api/predict, for a form that is being filled in. It never
        refuses: {"problem"} is null or has {"error", "field"}."""
        return await while_connected(request, workers.call("check", **query.model_dump()))

    @router.get("/api/explain")
    async def explain(request: Request, query: Annotated[ExplainQuery, Query()]) -> Reply:
        """The function that a model will compute on longer operands, {"hypothesis", "headline", "formula"}; why,
        {"rule", "within_theorem", "generalizes"}; whether trained models do, {"evidence"} and in words
        {"measured", "measured_words"}; and an {"example"}, of operands a and b or drawn at random, whose numbers
        are text in the task's base."""
        return await while_connected(request, workers.call("explain", **query.model_dump()))

    @router.get("/api/predict")
    async def predict(request: Request, query: Annotated[PredictQuery, Query()]) -> Reply:
        """The predicted accuracy on each test domain; without `test`, on lengths up to five digits above training.

        Rows are as `lengthwise predict --json` prints them. {"shown"} is a percentage with enough digits not to be
        rounded to 0 or 100, {"errors"} the share of wrong answers, {"measured"} the evidence in words, and
        {"functions"} a description of each function.
        """
        return await while_connected(request, workers.call("predict", **query.model_dump()))

    return router


class QueuedProblem(NamedTuple):
    problem: "AskedProblem"
    ticket: Ticket


def ask_routes(catalogue: Catalogue) -> APIRouter:
    router, loaded, queue = APIRouter(tags=["ask"]), Models(), Queue()

    async def queued(query: Annotated[AskQuery, Query()]) -> AsyncIterator[QueuedProblem]:
        """A problem and its place in the queue, which it keeps until the reply is sent."""
        run = await loaded.get(await run_in_threadpool(catalogue.model, query.model))
        from lengthwise.explorer.ask import read_problem

        problem = await run_in_threadpool(read_problem, run, query.a, query.b)
        with queue.join(problem.prompt_length) as ticket:
            yield QueuedProblem(problem, ticket)

    asked = Depends(queued)

    @router.get("/api/models")
    def list_models(query: NoParameters) -> Reply:
        """Models that can be asked: shipped ones, and runs with a checkpoint."""
        return {"models": [runs.describe(*entry) for entry in catalogue.models().items()]}

    @router.get("/api/ask", response_class=StreamingResponse)
    async def ask(question: Annotated[QueuedProblem, asked]) -> StreamingResponse:
        """The answer as it is written, in lines of JSON: first {"problem"}, with a {"note"} where its lengths
        differ from those of training; {"waiting"} every second while other questions come first; {"token"} for
        each token with its probability; and last {"answer"}, or {"error"} where it takes too long."""
        from lengthwise.explorer.ask import answer_lines

        async def lines() -> AsyncIterator[str]:
            async for line in answer_lines(question.problem, queue.waiting(question.ticket)):
                yield line
            queue.answered(question.ticket)

        return StreamingResponse(lines(), media_type="application/x-ndjson")

    @router.get("/api/attention")
    async def attention(request: Request, question: Annotated[QueuedProblem, asked]) -> Reply:
        """What each token of the answer attended to when it was written.

        {"tokens"} are the tokens read and written, the first {"prompt_length"} of them read; {"places"} has the
        operand and significance of each digit read. {"layers"} has, for each layer and each token of the answer,
        the positions attended to and their weights, averaged over heads; weights below 0.005 are left out.
        {"nothing"} is the attention without effect, on the null key or clipped; null for models that have neither.
        {"sharpest"} is the layer that attends to the fewest tokens. {"no_dependence"} says why /api/dependence
        refuses this problem, if it does.
        """
        from lengthwise.explorer.ask import attention

        await while_connected(request, question.ticket.turn.wait())
        return await while_connected(request, attention(question.problem))

    @router.get("/api/dependence")
    async def dependence(request: Request, question: Annotated[QueuedProblem, asked]) -> Reply:
        """Which digits of the operands change each token of the answer when replaced: {"causes"} has for each
        digit, named by {"operand", "significance"}, the share of replacements that change each token."""
        from lengthwise.explorer.ask import dependence

        await while_connected(request, question.ticket.turn.wait())
        return await while_connected(request, dependence(question.problem))

    return router


def runs_routes(catalogue: Catalogue, workers: Workers) -> APIRouter:
    router, words = APIRouter(tags=["runs"]), dict[runs.Version, str | None]()

    @router.get("/api/runs")
    def list_runs(query: NoParameters) -> runs.RunList:
        """The run folders, and how many are not listed, {"left_out"}."""
        return catalogue.summaries()

    @router.get("/api/judged")
    async def judged(request: Request, query: NoParameters) -> Reply:
        """The verdict on each whole run, {"verdicts"} by name: it holds if the prediction holds on all test
        domains and fails if it fails on one; null where there is none. {"left"} runs are not judged yet: ask
        again."""
        current = await run_in_threadpool(catalogue.records)
        if left := [version for version in current.values() if version not in words]:
            new = await while_connected(request, _judged(workers, [str(path) for path, _ in left]))
            words.update({(path, size): new[str(path)] for path, size in left if str(path) in new})
        known = {name: words[version] for name, version in current.items() if version in words}
        return {"verdicts": known, "left": len(current) - len(known)}

    @router.get("/api/points")
    def points(query: Annotated[PointsQuery, Query()]) -> Reply:
        """Loss and accuracy recorded after an offset, for a live chart: {"points"}, and the {"offset"} to ask for
        next. {"restarted"}: the records were cut, so earlier points no longer count."""
        return runs.points(catalogue.run(query.run), query.offset)

    @router.get("/api/verdicts")
    async def verdicts(request: Request, query: Annotated[RunQuery, Query()]) -> Reply:
        """Prediction against measurement at the last step recorded: {"verdicts"} as `lengthwise evaluate --json`
        prints them, or {"why"} there are none yet."""
        path = await run_in_threadpool(catalogue.run, query.run)
        return await while_connected(request, workers.call("judge", path=str(path)))

    @router.get("/report", response_class=HTMLResponse)
    async def report(request: Request, query: Annotated[ReportQuery, Query()]) -> HTMLResponse:
        """The report on some runs as one HTML file."""
        paths = [str(await run_in_threadpool(catalogue.run, name)) for name in dict.fromkeys(query.run)]
        reply = await while_connected(request, workers.call("report", paths=paths))
        return HTMLResponse(reply["html"])

    return router


async def _judged(workers: Workers, paths: list[str]) -> dict[str, str | None]:
    try:
        return await workers.call("judge_some", paths=paths)
    except RefusedError as refusal:
        if refusal.status != 422:
            raise
        return {paths[0]: None}  # it takes too long; the others do not wait for it


def _refuse(request: Request, error: Exception) -> Response:
    status, field = (error.status, error.field) if isinstance(error, RefusedError) else (422, None)
    if request.url.path == "/report":
        # The report opens in its own tab, where JSON would be hard to read.
        return HTMLResponse(f"<!doctype html><title>No report</title><p>No report: {escape(str(error))}", status)
    return JSONResponse({"error": str(error), "field": field}, status)


def _refuse_path(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _refuse(request, RefusedError(error.detail, status=error.status_code))


def _refuse_parameter(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    # A misspelt parameter is named before a missing one: it explains why that is missing.
    first = min(error.errors(), key=lambda one: one["type"] != "extra_forbidden")
    field, message = _shortened(first["loc"][1]), first["msg"]
    if first["type"] == "missing":
        why = f"{field} is missing"
    elif first["type"] == "extra_forbidden":
        known = request.app.openapi()["paths"][request.url.path]["get"].get("parameters", [])
        names = ", ".join(parameter["name"] for parameter in known)
        why = f"unknown parameter {field!r} ({f'choose from {names}' if names else 'there are none here'})"
    else:
        why = f"{field} is {_shortened(first['input'])!r}: {message[0].lower()}{message[1:]}"
    return _refuse(request, RefusedError(why, field=field))


def _shortened(value: object) -> str:
    text = str(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
