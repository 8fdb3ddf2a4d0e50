"""The parameters a request may have: those of its route. A misspelt one is refused, never ignored."""

from fastapi import Request
from fastapi.dependencies.models import Dependant

from lengthwise.explorer.refusal import RefusedError

SHOWN = 40


def refuse_unknown(request: Request) -> None:
    """What every route depends on."""
    known = _names(request.scope["route"].dependant)
    for name in request.query_params:
        if name not in known:
            shown = name if len(name) <= SHOWN else f"{name[:SHOWN]}…"
            allowed = f"allowed are {', '.join(known)}" if known else "none is allowed here"
            raise RefusedError(f"unknown parameter {shown!r}: {allowed}", field=shown)


def _names(route: Dependant) -> list[str]:
    own = [parameter.alias for parameter in route.query_params]
    return own + [name for part in route.dependencies for name in _names(part)]
