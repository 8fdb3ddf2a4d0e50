import pytest
import torch

from lengthwise.arithmetic import Domain, Task
from lengthwise.errors import InputError
from lengthwise.evaluation import problems
from lengthwise.tokens.digits import to_ints
from lengthwise.tokens.hashing import is_reserved

CPU = torch.device("cpu")


def make(text, base=10, seeds=(1, 2), width=None, count=300):
    domain = Domain.parse(text, base)
    return domain, problems.test_problems(
        domain, problems.Drawing(seeds, width or domain.length, base, count, CPU)
    )


def pairs(made, k, base=10):
    return list(zip(to_ints(made.a[k], base), to_ints(made.b[k], base), strict=True))


@pytest.mark.parametrize(
    ("text", "base"), [("D1", 10), ("D2", 10), ("B2", 10), ("D4", 3), ("D3[lead>=2]", 3), ("3x1", 10)]
)
def test_a_small_domain_is_taken_whole(text, base):
    domain, made = make(text, base, width=5)
    assert made.selection == "enumerated" and (made.name, made.domain) == (text, domain)
    assert made.a.shape == made.b.shape == (2, domain.size, 5)
    for k in range(2):
        found = pairs(made, k, base)
        assert len(set(found)) == domain.size
        assert all(pair in domain for pair in found)


@pytest.mark.parametrize(
    ("text", "base"), [("D3", 10), ("B4", 10), ("D4[lead>=6]", 10), ("D6", 3), ("D9", 2), ("40x2", 10)]
)
def test_a_large_one_is_sampled_from_what_is_reserved(text, base):
    domain, made = make(text, base)
    assert made.selection == "sampled"
    assert made.a.shape == (2, 300, domain.length)
    assert is_reserved(made.a, made.b, base).all()
    assert all(pair in domain for k in range(2) for pair in pairs(made, k, base))


def test_members_have_problems_of_their_own_seed():
    _, both = make("D5", seeds=(1, 2))
    _, again = make("D5", seeds=(2, 1))
    assert pairs(both, 0) == pairs(again, 1) and pairs(both, 1) == pairs(again, 0)
    assert pairs(both, 0) != pairs(both, 1)


def test_a_mixture_is_sampled_and_reserved_where_its_parts_are():
    _, made = make("D1+D4")
    assert made.selection == "sampled"
    long = torch.tensor([max(pair) >= 10 for pair in pairs(made, 0)])
    assert 100 < long.sum() < 200
    assert torch.equal(is_reserved(made.a[0], made.b[0], 10), long)


def read(tmp_path, text, base=10, task="add"):
    path = tmp_path / "pairs.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return problems.read_pairs(path, Task.parse(task, base))


@pytest.mark.parametrize(("task", "signs"), [("add", "{0} + {1}"), ("mul%7", "{0}*{1}\n{0}x{1}\n {0} * {1} ")])
def test_pairs_are_read_from_every_form(tmp_path, task, signs):
    text = f"12 345\n12,345\n{signs.format(12, 345)}\n\n# a + b * c\n7\t8  # another\n0 0"
    expected = [(12, 345)] * (3 + signs.count("\n")) + [(7, 8), (0, 0)]
    assert read(tmp_path, text, task=task) == expected


@pytest.mark.parametrize(("task", "line"), [("add", "12 * 34"), ("add", "12x34"), ("mul", "12 + 34")])
def test_the_sign_of_another_task_is_refused(tmp_path, task, line):
    with pytest.raises(InputError, match=r"line 2 of .*pairs\.txt: problem '12.*34' does not have"):
        read(tmp_path, f"1 2\n{line}", task=task)


def test_pairs_in_another_base(tmp_path):
    assert read(tmp_path, "ff 10\nFF,10", 16) == [(255, 16)] * 2
    assert read(tmp_path, "12 + 2", 3) == [(5, 2)]


def test_in_base_36_x_is_a_digit(tmp_path):
    assert read(tmp_path, "1x 2", 36) == [(36 + 33, 2)]


@pytest.mark.parametrize("line", ["12", "1 2 3", "1 two", "1.5 2", "12 = 3", "-1 2", "1 -2", "12 9"])
def test_a_bad_line_is_named_with_its_number(tmp_path, line):
    with pytest.raises(InputError) as error:
        read(tmp_path, f"1 2\n\n{line}\n", base=10 if line != "12 9" else 9)
    text = str(error.value)
    assert "\n" not in text and "line 3" in text and "pairs.txt" in text and repr(line) in text


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing\n"])
def test_no_pairs_at_all(tmp_path, text):
    with pytest.raises(InputError, match=r"pairs\.txt contains no problems"):
        read(tmp_path, text)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(InputError, match="cannot read pairs from"):
        problems.read_pairs(tmp_path / "missing.txt", Task.parse("add"))
    with pytest.raises(InputError, match=r"cannot read .*: it is not a regular file"):
        problems.read_pairs(tmp_path, Task.parse("add"))
    with pytest.raises(InputError, match="cannot read pairs from"):
        read(tmp_path, b"\xff\xfe1 2")


def test_given_problems(tmp_path):
    path = tmp_path / "mine.txt"
    path.write_text("12 345\n0 7\n")
    made = problems.given_problems(path, Task.parse("add"), width=4, device=CPU)
    assert (made.name, made.selection) == ("mine.txt", "given")
    assert made.a.shape == (1, 2, 4)
    assert pairs(made, 0) == [(12, 345), (0, 7)]


def test_given_problems_that_are_too_long(tmp_path):
    path = tmp_path / "mine.txt"
    path.write_text("9999 1\n1 10000\n")
    with pytest.raises(InputError, match=r"pair 2 of .*mine\.txt .* than the 4 that"):
        problems.given_problems(path, Task.parse("add"), width=4, device=CPU)
