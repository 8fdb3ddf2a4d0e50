"""lengthwise predicts, trains and checks how arithmetic transformers generalize to lengths they never saw.

>>> import lengthwise
>>> rows = lengthwise.predict("add%101", train="D4", test="D4,B6").rows
>>> [str(row.accuracy) for row in rows]
['1', '41/4050']
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lengthwise import report
    from lengthwise.api import ask, evaluate, load, reproduce, sweep, train
    from lengthwise.recipes.configure import configure
    from lengthwise.records.evidence import predict
    from lengthwise.runs.config import RunConfig

__version__ = "0.1.0"

__all__ = ["RunConfig", "ask", "configure", "evaluate", "load", "predict", "report", "reproduce", "sweep", "train"]

# Imported when first used: predictions must not wait for torch.
_HOMES = {
    "RunConfig": "lengthwise.runs.config",
    "configure": "lengthwise.recipes.configure",
    "predict": "lengthwise.records.evidence",
    **dict.fromkeys(("ask", "evaluate", "load", "reproduce", "sweep", "train"), "lengthwise.api"),
}


def __dir__() -> list[str]:
    return [*globals(), *__all__]


def __getattr__(name: str) -> Any:
    if name == "report":  # a package, which can be called
        return import_module("lengthwise.report")
    if name not in _HOMES:
        raise AttributeError(f"module 'lengthwise' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
