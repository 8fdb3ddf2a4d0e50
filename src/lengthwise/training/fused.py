"""A training step of a plain GPT, written by hand: matrix products of torch, and a few kernels of Triton.

The numbers are those of GPT and Optimizer up to rounding, dropout included; parameters and the optimizer's state
are changed in place. Imported only where Triton is; `graph.suits` says for which models.

Shapes: M members, B problems, T tokens, Q the last of them, C width, H heads, V vocabulary, L layers, W steps of a
window, N parameters of a member, K = M L. Rows are B T or B Q.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from lengthwise.model import attention_kernels
from lengthwise.model.attention import kernel_constants
from lengthwise.model.gpt import GPT
from lengthwise.training import kernels
from lengthwise.training.optimizer import NEWTON_SCHULZ, NEWTON_SCHULZ_STEPS, FlatGroup, Optimizer
from lengthwise.training.trainer import Dropout

ROWS, ELEMENTS, ANSWERS = 4, 2048, 32  # what a program of a norm, of GELU and of the loss has at a time
BACKWARD_ROWS, WARP_COLUMNS = 1, 512  # of a norm's gradient; a warp has so many columns of a row
UPDATE_ROWS, BLOCK = 8, 1024  # of Muon; of AdamW
AT_ONCE, WARPS = 8 * 132, 20 * 132
"""Programs with a loop over all members, and warps of a norm's gradient: how many an H200 has room for."""
EXAMPLES = 8
"""At most so many problems share a partial sum of the embedding's gradient."""


class Inputs(NamedTuple):
    """What the steps of a window need, W B problems for B; then what one step needs."""

    ids: Tensor
    """[M, B, T + 1]"""
    positions: Tensor
    """[M or 1, B or 1, T + 1]"""
    weights: Tensor
    """[M, B, Q]: what the loss of each of the last tokens counts."""
    seeds: Tensor
    """[places, W, M or a little more], then [places, 1, ...]: of dropout, in the order of the forward pass."""


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


class Passes:
    """Called with a batch, gives each member's loss [M] and leaves gradients where `update` has them. Weights are
    those that `update` has rounded, but for embedding, positions and norms."""

    def __init__(self, model: GPT, update: "Update", shape: tuple[int, int, int], dropout: Dropout) -> None:
        self.launch, self.dtype = update.launch, model.compute_dtype
        self.drops, self.rates = dropout.drops, dropout.rates
        self.members, (self.batch, self.tokens, self.queries) = model.members, shape
        self.layers, self.heads, self.width = model.config.layers, model.config.heads, model.config.width
        block = _power_of_two(self.width)
        self.over_rows: dict[str, Any] = {
            "WIDTH": self.width, "BLOCK": block, "ROWS": ROWS, "DROPS": self.drops
        }  # fmt: skip
        warps = max(1, block // WARP_COLUMNS)
        self.over_rows_backward = {**self.over_rows, "ROWS": BACKWARD_ROWS, "num_warps": warps}
        # Each of them has two rows at least, as it also writes a sum as long as a row.
        self.programs = _at_most(WARPS // warps // self.members, self.batch * self.tokens, 2 * BACKWARD_ROWS)
        sums = (self.members, 2 * self.layers + 1, self.programs, self.width)
        self.norm_sums = torch.zeros(sums, device=model.device)
        self._find_parameters(model, update)

    def _find_parameters(self, model: GPT, update: "Update") -> None:
        others, matrices = update.optimizer.others, update.optimizer.matrices
        (rounded, weights), (gradients, of_weights) = update.rounded, update.gradients
        self.matrices = Matrices.of_layers(matrices.named(weights), self.layers)
        self.of_matrices = Matrices.of_layers(matrices.named(of_weights), self.layers)
        values, named = others.named(others.values), others.named(gradients)
        self.embedding, self.of_embedding = values["tokens.weight"], named["tokens.weight"]
        # Norms' scales lie side by side.
        norms, start = 2 * self.layers + 1, others.sizes[0]
        assert all(name.endswith("norm.weight") for name in [*others.parameters][1 : norms + 1])
        self.norms, self.of_norms = (
            flat[:, start : start + norms * self.width].unflatten(1, (norms, self.width))
            for flat in (others.values, gradients)
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
        count = after.numel()
        self.launch(kernels.gelu, (_cdiv(count, ELEMENTS),), before, after, count, BLOCK=ELEMENTS)
        following = self._add_norm(2 * layer + 2, x_between, product(after, weights.down))
        return Saved(x, normed, packed, logs, answers, x_between, normed_between, before, after), *following

    def _block_backward(self, layer: int, saved: Saved, of_x: Tensor, of_branch: Tensor) -> tuple[Tensor, Tensor]:
        """From the gradients of a block's output and of its last branch, those of its input and of the branch
        before it."""
        weights, of_weights = self.matrices[layer], self.of_matrices[layer]
        of_hidden = _product_backward(saved.after, of_branch, weights.down, of_weights.down)
        count = of_hidden.numel()
        self.launch(
            kernels.gelu_backward, (_cdiv(count, ELEMENTS),), saved.before, of_hidden, count, BLOCK=ELEMENTS
        )
        of_normed = _product_backward(saved.normed_between, of_hidden, weights.up, of_weights.up)
        of_x, of_branch = self._norm_backward(2 * layer + 1, saved.x_between, of_normed, of_x)
        of_answers = _product_backward(saved.answers, of_branch, weights.out, of_weights.out)
        of_packed = self._attend_backward(layer, saved, of_answers)
        of_normed = _product_backward(saved.normed, of_packed, weights.qkv, of_weights.qkv)
        return self._norm_backward(2 * layer, saved.x, of_normed, of_x)

    # --- norms with what stands before them: a place of dropout, a sum, a norm ------------------------------

    def _noise(self, place: int) -> tuple[Tensor, Tensor]:
        return self.seeds[place if self.drops else 0], self.rates

    def _embed(self, inputs: Inputs) -> tuple[Tensor, Tensor]:
        shape = (self.members, self.batch, self.tokens, self.width)
        rows = self.batch * self.tokens
        x, normed = (self.embedding.new_empty(shape, dtype=kind) for kind in (torch.float32, self.dtype))
        table = self.embedding if self.table is None else self.table
        member_step, problem_step, _ = inputs.positions.expand(*shape[:2], -1).stride()
        self.launch(
            kernels.embed_norm, (_cdiv(rows, ROWS), self.members), inputs.ids, inputs.positions, self.embedding,
            table, self.norms, x, normed, *self._noise(0), rows, self.tokens, member_step, problem_step,
            table.expand(self.members, -1, -1).stride(0), self.norms.stride(0), **self.over_rows,
            POSITIONS=self.table is not None,
        )  # fmt: skip
        return x, normed

    def _add_norm(self, index: int, x: Tensor, branch: Tensor) -> tuple[Tensor, Tensor]:
        """The last Q tokens of x [M, B, T, C] plus a branch [M, B, Q, C]; and that normalized."""
        rows, queries = branch[0, ..., 0].numel(), branch.shape[2]
        out, normed = torch.empty_like(branch, dtype=x.dtype), torch.empty_like(branch)
        self.launch(
            kernels.add_norm, (_cdiv(rows, ROWS), self.members), x, branch, self.norms[:, index], out, normed,
            *self._noise(_place(index)), rows, x.shape[2], queries, self.norms.stride(0), **self.over_rows,
        )  # fmt: skip
        return out, normed

    def _norm_backward(
        self, index: int, x: Tensor, of_normed: Tensor, of_out: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Of norm `index`, at x [M, B, T, C]: the gradients of x and of the branch that was added last, from those
        of the norm's output and of the last Q tokens of x. Before norm 0 there is the embedding alone."""
        of_branch = torch.empty_like(x, dtype=self.dtype if index else torch.float32)
        of_x = torch.empty_like(x) if index else of_branch
        above, queries = (of_normed, x.shape[2]) if of_out is None else (of_out, of_out.shape[2])
        self.launch(
            kernels.norm_backward, (self.programs, self.members), x, self.norms[:, index], of_normed, above, of_x,
            of_branch, self.norm_sums[:, index], *self._noise(_place(index)), x[0, ..., 0].numel(), x.shape[2],
            queries, self.programs, self.norms.stride(0), self.norm_sums.stride(0), **self.over_rows_backward,
            RESIDUAL=of_out is not None, STREAM=index > 0,
        )  # fmt: skip
        return of_x, of_branch

    # --- attention ------------------------------------------------------------------------------------------

    def _attention_rest(self, layer: int, packed: Tensor) -> tuple[tuple[Any, ...], dict[str, int]]:
        """The arguments of attention's kernels that are no activations, and what they are compiled for."""
        queries = self.queries if layer == self.layers - 1 else self.tokens
        seeds, rates = self._noise(1 + 3 * layer) if self.drops else (self.seeds[0, 0, :0], self.rates[:0])
        each = packed.view(-1, self.tokens, 3, self.heads, self.width // self.heads)
        scale = (self.width // self.heads) ** -0.5
        return (seeds, rates, self.tokens, queries, scale), kernel_constants(each, len(rates))

    def _attend(self, layer: int, packed: Tensor) -> tuple[Tensor, Tensor]:
        """[M, B, T, 3 C] -> [M, B, Q, C], and the logarithms [M, B, H, Q] of the softmax's sums."""
        rest, constants = self._attention_rest(layer, packed)
        shape, queries = packed.shape[:2], rest[3]
        answers = packed.new_empty(*shape, queries, self.width)
        logs = packed.new_empty(*shape, self.heads, queries, dtype=torch.float32)
        grid = (math.prod(shape) * self.heads,)
        self.launch(attention_kernels.forward, grid, packed, answers, logs, *rest, **constants)
        return answers, logs

    def _attend_backward(self, layer: int, saved: Saved, of_answers: Tensor) -> Tensor:
        rest, constants = self._attention_rest(layer, saved.packed)
        of_packed = torch.empty_like(saved.packed)
        self.launch(
            attention_kernels.backward, (math.prod(of_packed.shape[:2]) * self.heads,), saved.packed, of_answers,
            saved.answers, saved.logs, of_packed, *rest, **constants,
        )  # fmt: skip
        return of_packed

    # --- both ends ------------------------------------------------------------------------------------------

    def _answers(self, normed: Tensor, inputs: Inputs) -> tuple[Tensor, Tensor]:
        """Each member's loss [M], and the gradient of the last norm's output [M, B, Q, C]."""
        logits = product(normed, self.head)
        of_logits, rows = torch.empty_like(logits), logits[0, ..., 0].numel()
        losses = torch.empty(self.members, _cdiv(rows, ANSWERS), device=logits.device)
        self.launch(
            kernels.answer_loss, (losses.shape[1], self.members), logits, inputs.ids, inputs.weights, losses,
            of_logits, rows, self.tokens, logits.shape[2], losses.shape[1], VOCABULARY=logits.shape[3],
            BLOCK=_power_of_two(logits.shape[3]), ROWS=ANSWERS,
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


class Update:
    """Clipping, AdamW and Muon, which also round the parameters for the next step, with gradients [M, N] in
    `gradients`. `rounded` has the parameters in the dtype of products; both have one tensor per group.

    Muon's Newton-Schulz iteration takes x to (a + b G + c G^2) x with G = x x^T. Here c G^2 + b G + a is written
    as H^2 + k with H = sqrt(c) G + h: products alone, and two additions to diagonals. The factor sqrt(c) is in x
    from the start. Matrices [4 C, C] are multiplied from the right instead of being transposed.
    """

    def __init__(self, optimizer: Optimizer, factors: Tensor, width: int, dtype: torch.dtype) -> None:
        self.optimizer, self.factors, self.width = optimizer, factors, width
        self.launch = kernels.Launches()
        values = optimizer.others.values
        self.members = members = len(values)
        self.rounded = [torch.empty_like(group.values, dtype=dtype) for group in optimizer.groups]
        self.gradients = [torch.empty_like(values), torch.empty_like(optimizer.matrices.values, dtype=dtype)]
        self.programs = [_at_most(AT_ONCE // members, g.values.shape[1], BLOCK) for g in optimizer.groups]
        self.sums = values.new_empty(members, sum(self.programs))
        self.scales = values.new_empty(members)
        self.corrections = values.new_ones(len(factors), 2)
        if optimizer.uses_muon:
            self._prepare_muon(dtype)

    def plan(self, first: int) -> None:
        """For the steps of a window: corrections of averages, and the parameters rounded as they are now."""
        betas, numbers = self.optimizer.config.betas, range(first + 1, first + 1 + len(self.corrections))
        inverse = [(1 / (1 - betas[0] ** n), (1 - betas[1] ** n) ** -0.5) for n in numbers]
        self.corrections.copy_(torch.tensor(inverse))
        for rounded, group in zip(self.rounded, self.optimizer.groups, strict=True):
            rounded.copy_(group.values)

    def __call__(self, cursor: Tensor) -> None:
        """Step `cursor` [1] of the window."""
        first, every = 0, self.sums.shape[1]
        for programs, gradient in zip(self.programs, self.gradients, strict=True):
            self.launch(
                kernels.sum_squares, (programs, self.members), gradient, self.sums, gradient.shape[1], programs,
                first, every, BLOCK=BLOCK,
            )  # fmt: skip
            first += programs
        self.launch(
            kernels.clip, (self.members,), self.sums, self.optimizer.alive, self.scales,
            self.optimizer.config.clip, every, BLOCK=_power_of_two(every),
        )  # fmt: skip
        for index, group in enumerate(self.optimizer.adamw_groups):
            self._adamw(index, group, cursor)
        if self.optimizer.uses_muon:
            self._muon(cursor)

    def _adamw(self, index: int, group: FlatGroup, cursor: Tensor) -> None:
        optimizer, count = self.optimizer, group.values.shape[1]
        first, second = optimizer.config.betas
        self.launch(
            kernels.adamw, (_cdiv(count, BLOCK), self.members), group.values, self.rounded[index],
            self.gradients[index], optimizer.means[index], optimizer.squares[index], group.decays, self.scales,
            optimizer.alive, self.factors, self.corrections, optimizer.rates, optimizer.decays, cursor, 1 - first,
            second, 1 - second, count, BLOCK=BLOCK, MASKED=group is optimizer.others,
        )  # fmt: skip

    # --- Muon -----------------------------------------------------------------------------------------------

    def _prepare_muon(self, dtype: torch.dtype) -> None:
        values, width = self.optimizer.matrices.values, self.width
        self.layers = values.shape[1] // (12 * width**2)
        self.packed, self.spare = (torch.empty(values.numel(), dtype=dtype, device=values.device) for _ in "12")
        self.grams, self.polynomials = (
            torch.empty(values.numel() // (2 * width**2), width, width, dtype=dtype, device=values.device)
            for _ in "12"
        )
        self.over_rows = {"WIDTH": width, "BLOCK": _power_of_two(width), "ROWS": UPDATE_ROWS}

    def _muon(self, cursor: Tensor) -> None:
        optimizer, layers = self.optimizer, self.layers
        grid = (_cdiv(12 * self.width, UPDATE_ROWS), self.members, layers)
        size = NEWTON_SCHULZ[2] ** 0.25
        self.launch(
            kernels.muon_direction, grid, self.gradients[1], optimizer.means[1], self.packed, self.scales,
            optimizer.config.muon_momentum, layers, **self.over_rows,
        )  # fmt: skip
        self.launch(
            kernels.muon_normalize, (6 * self.members * layers,), self.packed, size, self.members * layers,
            WIDTH=self.width, BLOCK=4096, num_warps=8,
        )  # fmt: skip
        update = self._orthogonal(self.packed, self.spare)
        self.launch(
            kernels.muon_update, grid, optimizer.matrices.values, self.rounded[1], update, optimizer.alive,
            self.factors, optimizer.muon_rates, optimizer.decays, cursor, 1 / size, layers, **self.over_rows,
        )  # fmt: skip

    def _orthogonal(self, x: Tensor, spare: Tensor) -> Tensor:
        """The singular values of packed matrices brought near 1: in one of the two tensors, both of them used."""
        a, b, c = NEWTON_SCHULZ
        h = b / (2 * c**0.5)
        for _ in range(NEWTON_SCHULZ_STEPS):
            for matrices, gram in zip(self._kinds(x), self._of_kinds(self.grams), strict=True):
                wide = matrices.mT if matrices.shape[1] > self.width else matrices
                torch.bmm(wide, wide.mT, out=gram)
            self.grams.diagonal(dim1=1, dim2=2).add_(h)
            torch.bmm(self.grams, self.grams, out=self.polynomials)
            self.polynomials.diagonal(dim1=1, dim2=2).add_(a - h * h)
            pieces = zip(self._kinds(x), self._of_kinds(self.polynomials), self._kinds(spare), strict=True)
            for matrices, polynomial, out in pieces:
                tall = matrices.shape[1] > self.width
                torch.bmm(*((matrices, polynomial) if tall else (polynomial, matrices)), out=out)
            x, spare = spare, x
        return x

    def _kinds(self, packed: Tensor) -> Sequence[Tensor]:
        """[4 K, C, C], [K, C, 4 C] and [K, 4 C, C], as kernels._packed says."""
        width, third = self.width, packed.shape[0] // 3
        shapes: Any = ((-1, width, width), (-1, width, 4 * width), (-1, 4 * width, width))
        return [piece.view(shape) for piece, shape in zip(packed.split(third), shapes, strict=True)]

    def _of_kinds(self, grams: Tensor) -> Sequence[Tensor]:
        count = self.members * self.layers
        return grams.split([4 * count, count, count])


def product(x: Tensor, weight: Tensor) -> Tensor:
    """[M, B, T, inputs] and [M, inputs, outputs] -> [M, B, T, outputs]"""
    return torch.bmm(x.flatten(1, 2), weight).view(*x.shape[:-1], -1)


def _product_backward(x: Tensor, gradient: Tensor, weight: Tensor, of_weight: Tensor) -> Tensor:
    """The gradient of x; that of the weight is written."""
    torch.bmm(x.flatten(1, 2).mT, gradient.flatten(1, 2), out=of_weight)
    return product(gradient, weight.mT)


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


def _cdiv(count: int, each: int) -> int:
    return -(-count // each)


def _at_most(programs: int, count: int, each: int) -> int:
    """So many programs, or as many as there are blocks of `each`."""
    return max(1, min(programs, _cdiv(count, each)))


def _power_of_two(count: int) -> int:
    """The smallest that is no less."""
    return 1 << (count - 1).bit_length()
