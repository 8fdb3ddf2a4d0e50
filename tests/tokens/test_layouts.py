"""Known ids, round trips, and what malformed answers are called, in every layout."""

from typing import NamedTuple

import pytest
import torch
from fakes import read_text
from hypothesis import given, settings
from hypothesis import strategies as st
from torch._subclasses.fake_tensor import FakeTensorMode

from lengthwise.arithmetic import Task, digit_count
from lengthwise.errors import InputError
from lengthwise.model.positions import find_encoding
from lengthwise.model.positions.encoding import number_tokens
from lengthwise.theory.encodings import LAYOUT_FACTS
from lengthwise.tokens.digits import from_ints
from lengthwise.tokens.layouts import LAYOUTS, build_layout
from lengthwise.tokens.layouts.layout import Malformed, Vocabulary
from lengthwise.tokens.layouts.natural_length import squeezed

torch.set_num_threads(1)


def encode(layout, a, b, c):
    base, width = layout.vocabulary.base, layout.operand_width
    numbers = (from_ints([n], w, base) for n, w in ((a, width), (b, width), (c, layout.answer_width)))
    return layout.encode(*numbers)


class Known(NamedTuple):
    """One problem in one layout, written out by hand; numbers are 1, 2, 3 for a, b, c, 4 and 5 for steps."""

    text: str
    ids: list[int]
    significance: list[int]
    number: list[int]
    prompt: int


ADDITIONS = {
    "padded": Known(
        "[bos]012+345=7530;[eos]",
        [13, 0, 1, 2, 10, 3, 4, 5, 11, 7, 5, 3, 0, 12, 14],
        [-1, 3, 2, 1, 0, 3, 2, 1, 0, 1, 2, 3, 4, -1, -1],
        [0, 1, 1, 1, 0, 2, 2, 2, 0, 3, 3, 3, 3, 0, 0],
        9,
    ),
    "aligned": Known(
        "[bos]210+543=7530;[eos]",
        [13, 2, 1, 0, 10, 5, 4, 3, 11, 7, 5, 3, 0, 12, 14],
        [-1, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 4, -1, -1],
        [0, 1, 1, 1, 0, 2, 2, 2, 0, 3, 3, 3, 3, 0, 0],
        9,
    ),
    "descending": Known(
        "[bos]012+345=0357;[eos]",
        [13, 0, 1, 2, 10, 3, 4, 5, 11, 0, 3, 5, 7, 12, 14],
        [-1, 3, 2, 1, 0, 3, 2, 1, 0, 4, 3, 2, 1, -1, -1],
        [0, 1, 1, 1, 0, 2, 2, 2, 0, 3, 3, 3, 3, 0, 0],
        9,
    ),
    "reversed": Known(
        "[bos]21+543=753;[eos]",
        [13, 2, 1, 10, 5, 4, 3, 11, 7, 5, 3, 12, 14, 15, 15],
        [-1, 1, 2, 0, 1, 2, 3, 0, 1, 2, 3, -1, -1, -1, -1],
        [0, 1, 1, 0, 2, 2, 2, 0, 3, 3, 3, 0, 0, 0, 0],
        8,
    ),
    "level": Known(  # the longer operand fills the width
        "[bos]210+543=7530;[eos]",
        [13, 2, 1, 0, 10, 5, 4, 3, 11, 7, 5, 3, 0, 12, 14],
        [-1, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 4, -1, -1],
        [0, 1, 1, 1, 0, 2, 2, 2, 0, 3, 3, 3, 3, 0, 0],
        9,
    ),
    "plain": Known(
        "[bos]12+345=357;[eos]",
        [13, 1, 2, 10, 3, 4, 5, 11, 3, 5, 7, 12, 14, 15, 15],
        [-1, 2, 1, 0, 3, 2, 1, 0, 3, 2, 1, -1, -1, -1, -1],
        [0, 1, 1, 0, 2, 2, 2, 0, 3, 3, 3, 0, 0, 0, 0],
        8,
    ),
    "scratchpad": Known(  # sums 07, 05, 03, each without a carry
        "[bos]210+543=700500300=7530;[eos]",
        [13, 2, 1, 0, 10, 5, 4, 3, 11, 7, 0, 0, 5, 0, 0, 3, 0, 0, 11, 7, 5, 3, 0, 12, 14],
        [-1, 1, 2, 3, 0, 1, 2, 3, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 0, 1, 2, 3, 4, -1, -1],
        [0, 1, 1, 1, 0, 2, 2, 2, 0, 4, 4, 5, 4, 4, 5, 4, 4, 5, 0, 3, 3, 3, 3, 0, 0],
        9,
    ),
}
"""12 + 345 = 357 at operand width 3."""

PRODUCTS = {
    "padded": Known(
        "[bos]12*09=8010;[eos]",
        [13, 1, 2, 10, 0, 9, 11, 8, 0, 1, 0, 12, 14],
        [-1, 2, 1, 0, 2, 1, 0, 1, 2, 3, 4, -1, -1],
        [0, 1, 1, 0, 2, 2, 0, 3, 3, 3, 3, 0, 0],
        7,
    ),
    "aligned": Known(
        "[bos]21*90=8010;[eos]",
        [13, 2, 1, 10, 9, 0, 11, 8, 0, 1, 0, 12, 14],
        [-1, 1, 2, 0, 1, 2, 0, 1, 2, 3, 4, -1, -1],
        [0, 1, 1, 0, 2, 2, 0, 3, 3, 3, 3, 0, 0],
        7,
    ),
    "descending": Known(
        "[bos]12*09=0108;[eos]",
        [13, 1, 2, 10, 0, 9, 11, 0, 1, 0, 8, 12, 14],
        [-1, 2, 1, 0, 2, 1, 0, 4, 3, 2, 1, -1, -1],
        [0, 1, 1, 0, 2, 2, 0, 3, 3, 3, 3, 0, 0],
        7,
    ),
    "reversed": Known(
        "[bos]21*9=801;[eos]",
        [13, 2, 1, 10, 9, 11, 8, 0, 1, 12, 14, 15, 15],
        [-1, 1, 2, 0, 1, 0, 1, 2, 3, -1, -1, -1, -1],
        [0, 1, 1, 0, 2, 0, 3, 3, 3, 0, 0, 0, 0],
        6,
    ),
    "level": Known(
        "[bos]21*90=8010;[eos]",
        [13, 2, 1, 10, 9, 0, 11, 8, 0, 1, 0, 12, 14],
        [-1, 1, 2, 0, 1, 2, 0, 1, 2, 3, 4, -1, -1],
        [0, 1, 1, 0, 2, 2, 0, 3, 3, 3, 3, 0, 0],
        7,
    ),
    "plain": Known(
        "[bos]12*9=108;[eos]",
        [13, 1, 2, 10, 9, 11, 1, 0, 8, 12, 14, 15, 15],
        [-1, 2, 1, 0, 1, 0, 3, 2, 1, -1, -1, -1, -1],
        [0, 1, 1, 0, 2, 0, 3, 3, 3, 0, 0, 0, 0],
        6,
    ),
    "scratchpad": Known(  # column 1: sum 018, carry 01; column 2: sum 009, with the carry 10, so carry 01
        "[bos]21*90=810109001000000=8010;[eos]",
        [13, 2, 1, 10, 9, 0, 11, 8, 1, 0, 1, 0, 9, 0, 0, 1, 0, 0, 0, 0, 0, 0, 11, 8, 0, 1, 0, 12, 14],
        [-1, 1, 2, 0, 1, 2, 0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 0, 1, 2, 3, 4, -1, -1],
        [0, 1, 1, 0, 2, 2, 0, 4, 4, 4, 5, 5, 4, 4, 4, 5, 5, 4, 4, 4, 5, 5, 0, 3, 3, 3, 3, 0, 0],
        7,
    ),
}
"""12 * 9 = 108 at operand width 2."""


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize(
    ("task", "width", "problem", "table"),
    [("add", 3, (12, 345, 357), ADDITIONS), ("mul", 2, (12, 9, 108), PRODUCTS)],
)
def test_one_problem_by_hand(name, task, width, problem, table):
    layout, known = build_layout(name, Task(task), width), table[name]
    encoded = encode(layout, *problem)
    tokens = encoded.spread()
    assert tokens.ids.dtype == torch.int64
    assert tokens.ids.tolist() == [known.ids]
    assert tokens.significance.tolist() == [known.significance]
    assert tokens.number.tolist() == [known.number]
    assert tokens.prompt_length.tolist() == [known.prompt]
    end = known.ids.index(14) + 1
    assert tokens.answer[0].tolist() == [known.prompt <= i < end for i in range(len(known.ids))]
    assert layout.length == len(known.ids)
    assert layout.render(tokens.ids[0]) == known.text
    assert layout.read_answer(known.ids[known.prompt :]) == problem[2]
    if layout.fixed_width:
        assert encoded.significance.shape == (layout.length,), "what all problems share is held once"


@pytest.mark.parametrize(
    ("encoding", "name", "expected"),
    [
        ("abacus", "padded", [0, 3, 2, 1, 0, 3, 2, 1, 0, 1, 2, 3, 4, 0, 0]),
        ("coupled", "padded", [0, 4, 3, 2, 1, 4, 3, 2, 1, 2, 3, 4, 5, 0, 0]),
        ("abacus", "reversed", [0, 1, 2, 0, 1, 2, 3, 0, 1, 2, 3, 0, 0, 0, 0]),
        ("coupled", "reversed", [0, 2, 3, 1, 2, 3, 4, 1, 2, 3, 4, 0, 0, 0, 0]),
        ("abacus", "level", [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 4, 0, 0]),
        ("coupled", "level", [0, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4, 5, 0, 0]),
        ("abacus", "aligned", [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 4, 0, 0]),
        (
            "coupled",
            "scratchpad",
            [0, 2, 3, 4, 1, 2, 3, 4, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 1, 2, 3, 4, 5, 0, 0],
        ),
        ("learned", "plain", list(range(15))),
        ("rotary", "aligned", list(range(15))),
    ],
)
def test_positions_by_hand(encoding, name, expected):
    """Of 12 + 345."""
    tokens = encode(build_layout(name, Task("add"), 3), 12, 345, 357)
    positions = number_tokens(find_encoding(encoding), tokens.significance, tokens.number)
    assert positions.flatten().tolist() == expected


@pytest.mark.parametrize(
    ("encoding", "expected"),
    [
        ("abacus", [0, 1, 2, 0, 1, 2, 0, 1, 2, 3, 0, 0, 0, 0, 0]),
        ("coupled", [0, 2, 3, 1, 2, 3, 1, 2, 3, 4, 0, 0, 0, 0, 0]),
    ],
)
def test_positions_of_a_short_level_problem(encoding, expected):
    """12 + 3, where there is room for three digits: `[bos]21+30=510;[eos]`."""
    tokens = encode(build_layout("level", Task("add"), 3), 12, 3, 15)
    positions = number_tokens(find_encoding(encoding), tokens.significance, tokens.number)
    assert positions.flatten().tolist() == expected


def test_base_36():
    layout = build_layout("padded", Task("add", base=36), 2)
    tokens = encode(layout, 35, 36, 71)
    assert tokens.ids.tolist() == [[39, 0, 35, 36, 1, 0, 37, 35, 1, 0, 38, 40]]
    assert layout.render(tokens.ids[0]) == "[bos]0z+10=z10;[eos]"
    assert layout.read_answer(tokens.ids[0, 7:]) == 71


def test_the_papers_size():
    layout = build_layout("padded", Task("add"), 20)
    assert (layout.length, layout.answer_width, len(layout.vocabulary)) == (66, 21, 16)
    assert build_layout("padded", Task.parse("add%101"), 20).answer_width == 3
    assert build_layout("padded", Task("add"), 4, answer_width=9).answer_width == 9


@st.composite
def problems(draw):
    base, width = draw(st.integers(2, 36)), draw(st.integers(1, 30))
    task = Task(draw(st.sampled_from(["add", "mul"])), base=base)
    # Short numbers as often as long ones.
    a, b = (draw(st.integers(0, base ** draw(st.integers(1, width)) - 1)) for _ in "ab")
    return task, width, a, b


def digits_written(name, task, a, b):
    """Of a, b and the answer, in a layout where not all problems have the same."""
    own = [digit_count(n, task.base) for n in (a, b, task(a, b))]
    longer = max(own[:2])
    most = longer + 1 if task.operation == "add" else 2 * longer
    return [longer, longer, most] if name == "level" else own


@pytest.mark.parametrize("name", LAYOUTS)
@given(problem=problems())
@settings(max_examples=40)
def test_round_trip(name, problem):
    task, width, a, b = problem
    layout, base = build_layout(name, task, width), task.base
    tokens = encode(layout, a, b, task(a, b)).spread()
    ids, prompt = tokens.ids[0], int(tokens.prompt_length)
    assert len(ids) == layout.length
    assert read_text(layout, layout.render(ids)) == (a, b, task(a, b))
    assert layout.read_answer(ids[prompt:]) == task(a, b)
    assert layout.read_answer(ids[tokens.answer[0]]) == task(a, b)
    assert layout.vocabulary.ids(layout.render(ids)) == [i for i in ids.tolist() if i != base + 5]
    number, significance = tokens.number[0], tokens.significance[0]
    for which, value, digits in zip((1, 2, 3), (a, b, task(a, b)), digits_written(name, task, a, b), strict=True):
        own = number == which
        places = significance[own].tolist()
        assert sum(d * base ** (p - 1) for d, p in zip(ids[own].tolist(), places, strict=True)) == value
        if not layout.fixed_width:
            assert len(places) == digits
    assert (ids[number > 0] < base).all() and (ids[number == 0] >= base).all()


@given(problem=problems())
@settings(max_examples=40)
def test_the_chain_is_that_of_the_paper(problem):
    """On Python's integers: raw sums of products, and carries from column to column."""
    task, width, a, b = problem
    layout, base = build_layout("scratchpad", task, width), task.base
    x, y = ([n // base**i % base for i in range(width)] for n in (a, b))
    if task.operation == "add":
        sums = [i + j for i, j in zip(x, y, strict=True)]
    else:
        sums = [sum(x[j] * y[i - j] for j in range(width) if 0 <= i - j < width) for i in range(2 * width - 1)]
    tokens = encode(layout, a, b, task(a, b)).spread()
    carry = 0
    for column, total in enumerate(sums, start=1):
        carry = (total + carry) // base
        for which, value in ((4, total), (5, carry)):
            own = (tokens.number[0] == which) & (tokens.significance[0] == column)
            assert sum(d * base**i for i, d in enumerate(tokens.ids[0, own].tolist())) == value


@pytest.mark.parametrize("base", [2, 3, 10, 36])
@pytest.mark.parametrize("task", ["add", "mul"])
def test_a_chain_is_no_wider_than_it_must_be(task, base):
    """The largest operands fill both kinds of numbers to their top digit, from some length on."""
    layout = build_layout("scratchpad", Task(task, base=base), 8)
    largest = base**8 - 1
    tokens = encode(layout, largest, largest, Task(task, base=base)(largest, largest)).spread()
    for which in (4, 5):
        digits = tokens.ids[tokens.number == which].view(8 if task == "add" else 15, -1)
        assert digits[:, -1].any()


@pytest.mark.parametrize("name", ["padded", "level", "plain"])
def test_very_long_numbers(name):
    """Longer than what Python's int() reads."""
    layout = build_layout(name, Task("add"), 5000)
    a, b = 10**5000 - 1, 10**4999 + 7
    tokens = encode(layout, a, b, a + b).spread()
    assert read_text(layout, layout.render(tokens.ids[0])) == (a, b, a + b)
    assert layout.read_answer(tokens.ids[0, int(tokens.prompt_length) :]) == a + b


def test_batches_and_narrow_numbers():
    layout = build_layout("padded", Task("add"), 4)
    narrow = from_ints([12, 7], 2, 10).expand(3, 2, 2)
    tokens = layout.encode(narrow, narrow[..., :1], narrow)
    assert tokens.ids.shape == (3, 2, layout.length)
    assert layout.render(tokens.ids[2, 0]) == "[bos]0012+0002=21000;[eos]"
    assert layout.render(tokens.ids[1, 1]) == "[bos]0007+0007=70000;[eos]"


def test_problems_of_unlike_length_in_a_batch():
    layout = build_layout("reversed", Task("add"), 3)
    a, b, c = (from_ints(n, w, 10) for n, w in (([0, 999, 12], 3), ([0, 999, 3], 3), ([0, 1998, 15], 4)))
    tokens = layout.encode(a, b, c)
    assert [layout.render(ids) for ids in tokens.ids] == [
        "[bos]0+0=0;[eos]",
        "[bos]999+999=8991;[eos]",
        "[bos]21+3=51;[eos]",
    ]
    assert tokens.prompt_length.tolist() == [5, 9, 6]
    assert tokens.answer.sum(-1).tolist() == [3, 6, 4]
    assert (tokens.ids == layout.vocabulary.line_break).sum(-1).tolist() == [7, 0, 5]


def test_level_problems_in_a_batch():
    """Lopsided ones, and 0 + 0."""
    layout = build_layout("level", Task("add"), 3)
    problems = [(0, 0, 0), (999, 999, 1998), (12, 3, 15), (3, 12, 15), (0, 345, 345)]
    a, b, c = (from_ints(n, w, 10) for n, w in zip(zip(*problems, strict=True), (3, 3, 4), strict=True))
    tokens = layout.encode(a, b, c)
    assert [layout.render(ids) for ids in tokens.ids] == [
        "[bos]0+0=00;[eos]",
        "[bos]999+999=8991;[eos]",
        "[bos]21+30=510;[eos]",
        "[bos]30+21=510;[eos]",
        "[bos]000+543=5430;[eos]",
    ]
    assert tokens.prompt_length.tolist() == [5, 9, 7, 7, 9]
    assert tokens.answer.sum(-1).tolist() == [4, 6, 5, 5, 6]
    assert (tokens.ids == layout.vocabulary.line_break).sum(-1).tolist() == [6, 0, 3, 3, 0]


@pytest.mark.parametrize(
    ("task", "problem", "answer_width", "text"),
    [
        ("mul", (0, 0), None, "[bos]0*0=00;[eos]"),
        ("mul", (12, 345), None, "[bos]210*543=041400;[eos]"),
        ("mul", (345, 2), None, "[bos]543*200=096000;[eos]"),
        ("mul", (345, 2), 4, "[bos]543*200=0960;[eos]"),  # no wider than there is room
        ("add%7", (5, 26), None, "[bos]50+62=3;[eos]"),
        ("add%101", (0, 0), None, "[bos]0+0=000;[eos]"),
        ("mul%101", (345, 2), None, "[bos]543*200=480;[eos]"),
    ],
)
def test_level_answers_of_other_tasks(task, problem, answer_width, text):
    task = Task.parse(task)
    layout = build_layout("level", task, 3, answer_width)
    assert layout.render(encode(layout, *problem, task(*problem)).ids[0]) == text
    assert read_text(layout, text) == (*problem, task(*problem))


def test_a_level_answer_that_is_none_of_its_operands_is_written_whole():
    layout = build_layout("level", Task("add"), 3)
    assert layout.render(encode(layout, 1, 1, 357).ids[0]) == "[bos]1+1=753;[eos]"
    assert layout.render(encode(layout, 99, 99, 8).ids[0]) == "[bos]99+99=800;[eos]"


@pytest.mark.parametrize("name", LAYOUTS)
def test_too_wide(name):
    layout = build_layout(name, Task("add"), 3)
    with pytest.raises(InputError, match=r"b has 4 digits \(up to 3\)"):
        layout.encode(from_ints([1], 3, 10), from_ints([1], 4, 10), from_ints([1], 4, 10))


def test_refusals():
    with pytest.raises(InputError, match=r"unknown layout 'padde' \(choose from padded, aligned, descending"):
        build_layout("padde", Task("add"), 3)
    with pytest.raises(InputError, match=r"cannot be used for add%7 \(choose from add, mul\)"):
        build_layout("scratchpad", Task.parse("add%7"), 3)


def test_theory_knows_the_same_layouts():
    built = {name: build_layout(name, Task("add"), 2).fixed_width for name in LAYOUTS}
    assert built == {name: facts.fixed_width for name, facts in LAYOUT_FACTS.items()}


@pytest.mark.parametrize(
    "ids, expected",
    [
        ([6, 4, 0, 12, 14], 46),
        ([6, 4, 0, 12, 14, 15, 15, 3], 46),
        ([6, 4, 0, 12], "the tokens end where '[eos]' should stand"),
        ([6, 4, 12, 14], "';' stands where digit 3 of the answer should"),
        ([6, 4, 0, 0, 12, 14], "'0' stands where ';' should"),
        ([6, 99, 0, 12, 14], "token 99 stands where digit 2 of the answer should"),
        ([-1, 4, 0, 12, 14], "token -1 stands where digit 1 of the answer should"),
        ([6, 4, 0, 12, 15], "'\\n' stands where '[eos]' should"),
        ([], "the tokens end where digit 1 of the answer should stand"),
    ],
)
def test_read_padded_answer(ids, expected):
    layout = build_layout("padded", Task("add"), 2)
    wanted = expected if isinstance(expected, int) else Malformed(expected)
    assert layout.read_answer(ids) == wanted
    assert layout.read_answer(torch.tensor(ids, dtype=torch.int64)) == wanted


@pytest.mark.parametrize(
    ("name", "ids", "expected"),
    [
        ("reversed", [6, 4, 12, 14], 46),
        ("reversed", [6, 4, 12, 14, 15, 15, 3], 46),
        ("plain", [4, 6, 12, 14, 12], 46),
        ("reversed", [0, 12, 14], 0),
        ("reversed", [6, 4, 12], Malformed("the tokens end where '[eos]' should stand")),
        ("reversed", [12, 14], Malformed("';' stands where digit 1 of the answer should")),
        ("reversed", [], Malformed("the tokens end where digit 1 of the answer should stand")),
        ("reversed", [6, 14], Malformed("'[eos]' stands where ';' should")),
        ("plain", [3, 0, 12, 14], 30),
        ("plain", [0, 3, 12, 14], Malformed("the answer has a zero before its leading digit")),
        ("reversed", [6, 99, 12, 14], Malformed("token 99 stands where ';' should")),
        ("reversed", [6, 4, 12, 15, 14], Malformed("'\\n' stands where '[eos]' should")),
        ("reversed", [6, 4, 0, 12, 14], Malformed("the answer has a zero before its leading digit")),
        ("level", [6, 4, 0, 12, 14], 46),
        ("level", [6, 4, 0, 12, 14, 15, 15, 3], 46),
        ("level", [6, 4, 12, 14], 46),
        ("level", [0, 0, 12, 14], 0),
        ("level", [6, 4, 0, 12], Malformed("the tokens end where '[eos]' should stand")),
        ("level", [12, 14], Malformed("';' stands where digit 1 of the answer should")),
        ("level", [6, 10, 0, 12, 14], Malformed("'+' stands where ';' should")),
        ("scratchpad", [6, 0, 0, 4, 0, 0, 11, 6, 4, 0, 12, 14], 46),
        ("scratchpad", [6, 0, 0, 4, 0, 12], Malformed("';' stands where a digit of carry 2 should")),
        ("scratchpad", [6, 0, 11], Malformed("'=' stands where a digit of carry 1 should")),
        ("scratchpad", [6, 0, 0, 4, 0, 0, 2], Malformed("'2' stands where '=' should")),
    ],
)
def test_read_answer(name, ids, expected):
    layout = build_layout(name, Task("add"), 2)
    assert layout.read_answer(ids) == layout.read_answer(torch.tensor(ids)) == expected


@pytest.mark.parametrize("name", LAYOUTS)
@given(ids=st.lists(st.integers(-3, 20), max_size=20))
@settings(max_examples=50)
def test_malformed_never_raises(name, ids):
    build_layout(name, Task("add"), 2).read_answer(ids)


def test_vocabulary():
    vocabulary = Vocabulary(2, "*")
    assert vocabulary.texts == ("0", "1", "*", "=", ";", "[bos]", "[eos]", "\n")
    named = (vocabulary.operator, vocabulary.equals, vocabulary.end, vocabulary.bos, vocabulary.eos)
    assert (*named, vocabulary.line_break) == (2, 3, 4, 5, 6, 7)


def test_own_layout(monkeypatch):
    monkeypatch.setitem(LAYOUTS, "wide", lambda task, n, answer: LAYOUTS["padded"](task, 2 * n, 2 * answer))
    assert build_layout("wide", Task("add"), 3).operand_width == 6


@pytest.mark.parametrize("task", ["add", "mul"])
@pytest.mark.parametrize("name", LAYOUTS)
def test_nothing_waits_for_the_device(name, task):
    layout = build_layout(name, Task(task), 3)
    a, c = from_ints([1, 2], 3, 10), from_ints([1, 2], 4, 10)
    layout.encode(a, a, c)
    with FakeTensorMode(allow_non_fake_inputs=True):
        assert layout.encode(a, a, c).ids.shape == (2, layout.length)


@given(st.lists(st.booleans(), min_size=1, max_size=12), st.integers(1, 15))
@settings(max_examples=50)
def test_squeezed(present, width):
    kept = [i for i, there in enumerate(present) if there][:width]
    expected = kept + [len(present)] * (width - len(kept))
    assert squeezed(torch.tensor([present]), width).tolist() == [expected]
