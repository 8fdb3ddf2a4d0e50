"""Exact match by one pass equals exact match by decoding; probabilities on a model made by hand."""

from dataclasses import replace

import pytest
import torch
from fakes import SURE, PerfectModel, TheoryModel, tiny_config

from lengthwise.arithmetic import Domain, Task
from lengthwise.evaluation.decode import DECODED_ROWS, decode, split_failures
from lengthwise.evaluation.measure import Row, measure, measure_decoded, score
from lengthwise.evaluation.problems import CHUNK_TOKENS, Member, Problems, Subject, reference_answers
from lengthwise.evaluation.seen import seen_share
from lengthwise.model.positions import find_encoding
from lengthwise.runs.build import build, training_steps
from lengthwise.runs.evaluate import Assessment, domain_rows
from lengthwise.theory.hypotheses import TRUTH, Hypothesis
from lengthwise.tokens import DataConfig
from lengthwise.tokens.digits import from_ints
from lengthwise.tokens.layouts import LAYOUTS, build_layout

CPU = torch.device("cpu")
LEARNED = find_encoding("learned")
FAST = {"batch": 64, "learning_rate": 3e-3}
NO_OPTIONS: dict[str, bool] = {}
BY_PLACE = {"position_waves": True, "place_attention": True}


def trained(encoding, layout, steps, options=NO_OPTIONS):
    """Two members in base 2, trained for a while: long enough to be right at times, not always."""
    configs = [
        tiny_config(
            base=2,
            test="D1..4",
            encoding=encoding,
            layout=layout,
            seed=seed,
            model={"width": 32, "tied": False, "embedding_std": 0.3, **options},
            training=FAST,
        )
        for seed in (1, 2)
    ]
    stack = build(configs, CPU, ["one", "two"])
    training_steps(stack).take(0, [1.0] * steps)
    stack.model.eval()
    return stack


STACKS = [
    ("learned", "padded", 0),
    ("learned", "padded", 150),
    ("coupled", "padded", 150),
    ("rotary", "aligned", 150),
    ("abacus", "reversed", 0),
    ("abacus", "reversed", 150),
    ("randomized:learned", "reversed", 150),
    ("coupled", "level", 0),
    ("coupled", "level", 150),
    ("abacus", "level", 300),
    ("coupled", "level", 150, BY_PLACE),
    ("learned", "plain", 0),
    ("learned", "plain", 150),
    ("alibi", "scratchpad", 0),
    ("learned", "scratchpad", 150),
]


@pytest.fixture(scope="module", params=STACKS, ids=str)
def stack_and_steps(request):
    return trained(*request.param), request.param[2]


def test_teacher_forcing_counts_what_decoding_counts(stack_and_steps):
    """Against truth and against a hypothesis that differs from it, on every domain, problem by problem."""
    stack, steps = stack_and_steps
    tasks, width = [c.spec.task for c in stack.configs], stack.layout.answer_width
    support = torch.ones(2, width, len(stack.layout.vocabulary), dtype=torch.bool)
    right, wrong = 0, 0
    for row in domain_rows(stack):
        pair = row.problems.pair
        answers = decode(stack, pair)
        for hypothesis in (TRUTH, Hypothesis("truncated", 2), Hypothesis("windowed", 2)):
            reference = reference_answers(tasks, [hypothesis] * 2, *pair, width)
            forced = score(stack, pair, reference, support)
            decoded = split_failures(answers, stack.layout, pair, reference)
            assert torch.equal(forced.exact, decoded.exact)
            # Up to its first wrong digit a decoded answer is the reference, so there both see the same.
            seen = decoded.first_wrong > 0
            at_first = forced.right.gather(-1, decoded.first_wrong.clamp(min=1).unsqueeze(-1) - 1).squeeze(-1)
            assert not at_first[seen].any() or stack.configs[0].layout == "scratchpad"
            right += int(forced.exact.sum())
            wrong += int((~forced.exact).sum())
    assert wrong > 100
    assert right > 50 or steps == 0, "a trained model should be right at times, or this proves little"


def test_chunks_do_not_matter(stack_and_steps, monkeypatch):
    stack, _ = stack_and_steps
    row = domain_rows(stack)[-1]
    pair = row.problems.pair
    reference = reference_answers([c.spec.task for c in stack.configs], [TRUTH] * 2, *pair, 5)
    support = torch.ones(2, 5, len(stack.layout.vocabulary), dtype=torch.bool)
    whole = score(stack, pair, reference, support)
    monkeypatch.setitem(CHUNK_TOKENS, "cpu", 7 * stack.layout.length * 2)
    cut = score(stack, pair, reference, support)
    assert torch.equal(whole.exact, cut.exact)
    torch.testing.assert_close(whole.strong, cut.strong)
    answers = decode(stack, pair)
    monkeypatch.setitem(DECODED_ROWS, "cpu", 14)
    assert torch.equal(answers, decode(stack, pair))


def test_records_of_both_modes_agree(stack_and_steps):
    stack, _ = stack_and_steps
    forced = Assessment(stack)([3, 3], detail=False)
    decoded = list(measure_decoded(stack.after([3, 3]), domain_rows(stack)))
    by_mode = [
        {(r.run, r.domain): r.correct for r in records if (r.metric, r.reference) == ("exact", "truth")}
        for records in (forced, decoded)
    ]
    assert by_mode[0] == by_mode[1] and len(by_mode[0]) == 8
    assert {r.mode for r in forced} == {"forced"} and {r.mode for r in decoded} == {"decoded"}
    for run in [member.run for member in stack.members]:
        for domain in ("D1", "D2", "D3", "D4"):
            own = [r for r in decoded if (r.run, r.domain) == (run, domain)]
            assert sum(r.correct for r in own) == own[0].total, "every answer is right or fails in one way"


def test_rows_put_together_are_scored_as_each_alone(stack_and_steps):
    stack, _ = stack_and_steps
    stack, rows = stack.after([3, 3]), domain_rows(stack)
    together = measure(stack, rows, detail=True)
    alone = [r for row in rows for r in measure(stack, [row], detail=True)]
    assert [r.model_copy(update={"value": None}) for r in together] == [
        r.model_copy(update={"value": None}) for r in alone
    ]
    values = [r.value for r in together if r.value is not None]
    assert values == pytest.approx([r.value for r in alone if r.value is not None], rel=1e-4, abs=1e-7)


class Spread:
    """Gives each answer position of the truth the probabilities named, whatever the problem."""

    def __init__(self, layout, task, probabilities):
        self.perfect, self.layout = PerfectModel(layout, [task]), layout
        self.logits = torch.tensor(probabilities).log()

    def __call__(self, ids, positions, *, tail):
        sure = self.perfect(ids, positions, tail=tail).bool()
        logits = torch.full(sure.shape, -30.0)
        digits = self.logits.shape[0]
        logits[:, :, :digits, : self.logits.shape[1]] = self.logits
        logits[:, :, digits:][sure[:, :, digits:]] = SURE
        return logits


def test_probabilities_of_a_hand_made_model():
    """Base 4, one problem, 1 + 2 = 03: digit probabilities are what was put in, and so is all they imply."""
    task = Task.parse("add", 4)
    layout = build_layout("padded", task, 1)
    pair = from_ints([1], 1, 4)[None], from_ints([2], 1, 4)[None]
    model = Spread(layout, task, [[0.1, 0.2, 0.3, 0.4], [0.0005, 0.0005, 0.499, 0.5]])
    truth = from_ints([3], 2, 4)[None]  # digits 3 and 0
    support = torch.zeros(1, 2, len(layout.vocabulary), dtype=torch.bool)
    support[0, 0, [1, 3]] = True
    support[0, 1, 2] = True
    scores = score(Subject(model, layout, LEARNED), pair, truth, support)
    assert scores.right.tolist() == [[[True, False]]]
    assert scores.exact.tolist() == [[False]]
    assert scores.weak.tolist() == [[False]], "half a thousandth is out of reach"
    assert scores.strong.item() == pytest.approx(0.4 * 0.0005, rel=1e-4)
    assert scores.outside[0, 0].tolist() == pytest.approx([0.4, 0.501], abs=1e-5)
    expected = -torch.tensor([0.4, 0.0005]).log().sum() / 4  # over two digits, ; and [eos]
    assert scores.loss.item() == pytest.approx(expected.item(), rel=1e-3)
    reachable = score(Subject(model, layout, LEARNED), pair, from_ints([2 + 4 * 2], 2, 4)[None], support)
    assert reachable.weak.tolist() == [[True]]
    assert reachable.strong.item() == pytest.approx(0.3 * 0.499, rel=1e-4)


@pytest.mark.parametrize("name", ["reversed", "level"])
def test_a_digit_that_is_absent_has_no_probability_outside_the_support(name):
    """Nothing is supported, so that all probability of a digit is outside: 1 where there is one, 0 where not."""
    task = Task.parse("add")
    layout = build_layout(name, task, 2)
    pair = from_ints([12, 99, 5, 0], 2, 10)[None], from_ints([34, 1, 4, 0], 2, 10)[None]
    truth = from_ints([46, 100, 9, 0], 3, 10)[None]
    support = torch.zeros(1, 3, len(layout.vocabulary), dtype=torch.bool)
    scores = score(Subject(PerfectModel(layout, [task]), layout, LEARNED), pair, truth, support)
    written = {"reversed": [2, 3, 1, 1], "level": [3, 3, 2, 2]}[name]
    expected = torch.tensor([[float(place < digits) for place in range(3)] for digits in written])
    assert torch.equal(scores.present[0], expected.bool())
    assert torch.equal(scores.outside[0], expected)
    assert torch.equal(scores.right[0], expected.bool()) and scores.exact.all()
    assert scores.strong[0].tolist() == pytest.approx([1.0] * 4)


def test_an_answer_that_does_not_end_is_not_exact():
    task = Task.parse("add")
    layout = build_layout("padded", task, 2)
    perfect = PerfectModel(layout, [task])

    def endless(ids, positions, *, tail):
        logits = perfect(ids, positions, tail=tail)
        logits[:, :, -1, layout.vocabulary.end] += 2 * SURE
        return logits

    pair = from_ints([12, 99], 2, 10)[None], from_ints([34, 99], 2, 10)[None]
    truth = from_ints([46, 198], 3, 10)[None]
    support = torch.ones(1, 3, 16, dtype=torch.bool)
    scores = score(Subject(endless, layout, LEARNED), pair, truth, support)
    assert scores.right.all() and not scores.exact.any()
    assert score(Subject(perfect, layout, LEARNED), pair, truth, support).exact.all()


def given_row(subject, pairs, hypothesis=None):
    width, base = subject.layout.operand_width, subject.members[0].task.base
    a, b = (from_ints(values, width, base)[None] for values in zip(*pairs, strict=True))
    return Row.of(subject, Problems("mine.txt", a, b, "given"), [hypothesis])


def put(subject, pairs, hypothesis):
    return measure(subject, [given_row(subject, pairs, hypothesis)], detail=True)


def test_digits_and_details_are_counted_one_by_one():
    """A model that forgets carries, on four sums whose digits can be checked by eye."""
    task = Task.parse("add")
    layout = build_layout("padded", task, 2)
    pairs = [(12, 34), (18, 34), (99, 1), (50, 50)]
    # windowed:1 answers 46, 42, 90, 0 where truth is 46, 52, 100, 100.
    hypothesis = Hypothesis.parse("windowed:1")
    member = Member("r", 5, task, Domain.parse("D1"), step=9)
    subject = Subject(TheoryModel(layout, [task], [hypothesis]), layout, LEARNED, [member])
    records = put(subject, pairs, hypothesis)
    found = {(r.reference, r.metric): r.correct if r.value is None else r.value for r in records}
    assert found["truth", "exact"] == found["windowed:1", "coincides"] == 1
    assert found["windowed:1", "exact"] == 4
    assert [found["truth", f"digit:{n}"] for n in (1, 2, 3)] == [4, 2, 2]
    assert found["windowed:1", "weak"] == 4
    assert found["windowed:1", "strong"] == pytest.approx(1.0, abs=1e-6)
    # D1 shows all ten digits at position 1, 0 and 1 at position 2, and 0 alone above.
    assert ("windowed:1", "support:1") not in found
    assert found["windowed:1", "support:2"] == pytest.approx(3 / 4, abs=1e-6)  # 4, 4 and 9
    assert found["windowed:1", "support:3"] == pytest.approx(0.0, abs=1e-6)
    assert all((r.run, r.seed, r.step, r.selection, r.total) == ("r", 5, 9, "given", 4) for r in records)
    perfect = Subject(PerfectModel(layout, [task]), layout, LEARNED, [member])
    records = put(perfect, pairs, hypothesis)
    above = [r.value for r in records if r.metric == "support:3"]
    assert above == pytest.approx([2 / 4], abs=1e-6), "the 1 of 100, twice, where training has always 0"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("reversed", {"digit:1": (4, 4), "digit:2": (1, 3), "digit:3": (0, 1)}),
        ("level", {"digit:1": (4, 4), "digit:2": (2, 4), "digit:3": (1, 2)}),
    ],
)
def test_digits_of_answers_of_unlike_lengths(name, expected):
    """A model that forgets carries; each answer has the digits that its layout gives it, and no more."""
    task = Task.parse("add")
    layout = build_layout(name, task, 2)
    pairs = [(12, 34), (99, 1), (5, 5), (0, 0)]
    # windowed:1 answers 46, 90, 0, 0 where truth is 46, 100, 10, 0.
    hypothesis = Hypothesis.parse("windowed:1")
    member = Member("r", 5, task, Domain.parse("D1"), draws=0)
    subject = Subject(TheoryModel(layout, [task], [hypothesis]), layout, LEARNED, [member])
    records = put(subject, pairs, hypothesis)
    found = {(r.reference, r.metric): r.correct if r.value is None else r.value for r in records}
    assert found["truth", "exact"] == found["windowed:1", "coincides"] == 2
    assert found["windowed:1", "exact"] == found["windowed:1", "weak"] == 4
    assert found["windowed:1", "strong"] == pytest.approx(1.0, abs=1e-6)
    digits = {r.metric: (r.correct, r.total) for r in records if r.metric.startswith("digit")}
    assert digits == expected
    assert not any(r.metric.startswith("support") for r in records)


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("hypothesis", ["truth", "truncated:1", "windowed:1"])
def test_a_fake_model_is_exact_for_its_own_hypothesis_alone(name, hypothesis, monkeypatch):
    monkeypatch.setitem(DECODED_ROWS, "cpu", 10)
    task, hypothesis = Task.parse("add", 3), Hypothesis.parse(hypothesis)
    layout = build_layout(name, task, 2)
    pairs = [(a, b) for a in range(9) for b in range(9)]
    a, b = (from_ints(values, 2, 3)[None] for values in zip(*pairs, strict=True))
    model = TheoryModel(layout, [task], [hypothesis])
    answers = decode(Subject(model, layout, LEARNED), (a, b))
    assert [layout.read_answer(row) for row in answers[0]] == [hypothesis(task, *pair) for pair in pairs]
    support = torch.ones(1, 3, 9, dtype=torch.bool)
    for other in (TRUTH, Hypothesis("truncated", 1), Hypothesis("windowed", 1)):
        reference = reference_answers([task], [other], a, b, 3)
        scores = score(Subject(model, layout, LEARNED), (a, b), reference, support)
        agrees = torch.tensor([hypothesis(task, *pair) == other(task, *pair) for pair in pairs])
        assert torch.equal(scores.exact[0], agrees)
        assert torch.equal(split_failures(answers, layout, (a, b), reference).exact[0], agrees)


class Scripted(TheoryModel):
    """Writes these answers, whatever is asked."""

    def __init__(self, layout, task, texts):
        super().__init__(layout, [task], [TRUTH])
        self.answers = torch.tensor([[layout.vocabulary.ids(text) for text in texts]])

    def sequence(self, ids):
        whole = super().sequence(ids)
        whole[..., -self.answers.shape[-1] :] = self.answers
        return whole


def test_failures_as_records():
    task = Task.parse("add")
    layout = build_layout("padded", task, 2)
    texts = ["640;[eos]", "640;[eos]", "740;[eos]", "650;[eos]", "64;[eos]0", "6+0;[eos]"]
    member = Member("r", 5, task, Domain.parse("D2"), draws=0)
    subject = Subject(Scripted(layout, task, texts), layout, LEARNED, [member])
    records = list(measure_decoded(subject, [given_row(subject, [(12, 34)] * 6)]))
    assert {r.metric: r.correct for r in records} == {
        "exact": 2,
        "malformed": 1,
        "wrong_length": 1,
        "first_wrong:1": 1,
        "first_wrong:2": 1,
    }
    assert all((r.mode, r.total, r.reference) == ("decoded", 6, "truth") for r in records)


@pytest.mark.parametrize(
    ("train", "domain", "draws", "distinct", "share"),
    [
        ("D4", "D4", 10**6, None, 0.0),  # reserved
        ("D4", "D1", 10**6, None, 0.0),  # never drawn
        ("D1", "D1", 0, None, 0.0),
        ("D1", "D1", 100, None, 1 - 0.99**100),
        ("D1", "D1", 10**6, None, 1.0),
        ("D1", "D1", 10**6, 40, 0.36),
        ("D1", "D1", 10**6, 10**4, 0.9),  # the set has all 100 problems, and trains on 90
        ("D1+D2", "D2", 9_000, 10**5, 0.9 * (1 - (1 - 1 / 9_000) ** 9_000)),
        ("D1+D4", "D1", 100, None, 1 - 0.995**100),
        ("D1+D4", "D1+D4", 100, None, (1 - 0.995**100) / 2),
    ],
)
def test_share_seen_in_training(train, domain, draws, distinct, share):
    member = Member("r", 0, Task.parse("add"), Domain.parse(train), draws=draws, data=DataConfig(samples=distinct))
    asked, nothing = Domain.parse(domain), torch.zeros(1, 0, 4, dtype=torch.int8)
    problems = Problems(domain, nothing, nothing, "sampled", asked)
    assert seen_share(member, problems, 0) == pytest.approx(share)


def test_a_fake_stands_in_for_a_stack():
    """What the rest of the tests rely on: an impostor goes through assess like any model."""
    config = tiny_config()
    stack = build([config], CPU)
    fake = replace(stack, model=PerfectModel(stack.layout, [config.spec.task]))
    records = Assessment(fake)([0], detail=True)
    assert all(r.correct == r.total for r in records if r.metric == "exact" and r.reference == "truth")
