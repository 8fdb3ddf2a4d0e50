"""The API of the Runs part: run folders, their records as they grow, verdicts and the report."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse

from lengthwise.explorer.bounds import MAX_COMPARED, MAX_TEXT
from lengthwise.explorer.catalogue import Catalogue
from lengthwise.explorer.schema import Judgement, Points, RunList
from lengthwise.explorer.workers import Workers

Name = Annotated[str, Query(max_length=MAX_TEXT, description="A name that /api/runs lists.")]
MAX_OFFSET = 2**53


def runs_routes(catalogue: Catalogue, workers: Workers) -> APIRouter:
    router = APIRouter(tags=["runs"])

    @router.get("/api/runs", response_model=RunList)
    def list_runs() -> dict[str, Any]:
        """The run folders."""
        from lengthwise.explorer.progress import summary

        runs, left_out = catalogue.listed()
        return {"runs": [summary(name, path) for name, path in runs.items()], "left_out": left_out}

    @router.get("/api/points", response_model=Points)
    def new_points(run: Name, offset: Annotated[int, Query(ge=0, le=MAX_OFFSET)] = 0) -> dict[str, Any]:
        """Loss and accuracy that a run has recorded since, for a picture that grows."""
        from lengthwise.explorer.progress import points

        return points(catalogue.run(run), offset)

    @router.get("/api/verdicts", response_model=Judgement)
    async def verdicts(request: Request, run: Name) -> dict[str, Any]:
        """Prediction against measurement at the last step recorded."""
        return await workers.call(request, "judge", path=str(catalogue.run(run)))

    @router.get("/report", response_class=HTMLResponse)
    async def report(
        request: Request, run: Annotated[list[Name], Query(min_length=1, max_length=MAX_COMPARED)]
    ) -> HTMLResponse:
        """The report on some runs, one file that can be kept."""
        paths = [str(catalogue.run(name)) for name in dict.fromkeys(run)]
        reply = await workers.call(request, "report", paths=paths)
        return HTMLResponse(reply["html"])

    return router
