"""Known ids, round trips, and what malformed answers are called."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch._subclasses.fake_tensor import FakeTensorMode

from lengthwise.arithmetic import Task
from lengthwise.errors import InputError
from lengthwise.tokens.digits import from_ints
from lengthwise.tokens.layouts import LAYOUTS, Malformed, Padded, Problem, Vocabulary, build_layout

torch.set_num_threads(1)


def encode(layout, a, b, c):
    base, width = layout.vocabulary.base, layout.operand_width
    numbers = (from_ints([n], w, base) for n, w in ((a, width), (b, width), (c, layout.answer_width)))
    return layout.encode(*numbers)


def test_addition_by_hand():
    tokens = encode(build_layout("padded", Task("add"), 3), 12, 345, 357)
    assert tokens.ids.dtype == torch.int64
    assert tokens.ids.tolist() == [[13, 0, 1, 2, 10, 3, 4, 5, 11, 7, 5, 3, 0, 12, 14]]
    assert tokens.answer.tolist() == [False] * 9 + [True] * 6
    assert tokens.significance.tolist() == [-1, 3, 2, 1, 0, 3, 2, 1, 0, 1, 2, 3, 4, -1, -1]
    assert tokens.number.tolist() == [0, 1, 1, 1, 0, 2, 2, 2, 0, 3, 3, 3, 3, 0, 0]
    assert tokens.prompt_length == 9


def test_multiplication_by_hand():
    layout = build_layout("padded", Task("mul"), 2)
    tokens = encode(layout, 90, 70, 6300)
    assert tokens.ids.tolist() == [[13, 9, 0, 10, 7, 0, 11, 0, 0, 3, 6, 12, 14]]
    assert layout.render(tokens.ids[0]) == "[bos]90*70=0036;[eos]"


def test_base_36():
    layout = build_layout("padded", Task("add", base=36), 2)
    tokens = encode(layout, 35, 36, 71)
    assert tokens.ids.tolist() == [[39, 0, 35, 36, 1, 0, 37, 35, 1, 0, 38, 40]]
    assert layout.render(tokens.ids[0]) == "[bos]0z+10=z10;[eos]"
    assert layout.parse("[bos]0z+10=z10;[eos]") == Problem(35, 36, 71)


def test_the_papers_size():
    layout = build_layout("padded", Task("add"), 20)
    assert (layout.length, layout.answer_width, len(layout.vocabulary)) == (66, 21, 16)
    assert build_layout("padded", Task.parse("add%101"), 20).answer_width == 3
    assert build_layout("padded", Task("add"), 4, answer_width=9).answer_width == 9


@given(st.data())
def test_round_trip(data):
    base, width = data.draw(st.integers(2, 36)), data.draw(st.integers(1, 30))
    task = Task(data.draw(st.sampled_from(["add", "mul"])), base=base)
    a, b = (data.draw(st.integers(0, base**width - 1)) for _ in "ab")
    layout = build_layout("padded", task, width)
    tokens = encode(layout, a, b, task(a, b))
    ids = tokens.ids[0]
    assert len(ids) == layout.length == len(tokens.answer)
    assert layout.parse(layout.render(ids)) == Problem(a, b, task(a, b))
    assert layout.read_answer(ids[tokens.prompt_length :]) == task(a, b)
    assert layout.read_answer(ids[tokens.answer]) == task(a, b)
    digits = tokens.number > 0
    for number, value in ((1, a), (2, b), (3, task(a, b))):
        own = tokens.number == number
        places = tokens.significance[own].tolist()
        assert sum(d * base ** (p - 1) for d, p in zip(ids[own].tolist(), places, strict=True)) == value
    assert (ids[digits] < base).all() and (ids[~digits] >= base).all()


def test_very_long_numbers():
    """Longer than what Python's int() reads."""
    layout = build_layout("padded", Task("add"), 5000)
    a, b = 10**5000 - 1, 10**4999 + 7
    assert layout.parse(layout.render(encode(layout, a, b, a + b).ids[0])) == Problem(a, b, a + b)


def test_batches_and_narrow_numbers():
    layout = build_layout("padded", Task("add"), 4)
    narrow = from_ints([12, 7], 2, 10).expand(3, 2, 2)
    tokens = layout.encode(narrow, narrow[..., :1], narrow)
    assert tokens.ids.shape == (3, 2, layout.length)
    assert layout.render(tokens.ids[2, 0]) == "[bos]0012+0002=21000;[eos]"
    assert layout.render(tokens.ids[1, 1]) == "[bos]0007+0007=70000;[eos]"


def test_too_wide():
    layout = build_layout("padded", Task("add"), 3)
    with pytest.raises(InputError, match="b has 4 digits: allowed are up to 3"):
        layout.encode(from_ints([1], 3, 10), from_ints([1], 4, 10), from_ints([1], 4, 10))
    with pytest.raises(InputError, match="unknown layout 'padde': allowed are padded"):
        build_layout("padde", Task("add"), 3)


MALFORMED_TEXTS = {
    "": "the tokens end where '[bos]' should stand",
    "[bos]": "the tokens end where digit 2 of a should stand",
    "[bos]1+2=3;[eos]": "'+' stands where digit 1 of a should",
    "[bos]12+345=7530;[eos]": "'5' stands where '=' should",
    "[bos]12=34=640;[eos]": "'=' stands where '+' should",
    "[bos]12+34=64;[eos]": "';' stands where digit 3 of the answer should",
    "[bos]12+34=6400;[eos]": "'0' stands where ';' should",
    "[bos]12+34=640;": "the tokens end where '[eos]' should stand",
    "[bos]12+34=640;[eos]1": "the tokens go on after [eos]",
    "[bos]12*34=640;[eos]": "holds something else than tokens",
    "[bos]1x+34=640;[eos]": "holds something else than tokens",
    "12+34=640;[eos]": "'1' stands where '[bos]' should",
}


@pytest.mark.parametrize("text", MALFORMED_TEXTS)
def test_malformed_text(text):
    result = build_layout("padded", Task("add"), 2).parse(text)
    assert isinstance(result, Malformed)
    assert result.reason.endswith(MALFORMED_TEXTS[text])


def test_line_breaks_after_a_text():
    assert build_layout("padded", Task("add"), 2).parse("[bos]12+34=640;[eos]\n\n") == Problem(12, 34, 46)


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
def test_read_answer(ids, expected):
    layout = build_layout("padded", Task("add"), 2)
    wanted = expected if isinstance(expected, int) else Malformed(expected)
    assert layout.read_answer(ids) == wanted
    assert layout.read_answer(torch.tensor(ids, dtype=torch.int64)) == wanted


@given(st.text(alphabet="0123456789+*=;[]bose\n", max_size=40), st.lists(st.integers(-3, 20), max_size=8))
def test_malformed_never_raises(text, ids):
    layout = build_layout("padded", Task("add"), 2)
    layout.parse(text)
    layout.read_answer(ids)


def test_vocabulary():
    vocabulary = Vocabulary(2, "*")
    assert vocabulary.texts == ("0", "1", "*", "=", ";", "[bos]", "[eos]", "\n")
    named = (vocabulary.operator, vocabulary.equals, vocabulary.end, vocabulary.bos, vocabulary.eos)
    assert (*named, vocabulary.line_break) == (2, 3, 4, 5, 6, 7)


def test_own_layout(monkeypatch):
    monkeypatch.setitem(LAYOUTS, "wide", lambda task, n, answer: Padded(task, 2 * n, 2 * answer))
    assert build_layout("wide", Task("add"), 3).operand_width == 6


def test_nothing_waits_for_the_device():
    layout = build_layout("padded", Task("add"), 3)
    a, c = from_ints([1, 2], 3, 10), from_ints([1, 2], 4, 10)
    layout.encode(a, a, c)
    with FakeTensorMode(allow_non_fake_inputs=True):
        assert layout.encode(a, a, c).ids.shape == (2, 15)
