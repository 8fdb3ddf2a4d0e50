"""Dropping what is absent from a row, at shapes that do not depend on what that is."""

import torch
from torch import Tensor


def squeezed(present: Tensor, width: int) -> Tensor:
    """Which of S slots stand at `width` places once the absent are dropped; S where no slot is left.

    >>> squeezed(torch.tensor([True, False, True, True]), 4).tolist()
    [0, 2, 3, 4]
    >>> squeezed(torch.tensor([True, False, True, True]), 2).tolist()
    [0, 2]

    present is bool [..., S]; the result is int64 [..., width].
    """
    slots = present.shape[-1]
    # What is absent, or too far right, goes to one place more, which is cut off.
    place = torch.where(present, present.cumsum(-1) - 1, width).clamp(max=width)
    order = torch.full((*present.shape[:-1], width + 1), slots, device=present.device)
    number = torch.arange(slots, device=present.device).expand_as(place)
    return order.scatter(-1, place, number)[..., :width]
