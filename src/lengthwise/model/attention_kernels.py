"""The GPU programs of short attention (attention.py), in Triton. Imported only where Triton is.

A program handles one head of one example. Its tokens are a block of BIG and, where these are not all, a rest of
up to REST more: whatever it needs is read once, and nothing is worked out twice. Names in capitals are known
when a program is compiled.
"""

import triton
import triton.language as tl


@triton.jit
def _noise(seeds, rates, example, BATCH: tl.constexpr):
    """The seed of an example's member, and the share that it drops."""
    if BATCH == 0:
        seed = 0
        rate = 0.0
    else:
        seed = tl.load(seeds + example // BATCH)
        rate = tl.load(rates + example // BATCH)
    return seed, rate


@triton.jit
def kept(seed, rate, index):
    """What the values of these indices are multiplied by: zero if dropped. A hash, as in layers.py."""
    x = index.to(tl.uint32) ^ seed.to(tl.uint32)
    x = (x ^ (x >> 16)) * 0x7FEB352D
    x = (x ^ (x >> 15)) * 0x846CA68B
    x = x ^ (x >> 16)
    stays = (x >> 8).to(tl.int32) >= (rate * 16777216.0).to(tl.int32)
    return tl.where(stays, 1 / (1 - rate), 0.0)


@triton.jit
def _kept(seed, rate, head, asking, key, queries, tokens, BATCH: tl.constexpr):
    """What each weight is multiplied by: zero if dropped. `head` is the number of its member's head."""
    pair = (head * queries + asking[:, None]) * tokens + key[None, :]
    return tl.full(pair.shape, 1.0, tl.float32) if BATCH == 0 else kept(seed, rate, pair)


@triton.jit
def _scores(q, k, token, key, tokens, scale):
    """Scaled products, and minus infinity, almost, where a key comes after its query."""
    seen = (key[None, :] <= token[:, None]) & (key[None, :] < tokens)
    return tl.where(seen, tl.dot(q, tl.trans(k)) * scale, -1e30)


@triton.jit
def _block(base, place, count, row, column):
    """Rows `place` of a matrix of `count` rows, zeros beyond them."""
    inside = ((place >= 0) & (place < count))[:, None]
    return tl.load(base + place[:, None] * row + column[None, :], mask=inside, other=0.0)


@triton.jit
def forward(
    packed, out, logs, seeds, rates, tokens, queries, scale,
    HEADS: tl.constexpr, WIDTH: tl.constexpr, BIG: tl.constexpr, REST: tl.constexpr, BATCH: tl.constexpr,
):  # fmt: skip
    """Writes answers to `out` [N, Q, H, D] and the logarithm of each softmax's sum to `logs` [N, H, Q]."""
    program = tl.program_id(0)
    example, head = program // HEADS, program % HEADS
    row, inner = 3 * HEADS * WIDTH, HEADS * WIDTH
    base = packed + example.to(tl.int64) * tokens * row + head * WIDTH
    of_answers = out + example.to(tl.int64) * queries * inner + head * WIDTH
    of_logs = logs + program * queries
    column = tl.arange(0, WIDTH)
    first = tokens - queries
    seed, rate = _noise(seeds, rates, example, BATCH)
    number = program if BATCH == 0 else program % (BATCH * HEADS)

    token = tl.arange(0, BIG)
    k = _block(base + inner, token, tokens, row, column)
    v = _block(base + 2 * inner, token, tokens, row, column)
    if first < BIG:  # else none of these tokens asks
        q = _block(base, token, tokens, row, column)
        scores = _scores(q, k, token, token, tokens, scale)
        highest = tl.max(scores, 1)
        weights = tl.exp(scores - highest[:, None])
        total = tl.sum(weights, 1)
        weights *= _kept(seed, rate, number, token - first, token, queries, tokens, BATCH)
        y = (tl.dot(weights.to(v.dtype), v) / total[:, None]).to(q.dtype)
        _write_answers(of_answers, of_logs, y, highest + tl.log(total), token - first, queries, inner, column)
    if REST > 0:
        later = BIG + tl.arange(0, REST)
        q = _block(base, later, tokens, row, column)
        k_later = _block(base + inner, later, tokens, row, column)
        v_later = _block(base + 2 * inner, later, tokens, row, column)
        scores = _scores(q, k, later, token, tokens, scale)
        scores_later = _scores(q, k_later, later, later, tokens, scale)
        highest = tl.maximum(tl.max(scores, 1), tl.max(scores_later, 1))
        weights = tl.exp(scores - highest[:, None])
        weights_later = tl.exp(scores_later - highest[:, None])
        total = tl.sum(weights, 1) + tl.sum(weights_later, 1)
        asking = later - first
        weights *= _kept(seed, rate, number, asking, token, queries, tokens, BATCH)
        weights_later *= _kept(seed, rate, number, asking, later, queries, tokens, BATCH)
        y = tl.dot(weights.to(v.dtype), v) + tl.dot(weights_later.to(v.dtype), v_later)
        y = (y / total[:, None]).to(q.dtype)
        _write_answers(of_answers, of_logs, y, highest + tl.log(total), asking, queries, inner, column)


@triton.jit
def _write_answers(out, logs, y, log, asking, queries, inner, column):
    asks = (asking >= 0) & (asking < queries)
    tl.store(out + asking[:, None] * inner + column[None, :], y, mask=asks[:, None])
    tl.store(logs + asking, log, mask=asks)


@triton.jit
def _asked(gradient, answers, logs, asking, queries, inner, column):
    """Of each query: the gradient of its answer, its mean over the weights, and the softmax's logarithm."""
    dy = _block(gradient, asking, queries, inner, column)
    y = _block(answers, asking, queries, inner, column)
    asks = (asking >= 0) & (asking < queries)
    log = tl.load(logs + asking, mask=asks, other=1e30)  # weights of what does not ask vanish
    return dy, tl.sum(dy.to(tl.float32) * y.to(tl.float32), 1), log


@triton.jit
def _gradients(
    q, dy, mean, log, k, v, token, key, seed, rate, number, tokens, queries, scale, BATCH: tl.constexpr,
):  # fmt: skip
    """What a block of queries and a block of keys add to the gradients of q, k and v."""
    weights = tl.exp(_scores(q, k, token, key, tokens, scale) - log[:, None])
    kept = _kept(seed, rate, number, token - tokens + queries, key, queries, tokens, BATCH)
    dweights = tl.dot(dy, tl.trans(v)) * kept
    dscores = (weights * (dweights - mean[:, None]) * scale).to(q.dtype)
    dv = tl.dot(tl.trans((weights * kept).to(v.dtype)), dy)
    return tl.dot(dscores, k), tl.dot(tl.trans(dscores), q), dv


@triton.jit
def _write_gradients(base, token, tokens, row, inner, column, dq, dk, dv, kind: tl.constexpr):
    place = base + token[:, None] * row + column[None, :]
    inside = (token < tokens)[:, None]
    tl.store(place, dq.to(kind), mask=inside)
    tl.store(place + inner, dk.to(kind), mask=inside)
    tl.store(place + 2 * inner, dv.to(kind), mask=inside)


@triton.jit
def backward(
    packed, gradient, answers, logs, out, seeds, rates, tokens, queries, scale,
    HEADS: tl.constexpr, WIDTH: tl.constexpr, BIG: tl.constexpr, REST: tl.constexpr, BATCH: tl.constexpr,
):  # fmt: skip
    """Writes the gradient of `packed` to `out`."""
    program = tl.program_id(0)
    example, head = program // HEADS, program % HEADS
    row, inner = 3 * HEADS * WIDTH, HEADS * WIDTH
    start = example.to(tl.int64) * tokens * row + head * WIDTH
    base = packed + start
    kind: tl.constexpr = packed.dtype.element_ty
    of_answers = example.to(tl.int64) * queries * inner + head * WIDTH
    gradient += of_answers
    answers += of_answers
    logs += program * queries
    column = tl.arange(0, WIDTH)
    first = tokens - queries
    seed, rate = _noise(seeds, rates, example, BATCH)
    number = program if BATCH == 0 else program % (BATCH * HEADS)

    token = tl.arange(0, BIG)
    q = _block(base, token, tokens, row, column)
    k = _block(base + inner, token, tokens, row, column)
    v = _block(base + 2 * inner, token, tokens, row, column)
    dy, mean, log = _asked(gradient, answers, logs, token - first, queries, inner, column)
    dq, dk, dv = _gradients(
        q, dy, mean, log, k, v, token, token, seed, rate, number, tokens, queries, scale, BATCH
    )
    if REST > 0:
        later = BIG + tl.arange(0, REST)
        q_later = _block(base, later, tokens, row, column)
        dy, mean, log = _asked(gradient, answers, logs, later - first, queries, inner, column)
        dq_later, dk_more, dv_more = _gradients(
            q_later, dy, mean, log, k, v, later, token, seed, rate, number, tokens, queries, scale, BATCH
        )
        _write_gradients(out + start, token, tokens, row, inner, column, dq, dk + dk_more, dv + dv_more, kind)
        k = _block(base + inner, later, tokens, row, column)
        v = _block(base + 2 * inner, later, tokens, row, column)
        dq, dk, dv = _gradients(
            q_later, dy, mean, log, k, v, later, later, seed, rate, number, tokens, queries, scale, BATCH
        )
        _write_gradients(out + start, later, tokens, row, inner, column, dq_later + dq, dk, dv, kind)
    else:
        _write_gradients(out + start, token, tokens, row, inner, column, dq, dk, dv, kind)
