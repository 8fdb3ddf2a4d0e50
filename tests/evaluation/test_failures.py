"""How decoded answers fail, on answers written by hand. `407` stands for the digits 7 0 4."""

import pytest
import torch

from lengthwise.arithmetic import Task
from lengthwise.evaluation.failures import split_failures
from lengthwise.tokens.digits import from_ints
from lengthwise.tokens.layouts import build_layout

LAYOUT = build_layout("padded", Task.parse("add"), operand_width=2)  # three answer digits, ; and [eos]
RIGHT = 407


def split(*texts):
    ids = [LAYOUT.vocabulary.ids(text) for text in texts]
    answers = torch.tensor([ids])
    reference = from_ints([RIGHT] * len(texts), 3, 10).unsqueeze(0)
    return split_failures(answers, reference, LAYOUT)


CASES = {
    "704;[eos]": "exact",
    "704;;": "malformed",
    "704;\n": "malformed",
    "704[eos];": "malformed",
    "70+;[eos]": "malformed",
    "=04;[eos]": "malformed",
    "[bos]704;": "malformed",
    "70412": "malformed",  # no end in sight
    "7041\n": "malformed",
    "70;[eos]7": "wrong_length",
    "70;[eos];": "wrong_length",
    "7;[eos]11": "wrong_length",
    ";[eos]704": "wrong_length",
    "70;74": "malformed",  # something after the end that is not [eos]
    "7040;": "wrong_length",  # the right number with a zero too many
    "804;[eos]": 1,
    "714;[eos]": 2,
    "705;[eos]": 3,
    "000;[eos]": 1,
    "715;[eos]": 2,
}


@pytest.mark.parametrize(("text", "kind"), CASES.items())
def test_one_answer(text, kind):
    decoded = split(text)
    found = {name for name in ("exact", "malformed", "wrong_length") if getattr(decoded, name).item()}
    first = decoded.first_wrong.item()
    assert (found, first) == (({kind}, 0) if isinstance(kind, str) else (set(), kind))


def test_many_at_once_and_exactly_one_of_four():
    decoded = split(*CASES)
    kinds = torch.stack(
        [decoded.exact, decoded.malformed, decoded.wrong_length, decoded.first_wrong > 0]
    ).sum(0)
    assert (kinds == 1).all()
    assert decoded.exact.sum() == 1
    assert decoded.first_wrong[0].tolist() == [k if isinstance(k, int) else 0 for k in CASES.values()]


def test_every_answer_is_one_of_four():
    """Whatever tokens come out: all strings of five of a small set, against one reference."""
    v = LAYOUT.vocabulary
    tokens = torch.tensor([7, 0, 4, v.end, v.eos, v.operator, v.line_break])
    answers = torch.cartesian_prod(*[tokens] * 5).unsqueeze(0)
    reference = from_ints([RIGHT], 3, 10).expand(1, answers.shape[1], -1)
    decoded = split_failures(answers, reference, LAYOUT)
    kinds = torch.stack([decoded.exact, decoded.malformed, decoded.wrong_length, decoded.first_wrong > 0])
    assert (kinds.sum(0) == 1).all()
    assert decoded.exact.sum() == 1
    read = [LAYOUT.read_answer(row) for row in answers[0]]
    well_formed = torch.tensor([isinstance(value, int) for value in read])
    assert torch.equal(well_formed, ~(decoded.malformed | decoded.wrong_length)[0]), "as the layout reads it"
    assert torch.equal(torch.tensor([value == RIGHT for value in read]), decoded.exact[0])
