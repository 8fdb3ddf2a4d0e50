"""Dropout by counting, against the hash written with Python integers."""

import pytest
import torch

from lengthwise.model.layers import Noise, drop, kept


def hashed(x):
    x &= 0xFFFFFFFF
    x = (x ^ x >> 16) * 0x7FEB352D & 0xFFFFFFFF
    x = (x ^ x >> 15) * 0x846CA68B & 0xFFFFFFFF
    return x ^ x >> 16


def test_what_is_kept_is_a_hash_of_seed_and_index():
    seeds, rates = [3, -7], [0.25, 0.6]
    found = kept(torch.Size((2, 5, 4)), Noise(torch.tensor(seeds, dtype=torch.int32), torch.tensor(rates)))
    for k, (seed, rate) in enumerate(zip(seeds, rates, strict=True)):
        expected = [hashed(index ^ (seed & 0xFFFFFFFF)) >> 8 >= int(rate * 2**24) for index in range(20)]
        assert found[k].flatten().tolist() == expected


@pytest.mark.parametrize("rate", [0.0, 0.1, 0.5])
def test_the_share_dropped_and_the_mean(rate):
    noise = Noise.of_step(torch.tensor([123456789012345]), 17, torch.tensor([rate])).at(4)
    y = drop(torch.ones(1, 100_000), noise)
    assert (y == 0).float().mean().item() == pytest.approx(rate, abs=0.005)
    assert y.mean().item() == pytest.approx(1, abs=0.01)


def test_steps_places_and_members_are_independent():
    keys, rates = torch.tensor([1, 2, 2**40 + 1]), torch.full((3,), 0.5)
    first, second = (Noise.of_step(keys, number, rates) for number in (8, 9))
    masks = [kept(torch.Size((3, 10_000)), noise) for noise in (first, second, first.at(1), first.at(2))]
    rows = torch.cat(masks).float() - 0.5
    correlation = rows @ rows.T / 2_500
    assert (correlation - torch.eye(12)).abs().max() < 0.05


def test_a_step_may_be_a_tensor():
    keys, rates = torch.tensor([5]), torch.tensor([0.5])
    assert torch.equal(Noise.of_step(keys, 9, rates).seeds, Noise.of_step(keys, torch.tensor([9]), rates).seeds)
