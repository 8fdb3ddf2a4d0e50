"""Forward and backward pass of a plain GPT, written by hand: matrix products of torch, and a few kernels.

Shapes: M members, B problems, T tokens, Q the last of them, C width, H heads, D head width, V vocabulary,
P programs of a member, W steps of a window. Rows are B T or B Q.
"""

import math
from typing import Any, NamedTuple

import torch
from torch import Tensor
from triton import cdiv, next_power_of_2

from lengthwise.model import short_attention_kernels as attention
from lengthwise.model.gpt import GPT
from lengthwise.model.positions.encoding import AddedEncoding
from lengthwise.model.positions.learned import TableEncoding
from lengthwise.model.short_attention import MOST_TOKENS, _constants
from lengthwise.training.trainer import Dropout
from trials.fused import kernels
from trials.fused.update import AT_ONCE, FusedUpdate

ROWS, ELEMENTS, ANSWERS = 4, 2048, 32  # what a program of a norm, of GELU and of the loss has at a time
EXAMPLES = 8  # at most so many problems share a partial sum of the embedding's gradient


def suits(model: GPT, tokens: int) -> bool:
    """Whether it can be trained here, on problems of so many tokens."""
    config, encoding = model.config, getattr(model.encoding, "inner", model.encoding)
    special = config.place_attention or config.position_waves or config.normalized_attention
    plain = config.block == "gpt" and config.loops == 1 and not (special or config.log_length_scale or config.bias)
    fits = tokens - 1 <= MOST_TOKENS and config.width // config.heads in (16, 32, 64, 128)
    return plain and fits and isinstance(encoding, AddedEncoding | TableEncoding)


class Inputs(NamedTuple):
    """What the steps of a window need, W B problems for B; then what one step needs."""

    ids: Tensor
    """[M, B, T + 1]"""
    positions: Tensor
    """[M or 1, B or 1, T + 1]"""
    weights: Tensor
    """[M, B, Q]: what the loss of each of the last tokens counts."""
    seeds: Tensor
    """[W, places, M or a little more], then [places, ...]: of dropout, places in the order of the forward pass."""

    def of(self, members: slice) -> "Inputs":
        """Some members' part of a step's."""
        positions = self.positions if len(self.positions) == 1 else self.positions[members]
        return Inputs(self.ids[members], positions, self.weights[members], self.seeds[:, members])


class Matrices(NamedTuple):
    """A block's, or their gradients: [M, inputs, outputs] each."""

    qkv: Tensor
    out: Tensor
    up: Tensor
    down: Tensor

    @classmethod
    def of_layers(cls, named: dict[str, Tensor], layers: int) -> "list[Matrices]":
        names = ("attention.qkv", "attention.out", "mlp.up", "mlp.down")
        return [cls(*(named[f"blocks.{layer}.{name}.weight"] for name in names)) for layer in range(layers)]


class Saved(NamedTuple):
    """What the backward pass of a block needs."""

    x: Tensor
    normed: Tensor
    packed: Tensor
    logs: Tensor
    answers: Tensor
    x_between: Tensor
    normed_between: Tensor
    before: Tensor
    after: Tensor


class Options(NamedTuple):
    """What may be chosen: the dtype of matrix products, and what has yet to be measured."""

    dtype: torch.dtype
    residual: torch.dtype = torch.float32
    """Of the residual stream and its gradient."""
    overlap: bool = False
    """Products for weight gradients run beside what does not wait for them."""
    parts: int = 1
    """So many parts of a stack run beside each other, one's products beside the other's reading and writing."""
    attention: dict[str, int] = {}  # noqa: RUF012 (never changed)
    """How the kernel of attention's gradient is compiled: num_warps, maxnreg."""


class Network:
    """Some members of a stack. Called with a batch, gives each one's loss [M] and leaves gradients where `update`
    has them. Weights are those that `update` has rounded, but for embedding, positions and norms."""

    def __init__(
        self, model: GPT, update: FusedUpdate, members: slice, shape: tuple[int, int, int], dropout: Dropout,
        options: Options,
    ) -> None:  # fmt: skip
        self.part, self.options, self.drops = members, options, dropout.drops
        self.rates = dropout.rates[members]
        self.members, (self.batch, self.tokens, self.queries) = len(self.rates), shape
        self.layers, self.heads, self.width = model.config.layers, model.config.heads, model.config.width
        self.programs = min(AT_ONCE // self.members, cdiv(self.batch * self.tokens, ROWS))
        sums = (self.members, 2 * self.layers + 1, self.programs, self.width)
        self.norm_sums = torch.zeros(sums, device=model.device)
        self.over_rows: dict[str, Any] = {
            "WIDTH": self.width, "BLOCK": next_power_of_2(self.width), "ROWS": ROWS, "DROPS": self.drops
        }  # fmt: skip
        self.side = torch.cuda.Stream() if options.overlap else None
        self.busy: list[Tensor] = []
        self._find_parameters(model, update)

    def _find_parameters(self, model: GPT, update: FusedUpdate) -> None:
        others, matrices = update.optimizer.others, update.optimizer.matrices
        (rounded, weights), (gradients, of_weights) = (
            [flat[self.part] for flat in flats] for flats in (update.rounded, update.gradients)
        )
        self.matrices = Matrices.of_layers(matrices.named(weights), self.layers)
        self.of_matrices = Matrices.of_layers(matrices.named(of_weights), self.layers)
        values, named = others.named(others.values[self.part]), others.named(gradients)
        self.embedding, self.of_embedding = values["tokens.weight"], named["tokens.weight"]
        # Norms' scales lie side by side.
        norms, start = 2 * self.layers + 1, others.sizes[0]
        assert all(name.endswith("norm.weight") for name in [*others.parameters][1 : norms + 1])
        self.norms, self.of_norms = (
            flat[:, start : start + norms * self.width].unflatten(1, (norms, self.width))
            for flat in (others.values[self.part], gradients)
        )
        small = others.named(rounded)
        self.head = small["tokens.weight"].mT if model.head is None else small["head.weight"]
        self.of_head = named.get("head.weight")
        table = next((name for name in values if name.startswith("encoding.")), "")
        self.table, self.of_table = values.get(table), named.get(table)
        """[M or 1, rows, C]: what is added at each position; and its gradient, if it is learned."""
        if self.table is None:
            rows = torch.arange(model.encoding.rows or self.tokens, device=model.device)
            added = model.encoding.embed(rows.view(1, 1, -1))
            self.table = None if added is None else added[0]

    @torch.no_grad()
    def __call__(self, inputs: Inputs) -> Tensor:
        self.seeds = inputs.seeds
        x, normed = self._embed(inputs)
        saved: list[Saved] = []
        for layer in range(self.layers):
            kept, x, normed = self._block(layer, x, normed)
            saved.append(kept)
        losses, of_normed = self._answers(normed, inputs)
        of_x, of_branch = self._norm_backward(2 * self.layers, x, of_normed, None)
        for layer in reversed(range(self.layers)):
            of_x, of_branch = self._block_backward(layer, saved.pop(), of_x, of_branch)
        self._embed_backward(of_branch, inputs)
        torch.sum(self.norm_sums, 2, out=self.of_norms)
        if self.side is not None:
            torch.cuda.current_stream().wait_stream(self.side)
            self.busy.clear()
        return losses

    # --- blocks ---------------------------------------------------------------------------------------------

    def _block(self, layer: int, x: Tensor, normed: Tensor) -> tuple[Saved, Tensor, Tensor]:
        """From x [M, B, T, C] and that normalized, the same of the next block."""
        weights = self.matrices[layer]
        packed = product(normed, weights.qkv)
        answers, logs = self._attend(layer, packed)
        x_between, normed_between = self._add_norm(2 * layer + 1, x, product(answers, weights.out))
        before = product(normed_between, weights.up)
        after = torch.empty_like(before)
        kernels.gelu[(cdiv(after.numel(), ELEMENTS),)](before, after, after.numel(), BLOCK=ELEMENTS)
        following = self._add_norm(2 * layer + 2, x_between, product(after, weights.down))
        return Saved(x, normed, packed, logs, answers, x_between, normed_between, before, after), *following

    def _block_backward(self, layer: int, saved: Saved, of_x: Tensor, of_branch: Tensor) -> tuple[Tensor, Tensor]:
        """From the gradients of a block's output and of its last branch, those of its input and of the branch
        before it."""
        weights, of_weights = self.matrices[layer], self.of_matrices[layer]
        of_hidden = self._product_backward(saved.after, of_branch, weights.down, of_weights.down)
        kernels.gelu_backward[(cdiv(of_hidden.numel(), ELEMENTS),)](
            saved.before, of_hidden, of_hidden.numel(), BLOCK=ELEMENTS
        )
        of_normed = self._product_backward(saved.normed_between, of_hidden, weights.up, of_weights.up)
        of_x, of_branch = self._norm_backward(2 * layer + 1, saved.x_between, of_normed, of_x)
        of_answers = self._product_backward(saved.answers, of_branch, weights.out, of_weights.out)
        of_packed = self._attend_backward(layer, saved, of_answers)
        of_normed = self._product_backward(saved.normed, of_packed, weights.qkv, of_weights.qkv)
        return self._norm_backward(2 * layer, saved.x, of_normed, of_x)

    def _product_backward(self, x: Tensor, gradient: Tensor, weight: Tensor, of_weight: Tensor) -> Tensor:
        """The gradient of x; that of the weight is written."""
        x, gradient_rows = x.flatten(1, 2), gradient.flatten(1, 2)
        if self.side is None:
            torch.bmm(x.mT, gradient_rows, out=of_weight)
        else:
            self.side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(self.side):
                torch.bmm(x.mT, gradient_rows, out=of_weight)
            self.busy += [x, gradient_rows]  # else their memory would be used again too early
        return product(gradient, weight.mT)

    # --- norms with what stands before them: a place of dropout, a sum, a norm ------------------------------

    def _noise(self, place: int) -> tuple[Tensor, Tensor]:
        return self.seeds[place if self.drops else 0], self.rates

    def _embed(self, inputs: Inputs) -> tuple[Tensor, Tensor]:
        shape = (self.members, self.batch, self.tokens, self.width)
        rows = self.batch * self.tokens
        x, normed = (
            self.embedding.new_empty(shape, dtype=kind) for kind in (self.options.residual, self.options.dtype)
        )
        table = self.embedding if self.table is None else self.table
        member_step, problem_step, _ = inputs.positions.expand(*shape[:2], -1).stride()
        kernels.embed_norm[(cdiv(rows, ROWS), self.members)](
            inputs.ids, inputs.positions, self.embedding, table, self.norms, x, normed, *self._noise(0), rows,
            self.tokens, member_step, problem_step, table.expand(self.members, -1, -1).stride(0),
            self.norms.stride(0), **self.over_rows, POSITIONS=self.table is not None,
        )  # fmt: skip
        return x, normed

    def _add_norm(self, index: int, x: Tensor, branch: Tensor) -> tuple[Tensor, Tensor]:
        """The last Q tokens of x [M, B, T, C] plus a branch [M, B, Q, C]; and that normalized."""
        rows, queries = branch[0, ..., 0].numel(), branch.shape[2]
        out, normed = torch.empty_like(branch, dtype=x.dtype), torch.empty_like(branch)
        kernels.add_norm[(cdiv(rows, ROWS), self.members)](
            x, branch, self.norms[:, index], out, normed, *self._noise(_place(index)), rows, x.shape[2], queries,
            self.norms.stride(0), **self.over_rows,
        )  # fmt: skip
        return out, normed

    def _norm_backward(
        self, index: int, x: Tensor, of_normed: Tensor, of_out: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Of norm `index`, at x [M, B, T, C]: the gradients of x and of the branch that was added last, from those
        of the norm's output and of the last Q tokens of x. Before norm 0 there is the embedding alone."""
        of_branch = torch.empty_like(x, dtype=self.options.dtype if index else torch.float32)
        of_x = torch.empty_like(x) if index else of_branch
        above, queries = (of_normed, x.shape[2]) if of_out is None else (of_out, of_out.shape[2])
        kernels.norm_backward[(self.programs, self.members)](
            x, self.norms[:, index], of_normed, above, of_x, of_branch, self.norm_sums[:, index],
            *self._noise(_place(index)), x[0, ..., 0].numel(), x.shape[2], queries, self.programs,
            self.norms.stride(0), self.norm_sums.stride(0), **self.over_rows, RESIDUAL=of_out is not None,
            STREAM=index > 0,
        )  # fmt: skip
        return of_x, of_branch

    # --- attention ------------------------------------------------------------------------------------------

    def _attention_rest(self, layer: int, packed: Tensor) -> tuple[tuple[Any, ...], dict[str, int]]:
        """The arguments of attention's kernels that are no activations, and what they are compiled for."""
        queries = self.queries if layer == self.layers - 1 else self.tokens
        seeds, rates = self._noise(1 + 3 * layer) if self.drops else (self.seeds[:0, 0], self.rates[:0])
        each = packed.view(-1, self.tokens, 3, self.heads, self.width // self.heads)
        return (seeds, rates, self.tokens, queries, (self.width // self.heads) ** -0.5), _constants(each, seeds)

    def _attend(self, layer: int, packed: Tensor) -> tuple[Tensor, Tensor]:
        """[M, B, T, 3 C] -> [M, B, Q, C], and the logarithms [M, B, H, Q] of the softmax's sums."""
        rest, constants = self._attention_rest(layer, packed)
        shape, queries = packed.shape[:2], rest[3]
        answers = packed.new_empty(*shape, queries, self.width)
        logs = packed.new_empty(*shape, self.heads, queries, dtype=torch.float32)
        attention.forward[(math.prod(shape) * self.heads,)](packed, answers, logs, *rest, **constants)
        return answers, logs

    def _attend_backward(self, layer: int, saved: Saved, of_answers: Tensor) -> Tensor:
        rest, constants = self._attention_rest(layer, saved.packed)
        of_packed = torch.empty_like(saved.packed)
        attention.backward[(math.prod(of_packed.shape[:2]) * self.heads,)](
            saved.packed, of_answers, saved.answers, saved.logs, of_packed, *rest,
            **{**constants, **self.options.attention},
        )  # fmt: skip
        return of_packed

    # --- both ends ------------------------------------------------------------------------------------------

    def _answers(self, normed: Tensor, inputs: Inputs) -> tuple[Tensor, Tensor]:
        """Each member's loss [M], and the gradient of the last norm's output [M, B, Q, C]."""
        logits = product(normed, self.head)
        of_logits, rows = torch.empty_like(logits), logits[0, ..., 0].numel()
        losses = torch.empty(self.members, cdiv(rows, ANSWERS), device=logits.device)
        kernels.answer_loss[(losses.shape[1], self.members)](
            logits, inputs.ids, inputs.weights, losses, of_logits, rows, self.tokens, logits.shape[2],
            losses.shape[1], VOCABULARY=logits.shape[3], BLOCK=next_power_of_2(logits.shape[3]), ROWS=ANSWERS,
        )  # fmt: skip
        found = torch.bmm(normed.flatten(1, 2).mT, of_logits.flatten(1, 2))
        if self.of_head is None:
            self.of_embedding.copy_(found.mT)
        else:
            self.of_head.copy_(found)
        return losses.sum(1), product(of_logits, self.head.mT)

    def _embed_backward(self, gradient: Tensor, inputs: Inputs) -> None:
        """From the gradient [M, B, T, C] of what is embedded, those of embedding and positions, all in float32."""
        ids, positions = inputs.ids[..., :-1], inputs.positions[..., :-1]
        together = math.gcd(EXAMPLES, self.batch)
        which = torch.arange(self.embedding.shape[1], device=ids.device)
        chosen = (ids.unsqueeze(-1) == which).float().view(-1, together * self.tokens, len(which))
        sums = torch.bmm(chosen.mT, gradient.view(len(chosen), -1, self.width))
        sums = sums.view(self.members, -1, *sums.shape[1:])
        if self.of_head is None:
            self.of_embedding.add_(sums.sum(1))
        else:
            torch.sum(sums, 1, out=self.of_embedding)
        if self.of_table is not None:
            if positions.shape[1] == 1:
                gradient = gradient.sum(1, keepdim=True)
            _add_rows(self.of_table, positions, gradient)


def product(x: Tensor, weight: Tensor) -> Tensor:
    """[M, B, T, inputs] and [M, inputs, outputs] -> [M, B, T, outputs]"""
    return torch.bmm(x.flatten(1, 2), weight).view(*x.shape[:-1], -1)


def _place(index: int) -> int:
    """The place of dropout before norm `index`, of those that Inputs.seeds has."""
    return 3 * (index // 2) + 2 * (index % 2)


def _add_rows(table: Tensor, positions: Tensor, gradient: Tensor) -> None:
    """Write to `table` [M, rows, C] the sums of the gradient's vectors [M, B, T, C] at each position."""
    members, count, width = table.shape
    first_row = count * torch.arange(members, device=table.device).view(-1, 1, 1)
    index = (positions + first_row).expand(gradient.shape[:-1])
    rows = gradient.new_zeros(members * count, width).index_add_(0, index.flatten(), gradient.flatten(0, 2))
    table.copy_(rows.view_as(table))
