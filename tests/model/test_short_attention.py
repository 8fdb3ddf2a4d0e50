"""The GPU kernel against torch's own attention. Needs a GPU: skipped elsewhere, CI included."""

import pytest
import torch
from torch.nn import functional

from lengthwise.model.attention import short_attention, softmax_attention, suits_short
from lengthwise.model.layers import Noise

pytestmark = pytest.mark.gpu


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
    y = short_attention(packed, queries, None)
    gradient = torch.randn_like(y)
    y.backward(gradient)
    exact = packed.detach().float().requires_grad_()
    wanted = reference(exact, queries)
    wanted.backward(gradient.float())
    assert relative_error(y, wanted) < 5e-3
    assert relative_error(packed.grad, exact.grad) < 5e-3


@pytest.mark.parametrize(("tokens", "queries"), [(65, 65), (65, 23), (33, 1)])
def test_drops_what_plain_attention_drops(tokens, queries):
    """Two members with rates of their own: values and gradients equal those of attention written out."""
    torch.manual_seed(0)
    packed = torch.randn(2, 3, tokens, 3, 4, 32, device="cuda", dtype=torch.bfloat16, requires_grad=True)
    noise = Noise(torch.tensor([5, -9], dtype=torch.int32, device="cuda"), torch.tensor([0.1, 0.4], device="cuda"))
    y = short_attention(packed, queries, noise)
    gradient = torch.randn_like(y)
    y.backward(gradient)
    exact = packed.detach().float().requires_grad_()
    q, k, v = exact.permute(3, 0, 1, 4, 2, 5)
    wanted = softmax_attention(q[..., -queries:, :], k, v, None, noise).transpose(2, 3)
    wanted.backward(gradient.float())
    assert relative_error(y, wanted) < 5e-3
    assert relative_error(packed.grad, exact.grad) < 5e-3
