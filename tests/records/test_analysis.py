import numpy as np
import pytest

from lengthwise.arithmetic import Domain
from lengthwise.errors import InputError
from lengthwise.records.analysis import Standstill, learning_order, standstills
from lengthwise.records.schema import Record

STEPS = (0, 100, 200, 300, 400)


def records(learned, domain="D3", **changes):
    """Each position is wrong before the step given for it, and right from there on; None: never."""
    found = []
    for position, since in learned.items():
        for step in STEPS:
            right = 995 if since is not None and step >= since else 400
            found.append(
                Record(
                    run="r", seed=1, step=step, task="add", base=10, domain=domain, metric=f"digit:{position}",
                    correct=right, total=1000, selection="sampled", **changes,
                )
            )  # fmt: skip
    return found


def judged(learned, train="D3"):
    order = learning_order(records(learned, train), Domain.parse(train))
    assert order.steps == learned
    return order.top_last, order.top_first


@pytest.mark.parametrize(
    ("learned", "last", "first"),
    [
        ({1: 100, 2: 200, 3: 300, 4: 400}, "holds", "fails"),
        ({1: 400, 2: 300, 3: 200, 4: 100}, "fails", "holds"),
        ({1: 100, 2: 300, 3: 200, 4: 400}, "fails", "fails"),
        ({1: 100, 2: 200, 3: 200, 4: 300}, "undecided", "fails"),
        ({1: 200, 2: 300, 3: 200, 4: 100}, "fails", "undecided"),
        ({1: 100, 2: 200, 3: 300, 4: None}, "holds", "fails"),
        ({1: None, 2: None, 3: None, 4: None}, "undecided", "undecided"),
        ({1: 100, 2: 100, 3: 100, 4: 100}, "undecided", "undecided"),
    ],
)
def test_the_two_statements(learned, last, first):
    assert judged(learned) == (last, first)


def test_top_positions_of_a_mixture():
    order = learning_order(records({1: 0, 2: 0, 3: 100}, "D2+D3"), Domain.parse("D2+D3"))
    assert order.top == (2, 3, 4)


def test_a_lapse_counts_as_not_learned():
    lapse = records({1: 100, 2: 100, 3: 100, 4: 100})
    spoiled = [r.model_copy(update={"correct": 100}) if r.step == 300 else r for r in lapse]
    assert set(learning_order(spoiled, Domain.parse("D3")).steps.values()) == {400}


def test_only_the_domain_asked_for_and_only_against_truth_counts():
    other = records({1: None}, "D2") + records({1: None}, reference="truncated:3")
    mixed = [*records({1: 100, 3: 200}), *other]
    assert learning_order(mixed, Domain.parse("D3")).steps == {1: 100, 3: 200}
    assert learning_order(mixed, Domain.parse("D3"), "D2").steps == {1: None}


def test_without_digits_through_training():
    only_last = [r for r in records({1: 100}) if r.step == 400]
    with pytest.raises(InputError, match=r"D3 .*--evaluation\.digits"):
        learning_order(only_last, Domain.parse("D3"))


def test_without_positions_below_there_is_nothing_to_judge():
    assert judged({1: 0, 2: 0}, "D1") == (None, None)
    assert judged({1: 0, 2: 0}, "D3") == (None, None)


def found(*accuracies, problems=1000):
    return standstills({100 * k: accuracy for k, accuracy in enumerate(accuracies)}, problems)


def test_a_curve_that_climbs_has_none():
    assert found(0, 0.1, 0.2, 0.3, 0.5, 0.7, 0.95) == []


def test_two_stands_on_the_way_up():
    low, high = found(0, 0.05, 0.05, 0.06, 0.05, 0.4, 0.62, 0.63, 0.62, 1, 1, 1, 1)
    assert (low.first, low.last, high.first, high.last) == (100, 400, 600, 800)
    assert (low.accuracy, high.accuracy) == pytest.approx((0.0525, 0.6233), abs=1e-4)


def test_a_learned_domain_and_the_untrained_model_do_not_count():
    assert found(0.5, 0.995, 1, 1, 1) == []
    assert found(0.5, 0.5, 0.5, 0.9) == []


def test_what_counts_as_still_depends_on_the_number_of_problems():
    curve = (0, 0.50, 0.52, 0.50)
    assert len(found(*curve, problems=1000)) == 1
    assert found(*curve, problems=100_000) == []


def test_a_height_is_met_within_two_standard_errors():
    stand = Standstill(1, 3, 0.62)
    assert stand.is_at(0.6288, 1000) and not stand.is_at(0.6523, 1000)


def test_a_constant_accuracy_is_mostly_recognised():
    """Ten evaluations of 1,000 problems each at one accuracy: within two standard errors 19 times of 20."""
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(200):
        curve = {k + 1: float(right) / 1000 for k, right in enumerate(rng.binomial(1000, 0.556, size=10))}
        covered += sum((s.last - s.first + 1) for s in standstills(curve, 1000) if s.is_at(0.556, 1000))
    assert covered > 0.85 * 2000
