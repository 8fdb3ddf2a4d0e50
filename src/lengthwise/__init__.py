"""lengthwise predicts, trains and checks how arithmetic transformers generalize to lengths they never saw.

>>> import lengthwise
>>> rows = lengthwise.predict("add%101", train="D4", test="D4,B6").rows
>>> [str(row.accuracy) for row in rows]
['1', '41/4050']
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lengthwise.records.evidence import predict
    from lengthwise.runs.evaluate import evaluate
    from lengthwise.runs.launch import train
    from lengthwise.runs.load import load

__version__ = "0.1.0"

__all__ = ["evaluate", "load", "predict", "train"]

# Imported when first used: predictions must not wait for torch.
_HOMES = {
    "evaluate": "lengthwise.runs.evaluate",
    "load": "lengthwise.runs.load",
    "predict": "lengthwise.records.evidence",
    "train": "lengthwise.runs.launch",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'lengthwise' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
