"""A GPT, or rather a stack of them: M models of equal shape that run as one program.

>>> model = GPT(ModelConfig.named("nano"), "learned", vocabulary=16, positions_count=10, seeds=[1, 2, 3])
>>> ids, positions = torch.zeros(3, 5, 10, dtype=torch.long), torch.arange(10).view(1, 1, 10)
>>> model(ids, positions).shape
torch.Size([3, 5, 10, 16])

Each member is nanoGPT's transformer: LayerNorm before each branch, GELU, an MLP of four times the width. The
config's options add to it: normalized or length-scaled attention, position-only attention, loops over the blocks,
another kind of block. Weights, residual stream, norms and logits are float32; products are in the compute dtype.

Shapes: M members, B batch, T tokens, V vocabulary, C width, H heads, D = C / H, Q queries, K keys.
"""

from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional

from lengthwise.model.attention import (
    AttentionHeads,
    Cache,
    Pass,
    causal_keys_seen,
    queries_keys_values,
    query_scale,
    scale_queries,
    short_attention,
    softmax_attention,
    softmax_heads,
    suits_short,
)
from lengthwise.model.config import ModelConfig
from lengthwise.model.layers import Embedding, Initializer, LayerNorm, Linear, Noise, drop
from lengthwise.model.position_only import PositionOnlyAttention
from lengthwise.model.positions import check_encoding, find_encoding
from lengthwise.model.t5_block import T5Block


class Attention(nn.Module):
    """[M, B, T, C] -> [M, B, Q, C], each of the last Q tokens attending to itself and to those before it."""

    def __init__(self, config: ModelConfig, init: Initializer) -> None:
        super().__init__()
        self.config = config
        self.qkv = Linear(init, config.width, 3 * config.width, bias=config.bias, maps=3)
        self.out = Linear(init, config.width, config.width, bias=config.bias, std=config.residual_std)
        self.scale = query_scale(config, init)

    def forward(self, x: Tensor, run: Pass) -> Tensor:
        packed = self.qkv(x).unflatten(-1, (3, self.config.heads, -1))
        return self.out(self._mixed(packed, run).flatten(3))

    def _mixed(self, packed: Tensor, run: Pass) -> Tensor:
        """Queries, keys and values [M, B, T, 3, H, D] -> [M, B, Q, H, D]"""
        q, k, v = queries_keys_values(packed, run, self.config)
        keys_seen = causal_keys_seen(q, k) if self.config.log_length_scale else None
        q = scale_queries(q, self.scale, keys_seen)
        turned, keys, bias = run.encoding.attend(q, k, run.relation)
        if run.on_attention is not None:
            run.on_attention(softmax_heads(turned, keys, bias))
        as_projected = self.scale is None and turned is q and keys is k and run.cache is None
        if as_projected and bias is None and suits_short(packed):
            return short_attention(packed, run.queries, run.noise_at(0))
        return softmax_attention(turned, keys, v, bias, run.noise_at(0)).transpose(2, 3)


class MLP(nn.Module):
    """[M, B, T, C] -> [M, B, T, C], each token by itself."""

    def __init__(self, config: ModelConfig, init: Initializer) -> None:
        super().__init__()
        self.up = Linear(init, config.width, 4 * config.width, bias=config.bias)
        self.down = Linear(init, 4 * config.width, config.width, bias=config.bias, std=config.residual_std)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(functional.gelu(self.up(x)))


class Block(nn.Module):
    """[M, B, T, C] -> [M, B, Q, C]: attention of the last Q tokens, then an MLP."""

    def __init__(self, config: ModelConfig, init: Initializer) -> None:
        super().__init__()
        self.attention_norm = LayerNorm(init, config.width, bias=config.bias)
        self.attention = (PositionOnlyAttention if config.place_attention else Attention)(config, init)
        self.mlp_norm = LayerNorm(init, config.width, bias=config.bias)
        self.mlp = MLP(config, init)

    def forward(self, x: Tensor, run: Pass) -> Tensor:
        y = self.attention(self.attention_norm(x).to(run.dtype), run)
        x = x[:, :, -run.queries :] + drop(y, run.noise_at(1))
        return x + drop(self.mlp(self.mlp_norm(x).to(run.dtype)), run.noise_at(2))


BLOCKS = {"gpt": Block, "t5": T5Block}


class GPT(nn.Module):
    """One member per seed. A member's initial weights depend on its own seed alone.

    `positions_count` is how many positions the run's sequences need; `config.context` asks for more rows.
    """

    def __init__(
        self, config: ModelConfig, encoding: str, vocabulary: int, positions_count: int, seeds: Sequence[int]
    ) -> None:
        super().__init__()
        check_encoding(config, encoding)
        self.config, self.members = config, len(seeds)
        init = Initializer(seeds)
        self.tokens = Embedding(init, vocabulary, config.width, std=config.embedding_std)
        self.blocks = nn.ModuleList(BLOCKS[config.block](config, init) for _ in range(config.layers))
        self.norm = LayerNorm(init, config.width, bias=config.bias or config.block == "t5")
        self.head = None if config.tied else Linear(init, config.width, vocabulary, bias=False)
        # Last, so that models of one seed share all other initial weights, whatever their encoding.
        self.encoding = find_encoding(encoding)(config, config.context or positions_count, init)
        self.encoding.check(positions_count)
        for module in self.modules():
            if isinstance(module, PositionOnlyAttention) and config.head_start != "random":
                module.start_heads(self.encoding)

    def forward(
        self,
        ids: Tensor,
        positions: Tensor,
        *,
        tail: int | None = None,
        cache: Cache | None = None,
        noise: Noise | None = None,
        problem: Tensor | None = None,
        on_attention: Callable[[int, AttentionHeads], None] | None = None,
    ) -> Tensor:
        """Logits [M, B, T, V] of ids [M, B, T] at positions [M or 1, B or 1, T], both int64.

        With `tail`, those of the last `tail` tokens alone. With `cache`, ids continue what it has read. With
        `noise`, some activations are dropped, as in training. `problem` [M, B, T], without a cache, is the number
        of each token's problem where several share a row: content heads then see their own problem alone.
        `on_attention` is called with the number of each applied layer and its heads.
        """
        x = embedded = self.embed(ids, positions, noise)
        run = self._pass(positions, cache, problem)
        applied = len(self.blocks) * self.config.loops
        noises = [None] * applied if noise is None else noise.of_layers(applied)
        for number in range(applied):
            if number and number % len(self.blocks) == 0:
                x = x + embedded
            if tail and number == applied - 1:
                run = _last_queries(run, tail)
            told = None if on_attention is None else partial(on_attention, number)
            x = self.blocks[number % len(self.blocks)](x, run._replace(noise=noises[number], on_attention=told))
        return self.read_out(x)

    def embed(self, ids: Tensor, positions: Tensor, noise: Noise | None) -> Tensor:
        """Tokens and, where the encoding adds something to them, positions: [M, B, T, C]."""
        x, added = self.tokens(ids), self.encoding.embed(positions)
        return drop(x if added is None else x + added, noise)

    def read_out(self, x: Tensor) -> Tensor:
        """[M, B, Q, C] -> logits [M, B, Q, V]"""
        x = self.norm(x).to(self.compute_dtype)
        if self.head is not None:
            return self.head(x).float()
        if self.config.block == "t5":
            x = x * self.config.width**-0.5
        table = self.tokens.weight.to(x.dtype)
        return torch.bmm(x.flatten(1, 2), table.transpose(1, 2)).view(*x.shape[:-1], -1).float()

    def _pass(self, positions: Tensor, cache: Cache | None, problem: Tensor | None) -> Pass:
        keys = positions if cache is None else cache.add_positions(positions)
        mask = None
        if problem is not None and self.config.token_heads:
            assert cache is None, "a cache holds one problem"
            mask = (problem.unsqueeze(-1) == problem.unsqueeze(-2)).tril()
        return Pass(
            encoding=self.encoding,
            relation=self.encoding.relate(positions, keys),
            positions=positions,
            key_positions=keys,
            queries=positions.shape[-1],
            dtype=self.compute_dtype,
            cache=cache,
            same_problem_mask=mask,
        )

    @property
    def device(self) -> torch.device:
        return self.tokens.weight.device

    @property
    def compute_dtype(self) -> torch.dtype:
        """The dtype of matrix products where the model now is. Some CPUs announce bfloat16 instructions that kill
        the process."""
        return torch.bfloat16 if self.device.type == "cuda" else torch.float32

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


def _last_queries(run: Pass, tail: int) -> Pass:
    """Only the last `tail` tokens are needed after the last block."""
    if tail >= run.queries:
        return run
    mask = run.same_problem_mask
    return run._replace(
        relation=run.encoding.relate(run.positions[..., -tail:], run.key_positions),
        queries=tail,
        same_problem_mask=None if mask is None else mask[..., -tail:, :],
    )
