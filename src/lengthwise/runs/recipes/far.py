"""What recipes of long operands share: a small decoder that attends alike however many keys there are."""

from typing import Any

from lengthwise.runs.config import RunConfig
from lengthwise.runs.recipes.presets import muon
from lengthwise.runs.recipes.recipe import Tuning

# Sums column by column: one layer that attends by place alone, all places alike. Then nothing in a long number is
# unlike what training showed but the count of keys. Two heads would do; each starts out on a column near by.
BY_PLACE: dict[str, Any] = {"layers": 1, "heads": 4, "place_attention": True, "position_waves": True}
# For it embeddings and head, which AdamW trains, take a high rate.
BY_PLACE_TUNING = Tuning(steps=4_000, batch=64, dropout=0.0, decay=0.05, rate=1e-2, evaluate_every=1_000)
LAPTOP_BY_PLACE = Tuning(steps=600, batch=8, dropout=0.0, decay=0.05, rate=1e-2, evaluate_every=200)
# Tokens of a row that several problems share. Attention by place then meets columns at all distances, as in a long
# number, and learns to tell that a column is not there. The more columns a head meets that it must not take for
# its own, the sharper it grows, and the further it then goes.
ROW = 288
# Queries and keys of one length, and queries scaled by the logarithm of how many keys they see.
ATTENTION: dict[str, Any] = {"normalized_attention": True, "log_length_scale": True}
MEASURED: dict[str, Any] = {"problems": 1_000, "interim_problems": 100}


def far(
    task: str,
    encoding: str,
    train: str,
    test: str,
    tuning: Tuning,
    *,
    layout: str = "reversed",
    row: int | None = None,
    **model: Any,
) -> RunConfig:
    """All pairs of operand lengths alike, each problem by itself or several in a row of `row` tokens.

    The rest is the preset `fast`: these are no rows of the paper, so that its own has no say here.
    """
    packing = "concatenated" if row else "lines"
    start = muon(task, "nano").changed(encoding=encoding, layout=layout, train=train, test=test)
    return tuning.applied(start).changed(
        model={**ATTENTION, **model},
        data={"sampling": "balanced", "packing": packing, "row_tokens": row},
        evaluation=MEASURED,
    )


def by_place(
    encoding: str, train: str, test: str, tuning: Tuning, *, width: int, context: int, row: int = ROW
) -> RunConfig:
    """Sums by attention that knows positions alone, in rows of `row` tokens.

    Operands are as wide as the longer one, as position coupling was published, so that a column has digits of
    both or of neither. `context` has room for the longest answer, and is one more than a prime: positions then
    run in a circle that no wave repeats on.
    """
    shape = {**BY_PLACE, "width": width, "context": context}
    return far("add", encoding, train, test, tuning, layout="level", row=row, **shape)
