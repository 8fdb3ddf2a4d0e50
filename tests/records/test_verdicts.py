"""The rule of design and paper: gate, agreement, tolerance. Boundaries are exact, not approximate."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from lengthwise.arithmetic import Domain
from lengthwise.errors import InputError
from lengthwise.records.schema import Record
from lengthwise.records.verdicts import (
    CONFIDENCE,
    GATE,
    TOLERANCE,
    Measured,
    clopper_pearson,
    judge,
    passes_gate,
    verdicts,
)
from lengthwise.theory.predict import predict


def whole(correct, total):
    return Measured(correct, total, enumerated=True)


def sample(correct, total):
    return Measured(correct, total, enumerated=False)


def test_the_numbers_fixed_before_training():
    assert (GATE, TOLERANCE) == (0.99, 0.01)


@pytest.mark.parametrize(
    ("accuracy", "passed"),
    [
        (whole(99, 100), True),  # exactly at the gate
        (whole(9_899, 10_000), False),
        (sample(10_000, 10_000), True),
        (sample(9_920, 10_000), True),
        (sample(9_915, 10_000), False),
        (sample(100, 100), False),  # too few to know
    ],
)
def test_gate(accuracy, passed):
    low = accuracy.correct / accuracy.total
    if not accuracy.enumerated:
        low = clopper_pearson(accuracy.correct, accuracy.total).low
    assert (low >= 0.99) == passed, "the example is not what it says"
    assert passes_gate(Domain.parse("D1"), {("D1", "truth"): accuracy}) == passed


@pytest.mark.parametrize(
    ("agreement", "word"),
    [
        (whole(100, 100), "holds"),
        (whole(99, 100), "holds"),  # exactly 1 - e
        (whole(9_899, 10_000), "fails"),
        (whole(0, 100), "fails"),
        (sample(10_000, 10_000), "holds"),
        (sample(9_920, 10_000), "holds"),
        (sample(9_915, 10_000), "undecided"),
        (sample(9_900, 10_000), "undecided"),
        (sample(9_881, 10_000), "undecided"),
        (sample(9_870, 10_000), "fails"),
        (sample(100, 100), "undecided"),
        (sample(0, 100), "fails"),
    ],
)
def test_agreement(agreement, word):
    assert judge(agreement, converged=True) == word
    assert judge(agreement, converged=False) == "undecided"


@pytest.mark.parametrize("total", [50, 1_000, 10_000])
def test_words_change_where_the_interval_crosses_the_tolerance(total):
    for correct in range(int(0.97 * total), total + 1):
        low, high = clopper_pearson(correct, total)
        word = "holds" if low >= 0.99 else "fails" if high < 0.99 else "undecided"
        assert judge(sample(correct, total), converged=True) == word


def test_no_prediction_no_word():
    assert judge(None, converged=True) is None
    assert judge(None, converged=False) is None


def test_perfect_marks_no_deviation_at_all():
    assert sample(10, 10).perfect and not sample(9, 10).perfect
    assert sample(9, 10).share == 0.9


def record(domain, reference="truth", correct=10_000, **changes):
    content = {"run": "r", "seed": 0, "step": 1, "task": "add", "base": 10, "domain": domain}
    measured = {"reference": reference, "correct": correct, "total": 10_000, "selection": "sampled"}
    return Record(**{**content, **measured, **changes})


def loss(domain):
    return record(domain, metric="loss", correct=None).model_copy(update={"value": 0.5})


def run_records(train_correct=10_000, agreement=10_000):
    return [
        loss("D4"),
        record("D4", correct=train_correct),
        record("D4", "truncated:4", train_correct),
        loss("D5"),
        record("D5", correct=0),
        record("D5", "truncated:4", agreement),
        record("D5", "truncated:4", 7, metric="coincides"),
    ]


@pytest.mark.parametrize(
    ("train_correct", "agreement", "word"),
    [
        (10_000, 10_000, "holds"),
        (10_000, 5_000, "fails"),
        (10_000, 9_900, "undecided"),
        (9_900, 10_000, "undecided"),
    ],
)
def test_verdicts_of_a_run(train_correct, agreement, word):
    predictions = predict("add", train="D4", test="D5").rows
    (row,) = verdicts(predictions, Domain.parse("D4"), run_records(train_correct, agreement))
    assert row.word == word
    assert row.accuracy == sample(0, 10_000)
    assert row.agreement == sample(agreement, 10_000)
    assert row.coincides == sample(7, 10_000)
    assert row.expected == predictions[0].accuracy == 0


@pytest.mark.parametrize(("shorter", "word"), [(10_000, "holds"), (9_700, "undecided")])
def test_every_length_of_a_mixture_passes_the_gate_by_itself(shorter, word):
    """Half of the mixture at 97 % leaves the whole at 98.5 %; at 99.4 % the mixture alone would pass."""
    predictions = predict("add", train="D4+D5", test="D6").rows
    lengths = [record("D4", correct=shorter), record("D5")]
    rest = [record("D4+D5", correct=9_990), record("D6"), record("D6", "truncated:5")]
    train = Domain.parse("D4+D5")
    assert verdicts(predictions, train, [*lengths, *rest])[0].word == word
    assert verdicts(predictions, train, rest)[0].word == "holds", "records of version 0.1 have the mixture alone"


def test_a_domain_without_prediction_has_accuracy_and_no_word():
    predictions = predict("mul", train="D4", test="D5", encoding="coupled").rows
    assert predictions[0].hypothesis is None
    (row,) = verdicts(predictions, Domain.parse("D4"), [record("D4"), record("D5", correct=12)])
    assert (row.word, row.agreement, row.accuracy.correct) == (None, None, 12)


def test_an_enumerated_record_is_judged_without_interval():
    predictions = predict("add", train="D1", test="D1").rows
    records = [
        record("D1", reference, 99, total=100, selection="enumerated") for reference in ("truth", "truncated:1")
    ]
    (row,) = verdicts(predictions, Domain.parse("D1"), records)
    assert row.word == "holds"
    sampled = [r.model_copy(update={"selection": "sampled"}) for r in records]
    assert verdicts(predictions, Domain.parse("D1"), sampled)[0].word == "undecided"


def test_records_that_lack_a_measurement_are_refused():
    predictions = predict("add", train="D4", test="D5").rows
    with pytest.raises(InputError, match="D5 against truncated:4"):
        verdicts(predictions, Domain.parse("D4"), [record("D4"), record("D5")])


@given(st.data(), st.integers(1, 20_000), st.sampled_from([0.9, CONFIDENCE, 0.99]))
def test_clopper_pearson_is_scipys_exact_interval(data, total, confidence):
    correct = data.draw(st.sampled_from([0, 1, total - 1, total]) | st.integers(0, total))
    low, high = clopper_pearson(correct, total, confidence)
    expected = binomtest(correct, total).proportion_ci(confidence, method="exact")
    assert low == pytest.approx(expected.low, abs=1e-9)
    assert high == pytest.approx(expected.high, abs=1e-9)
    assert 0 <= low <= correct / total <= high <= 1


@pytest.mark.parametrize(
    ("correct", "total", "low", "high"),
    [
        # No deviation in n: the lower end is (0.025)^(1/n).
        (10_000, 10_000, 0.025 ** (1 / 10_000), 1.0),
        (1, 1, 0.025, 1.0),
        (0, 1, 0.0, 0.975),
        (0, 10, 0.0, 0.3084971),
        (8, 10, 0.4439045, 0.9747893),
        (5, 10, 0.1870860, 0.8129140),
    ],
)
def test_known_values(correct, total, low, high):
    assert clopper_pearson(correct, total) == pytest.approx((low, high), abs=1e-6)


def test_the_interval_is_one_of_95_percent():
    assert clopper_pearson(8, 10) == clopper_pearson(8, 10, 0.95)


@pytest.mark.parametrize(("correct", "total"), [(0, 7), (3, 7), (7, 7)])
def test_an_enumerated_domain_has_no_interval(correct, total):
    assert Measured(correct, total, enumerated=True).interval == (correct / total, correct / total)
    assert Measured(correct, total, enumerated=False).interval == clopper_pearson(correct, total)


@pytest.mark.parametrize(("correct", "total"), [(3, 2), (-1, 2), (0, 0)])
def test_impossible_counts(correct, total):
    with pytest.raises(AssertionError):
        clopper_pearson(correct, total)


@pytest.mark.parametrize("correct, passed", [(10_000, True), (9_000, False)])
def test_a_mixture_decides_where_not_all_of_its_lengths_were_measured(correct, passed):
    measured = {("D1", "truth"): Measured(100, 100, True), ("D1+D2", "truth"): Measured(correct, 10_000, False)}
    assert passes_gate(Domain.parse("D1+D2"), measured) == passed
