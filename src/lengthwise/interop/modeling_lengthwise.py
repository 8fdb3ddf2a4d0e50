"""A lengthwise model for transformers, in one file that needs only torch and transformers.

`lengthwise export` copies it next to the weights of models that no stock architecture computes exactly. Each is
nanoGPT's transformer (LayerNorm before each branch, GELU, an MLP of four times the width) with another positional
encoding. `forward` always takes all ids so far, as the position of a token may depend on those before it; with a
cache, tokens that were read before are not computed again.

Shapes: B batch, T tokens, Q of them new, C width, H heads, D = C / H.
"""

import math
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import DynamicCache, GenerationMixin, PretrainedConfig, PreTrainedModel
from transformers.modeling_outputs import CausalLMOutputWithPast


class LengthwiseConfig(PretrainedConfig):
    """`encoding` is how the network uses positions, `numbering` is the position of a token: a list by index, or
    index, coupled or abacus (by the significance of digits, least significant first)."""

    model_type = "lengthwise"
    attribute_map: ClassVar = {"hidden_size": "width", "num_attention_heads": "heads"}

    vocab_size: int = 16
    base: int = 10
    width: int = 48
    layers: int = 3
    heads: int = 3
    bias: bool = False
    tied: bool = True
    encoding: str = "none"
    numbering: str | list[int] = "index"
    rows: int = 0
    normalized_attention: bool = False
    log_length_scale: bool = False
    loops: int = 1
    place_attention: bool = False
    attention_clip: float = 0.0
    token_heads: int = 0
    equals_without_position: bool = False
    """Abacus finds the first digit of an answer from =, which has no position: then all tokens see digits."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**{**given, "tie_word_embeddings": False})
        # A cache has keys and values of every applied layer.
        self.num_hidden_layers = self.layers * self.loops

    @property
    def head_width(self) -> int:
        return self.width // self.heads


# --- positions ----------------------------------------------------------------------------------------------


def number_tokens(config: LengthwiseConfig, ids: Tensor, mask: Tensor) -> Tensor:
    """The position of each token, [B, T]; `mask` is 0 for padding."""
    if config.numbering not in ("coupled", "abacus"):
        index = (mask.cumsum(-1) - 1).clamp(min=0)
        return index if config.numbering == "index" else torch.tensor(config.numbering, device=ids.device)[index]
    is_digit, place = ids < config.base, torch.arange(ids.shape[-1], device=ids.device).expand_as(ids)
    significance = place - torch.where(is_digit, -1, place).cummax(-1).values
    if config.numbering == "abacus":
        return torch.where(is_digit, significance, 0)
    # The operator and = come right after the digits in the vocabulary.
    return torch.where(ids < config.base + 2, significance + 1, 0)


class NoEncoding(nn.Module):
    """The base class of encodings, without positions."""

    def __init__(self, config: LengthwiseConfig) -> None:
        super().__init__()

    def embed(self, positions: Tensor) -> Tensor | float:
        """[B, T, C], added to the token embeddings."""
        return 0.0

    def attend(self, q: Tensor, k: Tensor, queries: Tensor, keys: Tensor) -> tuple[Tensor, Tensor, Tensor | float]:
        """q [B, H, Q, D] and k [B, H, T, D] at positions [B, Q] and [B, T], encoded, and a bias."""
        return q, k, 0.0


class Added(NoEncoding):
    def __init__(self, config: LengthwiseConfig) -> None:
        super().__init__(config)
        self.table = nn.Embedding(config.rows, config.width)

    def embed(self, positions: Tensor) -> Tensor:
        return self.table(positions)


class Rotary(NoEncoding):
    """Entry i of the first half of a head is paired with entry i of the second, as in Llama."""

    def attend(self, q, k, queries, keys):
        return self.turn(q, queries), self.turn(k, keys), 0.0

    def turn(self, x: Tensor, positions: Tensor) -> Tensor:
        angle = self.angles(positions, x.shape[-1])
        (first, second), cos, sin = x.chunk(2, -1), angle.cos(), angle.sin()
        return torch.cat([first * cos - second * sin, second * cos + first * sin], -1)

    def angles(self, positions: Tensor, width: int) -> Tensor:
        """[B, 1 or H, T, D / 2]"""
        frequency = 1 / 10_000 ** (torch.arange(0, width, 2, device=positions.device) / width)
        return positions[:, None, :, None] * frequency


class Waves(Rotary):
    """Rotary positions on a circle of rows - 1 positions, with integer frequencies."""

    frequency: Tensor

    def __init__(self, config: LengthwiseConfig) -> None:
        super().__init__(config)
        self.circle = config.rows - 1
        shape = config.heads - config.token_heads, 1, config.head_width // 2
        self.register_buffer("frequency", torch.zeros(shape, dtype=torch.long))

    def angles(self, positions: Tensor, width: int) -> Tensor:
        return positions[:, None, :, None] * self.frequency % self.circle * (2 * torch.pi / self.circle)


class Alibi(NoEncoding):
    def __init__(self, config: LengthwiseConfig) -> None:
        super().__init__(config)
        power = 2 ** math.floor(math.log2(config.heads))
        whole = [2 ** (-8 * (i + 1) / power) for i in range(power)]
        self.slopes = whole + [2 ** (-4 * (i + 1) / power) for i in range(0, 2 * (config.heads - power), 2)]

    def attend(self, q, k, queries, keys):
        slopes = torch.tensor(self.slopes, device=q.device).view(-1, 1, 1)
        return q, k, -slopes * distances(queries, keys).unsqueeze(1)


class T5(NoEncoding):
    """Distances below 16 have their own bucket; up to 128 they share 16 buckets that widen geometrically."""

    def __init__(self, config: LengthwiseConfig) -> None:
        super().__init__(config)
        self.table = nn.Embedding(32, config.heads)

    def attend(self, q, k, queries, keys):
        distance = distances(queries, keys).clamp(min=0)
        share = torch.log(distance.clamp(min=16) / 16) / math.log(128 / 16)
        bucket = torch.where(distance < 16, distance, (16 + (share * 16).long()).clamp(max=31))
        return q, k, self.table(bucket).movedim(-1, 1)


class Shaw(NoEncoding):
    def __init__(self, config: LengthwiseConfig) -> None:
        super().__init__(config)
        self.vectors = nn.Parameter(torch.zeros(config.heads, 129, config.head_width))

    def attend(self, q, k, queries, keys):
        by_distance = torch.einsum("bhqd,hrd->bhqr", q, self.vectors) / math.sqrt(q.shape[-1])
        clipped = distances(queries, keys).clamp(0, 128).unsqueeze(1)
        return q, k, by_distance.gather(-1, clipped.expand(*q.shape[:-1], -1))


class Fire(NoEncoding):
    def __init__(self, config: LengthwiseConfig) -> None:
        super().__init__(config)
        self.scale, self.threshold = nn.Parameter(torch.zeros(1)), nn.Parameter(torch.zeros(1))
        self.slope, self.shift = nn.Parameter(torch.zeros(32)), nn.Parameter(torch.zeros(32))
        self.out = nn.Parameter(torch.zeros(32, config.heads))

    def attend(self, q, k, queries, keys):
        reach = torch.maximum(queries.unsqueeze(-1), (512.0 * self.threshold).abs())
        distance, reach = (torch.log1p((self.scale * x).abs()) for x in (distances(queries, keys), reach))
        hidden = functional.relu((distance / reach).unsqueeze(-1) * self.slope + self.shift)
        return q, k, (hidden @ self.out).movedim(-1, 1)


def distances(queries: Tensor, keys: Tensor) -> Tensor:
    return queries.unsqueeze(-1) - keys.unsqueeze(-2)


ENCODINGS = {
    "none": NoEncoding,
    "added": Added,
    "waves": Waves,
    "rotary": Rotary,
    "alibi": Alibi,
    "t5": T5,
    "shaw": Shaw,
    "fire": Fire,
}


# --- the transformer ----------------------------------------------------------------------------------------


class Pass(NamedTuple):
    """What a layer needs besides the vectors of the new tokens."""

    encoding: Any
    queries: Tensor
    """[B, Q] positions of the new tokens."""
    keys: Tensor
    """[B, T] positions of all tokens."""
    mask: Tensor
    """bool [B, 1, Q, T]: which keys a query sees."""
    cache: Any = None
    layer: int = 0


class Attention(nn.Module):
    """Attention by content, with positions as the encoding uses them: [B, Q, C] -> [B, Q, C]."""

    def __init__(self, config: LengthwiseConfig) -> None:
        super().__init__()
        self.config = config
        self.out = nn.Linear(config.width, config.width, bias=config.bias)
        if config.normalized_attention or config.log_length_scale:
            self.scale = nn.Parameter(torch.ones(config.heads, 1, 1))
        self.add_projections()

    def add_projections(self) -> None:
        self.qkv = nn.Linear(self.config.width, 3 * self.config.width, bias=self.config.bias)

    def forward(self, x: Tensor, run: Pass) -> Tensor:
        q, k, v = self.projected(x, run).permute(2, 0, 3, 1, 4)
        if self.config.normalized_attention:
            q, k = (functional.rms_norm(vectors, vectors.shape[-1:]) for vectors in (q, k))
        if run.cache is not None:
            k, v = run.cache.update(k, v, run.layer)
        if hasattr(self, "scale"):
            q = q * self.scale
        if self.config.log_length_scale:
            q = q * torch.log(run.mask.sum(-1, keepdim=True) + 1)
        return self.out(self.mixed(q, k, v, run).transpose(1, 2).flatten(2))

    def projected(self, x: Tensor, run: Pass) -> Tensor:
        """Queries, keys and values [B, Q, 3, H, D]."""
        return self.qkv(x).unflatten(-1, (3, self.config.heads, -1))

    def mixed(self, q: Tensor, k: Tensor, v: Tensor, run: Pass) -> Tensor:
        """[B, H, Q, D]"""
        q, k, bias = run.encoding.attend(q, k, run.queries, run.keys)
        added = torch.zeros_like(run.mask, dtype=q.dtype).masked_fill(~run.mask, -math.inf) + bias
        return functional.scaled_dot_product_attention(q, k, v, attn_mask=added)


class PositionOnlyAttention(Attention):
    """The first heads attend only by position, with a clipped softmax and a null key; the last `token_heads`
    attend only by content. Position 0 means no position: others do not see such tokens."""

    def add_projections(self) -> None:
        config = self.config
        self.heads = config.heads - config.token_heads
        self.qk = nn.Embedding(2, 2 * self.heads * config.head_width)
        self.v = nn.Linear(config.width, config.width, bias=config.bias)
        if config.token_heads:
            self.token_qk = nn.Linear(config.width, 2 * config.token_heads * config.head_width, bias=config.bias)

    def projected(self, x: Tensor, run: Pass) -> Tensor:
        qk = self.qk((run.queries > 0).long()).unflatten(-1, (2, self.heads, -1))
        if self.config.token_heads:
            qk = torch.cat([qk, self.token_qk(x).unflatten(-1, (2, self.config.token_heads, -1))], -2)
        return torch.cat([qk, self.v(x).unflatten(-1, (1, self.config.heads, -1))], -3)

    def mixed(self, q: Tensor, k: Tensor, v: Tensor, run: Pass) -> Tensor:
        n = self.heads
        turned = run.encoding.attend(q[:, :n], k[:, :n], run.queries, run.keys)
        y = self.by_position(turned[0], turned[1], v[:, :n], run)
        if not self.config.token_heads:
            return y
        seen = functional.scaled_dot_product_attention(q[:, n:], k[:, n:], v[:, n:], attn_mask=run.mask)
        return torch.cat([y, seen], 1)

    def by_position(self, q: Tensor, k: Tensor, v: Tensor, run: Pass) -> Tensor:
        sees_positions = run.queries > 0
        if self.config.equals_without_position:
            sees_positions = torch.ones_like(sees_positions)
        alike = sees_positions.unsqueeze(-1) == (run.keys > 0).unsqueeze(-2)
        mask = functional.pad(run.mask & alike.unsqueeze(1), (1, 0))
        mask[..., 0] = sees_positions.unsqueeze(1)
        q, k = (functional.pad(x[..., 2:], (2, 0)) for x in (q, k))
        null, width = torch.zeros_like(k[..., :1, :]), k.shape[-1]
        null[..., width // 2] = width**0.5
        scores = q @ torch.cat([null, k], -2).mT * width**-0.5
        weights, clip = scores.masked_fill(~mask, -math.inf).softmax(-1), self.config.attention_clip
        return functional.relu((1 + clip) * weights - clip)[..., 1:] @ v


class MLP(nn.Module):
    def __init__(self, config: LengthwiseConfig) -> None:
        super().__init__()
        self.up = nn.Linear(config.width, 4 * config.width, bias=config.bias)
        self.down = nn.Linear(4 * config.width, config.width, bias=config.bias)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(functional.gelu(self.up(x)))


class Block(nn.Module):
    def __init__(self, config: LengthwiseConfig) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(config.width, bias=config.bias)
        self.attention = (PositionOnlyAttention if config.place_attention else Attention)(config)
        self.mlp_norm = nn.LayerNorm(config.width, bias=config.bias)
        self.mlp = MLP(config)

    def forward(self, x: Tensor, run: Pass) -> Tensor:
        x = x + self.attention(self.attention_norm(x), run)
        return x + self.mlp(self.mlp_norm(x))


class LengthwiseForCausalLM(PreTrainedModel, GenerationMixin):
    config_class = LengthwiseConfig
    config: LengthwiseConfig
    base_model_prefix = ""

    def __init__(self, config: LengthwiseConfig) -> None:
        super().__init__(config)
        self.tokens = nn.Embedding(config.vocab_size, config.width)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.norm = nn.LayerNorm(config.width, bias=config.bias)
        self.head = None if config.tied else nn.Linear(config.width, config.vocab_size, bias=False)
        self.encoding = ENCODINGS[config.encoding](config)
        self.post_init()

    def get_input_embeddings(self) -> nn.Module:
        return self.tokens

    def prepare_inputs_for_generation(self, input_ids, *args, **kwargs) -> dict[str, Any]:
        others = ("past_key_values", "attention_mask", "use_cache")
        return {"input_ids": input_ids, **{name: kwargs.get(name) for name in others}}

    def forward(
        self, input_ids: Tensor, attention_mask=None, past_key_values=None, labels=None, use_cache=None, **kwargs
    ) -> CausalLMOutputWithPast:
        """`input_ids` [B, T] are all ids so far; logits [B, Q, V] are those of the ids that the cache has not
        read."""
        cache = DynamicCache() if past_key_values is None and use_cache else past_key_values
        read = 0 if cache is None else cache.get_seq_length()
        padding = torch.ones_like(input_ids) if attention_mask is None else attention_mask.long()
        positions = number_tokens(self.config, input_ids, padding)
        x = embedded = self.tokens(input_ids[:, read:]) + self.encoding.embed(positions[:, read:])
        run = Pass(self.encoding, positions[:, read:], positions, self._mask(padding)[:, :, read:], cache)
        for number in range(self.config.layers * self.config.loops):
            if number and number % self.config.layers == 0:
                x = x + embedded
            x = self.blocks[number % self.config.layers](x, run._replace(layer=number))
        x = self.norm(x)
        logits = functional.linear(x, self.tokens.weight) if self.head is None else self.head(x)
        loss = None if labels is None else self.loss_function(logits, labels, self.config.vocab_size)
        return CausalLMOutputWithPast(loss=loss, logits=logits, past_key_values=cache)  # pyright: ignore

    @staticmethod
    def _mask(padding: Tensor) -> Tensor:
        """[B, 1, T, T]: keys up to each query's own, without padding; padding sees only itself."""
        length = padding.shape[-1]
        own = torch.eye(length, dtype=torch.bool, device=padding.device)
        return ((padding.bool().unsqueeze(1) | own).tril()).unsqueeze(1)
