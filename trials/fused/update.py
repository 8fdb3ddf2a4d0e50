"""Clipping, AdamW and Muon of a stack in a few kernels, which also round the parameters for the next step.

The state is that of `lengthwise.training.optimizer.Optimizer`, changed in place, and so are the numbers, but for
the order of operations.

Muon's Newton-Schulz iteration takes x to (a + b G + c G^2) x with G = x x^T. Here c G^2 + b G + a is written as
H^2 + k with H = sqrt(c) G + h: products alone, and two additions to diagonals. The factor sqrt(c) is in x from the
start. Matrices [4 C, C] are multiplied from the right instead of being transposed.

Shapes: M members, L layers, C width, N parameters of a member, W steps of a window, P programs, K = M L.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from triton import cdiv, next_power_of_2

from lengthwise.training.optimizer import NEWTON_SCHULZ, NEWTON_SCHULZ_STEPS, FlatGroup, Optimizer
from lengthwise.training.trainer import Factors
from trials.fused import kernels

AT_ONCE = 1056
"""Programs with a loop, over all members: eight for each multiprocessor of an H200."""
BLOCK, ROWS = 1024, 8


class FusedUpdate:
    """An optimizer's update with gradients [M, N] in `gradients`; `rounded` has the parameters in the dtype of
    products. Both have one tensor per group: the matrices inside blocks, and the others."""

    def __init__(self, optimizer: Optimizer, window: int, width: int, dtype: torch.dtype) -> None:
        self.optimizer, self.width = optimizer, width
        values = optimizer.others.values
        self.members = members = len(values)
        self.rounded = [torch.empty_like(group.values, dtype=dtype) for group in optimizer.groups]
        self.gradients = [torch.empty_like(values), torch.empty_like(optimizer.matrices.values, dtype=dtype)]
        self.programs = [min(cdiv(g.values.shape[1], BLOCK), AT_ONCE // members) for g in optimizer.groups]
        self.sums = values.new_empty(members, sum(self.programs))
        self.scales = values.new_empty(members)
        self.factors = values.new_zeros(window, members)
        self.corrections = values.new_ones(window, 2)
        if optimizer.uses_muon:
            self._prepare_muon(dtype)

    def plan(self, first: int, factors: Factors) -> None:
        """Learning rates for the steps of a window, and the parameters rounded as they are now."""
        betas, numbers = self.optimizer.config.betas, range(first + 1, first + 1 + len(self.corrections))
        inverse = [(1 / (1 - betas[0] ** n), (1 - betas[1] ** n) ** -0.5) for n in numbers]
        self.corrections.copy_(torch.tensor(inverse))
        self.factors[: len(factors)] = torch.tensor(factors, device=self.factors.device).view(len(factors), -1)
        for rounded, group in zip(self.rounded, self.optimizer.groups, strict=True):
            rounded.copy_(group.values)

    def __call__(self, cursor: Tensor) -> None:
        """Step `cursor` [1] of the window."""
        first = 0
        for programs, gradient in zip(self.programs, self.gradients, strict=True):
            kernels.sum_squares[(programs, self.members)](
                gradient, self.sums, gradient.shape[1], programs, first, self.sums.shape[1], BLOCK=BLOCK
            )
            first += programs
        kernels.clip[(self.members,)](
            self.sums, self.optimizer.alive, self.scales, self.optimizer.config.clip, first,
            BLOCK=next_power_of_2(first),
        )  # fmt: skip
        for index, group in enumerate(self.optimizer.adamw_groups):
            self._adamw(index, group, cursor)
        if self.optimizer.uses_muon:
            self._muon(cursor)

    def _adamw(self, index: int, group: FlatGroup, cursor: Tensor) -> None:
        optimizer, count = self.optimizer, group.values.shape[1]
        first, second = optimizer.config.betas
        kernels.adamw[(cdiv(count, BLOCK), self.members)](
            group.values, self.rounded[index], self.gradients[index], optimizer.means[index],
            optimizer.squares[index], group.decays, self.scales, optimizer.alive, self.factors, self.corrections,
            optimizer.rates, optimizer.decays, cursor, 1 - first, second, 1 - second, count,
            BLOCK=BLOCK, MASKED=group is optimizer.others,
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
        self.over_rows = {"WIDTH": width, "BLOCK": next_power_of_2(width), "ROWS": ROWS}

    def _muon(self, cursor: Tensor) -> None:
        optimizer, layers = self.optimizer, self.layers
        grid = (cdiv(12 * self.width, ROWS), self.members, layers)
        size = NEWTON_SCHULZ[2] ** 0.25
        kernels.muon_direction[grid](
            self.gradients[1], optimizer.means[1], self.packed, self.scales, optimizer.config.muon_momentum,
            layers, **self.over_rows,
        )  # fmt: skip
        kernels.muon_normalize[(6 * self.members * layers,)](
            self.packed, size, self.members * layers, WIDTH=self.width, BLOCK=4096, num_warps=8
        )
        update = self._orthogonal(self.packed, self.spare)
        kernels.muon_update[grid](
            optimizer.matrices.values, self.rounded[1], update, optimizer.alive, self.factors,
            optimizer.muon_rates, optimizer.decays, cursor, 1 / size, layers, **self.over_rows,
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
