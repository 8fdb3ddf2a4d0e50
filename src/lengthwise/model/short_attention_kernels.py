"""The GPU programs of short_attention.py, in Triton. Imported only where a GPU is.

A program handles SIZE queries, or SIZE keys, of one head of one example, and walks over the blocks of SIZE
tokens that these see, or are seen by. Names in capitals are known when a program is compiled.
"""

import triton
import triton.language as tl


@triton.jit
def _noise(seeds, rates, example, BATCH: tl.constexpr):
    """The seed of an example's member, and its rate in units of 2^-24."""
    if BATCH == 0:
        seed = 0
        rate = 0.0
    else:
        seed = tl.load(seeds + example // BATCH)
        rate = tl.load(rates + example // BATCH)
    return seed, rate


@triton.jit
def _kept(seed, rate, head, asking, key, queries, tokens, BATCH: tl.constexpr):
    """What each weight is multiplied by: zero if dropped. `head` is the number of its member's head."""
    pair = (head * queries + asking) * tokens + key
    if BATCH == 0:
        factor = tl.full(pair.shape, 1.0, tl.float32)
    else:
        x = pair.to(tl.uint32) ^ seed.to(tl.uint32)
        x = (x ^ (x >> 16)) * 0x7FEB352D
        x = (x ^ (x >> 15)) * 0x846CA68B
        x = x ^ (x >> 16)
        stays = (x >> 8).to(tl.int32) >= (rate * 16777216.0).to(tl.int32)
        factor = tl.where(stays, 1 / (1 - rate), 0.0)
    return factor


@triton.jit
def _scores(q, k, token, key, tokens, scale):
    """Scaled products [SIZE, SIZE], and minus infinity, almost, where a key comes after its query."""
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
    HEADS: tl.constexpr, WIDTH: tl.constexpr, SIZE: tl.constexpr, BATCH: tl.constexpr,
):  # fmt: skip
    """Writes answers to `out` [N, Q, H, D] and the logarithm of each softmax's sum to `logs` [N, H, Q]."""
    program = tl.program_id(0)
    example, head = program // HEADS, program % HEADS
    row, inner = 3 * HEADS * WIDTH, HEADS * WIDTH
    base = packed + example.to(tl.int64) * tokens * row + head * WIDTH
    column = tl.arange(0, WIDTH)
    asking = tl.program_id(1) * SIZE + tl.arange(0, SIZE)
    first = tokens - queries
    token = asking + first
    q = _block(base, token, tokens, row, column)
    seed, rate = _noise(seeds, rates, example, BATCH)
    number = program if BATCH == 0 else program % (BATCH * HEADS)
    highest = tl.full([SIZE], -1e30, dtype=tl.float32)
    total = tl.zeros([SIZE], dtype=tl.float32)
    y = tl.zeros([SIZE, WIDTH], dtype=tl.float32)
    end = tl.minimum(tokens, tl.program_id(1) * SIZE + SIZE + first)
    for start in range(0, end, SIZE):
        key = start + tl.arange(0, SIZE)
        k = _block(base + inner, key, tokens, row, column)
        v = _block(base + 2 * inner, key, tokens, row, column)
        scores = _scores(q, k, token, key, tokens, scale)
        higher = tl.maximum(highest, tl.max(scores, 1))
        weights = tl.exp(scores - higher[:, None])
        shrink = tl.exp(highest - higher)
        total = total * shrink + tl.sum(weights, 1)
        weights *= _kept(seed, rate, number, asking[:, None], key[None, :], queries, tokens, BATCH)
        y = y * shrink[:, None] + tl.dot(weights.to(v.dtype), v)
        highest = higher
    asks = asking < queries
    place = out + (example.to(tl.int64) * queries + asking[:, None]) * inner + head * WIDTH
    tl.store(place + column[None, :], (y / total[:, None]).to(q.dtype), mask=asks[:, None])
    tl.store(logs + program * queries + asking, highest + tl.log(total), mask=asks)


@triton.jit
def backward(
    packed, gradient, answers, logs, out, seeds, rates, tokens, queries, scale,
    HEADS: tl.constexpr, WIDTH: tl.constexpr, SIZE: tl.constexpr, BATCH: tl.constexpr,
):  # fmt: skip
    """Writes the gradient of `packed` to `out`: even programs that of queries, odd ones the rest."""
    program, block = tl.program_id(0), tl.program_id(1) // 2
    example, head = program // HEADS, program % HEADS
    row, inner = 3 * HEADS * WIDTH, HEADS * WIDTH
    start = example.to(tl.int64) * tokens * row + head * WIDTH
    base = packed + start
    of_answers = example.to(tl.int64) * queries * inner + head * WIDTH
    column = tl.arange(0, WIDTH)
    own = block * SIZE + tl.arange(0, SIZE)
    first = tokens - queries
    seed, rate = _noise(seeds, rates, example, BATCH)
    number = program if BATCH == 0 else program % (BATCH * HEADS)
    if tl.program_id(1) % 2 == 0:
        asking = own - first
        q = _block(base, own, tokens, row, column)
        dy = _block(gradient + of_answers, asking, queries, inner, column)
        y = _block(answers + of_answers, asking, queries, inner, column)
        asks = (asking >= 0) & (asking < queries)
        log = tl.load(logs + program * queries + asking, mask=asks, other=0.0)
        mean = tl.sum(dy.to(tl.float32) * y.to(tl.float32), 1)
        dq = tl.zeros([SIZE, WIDTH], dtype=tl.float32)
        for begin in range(0, tl.minimum(tokens, block * SIZE + SIZE), SIZE):
            key = begin + tl.arange(0, SIZE)
            k = _block(base + inner, key, tokens, row, column)
            v = _block(base + 2 * inner, key, tokens, row, column)
            weights = tl.exp(_scores(q, k, own, key, tokens, scale) - log[:, None])
            kept = _kept(seed, rate, number, asking[:, None], key[None, :], queries, tokens, BATCH)
            dweights = tl.dot(dy, tl.trans(v)) * kept
            dscores = weights * (dweights - mean[:, None]) * scale
            dq += tl.dot(tl.where(asks[:, None], dscores, 0.0).to(k.dtype), k)
        place = out + start + own[:, None] * row + column[None, :]
        tl.store(place, dq.to(q.dtype), mask=(own < tokens)[:, None])
    else:
        k = _block(base + inner, own, tokens, row, column)
        v = _block(base + 2 * inner, own, tokens, row, column)
        dk = tl.zeros([SIZE, WIDTH], dtype=tl.float32)
        dv = tl.zeros([SIZE, WIDTH], dtype=tl.float32)
        for begin in range(block * SIZE, tokens, SIZE):
            token = begin + tl.arange(0, SIZE)
            asking = token - first
            q = _block(base, token, tokens, row, column)
            dy = _block(gradient + of_answers, asking, queries, inner, column)
            y = _block(answers + of_answers, asking, queries, inner, column)
            asks = (asking >= 0) & (asking < queries)
            log = tl.load(logs + program * queries + asking, mask=asks, other=0.0)
            mean = tl.sum(dy.to(tl.float32) * y.to(tl.float32), 1)
            weights = tl.exp(_scores(q, k, token, own, tokens, scale) - log[:, None])
            weights = tl.where(asks[:, None], weights, 0.0)
            kept = _kept(seed, rate, number, asking[:, None], own[None, :], queries, tokens, BATCH)
            dv += tl.dot(tl.trans((weights * kept).to(v.dtype)), dy)
            dweights = tl.dot(dy, tl.trans(v)) * kept
            dscores = weights * (dweights - mean[:, None]) * scale
            dk += tl.dot(tl.trans(dscores.to(q.dtype)), q)
        place = out + start + inner + own[:, None] * row + column[None, :]
        tl.store(place, dk.to(k.dtype), mask=(own < tokens)[:, None])
        tl.store(place + inner, dv.to(k.dtype), mask=(own < tokens)[:, None])
