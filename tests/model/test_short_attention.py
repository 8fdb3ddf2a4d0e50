"""The GPU kernel against torch's own attention. Needs a GPU: skipped elsewhere, CI included."""

import pytest
import torch
from torch.nn import functional

from lengthwise.model.short_attention import short_attention, suits_short

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


def reference(packed, queries):
    q, k, v = packed.flatten(0, 1).permute(2, 0, 3, 1, 4)
    y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    return y[:, :, -queries:].transpose(1, 2).unflatten(0, packed.shape[:2])


def relative_error(found, wanted):
    return ((found.float() - wanted).norm() / wanted.norm()).item()


@pytest.mark.parametrize(("tokens", "queries"), [(65, 65), (65, 23), (16, 16), (1, 1), (128, 50), (33, 32)])
@pytest.mark.parametrize(("heads", "width"), [(6, 64), (3, 16)])
def test_values_and_gradients(tokens, queries, heads, width):
    torch.manual_seed(0)
    packed = torch.randn(2, 3, tokens, 3, heads, width, device="cuda", dtype=torch.bfloat16, requires_grad=True)
    assert suits_short(packed)
    y = short_attention(packed, queries, 0.0)
    gradient = torch.randn_like(y)
    y.backward(gradient)
    exact = packed.detach().float().requires_grad_()
    wanted = reference(exact, queries)
    wanted.backward(gradient.float())
    assert relative_error(y, wanted) < 5e-3
    assert relative_error(packed.grad, exact.grad) < 5e-3


def test_dropout_keeps_the_mean_and_hits_forward_and_backward_alike():
    """With values of one, an answer is the share of weight that was kept; its gradient sees the same mask."""
    torch.manual_seed(0)
    packed = torch.randn(1, 256, 40, 3, 4, 32, device="cuda", dtype=torch.bfloat16)
    packed[..., 2, :, :] = 1.0
    packed.requires_grad_()
    y = short_attention(packed, 40, 0.25)
    assert abs(y.float().mean().item() - 1) < 0.02
    assert y.float().std() > 0.05
    y.sum().backward()
    # The sum over keys of d y / d v is the kept weight: y itself, summed over the width.
    of_values = packed.grad[..., 2, :, :].float().sum()
    torch.testing.assert_close(of_values, y.float().sum(), rtol=5e-3, atol=0)
