"""The server: a page, a JSON API for its three parts, and what guards them.

Whatever takes long to import is imported by the requests that need it, so that the server starts at once.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from html import escape
from pathlib import Path

from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from lengthwise.errors import InputError
from lengthwise.explorer.ask_api import ask_routes
from lengthwise.explorer.catalogue import Catalogue
from lengthwise.explorer.guard import Guard
from lengthwise.explorer.models import Models
from lengthwise.explorer.parameters import refuse_unknown
from lengthwise.explorer.predict_api import predict_routes
from lengthwise.explorer.refusal import RefusedError
from lengthwise.explorer.runs_api import runs_routes
from lengthwise.explorer.schema import Problem
from lengthwise.explorer.workers import Workers

PAGE = Path(__file__).parent / "page"

DESCRIPTION = """\
Predictions, trained models and run folders of lengthwise. All requests are GET. A request that is refused gets
a 4xx status and says why: {"error", "field"}."""


def create_app(roots: Sequence[Path], host: str = "127.0.0.1") -> FastAPI:
    workers, models, catalogue = Workers(), Models(), Catalogue(roots)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        await workers.start()
        yield
        await workers.end()

    app = FastAPI(
        title="lengthwise explore",
        description=DESCRIPTION,
        # The usual pages of documentation load scripts from elsewhere.
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        dependencies=[Depends(refuse_unknown)],
        responses={422: {"model": Problem}, 404: {"model": Problem}},
    )
    app.add_middleware(Guard, host=host)
    app.add_exception_handler(InputError, _refuse)
    app.add_exception_handler(RequestValidationError, _refuse_parameter)
    app.add_exception_handler(HTTPException, _refuse_path)
    for routes in (predict_routes(workers), ask_routes(catalogue, models), runs_routes(catalogue, workers)):
        app.include_router(routes)
    app.mount("/", StaticFiles(directory=PAGE, html=True))
    return app


def _refuse(request: Request, error: Exception) -> Response:
    status, field = (error.status, error.field) if isinstance(error, RefusedError) else (422, None)
    if request.url.path == "/report":
        # A page of its own, so its reader sees it as one.
        return HTMLResponse(f"<!doctype html><title>No report</title><p>No report: {escape(str(error))}", status)
    return _problem(str(error), field, status)


def _refuse_parameter(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    field, message = str(first["loc"][1]), first["msg"]
    if first["type"] == "missing":
        return _problem(f"{field} is missing", field, 422)
    given = str(first["input"])
    shown = given if len(given) <= 40 else f"{given[:40]}…"
    return _problem(f"{field} is {shown!r}: {message[0].lower()}{message[1:]}", field, 422)


def _refuse_path(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    return _problem(str(error.detail), None, error.status_code)


def _problem(message: str, field: str | None, status: int) -> JSONResponse:
    return JSONResponse({"error": message, "field": field}, status)
