"""The GPU programs of short_attention.py, in Triton. Imported only where a GPU is.

A program handles SIZE queries, or SIZE keys, of one head of one example, and walks over the blocks of SIZE
tokens that these see, or are seen by. Names in capitals are known when a program is compiled.
"""

import triton
import triton.language as tl


@triton.jit
def _kept(seed, pair, dropout):
    """Whether a (head, query, key) survives dropout: a hash of its number against a threshold."""
    x = pair.to(tl.uint32) ^ seed.to(tl.uint32)
    x = (x ^ (x >> 16)) * 0x7FEB352D
    x = (x ^ (x >> 15)) * 0x846CA68B
    x = x ^ (x >> 16)
    return (x >> 8).to(tl.float32) >= dropout * 16777216.0


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
    packed, out, logs, seed_place, tokens, queries, scale, dropout,
    HEADS: tl.constexpr, WIDTH: tl.constexpr, SIZE: tl.constexpr,
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
    seed = tl.load(seed_place)
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
        pair = (program * tokens + token[:, None]) * tokens + key[None, :]
        weights = tl.where(_kept(seed, pair, dropout), weights / (1 - dropout), 0.0)
        y = y * shrink[:, None] + tl.dot(weights.to(v.dtype), v)
        highest = higher
    asks = asking < queries
    place = out + (example.to(tl.int64) * queries + asking[:, None]) * inner + head * WIDTH
    tl.store(place + column[None, :], (y / total[:, None]).to(q.dtype), mask=asks[:, None])
    tl.store(logs + program * queries + asking, highest + tl.log(total), mask=asks)


@triton.jit
def backward(
    packed, gradient, answers, logs, out, seed_place, tokens, queries, scale, dropout,
    HEADS: tl.constexpr, WIDTH: tl.constexpr, SIZE: tl.constexpr,
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
    seed = tl.load(seed_place)
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
            pair = (program * tokens + own[:, None]) * tokens + key[None, :]
            dweights = tl.dot(dy, tl.trans(v)) / (1 - dropout)
            dweights = tl.where(_kept(seed, pair, dropout), dweights, 0.0)
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
            pair = (program * tokens + token[:, None]) * tokens + own[None, :]
            kept = _kept(seed, pair, dropout)
            dropped = tl.where(kept, weights / (1 - dropout), 0.0)
            dv += tl.dot(tl.trans(dropped.to(v.dtype)), dy)
            dweights = tl.where(kept, tl.dot(dy, tl.trans(v)) / (1 - dropout), 0.0)
            dscores = weights * (dweights - mean[:, None]) * scale
            dk += tl.dot(tl.trans(dscores.to(q.dtype)), q)
        place = out + start + inner + own[:, None] * row + column[None, :]
        tl.store(place, dk.to(k.dtype), mask=(own < tokens)[:, None])
        tl.store(place + inner, dv.to(k.dtype), mask=(own < tokens)[:, None])
