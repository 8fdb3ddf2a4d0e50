"""Tasks, domains, hypotheses and predictions in plain words, for readers who have not read the paper."""

import tomllib
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files

from lengthwise.arithmetic import Domain, Task, digit_count
from lengthwise.records.evidence import Evidence
from lengthwise.report.tables import shortened
from lengthwise.theory.encodings import encoding_facts
from lengthwise.theory.hypotheses import Hypothesis

SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def task_words(task: Task, modulus: int | str | None = None) -> str:
    """The task as a title, with its modulus or a letter for any.

    >>> task_words(Task.parse("mul%51")), task_words(Task.parse("add%101", 6), "p")
    ('Multiplication modulo 51', 'Addition modulo p, base 6')
    """
    of = "" if task.modulus is None else f" modulo {modulus or task.modulus}"
    return task.op.noun + of + ("" if task.base == 10 else f", base {task.base}")


def domain_words(domain: Domain) -> str:
    """
    >>> domain_words(Domain.parse("D4")), domain_words(Domain.parse("B2..3"))
    ('the longer operand has 4 digits', 'both operands have 2 or 3 digits')
    >>> domain_words(Domain.parse("D1..4"))
    'the longer operand has 1 to 4 digits'
    >>> domain_words(Domain.parse("40x2")), domain_words(Domain.parse("1..5x1"))
    ('a has 40 digits, b has 2', 'a has 1 to 5 digits, b has 1')
    """
    families = {part.family for part in domain.parts}
    if len(families) > 1:
        return f"a mixture: {domain}"
    ((kind, lead, b_digits),) = families
    lengths = [part.lengths[0] for part in domain.parts]
    digits = f"{_lengths(lengths)} digit{'' if lengths == [1] else 's'}"
    if b_digits is not None:
        return f"a has {digits}, b has {b_digits}"
    who = "the longer operand has" if kind == "D" else "both operands have"
    return f"{who} {digits}" + ("" if lead is None else f", leading digits {lead} or more")


def _lengths(lengths: Sequence[int]) -> str:
    if len(lengths) == 1:
        return str(lengths[0])
    if len(lengths) > 2 and list(lengths) == list(range(lengths[0], lengths[-1] + 1)):
        return f"{lengths[0]} to {lengths[-1]}"
    return ", ".join(map(str, lengths[:-1])) + f" or {lengths[-1]}"


def positions_label(encoding: str, layout: str) -> str:
    """The encoding, and the layout if it is not the encoding's usual one.

    >>> positions_label("rotary", "aligned"), positions_label("rotary", "padded")
    ('rotary', 'rotary, padded')
    """
    return encoding if layout == encoding_facts(encoding).layout else f"{encoding}, {layout}"


def hypothesis_words(hypothesis: Hypothesis | None, task: Task) -> str:
    """
    >>> hypothesis_words(Hypothesis.parse("truncated:4"), Task.parse("add%9"))
    'it will add, modulo 9, the last 4 digits of each operand and ignore the others'
    """
    modulo = "" if task.modulus is None else f", modulo {task.modulus},"
    return _said("computes", _kind(hypothesis), hypothesis, verb=task.op.verb + modulo)


def headline(hypothesis: Hypothesis | None, generalizes: bool | None) -> str:
    """What the model will do with numbers longer than in training.

    >>> headline(Hypothesis.parse("truncated:4"), False)
    'It will use only the last 4 digits of each number and ignore the rest.'
    >>> headline(Hypothesis.parse("windowed:2"), True)
    'It will generalize to longer numbers, except where a carry travels more than one column.'
    """
    kind = _kind(hypothesis)
    known: dict[tuple[str, bool | None], str] = {("nothing", False): "fails", ("truncated", True): "enough"}
    return _said("headlines", known.get((kind, generalizes), kind), hypothesis)


def _kind(hypothesis: Hypothesis | None) -> str:
    return "nothing" if hypothesis is None else hypothesis.kind


def _said(about: str, what: str, hypothesis: Hypothesis | None, **facts: str) -> str:
    size = 0 if hypothesis is None else hypothesis.size or 0
    digits = "digit" if size == 1 else f"{size} digits"
    columns = "one column" if size == 2 else f"{size - 1} columns"
    return sentences()[about][what].format(size=size, digits=digits, columns=columns, **facts)


@cache
def sentences() -> dict[str, dict[str, str]]:
    return tomllib.loads(files("lengthwise.report").joinpath("words.toml").read_text())


def glossary() -> str:
    """The quantities and their meanings in one line."""
    return "; ".join(f"{name}: {meaning}" for name, meaning in sentences()["glossary"].items())


def legend(table: str) -> str:
    """The explanation below a table in the terminal."""
    # Imported here: predictions use this module too, and must not wait for code that reads records.
    from lengthwise.records.verdicts import GATE, TOLERANCE  # noqa: PLC0415

    text = sentences()["legends"][table]
    return text.format(glossary=glossary(), agreement=100 * (1 - TOLERANCE), gate=100 * GATE)


def glosses(hypotheses: Iterable[Hypothesis | None], task: Task) -> list[str]:
    """A description of each function other than truth, once.

    >>> glosses([Hypothesis.parse("truth"), Hypothesis.parse("truncated:4"), None], Task.parse("add"))
    ['truncated:4: it will add the last 4 digits of each operand and ignore the others']
    """
    named = (one for one in dict.fromkeys(hypotheses) if one is not None and one.kind != "truth")
    return [f"{one}: {hypothesis_words(one, task)}" for one in named]


def evidence_words(evidence: Evidence | None) -> str:
    """
    >>> evidence_words(Evidence(15, 0, 13, 2, "table1, jelassi-5-20"))
    'the prediction holds in 0 of 15 trained models, fails in 13, is undecided in 2 (table1, jelassi-5-20)'
    """
    if evidence is None:
        return sentences()["evidence"]["none"]
    others = {"fails": evidence.fail, "is undecided": evidence.undecided}
    rest = "".join(f", {word} in {count}" for word, count in others.items() if count)
    return f"the prediction holds in {evidence.hold} of {evidence.seeds} trained models{rest} ({evidence.source})"


def formula(hypothesis: Hypothesis | None, task: Task) -> str | None:
    """
    >>> formula(Hypothesis.parse("truncated:4"), Task.parse("add%151"))
    '((a mod 10⁴) + (b mod 10⁴)) mod 151'
    >>> formula(Hypothesis.parse("truth"), Task.parse("mul"))
    'a × b'
    """
    if hypothesis is None:
        return None
    if hypothesis.kind == "windowed":
        return f"a + b, each digit from only {hypothesis.size} columns"
    a, b = "a", "b"
    if hypothesis.kind == "truncated":
        power = f"{task.base}{str(hypothesis.size).translate(SUPERSCRIPTS)}"
        a, b = f"(a mod {power})", f"(b mod {power})"
    inner = task.op.formula(a, b)
    return inner if task.modulus is None else f"({inner}) mod {task.modulus}"


def unlike_training(train: Domain, a: int, b: int) -> str:
    """A note where a number is shorter than all of training, or where the operand that is always short is longer.
    Numbers longer than in training need no note.

    >>> unlike_training(Domain.parse("1..40x2"), 12345, 7)
    'in training (1..40x2) the second number has 2 digits, not 1'
    """
    lengths, longest = train.operand_lengths, train.length
    for which, number, (fewest, most) in zip(("first", "second"), (a, b), lengths, strict=True):
        digits = digit_count(number, train.base)
        if digits < fewest or (most < digits and most < longest):
            usual = str(most) if fewest == most else f"{fewest} to {most}"
            return f"in training ({train}) the {which} number has {usual} digits, not {digits}"
    return ""


def joined_domains(domains: Iterable[Domain]) -> str:
    """
    >>> joined_domains(map(Domain.parse, ["D1", "D2", "D3", "B7"]))
    'D1–D3, B7'
    """
    return ", ".join(shortened(domains, _next, "–"))


def _next(before: Domain, after: Domain) -> bool:
    """Whether both are single parts of one family, the second one digit longer."""
    if len(before.parts) != 1 or len(after.parts) != 1:
        return False
    (first,), (second,) = before.parts, after.parts
    return (first.family, first.lengths[0] + 1) == (second.family, second.lengths[0])
