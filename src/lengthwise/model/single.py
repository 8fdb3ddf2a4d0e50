"""Any module as a stack of one: ids in, logits out. It trains, is scored and is asked as a `GPT` is.

>>> model = Single(nn.Sequential(nn.Embedding(16, 8), nn.Linear(8, 16)))
>>> model(torch.zeros(1, 5, 9, dtype=torch.long)).shape
torch.Size([1, 5, 9, 16])
>>> model.get_parameter("1/weight").shape
torch.Size([1, 16, 8])

Shapes: B batch, T tokens, V vocabulary.
"""

from collections.abc import Callable
from typing import Any, final

import torch
from torch import Tensor, nn
from torch.func import functional_call


@final
class Single(nn.Module):
    """A module [B, T] -> [B, T, V], whose parameters and buffers get the member axis that a stack has. It numbers
    tokens by itself. `logits` takes the logits out of what it returns, where that is more."""

    members = 1

    def __init__(self, module: nn.Module, logits: Callable[[Any], Tensor] = lambda returned: returned) -> None:
        super().__init__()
        self._module, self._logits = (module,), logits  # in a tuple it is no part of this one
        tensors = {**dict(module.named_parameters()), **dict(module.named_buffers())}
        self._names = {name: name.replace(".", "/") for name in tensors}
        for name, tensor in tensors.items():
            if tensor.requires_grad:
                self.register_parameter(self._names[name], nn.Parameter(tensor.detach()[None]))
            else:
                self.register_buffer(self._names[name], tensor[None])

    def forward(
        self,
        ids: Tensor,
        positions: Tensor | None = None,
        *,
        tail: int | None = None,
        cache: list[Tensor] | None = None,
        noise: object = None,
        problem: Tensor | None = None,
    ) -> Tensor:
        """As `GPT.forward`: logits [1, B, T or tail, V] of ids [1, B, T]."""
        count = tail or ids.shape[-1]
        if cache is not None:
            cache.append(ids)
            ids = torch.cat(cache, -1)
        tensors = {name: getattr(self, own)[0] for name, own in self._names.items()}
        returned = functional_call(self._module[0], tensors, (ids[0],))
        return self._logits(returned)[None, :, -count:].float()

    def train(self, mode: bool = True) -> "Single":
        self._module[0].train(mode)
        return super().train(mode)

    def cache(self, batch: int, length: int) -> list[Tensor]:
        """All ids so far, which are read again."""
        return []

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    def parameter_count(self) -> int:
        return sum(parameter.numel() for parameter in self.parameters())
