"""Recipes of operands many times longer than in training: sums with coupled and abacus positions and with every
encoding, and products; and how much is learned and how much is built in: the recipe of 1,000 digits without one of
its ingredients, and position coupling as its authors published it.

All but the last are small decoders whose attention does not depend on the number of keys. They start from Muon and
new problems with every preset, as they are not rows of the paper.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from lengthwise.recipes import CHECKPOINT_EVERY, Setting, Tuning
from lengthwise.recipes.configure import Rows, muon
from lengthwise.runs.config import RunConfig

# Sums column by column: one layer of position-only attention, the same at all positions. Then a long number
# differs from those of training only in the number of keys. Two heads would suffice; each starts on a nearby
# column.
POSITION_ONLY: dict[str, Any] = {"layers": 1, "heads": 4, "place_attention": True, "position_waves": True}
# It needs a high learning rate for embeddings and head, which AdamW trains.
POSITION_ONLY_TUNING = Tuning(steps=4_000, batch=64, dropout=0.0, rate=1e-2, evaluate_every=1_000)
LAPTOP_TUNING = Tuning(steps=600, batch=8, dropout=0.0, rate=1e-2, evaluate_every=200)
# Tokens of a row of several problems. Position-only attention then sees columns at all distances, as in a long
# number, and learns when a column is missing. The more other columns a head has to ignore, the sharper it becomes,
# and the further it generalizes.
ROW = 288
# Queries and keys of unit length, and queries scaled by the logarithm of the number of keys.
ATTENTION: dict[str, Any] = {"normalized_attention": True, "log_length_scale": True}
MEASURED: dict[str, Any] = {"problems": 1_000, "interim_problems": 100}
SETS = ("lopsided", "carry", "alternating")


def long_run(
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
    """A run with all pairs of operand lengths equally likely, one problem per row or several in rows of `row`
    tokens."""
    packing = "concatenated" if row else "lines"
    start = muon(task, "nano").changed(encoding=encoding, layout=layout, train=train, test=test)
    return tuning.applied(start).changed(
        model={**ATTENTION, **model},
        data={"sampling": "balanced", "packing": packing, "row_tokens": row},
        evaluation=MEASURED,
    )


def position_only(
    encoding: str, train: str, test: str, tuning: Tuning, *, width: int, context: int, row: int = ROW
) -> RunConfig:
    """A run on sums with position-only attention, in rows of `row` tokens.

    Operands are as wide as the longer one, as published for position coupling, so that a column has digits of both
    or of neither. `context` fits the longest answer and is one more than a prime: positions then lie on a circle
    on which no wave repeats.
    """
    shape = {**POSITION_ONLY, "width": width, "context": context}
    return long_run("add", encoding, train, test, tuning, layout="level", row=row, **shape)


LAPTOP_CONTEXT = 132


def coupled(setting: Setting, train: str, test: str, context: int) -> RunConfig:
    if setting.laptop:
        shape = {"width": 128, "context": LAPTOP_CONTEXT}
        return position_only("coupled", "D1..6", "D6,D12,D24,D60,D120", LAPTOP_TUNING, **shape)
    return position_only("coupled", train, test, POSITION_ONLY_TUNING, width=256, context=context)


def coupled_1000_rows(setting: Setting) -> Rows:
    """The recipe of 1,000 digits, scored in one pass, and for some problems decoded token by token."""
    run = coupled(setting, "D1..20", "D20,D50,D100,D200,D500,D1000", context=1_032)
    return {"coupled-1000": run.changed(evaluation={"sets": SETS, "decoded": 100, "anatomy": 200})}


def coupled_200_rows(setting: Setting) -> Rows:
    """Position coupling's own setting: 1 to 30 digits in training, up to 200 in testing."""
    run = coupled(setting, "D1..30", "D30,D50,D100,D150,D200", context=402)
    return {"coupled-200": run.changed(evaluation={"sets": SETS})}


ABACUS_PRODUCTS = Tuning(steps=20_000, batch=128, dropout=0.0, evaluate_every=4_000)
# McLeish's best models apply a block of layers several times, adding the input each time. Waves are learned faster
# here than a table of positions.
LOOPED: dict[str, Any] = {
    "layers": 4,
    "loops": 4,
    "heads": 8,
    "width": 256,
    "position_waves": True,
    "context": 200,
}


def abacus_rows(setting: Setting) -> Rows:
    """McLeish's settings: sums of up to 100 digits from 20, products of up to 25 from 15."""
    if setting.laptop:
        # Many short rows: the first problem of each teaches `=` where numbers begin.
        shape = {"width": 128, "context": 132, "row": 60}
        run = position_only("abacus", "D1..8", "D8,D10,D15,D20", replace(LAPTOP_TUNING, batch=36), **shape)
        return {"abacus-100-add": run.changed(evaluation={"pairs": 20})}
    tests = "D20,D40,D60,D80,D100"
    sums = position_only("abacus", "D1..20", tests, POSITION_ONLY_TUNING, width=256, context=402)
    products = long_run("mul", "abacus", "D1..15", "D15,D20,D25", ABACUS_PRODUCTS, **LOOPED)
    runs = {"abacus-100-add": sums, "abacus-100-mul": products}
    return {name: run.changed(evaluation={"pairs": 100}) for name, run in runs.items()}


ENCODINGS_TUNING = Tuning(steps=8_000, batch=384, dropout=0.0, decay=0.1, evaluate_every=2_000)
LAPTOP_ENCODINGS_TUNING = Tuning(steps=1_500, batch=64, dropout=0.0, decay=0.1, evaluate_every=500)
# With two layers of two heads t5 does not learn sums of 20 digits.
ENCODINGS_SHAPE: dict[str, Any] = {"layers": 4, "heads": 8, "width": 256}
LAPTOP_ENCODINGS_SHAPE: dict[str, Any] = {"layers": 2, "heads": 4, "width": 64}
ENCODINGS = ("coupled", "abacus", "randomized:fire", "t5", "rotary", "alibi", "none")
WITH_TABLE = ("coupled", "abacus")


def encodings_rows(setting: Setting) -> Rows:
    """Every encoding under one protocol: sums of up to 20 digits in training, up to 100 in testing.

    All have the layout `reversed`, without padding, as in McLeish et al. The usual layout of relative encodings,
    `aligned`, pads every training problem to the longest one tested: five times the tokens at 100 digits, and no
    short sequences in training. Position tables are learned, as published. Every problem has its own row, as in
    evaluation: most encodings number tokens from the start of a row.
    """
    train, test, tuning, shape, context = setting.pick(
        ("D1..20", "D20,D30,D40,D50,D100", ENCODINGS_TUNING, ENCODINGS_SHAPE, 400),
        ("D1..6", "D6..10,D20", LAPTOP_ENCODINGS_TUNING, LAPTOP_ENCODINGS_SHAPE, 100),
    )
    rows: Rows = {}
    for encoding in ENCODINGS:
        name = encoding.replace("randomized:fire", "fire-randomized")
        table = {"context": context if encoding in WITH_TABLE else None}
        run = long_run("add", encoding, train, test, tuning, **{**shape, **table})
        rows[f"long-encodings-{name}"] = run.changed(evaluation={"sets": SETS, "anatomy": 200})
    return rows


UPWARD_TUNING = Tuning(steps=6_000, batch=64, dropout=0.0, rate=3e-3, evaluate_every=2_000)
LAPTOP_UPWARD_TUNING = Tuning(steps=800, batch=16, dropout=0.0, rate=5e-3, evaluate_every=400)
UPWARD_TESTS = "40x2,60x2,80x2,100x2,200x2,500x2,1000x2"
LAPTOP_UPWARD_SHAPE = {"layers": 2, "width": 128, "context": 132, "row": 144}
UPWARD_HEADS: dict[str, Any] = {"heads": 8, "token_heads": 4, "place_attention": True, "position_waves": True}


def upward_rows(setting: Setting) -> Rows:
    """Products of N x 2 digits: position-only heads for the columns of the long number, and content heads for the
    short number, which is at no fixed distance."""
    train, tests, base, tuning, shape = setting.pick(
        ("1..40x2", UPWARD_TESTS, 10, UPWARD_TUNING, {"layers": 3, "width": 256, "context": 1_032, "row": ROW}),
        ("1..6x2", "6x2,12x2,24x2,40x2", 3, LAPTOP_UPWARD_TUNING, LAPTOP_UPWARD_SHAPE),
    )
    run = long_run("mul", "coupled", train, tests, tuning, **shape, **UPWARD_HEADS)
    return {"upward-multiplication": run.changed(base=base, evaluation={"decoded": 100})}


# The change of each row to the recipe of 1,000 digits, to separate what is learned from what is built in.
LADDER: dict[str, dict[str, Any]] = {
    "recipe": {},
    "attention-frozen": {"model": {"frozen_attention": True}},
    "attention-frozen-on-wrong-columns": {"model": {"frozen_attention": True, "head_start": "far"}},
    "attention-frozen-anywhere": {"model": {"frozen_attention": True, "head_start": "random"}},
    "started-on-wrong-columns": {"model": {"head_start": "far"}},
    "started-anywhere": {"model": {"head_start": "random"}},
    "without-clipping": {"model": {"attention_clip": 0.0}},
    "without-null-key": {"model": {"null_key": False}},
    "without-packing": {"data": {"packing": "lines", "row_tokens": None}},
    "without-equal-widths": {"layout": "reversed"},
    "without-log-scale": {"model": {"log_length_scale": False}},
    "without-offsets": {"data": {"offsets": False}},
    "content-heads-beside": {"model": {"token_heads": 2}},
    "content-attention": {"model": {"place_attention": False}},
}
# A circle of 1,033 positions, a prime: two more than that of `coupled-1000`, so that sums of 1,031 digits just fit
# with their answers and `=`. In longer ones the highest columns would share positions with `=` and the lowest
# digits: evaluation refuses them.
LADDER_CONTEXT = 1_034
AROUND_THE_END = (1_028, 1_031)
LADDER_LENGTHS = (20, 25, 30, 50, 100, 200, 350, 500, 700, 1_000, *AROUND_THE_END)
FIFTY = (*range(20, 1_001, 20), *AROUND_THE_END)
# The same in small: from 6 digits to 129, the longest that the smaller circle holds.
LAPTOP_LADDER_LENGTHS = (6, 8, 10, 12, 18, 24, 36, 60, 90, 120, 126, LAPTOP_CONTEXT - 3)


def ladder_rows(setting: Setting) -> Rows:
    """Each ingredient removed separately; everything else but the size of the circle is as in `coupled-1000`."""
    start = _on_all_sets(setting, setting.pick(LADDER_LENGTHS, LAPTOP_LADDER_LENGTHS))
    prefix = setting.pick("prior", "prior-small")
    return {f"{prefix}-{name}": start.changed(**changes) for name, changes in LADDER.items()}


def lengths_rows(setting: Setting) -> Rows:
    """The recipe itself, at fifty-two lengths."""
    return {"prior-lengths": _on_all_sets(setting, setting.pick(FIFTY, LAPTOP_LADDER_LENGTHS))}


def _on_all_sets(setting: Setting, lengths: Sequence[int]) -> RunConfig:
    test = ",".join(f"D{n}" for n in lengths)
    sets = (*SETS, "repeated", "zeros", "sparse")
    run = coupled(setting, "D1..20", test, context=LADDER_CONTEXT)
    return run.changed(test=test, evaluation={"problems": 200, "sets": sets})


# Position coupling by its authors: Cho, Cha, Awasthi, Bhojanapalli, Gupta and Yun, NeurIPS 2024. The files named
# are those of their repository, HanseulJo/position-coupling. docs/prior.md says where this still differs.
PUBLISHED: dict[str, dict[str, Any]] = {
    "model": {
        # scripts/addition/run_coupling.sh: 1 layer, 4 heads, d_kv 512 / 4, d_ff 2048, rmsnorm pre_post, gated-gelu
        "block": "t5",
        "layers": 1,
        "heads": 4,
        "width": 512,  # configs/model/CustomT5DecoderOnly.yaml, as is the dropout
        "dropout": 0.0,
        # custom_t5_decoder_only.py: the head is tied, as T5's config has it by default; embeddings start at 1
        "tied": True,
        "embedding_std": 1.0,
        "position_std": None,
        "context": 203,  # run_coupling.sh: max position 202; 0 is for tokens without one
    },
    # src/data/addition.py: for each operand the lengths 1 to 30 alike; every offset with which the problem fits
    "data": {"sampling": "balanced", "own_offset_range": True},
    "training": {
        # configs/training/default.yaml: warm-up over 1 % of the steps, a cosine that ends at a tenth; the batch is
        # that of run_coupling.sh
        "optimizer": "adamw",
        "learning_rate": 1e-4,
        "betas": (0.9, 0.999),
        "weight_decay": 0.0,
        "clip": 1.0,
        "schedule": "cosine",
        "batch": 1_000,
        # Half of theirs: for three seeds 50,000 would take more than 20 minutes of an H200
        "steps": 25_000,
        "warmup": 250,
        "evaluate_every": 5_000,
        "checkpoint_every": CHECKPOINT_EVERY,
    },
}
LAPTOP_PUBLISHED: dict[str, dict[str, Any]] = {
    "model": {"width": 64, "context": 27},
    "training": {"learning_rate": 2e-3, "batch": 64, "steps": 2_000, "warmup": 20, "evaluate_every": 500},
}


def published(setting: Setting) -> RunConfig:
    """Operands as wide as the longer one and an answer one digit wider, as published. Operands are written with
    the lowest digit first here and the highest first there, which is the same for one layer with coupled
    positions."""
    train, test = setting.pick(("D1..30", "D30,D50,D100,D150,D200"), ("D1..6", "D6,D12,D24"))
    start = RunConfig.stored(task="add", encoding="coupled", layout="level", train=train, test=test, **PUBLISHED)
    measured = {**MEASURED, "sets": SETS, "offsets": 200}
    return start.changed(evaluation=measured, **setting.pick({}, LAPTOP_PUBLISHED))


def published_rows(setting: Setting) -> Rows:
    return {"coupling-published": published(setting)}


def differences_rows(setting: Setting) -> Rows:
    """Coupled positions as in `long-encodings`, where they fail at 30 digits, with the depth, the width of heads
    and the layout of that comparison or of the published model, in all combinations."""
    prefix, layers, width, test = setting.pick(
        ("differences", 4, 256, "D20,D30,D50,D100,D200"), ("differences-small", 2, 128, "D6,D12,D24,D48,D90")
    )
    start = encodings_rows(setting)["long-encodings-coupled"].changed(
        test=test, model={"width": width}, evaluation={"offsets": 200}
    )
    return {
        f"{prefix}-layers{deep}-heads{heads}-{layout}": start.changed(
            layout=layout, model={"layers": deep, "heads": heads}
        )
        for deep, heads, layout in product((layers, 1), (8, 2), ("reversed", "level"))
    }
