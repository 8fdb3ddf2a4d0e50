"""How decoded answers fail, on answers written by hand. `407` stands for the digits 7 0 4."""

import pytest
import torch

from lengthwise.arithmetic import Task
from lengthwise.evaluation.decode import split_failures
from lengthwise.tokens.digits import from_ints
from lengthwise.tokens.layouts import build_layout

LAYOUT = build_layout("padded", Task.parse("add"), operand_width=2)  # three answer digits, ; and [eos]
RIGHT = 407


def split(*texts):
    ids = [LAYOUT.vocabulary.ids(text) for text in texts]
    answers = torch.tensor([ids])
    reference = from_ints([RIGHT] * len(texts), 3, 10).unsqueeze(0)
    return split_failures(answers, LAYOUT, blank_problems(len(texts)), reference)


def blank_problems(count):
    """In this layout nothing depends on the operands."""
    return (torch.zeros(1, count, 2, dtype=torch.int8),) * 2


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
    kinds = torch.stack([decoded.exact, decoded.malformed, decoded.wrong_length, decoded.first_wrong > 0]).sum(0)
    assert (kinds == 1).all()
    assert decoded.exact.sum() == 1
    assert decoded.first_wrong[0].tolist() == [k if isinstance(k, int) else 0 for k in CASES.values()]


def test_every_answer_is_one_of_four():
    """Whatever tokens come out: all strings of five of a small set, against one reference."""
    v = LAYOUT.vocabulary
    tokens = torch.tensor([7, 0, 4, v.end, v.eos, v.operator, v.line_break])
    answers = torch.cartesian_prod(*[tokens] * 5).unsqueeze(0)
    reference = from_ints([RIGHT], 3, 10).expand(1, answers.shape[1], -1)
    decoded = split_failures(answers, LAYOUT, blank_problems(answers.shape[1]), reference)
    kinds = torch.stack([decoded.exact, decoded.malformed, decoded.wrong_length, decoded.first_wrong > 0])
    assert (kinds.sum(0) == 1).all()
    assert decoded.exact.sum() == 1
    read = [LAYOUT.read_answer(row) for row in answers[0]]
    well_formed = torch.tensor([isinstance(value, int) for value in read])
    assert torch.equal(well_formed, ~(decoded.malformed | decoded.wrong_length)[0]), "as the layout reads it"
    assert torch.equal(torch.tensor([value == RIGHT for value in read]), decoded.exact[0])


UNLIKE_CASES = {
    "reversed": {
        (12, 395, "704;[eos]"): "exact",
        (12, 395, "714;[eos]"): 2,
        (12, 395, "70;[eos]\n"): "wrong_length",
        (12, 395, "7040;"): "wrong_length",
        (12, 395, "70+;[eos]"): "malformed",
        (3, 4, "7;[eos]\n\n"): "exact",
        (3, 4, "7;[eos]70"): "exact",  # what follows [eos] is not read
        (3, 4, "8;[eos]\n\n"): 1,
        (3, 4, "70;[eos]\n"): "wrong_length",
        (3, 4, ";[eos]\n\n\n"): "wrong_length",
        (3, 4, "7;;[eos]\n"): "malformed",
        (3, 4, "7[eos];\n\n"): "malformed",
    },
    "level": {
        (12, 395, "7040;[eos]"): "exact",
        (12, 395, "7140;[eos]"): 2,
        (12, 395, "7041;[eos]"): 4,
        (12, 395, "704;[eos]\n"): "wrong_length",
        (12, 395, "70401;"): "wrong_length",
        (12, 395, "70+0;[eos]"): "malformed",
        (395, 12, "7040;[eos]"): "exact",
        (3, 4, "70;[eos]\n\n"): "exact",
        (3, 4, "70;[eos]40"): "exact",
        (3, 4, "71;[eos]\n\n"): 2,
        (3, 4, "7;[eos]\n\n\n"): "wrong_length",  # the right number, too narrow
        (3, 4, "7000;[eos]"): "wrong_length",  # and too wide
        (3, 4, "7;0[eos]\n\n"): "malformed",
        (0, 0, "00;[eos]\n\n"): "exact",
    },
    "plain": {
        (12, 395, "407;[eos]"): "exact",
        (12, 395, "417;[eos]"): 2,
        (12, 395, "518;[eos]"): 3,  # the first as written
        (12, 395, "07;[eos]\n"): "wrong_length",
        (3, 4, "7;[eos]\n\n"): "exact",
    },
    "scratchpad": {
        (5, 7, "211000000=2100;[eos]"): "exact",
        (5, 7, "311000000=2100;[eos]"): 1,
        (5, 7, "211000100=2100;[eos]"): 3,  # the answer is right, the steps to it are not
        (5, 7, "211000000=2200;[eos]"): 2,
        (5, 7, "211000000=210;[eos]\n"): "wrong_length",
        (5, 7, "21100000=02100;[eos]"): "malformed",
        (5, 7, "211000000=2100;;"): "malformed",
        (5, 7, "211000000;2100;[eos]"): "malformed",
    },
}


@pytest.mark.parametrize(
    ("name", "case", "kind"),
    [(name, case, kind) for name, cases in UNLIKE_CASES.items() for case, kind in cases.items()],
)
def test_other_layouts(name, case, kind):
    a, b, text = case
    layout = build_layout(name, Task.parse("add"), operand_width=3)
    ids = torch.tensor([[layout.vocabulary.ids(text)]])
    pair = tuple(from_ints([n], 3, 10)[None] for n in (a, b))
    decoded = split_failures(ids, layout, pair, from_ints([a + b], 4, 10)[None])
    found = {name for name in ("exact", "malformed", "wrong_length") if getattr(decoded, name).item()}
    first = decoded.first_wrong.item()
    assert (found, first) == (({kind}, 0) if isinstance(kind, str) else (set(), kind))
    # A number is read from a level answer of any width, as reading knows nothing of the operands.
    if name != "scratchpad" and (name, kind) != ("level", "wrong_length"):
        assert (layout.read_answer(ids[0, 0]) == a + b) == (kind == "exact")


@pytest.mark.parametrize("name", ["reversed", "level"])
def test_every_answer_of_unlike_lengths_is_one_of_four(name):
    layout = build_layout(name, Task.parse("add"), operand_width=2)
    v = layout.vocabulary
    tokens = torch.tensor([7, 0, 4, v.end, v.eos, v.operator, v.line_break])
    answers = torch.cartesian_prod(*[tokens] * 5).unsqueeze(0)
    for right in (7, 47, 407):
        reference = from_ints([right], 3, 10).expand(1, answers.shape[1], -1)
        decoded = split_failures(answers, layout, blank_problems(answers.shape[1]), reference)
        kinds = [decoded.exact, decoded.malformed, decoded.wrong_length, decoded.first_wrong > 0]
        assert (torch.stack(kinds).sum(0) == 1).all()
        is_right = torch.tensor([layout.read_answer(row) == right for row in answers[0]])
        if name == "level":
            is_right &= ~decoded.wrong_length[0]
        assert torch.equal(is_right, decoded.exact[0])
