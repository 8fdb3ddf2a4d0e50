"""The GPU programs of a fused training step, in Triton: everything in it but matrix products and attention.
Imported only where Triton is.

Sums over many rows are written as partial sums, one per program, so that a step gives the same bits each time.
Names in capitals are known when a program is compiled.

Shapes: M members, B problems, T tokens of a problem, Q the last of them, R rows of a member (B T or B Q), C width,
V vocabulary, L layers, N parameters of a member, W steps of a window, P programs of a member.
"""

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch
import triton
import triton.language as tl

from lengthwise.model.attention_kernels import kept

log = logging.getLogger(__name__)


class Launches:
    """Launches kernels; or has all those of a step compiled first, side by side: one after another, each at its
    first launch, they take most of a first set-up."""

    def __init__(self) -> None:
        self.compiling: list[Any] | None = None

    def __call__(self, kernel: Any, grid: tuple[int, ...], *arguments: Any, **constants: Any) -> None:
        if self.compiling is None:
            kernel[grid](*arguments, **constants)
        else:
            self.compiling.append(kernel.warmup(*arguments, grid=grid, **constants))

    def prepare(self, work: Callable[[], object]) -> None:
        """Compile what `work` launches. Nothing depends on it: what is not ready, the first launch compiles."""
        try:
            compiled, device = self.compiled(work), torch.cuda.current_device()
            with ThreadPoolExecutor(initializer=torch.cuda.set_device, initargs=(device,)) as pool:
                # This loads a kernel, and builds a program in C that launches it.
                list(pool.map(lambda kernel: kernel.run, compiled))
        except Exception:
            log.info("kernels are compiled one by one", exc_info=True)

    def compiled(self, work: Callable[[], object]) -> list[Any]:
        """The kernels that `work` launches, compiled and not launched; what else it does, it does twice, with any
        numbers."""
        with ThreadPoolExecutor() as pool, triton.AsyncCompileMode(pool, ignore_errors=True):
            self._met(work)
        # What a thread failed to compile is compiled now: Python's parser may fail where several threads use it.
        return [*{id(kernel): kernel for kernel in self._met(work)}.values()]

    def _met(self, work: Callable[[], object]) -> list[Any]:
        self.compiling = met = list[Any]()
        try:
            work()
        finally:
            self.compiling = None
        return met


# --- what several share -------------------------------------------------------------------------------------


@triton.jit
def _standard(x, inside, WIDTH: tl.constexpr):
    """Rows of mean 0 and variance 1, and what they were divided by, inverted."""
    mean = tl.sum(x, 1) / WIDTH
    centred = tl.where(inside, x - mean[:, None], 0.0)
    inverse = 1 / tl.sqrt(tl.sum(centred * centred, 1) / WIDTH + 1e-5)
    return centred * inverse[:, None], inverse


# --- forward ------------------------------------------------------------------------------------------------


@triton.jit(do_not_specialize=["rows", "tokens", "queries"])
def add_norm(
    x, branch, weight, out, normalized, seeds, rates, rows, tokens, queries, weight_stride,
    WIDTH: tl.constexpr, BLOCK: tl.constexpr, ROWS: tl.constexpr, DROPS: tl.constexpr,
):  # fmt: skip
    """The last Q tokens of `x` [M, B, T, C] plus `branch` [M, B, Q, C], some of it dropped: to `out`, and as
    LayerNorm makes it to `normalized`."""
    member = tl.program_id(1)
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, BLOCK)[None, :]
    inside = (row < rows)[:, None] & (column < WIDTH)
    start = member.to(tl.int64) * rows * WIDTH
    place = row[:, None] * WIDTH + column
    source = (row // queries) * tokens + tokens - queries + row % queries
    base = x + member.to(tl.int64) * (rows // queries) * tokens * WIDTH
    value = tl.load(base + source[:, None] * WIDTH + column, mask=inside, other=0.0).to(tl.float32)
    added = tl.load(branch + start + place, mask=inside, other=0.0).to(tl.float32)
    if DROPS:
        added *= kept(tl.load(seeds + member), tl.load(rates + member), place)
    value += added
    tl.store(out + start + place, value, mask=inside)
    scale = tl.load(weight + member * weight_stride + column, mask=column < WIDTH, other=0.0)
    tl.store(normalized + start + place, _standard(value, inside, WIDTH)[0] * scale, mask=inside)


@triton.jit(do_not_specialize=["rows", "tokens", "member_step", "problem_step", "table_stride"])
def embed_norm(
    ids, positions, embedding, table, weight, out, normalized, seeds, rates, rows, tokens, member_step,
    problem_step, table_stride, weight_stride,
    WIDTH: tl.constexpr, BLOCK: tl.constexpr, ROWS: tl.constexpr, DROPS: tl.constexpr, POSITIONS: tl.constexpr,
):  # fmt: skip
    """Embedded tokens plus a table's rows at their positions, some of it dropped: to `out` [M, B, T, C], and as
    LayerNorm makes it to `normalized`. A problem has T + 1 ids; positions step by 0 where all share them."""
    member = tl.program_id(1)
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, BLOCK)[None, :]
    present = row < rows
    inside = present[:, None] & (column < WIDTH)
    start = member.to(tl.int64) * rows * WIDTH
    place = row[:, None] * WIDTH + column
    problem, token = row // tokens, row % tokens
    known = tl.load(ids + (member * (rows // tokens) + problem) * (tokens + 1) + token, mask=present, other=0)
    of_member = embedding + member * weight_stride
    value = tl.load(of_member + known.to(tl.int32)[:, None] * WIDTH + column, mask=inside, other=0.0)
    if POSITIONS:
        at = positions + member * member_step + problem * problem_step + token
        position = tl.load(at, mask=present, other=0).to(tl.int32)
        of_member = table + member * table_stride
        value += tl.load(of_member + position[:, None] * WIDTH + column, mask=inside, other=0.0)
    if DROPS:
        value *= kept(tl.load(seeds + member), tl.load(rates + member), place)
    tl.store(out + start + place, value, mask=inside)
    scale = tl.load(weight + member * weight_stride + column, mask=column < WIDTH, other=0.0)
    tl.store(normalized + start + place, _standard(value, inside, WIDTH)[0] * scale, mask=inside)


@triton.jit
def _normal_tail(x):
    """The share of a normal distribution below each x, and its density there.

    Abramowitz and Stegun 7.1.26, off by at most 1.5e-7: one exponential for both. With erf, arithmetic would take
    longer than memory.
    """
    falling = tl.exp2(-0.7213475204 * x * x)
    root = tl.rsqrt(1 + 0.2316418883 * tl.abs(x))
    t = root * root  # a division takes three times as long
    series = 0.127414796 + t * (-0.142248368 + t * (0.7107068705 + t * (-0.7265760135 + t * 0.5307027145)))
    tail = t * series * falling
    return tl.where(x < 0, tail, 1 - tail), falling * 0.3989422804


@triton.jit
def gelu(x, out, count, BLOCK: tl.constexpr):
    place = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + place, mask=place < count, other=0.0).to(tl.float32)
    tl.store(out + place, value * _normal_tail(value)[0], mask=place < count)


@triton.jit
def gelu_backward(x, gradient, count, BLOCK: tl.constexpr):
    """In place: `gradient` becomes that of `x`."""
    place = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + place, mask=place < count, other=0.0).to(tl.float32)
    above = tl.load(gradient + place, mask=place < count, other=0.0).to(tl.float32)
    below, density = _normal_tail(value)
    tl.store(gradient + place, above * (below + value * density), mask=place < count)


@triton.jit(do_not_specialize=["rows", "tokens", "queries", "programs"])
def answer_loss(
    logits, ids, weights, losses, gradients, rows, tokens, queries, programs,
    VOCABULARY: tl.constexpr, BLOCK: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """Cross-entropy of the last Q tokens of ids [M, B, T + 1], times `weights` [M, B, Q]: each program's sum to
    `losses` [M, P], and the gradients of logits [M, B, Q, V]."""
    program, member = tl.program_id(0), tl.program_id(1)
    row = program * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, BLOCK)[None, :]
    present = row < rows
    inside = present[:, None] & (column < VOCABULARY)
    of_row = member.to(tl.int64) * rows + row
    place = of_row[:, None] * VOCABULARY + column
    problem = member * (rows // queries) + row // queries
    last = tokens + 1 - queries + row % queries
    target = tl.load(ids + problem * (tokens + 1) + last, mask=present, other=0)
    weight = tl.load(weights + of_row, mask=present, other=0.0)
    logit = tl.load(logits + place, mask=inside, other=-1e30).to(tl.float32)
    logit -= tl.max(logit, 1)[:, None]
    power = tl.where(column < VOCABULARY, tl.exp(logit), 0.0)
    total = tl.sum(power, 1)
    wanted = column == target[:, None]
    loss = tl.log(total) - tl.sum(tl.where(wanted, logit, 0.0), 1)
    tl.store(losses + member * programs + program, tl.sum(loss * weight, 0))
    share = power / total[:, None] - tl.where(wanted, 1.0, 0.0)
    tl.store(gradients + place, share * weight[:, None], mask=inside)


# --- backward -----------------------------------------------------------------------------------------------


@triton.jit(do_not_specialize=["rows", "tokens", "queries", "programs"])
def norm_backward(
    x, weight, of_normalized, of_out, to_x, to_branch, to_weight, seeds, rates, rows, tokens, queries, programs,
    weight_stride, sums_stride,
    WIDTH: tl.constexpr, BLOCK: tl.constexpr, ROWS: tl.constexpr, DROPS: tl.constexpr, RESIDUAL: tl.constexpr,
    STREAM: tl.constexpr,
):  # fmt: skip
    """Of add_norm or embed_norm, whose output was `x` [M, B, T, C]: from the gradients of `normalized` and, if
    RESIDUAL, of the last Q tokens of `out`, those of x (if STREAM), of the branch, and of the scale: [M, P, C].

    A warp has a whole row, so that its four sums over it wait for no other warp.
    """
    program, member = tl.program_id(0), tl.program_id(1)
    # Four values at a time of float32 and of bfloat16 alike: else one of them is passed from lane to lane.
    column = tl.max_contiguous(tl.arange(0, BLOCK), 4)[None, :]
    start = member.to(tl.int64) * rows * WIDTH
    later = member.to(tl.int64) * (rows // tokens) * queries * WIDTH
    scale = tl.load(weight + member * weight_stride + column, mask=column < WIDTH, other=0.0)
    sums = tl.zeros([ROWS, BLOCK], tl.float32)
    if DROPS:
        seed, rate = tl.load(seeds + member), tl.load(rates + member)
    for first in range(program * ROWS, rows, programs * ROWS):
        row = first + tl.arange(0, ROWS)
        inside = (row < rows)[:, None] & (column < WIDTH)
        place = row[:, None] * WIDTH + column
        value = tl.load(x + start + place, mask=inside, other=0.0).to(tl.float32)
        above = tl.load(of_normalized + start + place, mask=inside, other=0.0).to(tl.float32)
        if RESIDUAL:
            source, asks = row, row < rows
            if queries < tokens:  # divisions take as long as everything else in a row
                asking = row % tokens - tokens + queries
                source, asks = (row // tokens) * queries + asking, asks & (asking >= 0)
            at = of_out + later + source[:, None] * WIDTH + column
            passed = tl.load(at, mask=asks[:, None] & (column < WIDTH), other=0.0).to(tl.float32)
        standard, inverse = _standard(value, inside, WIDTH)
        sums += above * standard
        above *= scale
        along = tl.sum(above * standard, 1) / WIDTH
        mean = tl.sum(above, 1) / WIDTH
        gradient = (above - mean[:, None] - standard * along[:, None]) * inverse[:, None]
        if RESIDUAL:
            gradient += passed
        if STREAM:
            tl.store(to_x + start + place, gradient, mask=inside)
        if DROPS:
            gradient *= kept(seed, rate, place)
        tl.store(to_branch + start + place, gradient, mask=inside)
    target = to_weight + member * sums_stride + program * WIDTH + tl.arange(0, BLOCK)
    tl.store(target, tl.sum(sums, 0), mask=tl.arange(0, BLOCK) < WIDTH)


# --- optimizer ----------------------------------------------------------------------------------------------


@triton.jit(do_not_specialize=["programs", "first", "every"])
def sum_squares(gradient, sums, count, programs, first, every, BLOCK: tl.constexpr):
    """Of a group's gradient [M, N]: each program's sum to `sums` [M, every], from column `first` on."""
    program, member = tl.program_id(0), tl.program_id(1)
    base = gradient + member.to(tl.int64) * count
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(program * BLOCK, count, programs * BLOCK):
        place = start + tl.arange(0, BLOCK)
        value = tl.load(base + place, mask=place < count, other=0.0).to(tl.float32)
        total += value * value
    tl.store(sums + member * every + first + program, tl.sum(total, 0))


@triton.jit(do_not_specialize=["every"])
def clip(sums, alive, scales, most, every, BLOCK: tl.constexpr):
    """What a member's gradient is multiplied by: 0 once its norm has not been finite."""
    member = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    norm = tl.sqrt(tl.sum(tl.load(sums + member * every + column, mask=column < every, other=0.0), 0))
    lives = tl.where(norm < float("inf"), tl.load(alive + member), 0.0)  # a norm may be no number
    tl.store(alive + member, lives)
    tl.store(scales + member, tl.where(lives > 0, tl.minimum(most / (norm + 1e-6), 1.0), 0.0))


@triton.jit
def _scaled(gradient, place, inside, scale):
    value = tl.load(gradient + place, mask=inside, other=0.0).to(tl.float32)
    return tl.where(scale > 0, value * scale, 0.0)


@triton.jit
def _rate(alive, factors, rates, cursor, member):
    """A member's learning rate in this step of the window; `factors` [W, M]."""
    members = tl.num_programs(1)
    return tl.load(alive + member) * tl.load(factors + cursor * members + member) * tl.load(rates + member)


@triton.jit
def adamw(
    values, rounded, gradient, means, squares, decayed, scales, alive, factors, corrections, rates, decays,
    cursors, towards_first, second, towards_second, count, BLOCK: tl.constexpr, MASKED: tl.constexpr,
):  # fmt: skip
    """Update a group [M, N] and round it for the next step. `corrections` [W, 2] are those of both averages;
    `decayed` [N] says what decays, if MASKED, else all does."""
    member = tl.program_id(1)
    cursor = tl.load(cursors)
    column = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = column < count
    place = member.to(tl.int64) * count + column
    rate = _rate(alive, factors, rates, cursor, member)
    decay = rate * tl.load(decays + member)
    mine = _scaled(gradient, place, inside, tl.load(scales + member))
    mean = tl.load(means + place, mask=inside, other=0.0)
    mean += towards_first * (mine - mean)
    square = tl.load(squares + place, mask=inside, other=0.0) * second + towards_second * mine * mine
    tl.store(means + place, mean, mask=inside)
    tl.store(squares + place, square, mask=inside)
    spread = tl.sqrt(square) * tl.load(corrections + 2 * cursor + 1) + 1e-8
    value = tl.load(values + place, mask=inside, other=0.0)
    if MASKED:
        value *= 1 - decay * tl.load(decayed + column, mask=inside, other=0.0)
    else:
        value *= 1 - decay
    value -= rate * tl.load(corrections + 2 * cursor) * mean / spread
    tl.store(values + place, value, mask=inside)
    tl.store(rounded + place, value, mask=inside)


@triton.jit
def _packed(row, layer, layers, WIDTH: tl.constexpr):
    """Where Muon has row `row` of a layer's 12 C rows of C values: first the matrices [C, C] of all layers (of
    queries, keys, values and attention's output), then all [C, 4 C], then all [4 C, C]."""
    of_maps = (4 * layer + row % 3) * WIDTH + row // 3
    of_output = 4 * layer * WIDTH + row
    of_up = (4 * layers + 4 * layer) * WIDTH + row - 4 * WIDTH
    of_down = (8 * layers + 4 * layer) * WIDTH + row - 8 * WIDTH
    of_squares = tl.where(row < 3 * WIDTH, of_maps, of_output)
    return tl.where(row < 4 * WIDTH, of_squares, tl.where(row < 8 * WIDTH, of_up, of_down)).to(tl.int64)


@triton.jit
def _rows_of_layer(layers, WIDTH: tl.constexpr, BLOCK: tl.constexpr, ROWS: tl.constexpr):
    """The rows of a layer that this program has, which of their values exist, and where these are in [M, N] and in
    `packed`."""
    layer = tl.program_id(1) * layers + tl.program_id(2)
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, BLOCK)[None, :]
    inside = (row < 12 * WIDTH)[:, None] & (column < WIDTH)
    place = layer.to(tl.int64) * 12 * WIDTH * WIDTH + row[:, None] * WIDTH + column
    packed_row = _packed(row, layer, tl.num_programs(1) * layers, WIDTH)
    return row, inside, place, packed_row[:, None] * WIDTH + column


@triton.jit(do_not_specialize=["layers"])
def muon_direction(
    gradient, means, packed, scales, momentum, layers,
    WIDTH: tl.constexpr, BLOCK: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """Nesterov's momentum of all matrices: averages [M, N] updated, directions to `packed`. A program has ROWS
    rows of a member's layer."""
    member = tl.program_id(1)
    _, inside, place, packed_place = _rows_of_layer(layers, WIDTH, BLOCK, ROWS)
    mine = _scaled(gradient, place, inside, tl.load(scales + member))
    mean = tl.load(means + place, mask=inside, other=0.0)
    mean += (1 - momentum) * (mine - mean)
    tl.store(means + place, mean, mask=inside)
    tl.store(packed + packed_place, mine + momentum * (mean - mine), mask=inside)


@triton.jit(do_not_specialize=["layers"])
def muon_normalize(packed, size, layers, WIDTH: tl.constexpr, BLOCK: tl.constexpr):
    """Each matrix of `packed` with the norm `size`, in place: a program has one. `layers` are those of all
    members."""
    program = tl.program_id(0)
    square = program < 4 * layers
    count = tl.where(square, 1, 4) * WIDTH * WIDTH
    first = tl.where(square, program, 4 * program - 12 * layers)
    base = packed + first.to(tl.int64) * WIDTH * WIDTH
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, count, BLOCK):
        place = start + tl.arange(0, BLOCK)
        value = tl.load(base + place, mask=place < count, other=0.0).to(tl.float32)
        total += value * value
    scale = size / (tl.sqrt(tl.sum(total, 0)) + 1e-7)
    for start in range(0, count, BLOCK):
        place = start + tl.arange(0, BLOCK)
        value = tl.load(base + place, mask=place < count, other=0.0).to(tl.float32)
        tl.store(base + place, value * scale, mask=place < count)


@triton.jit(do_not_specialize=["layers"])
def muon_update(
    values, rounded, packed, alive, factors, rates, decays, cursors, size, layers,
    WIDTH: tl.constexpr, BLOCK: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """Update all matrices by directions made orthogonal, which are 1 / size times too large, and round them."""
    member = tl.program_id(1)
    row, inside, place, packed_place = _rows_of_layer(layers, WIDTH, BLOCK, ROWS)
    update = tl.load(packed + packed_place, mask=inside, other=0.0).to(tl.float32) * size
    widens = (row >= 4 * WIDTH) & (row < 8 * WIDTH)  # from C to 4 C
    rate = _rate(alive, factors, rates, tl.load(cursors), member)
    value = tl.load(values + place, mask=inside, other=0.0) * (1 - rate * tl.load(decays + member))
    value -= rate * tl.where(widens, 2.0, 1.0)[:, None] * update
    tl.store(values + place, value, mask=inside)
    tl.store(rounded + place, value, mask=inside)
