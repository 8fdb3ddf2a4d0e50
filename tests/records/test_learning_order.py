"""Learning order from digit-wise accuracies through training."""

import pytest

from lengthwise.arithmetic import Domain
from lengthwise.errors import InputError
from lengthwise.records.analysis import learning_order
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
