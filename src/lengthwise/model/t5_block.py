"""The block of T5's decoder as position coupling was published with it.

Cho, Cha, Awasthi, Bhojanapalli, Gupta and Yun, NeurIPS 2024; the facts are from their repository, HanseulJo/
position-coupling, file src/model/modeling/custom_t5_decoder_only.py, at commit 472a272.

RMSNorm stands before each branch and again after the sum with the residual stream; the MLP is a gated GELU, by its
tanh approximation; scores are not divided by the square root of the head width, for which queries start that much
smaller and, under AdamW, learn that much faster; matrices start with a variance of one over their inputs.

Shapes: M members, B batch, T tokens, C width, H heads, D = C / H, Q queries.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from lengthwise.model.attention import Pass, queries_keys_values, softmax_attention, softmax_heads
from lengthwise.model.config import ModelConfig
from lengthwise.model.layers import Initializer, Linear, RMSNorm, drop


class T5Attention(nn.Module):
    """[M, B, T, C] -> [M, B, Q, C], each of the last Q tokens attending to itself and to those before it."""

    def __init__(self, config: ModelConfig, init: Initializer) -> None:
        super().__init__()
        self.config, width = config, config.width
        self.unscaled = (width / config.heads) ** 0.5
        self.qkv = Linear(init, width, 3 * width, bias=config.bias, std=width**-0.5, maps=3)
        self.out = Linear(init, width, width, bias=config.bias, std=width**-0.5)
        with torch.no_grad():
            self.qkv.weight[..., :width] /= self.unscaled

    def forward(self, x: Tensor, run: Pass) -> Tensor:
        packed = self.qkv(x).unflatten(-1, (3, self.config.heads, -1))
        q, k, v = queries_keys_values(packed, run, self.config)
        q, k, bias = run.encoding.attend(q * self.unscaled, k, run.relation)
        if run.on_attention is not None:
            run.on_attention(softmax_heads(q, k, bias))
        return self.out(softmax_attention(q, k, v, bias, run.noise_at(0)).transpose(2, 3).flatten(3))


class GatedMLP(nn.Module):
    """[M, B, T, C] -> [M, B, T, C], each token by itself."""

    def __init__(self, config: ModelConfig, init: Initializer) -> None:
        super().__init__()
        width, inner = config.width, 4 * config.width
        self.up = Linear(init, width, 2 * inner, bias=config.bias, std=width**-0.5, maps=2)
        self.down = Linear(init, inner, width, bias=config.bias, std=inner**-0.5)

    def forward(self, x: Tensor) -> Tensor:
        gate, value = self.up(x).chunk(2, -1)
        return self.down(functional.gelu(gate, approximate="tanh") * value)


class T5Block(nn.Module):
    """[M, B, T, C] -> [M, B, Q, C]: attention of the last Q tokens, then an MLP."""

    def __init__(self, config: ModelConfig, init: Initializer) -> None:
        super().__init__()
        self.attention_norm, self.attention_end = RMSNorm(init, config.width), RMSNorm(init, config.width)
        self.attention = T5Attention(config, init)
        self.mlp_norm, self.mlp_end = RMSNorm(init, config.width), RMSNorm(init, config.width)
        self.mlp = GatedMLP(config, init)

    def forward(self, x: Tensor, run: Pass) -> Tensor:
        y = self.attention(self.attention_norm(x).to(run.dtype), run)
        x = self.attention_end(x[:, :, -run.queries :] + drop(y, run.noise_at(1)))
        return self.mlp_end(x + drop(self.mlp(self.mlp_norm(x).to(run.dtype)), run.noise_at(2)))
