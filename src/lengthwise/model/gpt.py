"""A GPT, or rather a stack of them: M models of equal shape that run as one program.

>>> model = GPT(ModelConfig.named("nano"), "learned", vocabulary=16, positions_count=10, seeds=[1, 2, 3])
>>> ids, positions = torch.zeros(3, 5, 10, dtype=torch.long), torch.arange(10).view(1, 1, 10)
>>> model(ids, positions).shape
torch.Size([3, 5, 10, 16])

Each member is nanoGPT's transformer: LayerNorm before each branch, GELU, an MLP of four times the width. The
config's options add to it: normalized or length-scaled attention, and loops over the blocks.
Weights, residual stream, norms and logits are float32; products are in the compute dtype.

Shapes: M members, B batch, T tokens, V vocabulary, C width, H heads, D = C / H, Q queries, K keys.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from lengthwise.errors import InputError
from lengthwise.model.config import ModelConfig
from lengthwise.model.dropout import Noise, drop
from lengthwise.model.layers import Embedding, Initializer, LayerNorm, Linear
from lengthwise.model.positions import Encoding, Relation, TableEncoding, find_encoding
from lengthwise.model.positions.waves import near, noticed
from lengthwise.model.short_attention import short_attention, suits_short

WRITTEN_OUT = 1 << 25
"""Attention weights that are there at a time where no fused kernel helps and nothing is learned."""


class Cache:
    """Keys, values and positions of the tokens read so far, with room for `length` tokens.

    Keys are kept as projected, before any encoding touches them. See `GPT.cache`.
    """

    def __init__(self, shape: tuple[int, ...], dtype: torch.dtype, device: torch.device) -> None:
        self._keys = torch.empty(shape, dtype=dtype, device=device)  # [layers x loops, M, B, H, length, D]
        self._values = torch.empty_like(self._keys)
        self._positions: Tensor | None = None
        self._read = self._length = self._applied = 0

    def add_positions(self, positions: Tensor) -> Tensor:
        """Open a pass: positions [M or 1, B or 1, Q] of its tokens -> those of all tokens [.., K]."""
        if self._positions is not None:
            positions = torch.cat([self._positions, positions], dim=-1)
        self._positions = positions
        self._read, self._length, self._applied = self._length, positions.shape[-1], 0
        assert self._length <= self._keys.shape[-2], "the cache is full"
        return positions

    def add(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values [M, B, H, Q, D] of the pass's tokens -> those of all tokens [M, B, H, K, D].

        Called once per applied layer, in order.
        """
        keys, values = self._keys[self._applied], self._values[self._applied]
        self._applied += 1
        keys[..., self._read : self._length, :] = k
        values[..., self._read : self._length, :] = v
        return keys[..., : self._length, :], values[..., : self._length, :]


class Pass(NamedTuple):
    """What the blocks need to know of a forward pass besides the tokens' vectors."""

    encoding: Encoding
    relation: Relation
    cache: Cache | None
    dtype: torch.dtype
    queries: int
    """Only the last so many tokens are needed further on: all, but in the last block."""
    noise: Noise | None = None
    """What to drop, in training."""
    placed: Tensor | None = None
    """Where queries and keys know that alone: which tokens have a place, int64 [M or 1, B or 1, T]."""
    own: Tensor | None = None
    """Where several problems share a row: bool [M, B, Q, K], whether a key is one that a query may see and of its
    own problem. It is all that heads by tokens see, which cannot tell one problem's digits from another's."""
    witness: Callable[["Meeting"], None] | None = None
    """Is told what meets in attention."""

    def noise_at(self, place: int) -> Noise | None:
        return None if self.noise is None else self.noise.at(place)

    def tell(self, meeting: "Meeting") -> None:
        if self.witness is not None:
            self.witness(meeting)


class Meeting(NamedTuple):
    """Queries [M, B, H, Q, D], keys [M, B, H, K, D] and bias, as they meet in some of the heads."""

    q: Tensor
    k: Tensor
    bias: Tensor | None
    spare: int = 0
    """So many of the keys, the first, stand for no token."""
    faint_left_out: bool = False


class Attention(nn.Module):
    """[M, B, T, C] -> [M, B, Q, C], each of the last Q tokens attending to itself and to those before it."""

    def __init__(self, config: ModelConfig, init: Initializer) -> None:
        super().__init__()
        self.config = config
        if config.place_attention:
            head_width = config.width // config.heads
            self.qk = Embedding(init, 2, 2 * config.turning_heads * head_width, std=config.embedding_std)
            self.v = Linear(init, config.width, config.width, bias=config.bias)
            if config.token_heads:
                self.token_qk = Linear(init, config.width, 2 * config.token_heads * head_width, bias=config.bias)
        else:
            self.qkv = Linear(init, config.width, 3 * config.width, bias=config.bias)
        self.out = Linear(init, config.width, config.width, bias=config.bias, std=_residual_std(config))
        scaled = config.normalized_attention or config.log_length_scale
        self.scale = init.constant(1, config.heads, 1, 1, value=1.0) if scaled else None

    @torch.no_grad()
    def look_near(self, encoding: Encoding) -> None:
        """Start every head out on a column near by. Tokens without a place that read digits, as `=` of abacus
        positions, start out as if they stood before the first column; where they do not, they are all alike."""
        assert isinstance(encoding, TableEncoding) and encoding.waves is not None, "places are told by waves"
        queries, keys = self.qk.weight.unflatten(-1, (2, self.config.turning_heads, -1)).unbind(2)
        for kind in range(2):
            read = keys[:, 1 if encoding.signs_read_digits else kind]
            queries[:, kind] = near(read, encoding.waves)

    def forward(self, x: Tensor, run: Pass) -> Tensor:
        packed = self._projected(x, run.placed)
        q, k, v = packed.permute(3, 0, 1, 4, 2, 5)
        q = q[..., -run.queries :, :]
        if self.config.normalized_attention:
            q, k = (functional.rms_norm(vectors, vectors.shape[-1:]) for vectors in (q, k))
        if run.cache is not None:
            k, v = run.cache.add(k, v)
        q = self._scaled(q, k.shape[-2], run.own)
        by_place = self.config.place_attention
        y = self._by_place(q, k, v, run) if by_place else self._by_tokens(q, k, v, packed, run)
        return self.out(y.flatten(3))

    def _by_tokens(self, q: Tensor, k: Tensor, v: Tensor, packed: Tensor, run: Pass) -> Tensor:
        """[M, B, Q, H, D], by tokens and positions together."""
        turned, keys, bias = run.encoding.attend(q, k, run.relation)
        run.tell(Meeting(turned, keys, bias))
        as_projected = self.scale is None and turned is q and keys is k and run.cache is None
        if as_projected and bias is None and suits_short(packed):
            return short_attention(packed, run.queries, run.noise_at(0))
        return _mix(turned, keys, v, bias, run.noise_at(0)).transpose(2, 3)

    def _by_place(self, q: Tensor, k: Tensor, v: Tensor, run: Pass) -> Tensor:
        """[M, B, Q, H, D]: the first heads by place, then those by tokens."""
        count = self.config.turning_heads
        turned, keys, _ = run.encoding.attend(q[:, :, :count], k[:, :, :count], run.relation)
        run.tell(Meeting(turned, keys, None, keys.shape[-2] - k.shape[-2], faint_left_out=True))
        y = _mix_noticed(*_with_spare_keys(turned, keys, v[:, :, :count]), run.noise_at(0))
        y = y[..., -run.queries :, :]
        if self.config.token_heads:
            q, k, v = q[:, :, count:], k[:, :, count:], v[:, :, count:]
            bias = None if run.own is None else _hiding(~run.own.unsqueeze(2), q.dtype)
            run.tell(Meeting(q, k, bias))
            y = torch.cat([y, _mix(q, k, v, bias, run.noise_at(3))], 2)
        return y.transpose(2, 3)

    def _projected(self, x: Tensor, placed: Tensor | None) -> Tensor:
        """Queries, keys and values [M, B, T, 3, H, D]."""
        heads = self.config.heads
        if placed is None:
            return self.qkv(x).unflatten(-1, (3, heads, -1))
        qk = (
            self.qk(placed).to(x.dtype).expand(*x.shape[:-1], -1).unflatten(-1, (2, self.config.turning_heads, -1))
        )
        if self.config.token_heads:
            qk = torch.cat([qk, self.token_qk(x).unflatten(-1, (2, self.config.token_heads, -1))], -2)
        return torch.cat([qk, self.v(x).unflatten(-1, (1, heads, -1))], -3)

    def _scaled(self, q: Tensor, keys: int, own: Tensor | None) -> Tensor:
        """Queries [M, B, H, Q, D], the last of `keys` tokens, each times its head's factor."""
        if self.scale is None:
            return q
        scale = self.scale
        if self.config.log_length_scale:
            scale = scale * torch.log(self._keys_seen(q, keys, own) + 1).unsqueeze(-1)
        return q * scale.to(q.dtype)

    def _keys_seen(self, q: Tensor, keys: int, own: Tensor | None) -> Tensor:
        """How many keys each query sees: [Q], or [M, B, H, Q] where some heads see their own problem alone."""
        seen = torch.arange(keys - q.shape[-2] + 1, keys + 1, device=q.device)
        if own is None:
            return seen
        of_own = own.sum(-1).unsqueeze(2).expand(-1, -1, self.config.token_heads, -1)
        return torch.cat([seen.expand(*of_own.shape[:2], self.config.turning_heads, -1), of_own], 2)


class MLP(nn.Module):
    """[M, B, T, C] -> [M, B, T, C], each token by itself."""

    def __init__(self, config: ModelConfig, init: Initializer) -> None:
        super().__init__()
        self.up = Linear(init, config.width, 4 * config.width, bias=config.bias)
        self.down = Linear(init, 4 * config.width, config.width, bias=config.bias, std=_residual_std(config))

    def forward(self, x: Tensor) -> Tensor:
        return self.down(functional.gelu(self.up(x)))


class Block(nn.Module):
    """[M, B, T, C] -> [M, B, Q, C]: the last Q tokens look at those before, then each thinks by itself."""

    def __init__(self, config: ModelConfig, init: Initializer) -> None:
        super().__init__()
        self.attention_norm = LayerNorm(init, config.width, bias=config.bias)
        self.attention = Attention(config, init)
        self.mlp_norm = LayerNorm(init, config.width, bias=config.bias)
        self.mlp = MLP(config, init)

    def forward(self, x: Tensor, run: Pass) -> Tensor:
        y = self.attention(self.attention_norm(x).to(run.dtype), run)
        x = x[:, :, -run.queries :] + drop(y, run.noise_at(1))
        return x + drop(self.mlp(self.mlp_norm(x).to(run.dtype)), run.noise_at(2))


class GPT(nn.Module):
    """One member per seed. A member's initial weights depend on its own seed alone.

    `positions_count` is how many positions the run's sequences need; `config.context` asks for more rows.
    `compute_dtype` is that of the matrix products: bfloat16 on CUDA and float32 elsewhere, unless given.
    """

    def __init__(
        self,
        config: ModelConfig,
        encoding: str,
        vocabulary: int,
        positions_count: int,
        seeds: Sequence[int],
        *,
        compute_dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        check_waves(config, encoding)
        self.config, self.members, self._requested_dtype = config, len(seeds), compute_dtype
        init = Initializer(seeds)
        self.tokens = Embedding(init, vocabulary, config.width, std=config.embedding_std)
        blocks = [Block(config, init) for _ in range(config.layers)]
        self.blocks = nn.ModuleList(blocks)
        self.norm = LayerNorm(init, config.width, bias=config.bias)
        self.head = None if config.tied else Linear(init, config.width, vocabulary, bias=False)
        # Last, so that models of one seed share all other initial weights, whatever their encoding.
        self.encoding = find_encoding(encoding)(config, config.context or positions_count, init)
        self.encoding.check(positions_count)
        if config.place_attention:
            for block in blocks:
                block.attention.look_near(self.encoding)

    def forward(
        self,
        ids: Tensor,
        positions: Tensor,
        *,
        tail: int | None = None,
        cache: Cache | None = None,
        noise: Noise | None = None,
        problem: Tensor | None = None,
    ) -> Tensor:
        """Logits [M, B, T, V] of ids [M, B, T] at positions [M or 1, B or 1, T], both int64.

        With `tail`, those of the last `tail` tokens alone. With `cache`, ids continue what it has read. With
        `noise`, some activations are dropped, as in training. `problem` [M, B, T], without a cache, tells of which
        of a row's problems a token is: heads by tokens then see their own alone.
        """
        x = embedded = drop(self._embedded(ids, positions), noise)
        own = self._own(problem)
        for number, run in enumerate(self._passes(positions, tail or ids.shape[-1], cache, noise, own)):
            if number and number % len(self.blocks) == 0:
                x = x + embedded
            x = self.blocks[number % len(self.blocks)](x, run)
        return self._logits(self.norm(x).to(self.compute_dtype)).float()

    def _own(self, problem: Tensor | None) -> Tensor | None:
        """Which tokens see which of their own problem, [M, B, T, T], where some heads need it."""
        if problem is None or not self.config.token_heads:
            return None
        return (problem.unsqueeze(-1) == problem.unsqueeze(-2)).tril()

    def _passes(
        self, positions: Tensor, tail: int, cache: Cache | None, noise: Noise | None, own: Tensor | None
    ) -> list[Pass]:
        """One for each applied block. The last one only serves the last `tail` tokens."""
        assert cache is None or own is None, "a cache holds one problem"
        keys = positions if cache is None else cache.add_positions(positions)
        tokens, relate = positions.shape[-1], self.encoding.relate
        placed = (positions > 0).long() if self.config.place_attention else None
        whole = Pass(self.encoding, relate(positions, keys), cache, self.compute_dtype, tokens)
        whole = whole._replace(placed=placed, own=own)
        last = whole
        if tail < tokens:
            own = None if own is None else own[..., -tail:, :]
            last = whole._replace(relation=relate(positions[..., -tail:], keys), queries=tail, own=own)
        passes = [whole] * (len(self.blocks) * self.config.loops - 1) + [last]
        if noise is None:
            return passes
        return [run._replace(noise=noise.at(number)) for number, run in enumerate(passes, start=1)]

    def _embedded(self, ids: Tensor, positions: Tensor) -> Tensor:
        x, added = self.tokens(ids), self.encoding.embed(positions)
        return x if added is None else x + added

    def _logits(self, x: Tensor) -> Tensor:
        if self.head is not None:
            return self.head(x)
        table = self.tokens.weight.to(x.dtype)
        return torch.bmm(x.flatten(1, 2), table.transpose(1, 2)).view(*x.shape[:-1], -1)

    @property
    def device(self) -> torch.device:
        return self.tokens.weight.device

    @property
    def compute_dtype(self) -> torch.dtype:
        """The dtype of matrix products where the model now is."""
        if self._requested_dtype is None:
            return torch.bfloat16 if self.device.type == "cuda" else torch.float32
        # Some CPUs announce bfloat16 instructions that kill the process.
        if self.device.type == "cpu" and self._requested_dtype != torch.float32:
            raise InputError(f"compute dtype {self._requested_dtype} on a CPU: allowed is torch.float32")
        return self._requested_dtype

    def cache(self, batch: int, length: int) -> Cache:
        """An empty cache for `batch` sequences per member of up to `length` tokens."""
        layers, heads = self.config.layers * self.config.loops, self.config.heads
        shape = (layers, self.members, batch, heads, length, self.config.width // heads)
        return Cache(shape, self.compute_dtype, self.device)

    def parameter_count(self) -> int:
        """Parameters of one member."""
        return sum(parameter.numel() for parameter in self.parameters()) // self.members

    def member(self, k: int) -> dict[str, Tensor]:
        """The state of member k alone, as a model of one seed holds it; states join along axis 0."""
        return {name: tensor[k : k + 1] for name, tensor in self.state_dict().items()}


def check_waves(config: ModelConfig, encoding: str) -> None:
    """Refuse waves where there is no table whose place they could take."""
    if config.position_waves and not issubclass(find_encoding(encoding), TableEncoding):
        raise InputError(f"position_waves with encoding {encoding!r}: allowed are those with a table, as coupled")


def _residual_std(config: ModelConfig) -> float:
    """Each of 2 x layers x loops branches adds to the stream: together they start out as large as one."""
    return 0.02 / math.sqrt(2 * config.layers * config.loops)


def _with_spare_keys(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Keys that an encoding puts before those of tokens have no value. Where all tokens ask, as many empty queries
    stand before theirs, so that causality still is all that limits who sees whom."""
    spare = k.shape[-2] - v.shape[-2]
    if spare == 0:
        return q, k, v
    if q.shape[-2] == v.shape[-2]:
        q = functional.pad(q, (0, 0, spare, 0))
    return q, k, functional.pad(v, (0, 0, spare, 0))


def _mix(q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None, noise: Noise | None) -> Tensor:
    """Values [M, B, H, K, D] weighed by softmax(q k / sqrt(D) + bias) over the keys up to each query's own.

    Queries [M, B, H, Q, D] are the last Q of the K tokens.
    """
    if noise is not None:
        return _mix_noisily(q, k, v, bias, noise)
    members, batch, heads = q.shape[:3]
    # Fused kernels want one batch axis. Where examples share their bias, members join the heads instead, so
    # that it is not repeated for every example.
    shared = bias is not None and bias.shape[1] == 1
    if bias is not None:
        bias = _fold(bias.expand(members, 1 if shared else batch, heads, -1, -1), shared)
    mask = _mask(q, k, bias)
    folded = (_fold(x, shared) for x in (q, k, v))
    y = functional.scaled_dot_product_attention(*folded, attn_mask=mask, is_causal=mask is None)
    return y.unflatten(1, (members, heads)).transpose(0, 1) if shared else y.unflatten(0, (members, batch))


def _mix_noisily(q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None, noise: Noise) -> Tensor:
    """The same with some of the weights dropped, which no fused kernel does by member."""
    scores = q @ k.mT * q.shape[-1] ** -0.5
    if bias is not None:
        scores = scores + bias
    return drop(_softmax(scores.float(), _seen(q, k)).to(v.dtype), noise) @ v


def _mix_noticed(q: Tensor, k: Tensor, v: Tensor, noise: Noise | None) -> Tensor:
    """As `_mix`, without faint weights, which no fused kernel leaves out.

    Where nothing is learned, a few queries at a time: of a long number all weights would fill the memory.
    """
    queries, unseen = q.shape[-2], k.shape[-2] - q.shape[-2]
    size = queries
    if not torch.is_grad_enabled() and noise is None:
        size = max(1, WRITTEN_OUT // (q[..., 0, 0].numel() * k.shape[-2]))
    parts: list[Tensor] = []
    for start in range(0, queries, size):
        stop = min(start + size, queries)
        some, keys, values = q[..., start:stop, :], k[..., : unseen + stop, :], v[..., : unseen + stop, :]
        # Sharp heads have large scores, of which half precision would leave few digits.
        scores = some.float() @ keys.float().mT * q.shape[-1] ** -0.5
        weights = noticed(_softmax(scores, _seen(some, keys))).to(v.dtype)
        parts.append(drop(weights, noise) @ values)
    return parts[0] if len(parts) == 1 else torch.cat(parts, -2)


def _softmax(scores: Tensor, seen: Tensor) -> Tensor:
    """Written out, as torch's own over few keys takes most of a step on a CPU."""
    scores = scores.masked_fill(~seen, -math.inf)
    weights = (scores - scores.detach().amax(-1, keepdim=True)).exp()
    return weights / weights.sum(-1, keepdim=True)


def _fold(x: Tensor, into_heads: bool) -> Tensor:
    """[M, B, H, ...] -> [B, M H, ...] or [M B, H, ...]"""
    return x.transpose(0, 1).flatten(1, 2) if into_heads else x.flatten(0, 1)


def _mask(q: Tensor, k: Tensor, bias: Tensor | None) -> Tensor | None:
    """What shapes attention: nothing where causality is all, else which keys are seen or their bias."""
    if bias is None and q.shape[-2] == k.shape[-2]:
        return None
    seen = _seen(q, k)
    return seen if bias is None else bias.to(q.dtype).masked_fill(~seen, -math.inf)


def _hiding(hidden: Tensor, dtype: torch.dtype) -> Tensor:
    """What is added to scores so that nothing hidden is seen."""
    return torch.zeros_like(hidden, dtype=dtype).masked_fill(hidden, -math.inf)


def _seen(q: Tensor, k: Tensor) -> Tensor:
    """bool [Q, K]: the keys up to each query's own."""
    queries, keys = q.shape[-2], k.shape[-2]
    return torch.ones(queries, keys, dtype=torch.bool, device=q.device).tril(keys - queries)
