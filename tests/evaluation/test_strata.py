"""Carry chains, pairs of lengths and special sets, on models whose function is known and on Python's integers."""

from dataclasses import replace

import pytest
import torch
from fakes import PerfectModel, TheoryModel, longest_chain, tiny_config

from lengthwise.arithmetic import Domain
from lengthwise.errors import InputError
from lengthwise.evaluation import EvaluationConfig
from lengthwise.evaluation.problems import Drawing
from lengthwise.evaluation.strata import (
    PAIR_LENGTHS,
    SETS,
    alternating,
    carry,
    chain_strata,
    lopsided,
    pair_lengths,
    pair_strata,
    repeated,
    sparse,
    zeros,
)
from lengthwise.runs.build import build
from lengthwise.runs.evaluate import Assessment, domain_rows
from lengthwise.theory.columns import chain_counts
from lengthwise.theory.hypotheses import Hypothesis
from lengthwise.tokens.digits import to_ints

CPU = torch.device("cpu")
PROBLEMS = 300
DRAWING = Drawing(seeds=[1, 2], width=12, base=10, count=PROBLEMS, device=CPU)


def config_for(encoding="coupled", test="D1..6", problems=PROBLEMS, **evaluation):
    return tiny_config(encoding=encoding, test=test, evaluation={"problems": problems, **evaluation})


def computing(configs, hypotheses):
    """Models that compute hypotheses, in place of trained ones."""
    stack = build(configs, CPU, [f"r{config.seed}" for config in configs])
    functions = list(map(Hypothesis.parse, hypotheses))
    return replace(stack, model=TheoryModel(stack.layout, [config.spec.task for config in configs], functions))


def assessed(stack, step=24):
    return Assessment(stack)([step] * len(stack.configs), detail=True)


def of_kind(records, kind):
    return [r for r in records if r.metric.partition(":")[0] == kind]


def as_ints(a, b, base):
    """Members' problems as one list of pairs."""
    return list(zip(to_ints(a, base), to_ints(b, base), strict=True))


def digits(number, base):
    count = 1
    while number >= base**count:
        count += 1
    return count


# --- carry chains -----------------------------------------------------------------------------------------


def test_a_window_is_right_on_the_chains_that_fit_and_on_no_others():
    """Digit i of windowed:3 sees two columns below it: a carry that comes from further down is lost."""
    config = config_for(chains=True)
    records = of_kind(assessed(computing([config], ["windowed:3"])), "chain")
    assert {r.domain for r in records} == {f"D{n}" for n in range(1, 7)}
    for r in records:
        assert (r.mode, r.step, r.run) == ("forced", 24, "r0")
        chain = int(r.metric.removeprefix("chain:"))
        fits = chain < 3 or r.reference != "truth"
        assert r.correct == (r.total if fits else 0), (r.domain, r.metric, r.reference)
    found = {(r.domain, r.metric, r.reference): r for r in records}
    for n in range(1, 7):
        part, selection = Domain.parse(f"D{n}", 3).parts[0], "enumerated" if n <= 4 else "sampled"
        references = ["truth"] if n <= 2 else ["truth", "windowed:3"]
        own = {key: r for key, r in found.items() if key[0] == f"D{n}"}
        assert set(own) == {(f"D{n}", f"chain:{k}", f) for k in range(n + 1) for f in references}
        assert {r.selection for r in own.values()} == {selection}
        totals = [found[f"D{n}", f"chain:{k}", "truth"].total for k in range(n + 1)]
        if selection == "enumerated":
            assert totals == chain_counts(part)
        else:
            assert sum(totals) == PROBLEMS and min(totals) > 0.5 * PROBLEMS / (n + 1), "every chain alike"


def test_members_are_compared_each_with_its_own_theory():
    config, trained = config_for(test="D3", chains=True), {1: "D2", 2: "D3"}
    configs = [config.changed(seed=seed, train=train) for seed, train in trained.items()]
    records = of_kind(assessed(computing(configs, ["windowed:3", "truth"])), "chain")
    references = {seed: {r.reference for r in records if r.seed == seed and r.domain == "D3"} for seed in (1, 2)}
    assert references == {1: {"truth", "windowed:3"}, 2: {"truth"}}
    assert all(r.correct == r.total for r in records if r.seed == 2)


def test_chains_are_those_of_theory_and_longer_domains_are_taken_as_they_are():
    config = config_for(test="D5,D101,9x2")
    rows = domain_rows(computing([config], ["truth"]))
    strata = chain_strata(rows, Drawing([0], 101, 3, 50, CPU))
    for row, found in zip(rows, strata, strict=True):
        pairs = as_ints(found.problems.a, found.problems.b, 3)
        assert found.kind.flatten().tolist() == [longest_chain(*pair, 3) for pair in pairs]
        assert all(pair in row.problems.domain for pair in pairs)
        assert (found.problems is row.problems) == (row.problems.name != "D5")


def test_nothing_else_changes():
    """What is measured without the options is measured with them, number by number, and first."""
    plain = assessed(computing([config_for()], ["windowed:3"]))
    names = list(SETS)
    more = assessed(computing([config_for(chains=True, pairs=2, sets=names)], ["windowed:3"]))
    assert more[: len(plain)] == plain and len(more) > len(plain)
    interim = Assessment(computing([config_for(chains=True, pairs=2, sets=names)], ["truth"]))([6], detail=False)
    assert not {"chain", "pair"} & {r.metric.partition(":")[0] for r in interim}
    assert not any(":" in r.domain for r in interim)


# --- pairs of lengths -------------------------------------------------------------------------------------


def test_a_truncating_model_is_right_where_both_operands_are_short():
    configs = [config_for(encoding="learned", test="D1..4", pairs=7).changed(seed=seed) for seed in (1, 2)]
    records = of_kind(assessed(computing(configs, ["truncated:2", "truth"])), "pair")
    assert len(records) == 2 * 4 * 4
    for r in records:
        n, m = map(int, r.metric.removeprefix("pair:").split(":"))
        right = r.seed == 2 or max(n, m) <= 2
        assert (r.domain, r.correct, r.total) == (f"D{max(n, m)}", 7 if right else 0, 7)
        assert (r.reference, r.selection) == ("truth", "sampled")
        assert (r.seen > 0) == (max(n, m) == 2), "trained on D2 for 24 steps; D2 of base 3 is not reserved"


def test_operands_have_the_lengths_of_their_cell_and_cells_their_own_problems():
    strata = pair_strata(Drawing([1, 2], 5, 10, 20, CPU))
    problems, kinds = strata.problems, strata.kind.flatten().tolist()
    lengths = []
    for k in range(2):
        for (x, y), kind in zip(as_ints(problems.a[k], problems.b[k], 10), kinds, strict=True):
            found = digits(x, 10), digits(y, 10)
            assert strata.strata[kind][1] == f"pair:{found[0]}:{found[1]}"
            lengths.append(max(found))
    assert len(kinds) == 5 * 5 * 20 and lengths[: len(kinds)] == sorted(lengths[: len(kinds)])
    low_digits = torch.cat([problems.a[0, :, 0], problems.b[0, :, 0]]).long()
    assert (torch.bincount(low_digits, minlength=10) / len(low_digits) - 0.1).abs().max() < 0.05
    a = problems.a[0].view(25, 20, 5)
    assert not any(torch.equal(a[i, :, 0], a[j, :, 0]) for i in range(25) for j in range(i))
    alone = pair_strata(Drawing([2], 5, 10, 20, CPU)).problems
    assert torch.equal(alone.a[0], problems.a[1]) and not torch.equal(problems.a[0], problems.a[1])


def test_lengths_of_a_grid():
    for width in (*range(1, 130), 999, 1000, 10_000):
        lengths = pair_lengths(width)
        assert lengths == sorted(set(lengths)) and len(lengths) <= PAIR_LENGTHS
        assert lengths[0] == 1 and lengths[-1] == width
        assert width > PAIR_LENGTHS or len(lengths) == width


def test_a_grid_of_products_and_one_of_a_hundred_digits():
    products = tiny_config(task="mul", test="D1..3", evaluation={"pairs": 3})
    stack = build([products], CPU)
    perfect = replace(stack, model=PerfectModel(stack.layout, [products.spec.task]))
    assert [r.correct for r in of_kind(assessed(perfect), "pair")] == [3] * 9
    long = tiny_config(encoding="abacus", test="D100", evaluation={"problems": 2, "pairs": 1})
    stack = build([long], CPU)
    stack.model.eval()
    records = of_kind(assessed(stack), "pair")
    assert len(records) == 27 * 27 and records[-1].metric == "pair:100:100"


# --- special sets -----------------------------------------------------------------------------------------


def carries_out(x, y, base, length):
    """Whether each column, from the lowest, hands a carry to the next."""
    return [(x % base**n + y % base**n) >= base**n for n in range(1, length + 1)]


@pytest.mark.parametrize("base", [2, 3, 10, 36])
@pytest.mark.parametrize("length", [1, 2, 7, 12])
def test_a_carry_runs_through_the_whole_number(base, length):
    problems = carry(replace(DRAWING, base=base), length)
    pairs = as_ints(*problems.pair, base)
    assert problems.selection == "sampled" and len(pairs) == 2 * PROBLEMS
    assert {longest_chain(x, y, base) for x, y in pairs} == {length}
    assert {digits(max(pair), base) for pair in pairs} == {length}
    nines = base**length - 1
    assert pairs[:2] == pairs[PROBLEMS : PROBLEMS + 2] == [(nines, 1), (1, nines)]
    if length == 12:
        assert len(set(pairs)) > 0.8 * len(pairs), "members differ, and so do problems"


def test_carries_take_every_form():
    problems = carry(replace(DRAWING, count=10_000, base=4), 2)
    wanted = {(x, y) for x in range(16) for y in range(16) if longest_chain(x, y, 4) == 2}
    assert set(as_ints(*problems.pair, 4)) == wanted


@pytest.mark.parametrize("base", [2, 3, 10, 36])
@pytest.mark.parametrize("length", [1, 2, 7, 12])
@pytest.mark.parametrize("count", [1, 10_000])
def test_carries_alternate(base, length, count):
    problems = alternating(replace(DRAWING, base=base, count=count), length)
    (a, b), selection = problems.pair, problems.selection
    pairs = as_ints(a[0], b[0], base)
    for x, y in pairs:
        assert carries_out(x, y, base, length)[::-1] == [n % 2 == 0 for n in range(length)]
        for number in (x, y):
            assert number // base**2 == number % base ** max(0, length - 2), "two digits, repeated"
        assert digits(max(x, y), base) == length
    makes = base * (base - 1) // 2
    distinct = makes if length == 1 else makes**2
    assert (selection, len(pairs)) == (("enumerated", distinct) if distinct <= count else ("sampled", count))
    assert selection == "sampled" or (len(set(pairs)) == distinct and torch.equal(a[0], a[1]))
    if (base, length, count) == (10, 12, 10_000):
        assert (909090909090, 909090909090) in pairs


@pytest.mark.parametrize(("length", "longest"), [(1, 1), (9, 1), (40, 4)])
def test_one_operand_is_short(length, longest):
    problems = lopsided(replace(DRAWING, width=40), length)
    lengths = [(digits(x, 10), digits(y, 10)) for x, y in as_ints(*problems.pair, 10)]
    assert problems.selection == "sampled"
    assert {max(pair) for pair in lengths} == {length}
    assert {min(pair) for pair in lengths} == set(range(1, longest + 1))
    if length > 1:
        first_is_long = [n == length for n, _ in lengths]
        assert first_is_long == [i % 2 == 0 for i in range(PROBLEMS)] * 2


@pytest.mark.parametrize("base", [2, 10, 36])
@pytest.mark.parametrize("length", [1, 12])
def test_each_operand_repeats_one_digit(base, length):
    problems = repeated(replace(DRAWING, base=base), length)
    ones, count = sum(base**i for i in range(length)), (base - 1) ** 2
    pairs = as_ints(*problems.pair, base)
    every = {(ones * x, ones * y) for x in range(1, base) for y in range(1, base)}
    if count <= PROBLEMS:
        assert problems.selection == "enumerated" and len(pairs) == 2 * count and set(pairs) == every
    else:
        assert problems.selection == "sampled" and set(pairs) < every


def test_half_of_the_columns_below_the_top_are_zero_in_both_operands():
    problems = zeros(replace(DRAWING, width=40), 40)
    a, b = (operand.flatten(0, 1) for operand in problems.pair)
    assert a[:, -1].all() and b[:, -1].all(), "top digits stay"
    zero = (a == 0) & (b == 0)
    runs = torch.stack([zero[:, i : i + 19].all(-1) for i in range(21)], -1)
    assert runs.any(-1).all()
    assert (runs.sum(0) > 0).all(), "anywhere"
    assert (runs.sum(-1) == 1).float().mean() > 0.9, "and hardly longer"


def test_most_digits_are_zero():
    problems = sparse(replace(DRAWING, width=40), 39)
    for operand in problems.pair:
        assert (operand[..., 38] > 0).all() and (operand[..., 39] == 0).all()
        assert 0.07 < (operand[..., :38] > 0).float().mean() < 0.11
    assert not torch.equal(*problems.pair)


def test_a_window_fails_on_long_carries_alone():
    sets = ("lopsided", "carry", "alternating", "carry")
    config = config_for(test="D2,B2,D6", problems=100, sets=sets)
    records = [r for r in assessed(computing([config], ["windowed:3"])) if ":" in r.domain]
    names = [f"D{n}:{name}" for n in (2, 6) for name in sets[:3]]
    assert [r.domain for r in records] == names
    assert {(r.metric, r.reference, r.mode) for r in records} == {("exact", "truth", "forced")}
    found = {r.domain: r for r in records}
    assert [found[f"D{n}:carry"].correct for n in (2, 6)] == [100, 0]
    assert [(r.correct, r.total, r.selection) for r in records if "alternating" in r.domain] == [
        (9, 9, "enumerated")
    ] * 2
    assert found["D2:carry"].seen > 0 == found["D6:carry"].seen


# --- what has no meaning is refused -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("task", "evaluation", "named"),
    [
        ("mul", {"chains": True}, "evaluation.chains requires add without a modulus, not mul"),
        ("add%7", {"chains": True}, "evaluation.chains requires add without a modulus, not add%7"),
        ("mul", {"sets": ["carry"]}, "evaluation.sets requires add without a modulus, not mul"),
        ("add%101", {"sets": ["lopsided"]}, "evaluation.sets requires add without a modulus, not add%101"),
        ("add", {"sets": ["hard"]}, "sets.0 is 'hard' (must be "),
        ("add", {"pairs": 0}, "pairs is 0 (must be "),
        ("add", {"offsets": 5}, "'learned', which has no offsets (choose from abacus, coupled)"),
    ],
)
def test_refusals_are_one_line_that_names_the_value(task, evaluation, named):
    with pytest.raises(InputError) as refused:
        tiny_config(task=task, evaluation=evaluation)
    assert named in str(refused.value) and "\n" not in str(refused.value)


def test_configs_come_back_from_files():
    sets = EvaluationConfig(sets=["carry", "lopsided"])
    assert EvaluationConfig(**sets.model_dump(mode="json")) == sets


def everything_measured(device):
    """Records of every optional measurement, but that of attention, of a model of `windowed:2`."""
    everything = {"chains": True, "pairs": 20, "sets": list(SETS), "changed_digits": 40, "decoded": 20}
    more = {"digits": True, "dependence": True, "hypotheses": ["windowed:2"], "dynamics": True}
    stack = build([config_for(**everything, **more)], torch.device(device))
    model = TheoryModel(stack.layout, [stack.config.spec.task], [Hypothesis.parse("windowed:2")])
    return assessed(replace(stack, model=model))


@pytest.mark.gpu
def test_every_measurement_gives_the_same_records_on_a_gpu():
    assert everything_measured("cuda") == everything_measured("cpu")


def test_every_measurement_is_among_those_compared():
    """That the test above, which needs a GPU, compares what it says."""
    kinds = {record.metric.partition(":")[0] for record in everything_measured("cpu")}
    assert kinds >= {"exact", "digit", "chain", "pair", "after_change", "carry_after", "coincides"}
