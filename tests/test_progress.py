"""What is said while something takes long: a bar in a terminal, plain lines elsewhere, nothing of a moment."""

import io
import re
import time
from types import SimpleNamespace

import pytest
from rich.console import Console

from lengthwise import progress
from lengthwise.cli import main
from lengthwise.progress import TrainingBar, progress_shown

NAME = "add-D1..2-learned-base6-layers6-s101"


def console(*, terminal: bool, **options) -> Console:
    return Console(file=io.StringIO(), width=80, force_terminal=terminal, color_system=None, **options)


def shown(own: Console) -> str:
    assert isinstance(own.file, io.StringIO)
    return own.file.getvalue()


def until(said, own: Console) -> None:
    while not said(shown(own)):
        time.sleep(0.01)


@pytest.mark.parametrize(("terminal", "said"), [(True, "1/3"), (False, "counting: please wait\n")])
def test_long_work_is_told(monkeypatch, terminal, said):
    monkeypatch.setattr(progress, "MOMENT", 0.01)
    own = console(terminal=terminal)
    with progress_shown("counting", own) as watch:
        watch(1, 3)
        until(lambda text: said in text, own)
    assert terminal or shown(own) == said


def test_a_moment_is_not_told_nor_what_has_not_begun(monkeypatch):
    own = console(terminal=False)
    with progress_shown("counting", own) as watch:
        watch(1, 3)
    monkeypatch.setattr(progress, "MOMENT", 0.0)
    with progress_shown("counting", own):
        time.sleep(0.05)
    assert shown(own) == ""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("report addition --out page.html", "writing the report"),
        ("export addition exported", "exporting"),
        ("data add D2 --out problems.txt", "writing problems"),
    ],
)
def test_verbs_that_write_files_say_that_they_take_long(arguments, said, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(progress, "MOMENT", 0.0)
    monkeypatch.chdir(tmp_path)
    main(arguments.split())
    assert capsys.readouterr().err == f"{said}: please wait\n"


def training(step: int) -> SimpleNamespace:
    losses = [0.0123] if step else []
    return SimpleNamespace(step=step, seconds=step / 100, losses=losses, last_step=lambda: 16_000)


def drive(own: Console) -> None:
    with TrainingBar(NAME, 16_000, own) as bar:
        bar.evaluated(training(0), [0.0, 0.004])
        bar.step(training(0))
        bar.step(training(4_000))
        bar.evaluated(training(4_000), [0.991, 1.0])
        bar.read_losses(training(4_080))


def test_a_log_has_a_line_for_each_evaluation():
    own = console(terminal=False)
    drive(own)
    first, second = shown(own).splitlines()
    assert first == f"{NAME}: step 0 of 16,000, 0.0 to 0.4 % accuracy on trained lengths"
    words = "step 4,000 of 16,000, loss 0.0123, 99.1 to 100.0 % accuracy on trained lengths, 100 steps/s, "
    assert second.startswith(f"{NAME}: {words}") and second.endswith(" left")


def test_a_log_is_never_silent_for_long(monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    own = console(terminal=False)
    drive(own)
    assert "step 4,080 of 16,000" in shown(own).splitlines()[-1]


def test_the_bar_fits_a_terminal_and_keeps_steps_and_time():
    own = console(terminal=True)
    drive(own)
    plain = re.sub(r"\x1b\[\S*?[A-Za-z]", "", shown(own))
    lines = [line for line in plain.replace("\r", "\n").splitlines() if "4080/16000" in line]
    assert lines and all(len(line) <= 80 for line in lines)
    assert " left" in lines[-1] and "steps/s" in lines[-1]


def test_quiet_says_nothing():
    for terminal in (True, False):
        own = console(terminal=terminal, quiet=True)
        drive(own)
        assert shown(own) == ""
