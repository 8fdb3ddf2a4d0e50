"""The API of the Predict part: what a model will learn, and how often it will be right."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request

from lengthwise.arithmetic.task import MAX_BASE, MIN_BASE
from lengthwise.explorer.bounds import MAX_DIGITS, MAX_MODULUS, MAX_PRODUCT_MODULUS, MAX_TEXT
from lengthwise.explorer.schema import Check, Explanation, Rows
from lengthwise.explorer.workers import Workers


def typed(description: str) -> Any:
    return Query(max_length=MAX_TEXT, description=description)


Text = Annotated[str, Query(max_length=MAX_TEXT)]


def asked(
    *,
    operation: Annotated[str, typed("add or mul.")] = "add",
    modulus: Annotated[str, typed(f"1 to {MAX_MODULUS}, for mul to {MAX_PRODUCT_MODULUS}; empty: none.")] = "",
    base: Annotated[str, typed(f"{MIN_BASE} to {MAX_BASE}.")] = "10",
    train: Annotated[str, typed(f"Training domain, as D4 or D1..4, of up to {MAX_DIGITS} digits.")] = "D4",
    encoding: Annotated[str, typed("Positional encoding.")] = "learned",
    layout: Annotated[str, typed("Empty: the encoding's natural one.")] = "",
) -> dict[str, str]:
    return {
        "operation": operation,
        "modulus": modulus,
        "base": base,
        "train": train,
        "encoding": encoding,
        "layout": layout,
    }


Asked = Annotated[dict[str, str], Depends(asked)]


def predict_routes(workers: Workers) -> APIRouter:
    router = APIRouter(tags=["predict"])

    @router.get("/api/check", response_model=Check)
    async def check(
        request: Request, question: Asked, test: Text = "", a: Text = "", b: Text = ""
    ) -> dict[str, Any]:
        """Whether the other two would accept this, for a form that is being filled in. Never refuses."""
        return await workers.call(request, "check", **question, test=test, a=a, b=b)

    @router.get("/api/explain", response_model=Explanation)
    async def explain(
        request: Request,
        question: Asked,
        a: Text = "",
        b: Text = "",
        draw: Annotated[int, Query(ge=0, le=10**9)] = 0,
    ) -> dict[str, Any]:
        """Which function a model will learn, why, and an example: of operands a and b, or drawn."""
        return await workers.call(request, "explain", **question, a=a, b=b, draw=draw)

    @router.get("/api/predict", response_model=Rows)
    async def predict(request: Request, question: Asked, test: Text = "") -> dict[str, Any]:
        """The exact accuracy on each test domain; without `test`, on lengths 1 to five above the trained ones."""
        return await workers.call(request, "predict", **question, test=test)

    return router
