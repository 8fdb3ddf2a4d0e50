"""What training has met: expected shares against training's own streams."""

import pytest
import torch

from lengthwise.arithmetic import Domain, Task
from lengthwise.evaluation.measure import row_makers
from lengthwise.evaluation.problems import Drawing, Member, Problems
from lengthwise.evaluation.problems import test_problems as problems_of
from lengthwise.evaluation.seen import chance_seen, seen_share
from lengthwise.tokens import DataConfig
from lengthwise.tokens.digits import from_ints, resize, to_ints
from lengthwise.tokens.sampling import FixedSet, Sampler, Stream, enumerate_pairs

BASE = 3


def member(train, draws, base=BASE, **data):
    drawn = DataConfig(**{"sparse": 0.0, **data})
    return Member("r", 0, Task.parse("add", base), Domain.parse(train, base), draws=draws, data=drawn)


def share_of(one, domain):
    """The share of a sample of a domain: the pairs in it do not matter."""
    nothing = torch.zeros(1, 0, domain.length, dtype=torch.int8)
    return seen_share(one, Problems(str(domain), nothing, nothing, "sampled", domain), 0)


def all_pairs(length, width):
    """Every pair of up to so many digits."""
    parts = Domain.parse("+".join(f"D{n}" for n in range(1, length + 1)), BASE).parts
    sides = zip(*(enumerate_pairs(part, limit=part.size) for part in parts), strict=True)
    a, b = (torch.cat([resize(digits, width) for digits in side]) for side in sides)
    return a, b


def as_pairs(a, b):
    return set(zip(to_ints(a, BASE), to_ints(b, BASE), strict=True))


@pytest.mark.parametrize("train", ["D2", "D1+D3", "B3", "D3[lead>=2]", "0.8*D5+0.2*D1", "5x1", "2..4x2"])
def test_pairs_against_the_stream(train):
    """All pairs up to five digits: how many does a stream of draws meet?"""
    draws = 20_000
    a, b = all_pairs(5, 6)
    drawn = Sampler([Stream(7, Domain.parse(train, BASE))], 6, side="train")(torch.arange(draws))
    met = len(as_pairs(drawn[0][0], drawn[1][0])) / len(a)
    assert chance_seen(member(train, draws), a, b).mean() == pytest.approx(met, rel=0.03)


HOW_DRAWN = (
    {"sampling": "balanced"},
    {"sampling": "paper"},
    {"sparse": 0.8, "sparse_problems": 1_000},
    {"sparse": 0.6, "sparse_problems": 10_000, "sampling": "balanced"},
    {"sparse": 0.9, "sparse_problems": 2_000, "sampling": "paper"},
    {"sparse": 0.8, "sparse_problems": 1_000, "sparse_leads": True},
    {"sparse": 0.6, "sparse_problems": 10_000, "sparse_leads": True, "sampling": "balanced"},
    {"sparse": 0.9, "sparse_problems": 2_000, "sparse_leads": True, "sampling": "paper"},
)


@pytest.mark.parametrize(
    ("train", "data"),
    [
        *((train, data) for train in ("D2", "D1..3", "B3", "3x1") for data in HOW_DRAWN),
        ("D5", HOW_DRAWN[3]),  # long enough to reserve test problems
    ],
)
def test_pairs_against_the_stream_however_it_is_drawn(train, data):
    """Pairs are compared by how likely they were met: the frequent ones too, not only their number."""
    draws, domain = 800, Domain.parse(train, BASE)
    a, b = all_pairs(domain.length, domain.length)
    pairs = list(zip(to_ints(a, BASE), to_ints(b, BASE), strict=True))
    one, met, seeds = member(train, draws, **data), torch.zeros(len(a)), 8
    config = one.data
    sampler = Sampler(
        [Stream(seed, domain) for seed in range(seeds)],
        domain.length,
        mode=config.sampling,
        sparse=config.sparse_digits,
        side="train",
    )
    for drawn in zip(*sampler(torch.arange(draws)), strict=True):
        seen = as_pairs(*drawn)
        met += torch.tensor([pair in seen for pair in pairs])
    chance = chance_seen(one, a, b)
    assert met[chance == 0].sum() == 0
    for low, high in ((0, 0.05), (0.05, 0.5), (0.5, 0.95), (0.95, 1.1)):
        group = (chance > low) & (chance <= high)
        expected, spread = seeds * chance[group].sum(), (seeds * chance * (1 - chance))[group].sum().sqrt()
        room = 4 * spread.item() + 0.02 * expected.item()
        assert met[group].sum().item() == pytest.approx(expected.item(), abs=room)


def test_pairs_by_carry_chain_against_the_stream():
    draws, (a, b) = 20_000, all_pairs(3, 4)
    drawn = Sampler([Stream(7, Domain.parse("D3", BASE))], 4, mode="chains", side="train")(torch.arange(draws))
    met = len(as_pairs(drawn[0][0], drawn[1][0])) / len(a)
    assert chance_seen(member("D3", draws, sampling="chains"), a, b).mean() == pytest.approx(met, rel=0.03)


def test_pairs_of_a_fixed_set():
    a, b = all_pairs(4, 4)
    fixed = FixedSet(Stream(1, Domain.parse("D4", BASE)), 2_000, 4)
    drawn = fixed.batch(torch.arange(3_000))
    met = len(as_pairs(*drawn)) / len(a)
    assert chance_seen(member("D4", 3_000, samples=2_000), a, b).mean() == pytest.approx(met, rel=0.05)


def test_reserved_and_foreign_pairs_are_never_met():
    reserved = Sampler([Stream(3, Domain.parse("D4"))], 5, side="test")(torch.arange(500))
    assert chance_seen(member("D4", 10**9, base=10), reserved[0][0], reserved[1][0]).mean() == 0
    a, b = (from_ints([n], 5, 10) for n in (99_999, 1))
    assert chance_seen(member("D4", 10**9, base=10), a, b).mean() == 0
    narrow = (from_ints([1], 1, 10),) * 2
    assert chance_seen(member("D4", 10**9, base=10), *narrow).mean() == 0


@pytest.mark.parametrize("draws", [0, 10, 1_000])
def test_a_whole_domain_is_the_mean_of_its_pairs(draws):
    part = Domain.parse("D2", BASE)
    a, b = enumerate_pairs(part.parts[0])
    one = member("D1..2", draws)
    assert share_of(one, part) == pytest.approx(chance_seen(one, a, b).mean().item())


@pytest.mark.parametrize(
    ("train", "test", "share"), [("B2", "D2", 36 / 72), ("2x1", "D2", 18 / 72), ("D2", "2x1", 1)]
)
def test_a_domain_is_seen_as_far_as_training_holds_it(train, test, share):
    assert share_of(member(train, 10**6), Domain.parse(test, BASE)) == pytest.approx(share)


def test_of_a_domain_that_is_tested_whole_reserved_pairs_are_unseen():
    """3x1 has 9,000 pairs, few enough to ask them all, and a tenth of them is reserved as it is in D3."""
    domain = Domain.parse("3x1")
    problems = problems_of(domain, Drawing([0], 3, 10, 100, torch.device("cpu")))
    (make,) = row_makers([member("1..3x1", 10**7, base=10)], problems)
    assert problems.selection == "enumerated"
    assert make.keywords["seen"] == pytest.approx(0.9)
