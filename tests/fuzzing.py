"""Seeded trials of the command line: malformed commands and run folders, and what must hold whatever is given.

    python tests/fuzzing.py --cases 5000 --seed 7      many trials, failures printed as they come
    python tests/fuzzing.py --only 7:1234 7:3021       these again, with what they printed

A trial has a folder of its own with a good run, the same packed and exported, a pipe and links in it. It breaks
one thing there or in the command, runs the command in this process with a plain user's rights, and compares
(`broken_promises`). Trial k of a seed is always the same.
"""

import argparse
import contextlib
import ctypes
import hashlib
import io
import json
import os
import random
import re
import resource
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from lengthwise.cli import main
from lengthwise.errors import InputError

SECONDS, PATIENCE = 8, 20
MEMORY = 4 * 2**30
"""Address space that one trial may take beyond what the process has."""
LONGEST_LINE = 1_000

VERBS = ("predict", "train", "evaluate", "ask", "report", "reproduce", "bench", "explore", "data", "export")

TINY = """
add --train D2 --test D1..3 --base 3 --size nano --model.layers 1 --model.heads 2 --model.width 16
--training.batch 4 --training.steps 2 --training.warmup 1 --training.evaluate-every 2 --evaluation.problems 9
--device cpu --out runs
""".split()  # noqa: SIM905
"""Options that come later in a command replace these."""
BENCH = [*TINY[:-2], "--members", "1", "--seconds", "0.05"]
HF = "--hf exported --test D1 --device cpu".split()  # noqa: SIM905
IN_TEXT = "--task add --train D2 --base 3 --problems 9".split()  # noqa: SIM905

NUMBERS = ["", *"0 1 2 3 4 5 7 16 30 64 100 -1 0.5 0.1 1e-3 1e3 nan inf -inf".split()]  # noqa: SIM905
PLAIN = """
- -- x -1 0 1 2 3 0.5 1e3 nan inf -inf None True null é ' " * ~ %s \\ \x1b[31m \udce9 [red] [/] <b> {} $(x)
add mul add%101 mul%150 sub add% add%0 add%-3 add%1e3 % ٣ add%٣ 12+21 + 1+
D1 D2 B2 D D0 D-1 D1..3 D3..1 D1.. D2+D1 0.5*D1+0.5*D2 0*D1 -1*D1+2*D2 nan*D1+D2 D2[lead>=1] D2[lead>=99] D2[
2x1 2x 1..3x1 D1,,D2 , D1;D2 d2 truth truncated:2 truncated: windowed:-1 windowed:3 local folded:2 folded:0
learned rotary abacus randomized:fire randomized: randomized:randomized:fire LEARNED padded aligned reversed plain
scratchpad addition all laptop full fast paper nano cpu cuda cuda:99 tpu . .. file/below none page.html
runs runs/run runs/none file to-folder loop dangling packed packed/addition.json packed/addition.json/run-s1
""".split()  # noqa: SIM905
SPACED = ["", " ", "\t", "a\nb", "1 + 2", "1 * 2", "1 + 9", "1 +", "1 + 2 + 0", "-1 + 2", "1.0 + 2", "D1, D2"]
WORDS = {
    "plain": [*PLAIN, *SPACED],
    "huge": ["10" * 15, "-" + "9" * 30, *"1e30 1000000007 D9999 D1..9999 add%10007 mul%9973".split()],  # noqa: SIM905
    "long": ["a" * 300, "a/" * 3_000, "7" * 5_000, "D1," * 30_000, "add%" + "9" * 9_000],
}

VALUES: list[Any] = json.loads(
    """[null, true, false, 0, 1, -1, 3, 0.5, -0.0, 1e308, NaN, Infinity, "", "x", "1", "D9", "done", "\\ud800", [],
    {}, [1], [[]], {"a": 1}, [null, null], {"": {}}, "é", "<script>", "[red]", "a\\nb", 2147483648]"""
)
HUGE_VALUES: list[Any] = [10**30, -(10**30), 10**9 + 7, "D9999", "9" * 400]
JSON_FILES = ("config.json", "status.json", "environment.json", "records.jsonl", "checkpoint/state.json")


class Trial(NamedTuple):
    command: list[str]
    broken: str
    """What was broken in the folder, in words."""


class Outcome(NamedTuple):
    code: int | None
    """None where it ended in another way than by an exit code."""
    out: str
    err: str
    seconds: float
    before: dict[str, str]
    after: dict[str, str]


# Folders ---------------------------------------------------------------------------------------------------------


def make_template(folder: Path) -> Path:
    """A good run, the same packed and exported, what bench measured, and things that are no regular file."""
    from packing import pack

    from lengthwise.records.files import write_json

    folder.mkdir(parents=True)
    measured = io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()):
        main(["train", *TINY, "--name", "run"])
        main(["export", "runs/run", "exported"])
        with contextlib.redirect_stdout(measured):
            main(["bench", *BENCH, "--json"])
        Path("bench.json").write_text(measured.getvalue())
        shutil.copytree("runs/run", "live/runs/run-s1")
        write_json(Path("live/addition.json"), {"recipe": "addition", "runs": ["run-s1"]})
        pack(Path("live"), Path("packed"))
        shutil.rmtree("live")
        Path("file").write_text("1 2\n2 1\n")
        for link, target in {"to-folder": "runs", "loop": "loop", "dangling": "nowhere/none"}.items():
            Path(link).symlink_to(target)
    return folder


@contextlib.contextmanager
def workplace(template: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="lengthwise-fuzz-") as name:
        place = Path(name) / "here"
        shutil.copytree(template, place, symlinks=True)
        os.mkfifo(place / "pipe-nobody-reads")
        with contextlib.chdir(place):
            yield place


def tree(place: Path) -> dict[str, str]:
    """Every file, folder and link below the folder above `place`, and what it holds."""
    return {str(path): _content(path) for path in sorted(place.parent.rglob("*"))}


def _content(path: Path) -> str:
    if path.is_symlink():
        return f"link to {path.readlink()}"
    kind = stat.S_IFMT(path.lstat().st_mode)
    if kind != stat.S_IFREG or not os.access(path, os.R_OK):
        return str(kind)
    return hashlib.sha256(path.read_bytes()).hexdigest()


def break_folder(draw: random.Random, run: Path) -> str:
    """Break one thing of a run folder. Returns it in words."""
    kind = draw.choice(["value"] * 6 + ["text"] * 3 + ["file"] * 2 + ["tensors", "name", "rights"])
    if kind == "name":
        return _rename(draw, run)
    if kind == "rights":
        return _close(draw, draw.choice([run.parent, run, run / "checkpoint"]))
    if kind == "tensors":
        (file,) = run.glob("checkpoint/*.safetensors")
        return _break_bytes(draw, file)
    file = run / draw.choice(JSON_FILES)
    if kind == "file":
        return _replace_file(draw, file)
    return _break_value(draw, file) if kind == "value" else _break_bytes(draw, file)


def break_file(draw: random.Random, file: Path) -> str:
    kinds: list[Callable[[random.Random, Path], str]] = [_break_bytes, _replace_file]
    return draw.choice([*kinds, _break_value, _break_value] if file.suffix == ".json" else kinds)(draw, file)


def _break_value(draw: random.Random, file: Path) -> str:
    """One value of a JSON file, or of one line of several, at any depth: another one, or none."""
    lines = file.read_text().splitlines() if file.suffix == ".jsonl" else [file.read_text()]
    number = draw.randrange(len(lines))
    content = [json.loads(lines[number])]
    place, key = draw.choice(list(_places(content)))
    value = draw.choice([*VALUES, *HUGE_VALUES])
    if draw.random() < 0.15 and not isinstance(place, list):
        del place[key]
        words = f"{file}: no {key}"
    else:
        place[key] = value
        words = f"{file}: {key} is {value!r}"
    lines[number] = json.dumps(content[0]) if content else ""
    file.write_text("\n".join(lines) + "\n")
    return words


def _places(content: Any) -> Iterator[tuple[Any, Any]]:
    pairs = enumerate(content) if isinstance(content, list) else ()
    pairs = content.items() if isinstance(content, dict) else pairs
    for key, value in pairs:
        yield content, key
        yield from _places(value)


def _break_bytes(draw: random.Random, file: Path) -> str:
    old = file.read_bytes()
    at = draw.randrange(len(old))
    texts = {
        "cut short": old[:at],
        "a byte flipped": old[:at] + bytes([old[at] ^ (1 << draw.randrange(8))]) + old[at + 1 :],
        "a byte more": old[:at] + bytes([draw.randrange(256)]) + old[at:],
        "empty": b"",
        "zeros": bytes(len(old)),
        "not UTF-8": b"\xff\xfe" + old,
        "a byte order mark": b"\xef\xbb\xbf" + old,
        "twice": old + old,
        "a list": b"[]",
        "a number": b"NaN",
        "noise": draw.randbytes(200),
        "nested": b"[" * 200_000,
        "nested objects": b'{"a":' * 20_000 + b"1" + b"}" * 20_000,
    }
    words = draw.choice(list(texts))
    file.write_bytes(texts[words])
    return f"{file}: {words}"


def _replace_file(draw: random.Random, file: Path) -> str:
    words = draw.choice(["missing", "pipe", "folder", "loop", "dangling", "link to a pipe", "closed"])
    if words == "closed":
        return _close(draw, file)
    file.unlink()
    if words == "pipe":
        os.mkfifo(file)
    elif words == "folder":
        file.mkdir()
    elif words != "missing":
        file.symlink_to({"loop": file.name, "dangling": "none"}.get(words, Path("pipe-nobody-reads").absolute()))
    return f"{file}: {words}"


def _close(draw: random.Random, path: Path) -> str:
    mode = draw.choice([0, 0, 0o111, 0o444, 0o555])
    path.chmod(mode)
    return f"{path}: mode {mode:o}"


def _rename(draw: random.Random, run: Path) -> str:
    names = [b"caf\xe9", "é".encode(), b"a\nb", b" ", *rb"""[red]x <script> -x \x1b[31m '" run-s1""".split()]
    name = os.fsdecode(draw.choice([*names, b"n" * 255]))
    run.rename(run.with_name(name))
    return f"{run}: renamed to {name!r}"


# Commands --------------------------------------------------------------------------------------------------------


Options = dict[str, str]
"""What a verb's option takes, by its name: INT, FLOAT, {a,b}, empty for a flag."""


def options(verb: str) -> Options:
    """A verb's own options, as its help lists them."""
    printed = io.StringIO()
    with contextlib.suppress(SystemExit), contextlib.redirect_stdout(printed):
        main([verb, *(["add"] if verb in ("train", "bench") else []), "--help"])
    found = re.findall(r"(?m)^\W*?(--[a-z][\w.-]*) ?((?:\{[^}]*\}\|?)?(?:[A-Z]+\b)?)", printed.getvalue())
    return {name: takes for name, takes in found if name != "--help"}


def word(draw: random.Random, takes: str = "") -> str:
    """One that may fit what an option takes, or any."""
    if draw.random() < 0.7:
        if takes.endswith("}"):
            return draw.choice(takes.strip("{}").split(","))
        if takes.endswith(("INT", "FLOAT", "N")):
            return draw.choice(NUMBERS)
    return draw.choice(WORDS[draw.choice([*["plain"] * 4, *WORDS])])


def malformed(draw: random.Random, verb: str, known: Options) -> list[str]:
    """A small valid command of this verb with something added, doubled, misspelled or lost."""
    start = {
        "predict": ["add", "--train", "D2", "--test", "D1..3"],
        "train": [*TINY, "--name", draw.choice(["run", "other"])],
        "evaluate": draw.choice([["runs/run", "--test", "D1", "--device", "cpu"], HF, [*HF, *IN_TEXT]]),
        "ask": ["runs/run", "1 + 2", "--device", "cpu"],
        "report": ["runs", "--out", "page.html"],
        "reproduce": ["addition", "--out", "results", draw.choice(["--scale", "--only"]), word(draw)],
        "bench": [*BENCH, *draw.choice([[], ["--against", "bench.json"]])],
        "data": ["add", "D2", "-n", "9", "--base", "3", "--out", "problems.txt"],
        "export": ["runs/run", "exported"],
        "explore": ["--no-browser", *draw.choice([["--port", "99999"], ["--runs", "none"], ["--host", "a b"]])],
    }[verb]
    command = [verb, *start]
    for _ in range(draw.choice([1, 1, 1, 2, 3])):
        _edit(draw, command, known)
    return [*command, *draw.choice(ENDS.get(verb, [[]]))]


ENDS = {
    "train": [["--training.steps", "2", "--training.batch", "4", "--out", "runs"]],
    "reproduce": [["--seeds", "-1"], ["--list"]],
    "bench": [*[["--members", "0"]] * 3, ["--members", "2", "--seconds", "0.05", "--training.batch", "4"]],
    "data": [["-n", "9"]],
    "explore": [["--port", "-1"]],
}
"""Last, and so decisive: without these a trial would train for minutes, serve for ever, or write elsewhere."""


def _edit(draw: random.Random, command: list[str], known: Options) -> None:
    at = draw.randrange(1, len(command) + 1)
    edits = ["option"] * 6 + ["word", "swap", "swap", "drop", "misspelled"]
    match draw.choice(edits):
        case "word":
            command.insert(at, word(draw))
        case "swap" if at < len(command):
            command[at] = word(draw)
        case "drop" if 1 < at < len(command):
            del command[at]
        case "misspelled":
            command.append(draw.choice(list(known))[:-1])
        case _:
            name = draw.choice(list(known))
            command += [name, word(draw, known[name])] if known[name] or draw.random() < 0.05 else [name]


def make_trial(draw: random.Random, known: dict[str, Options], place: Path) -> Trial:
    """Break something, and say what to run then."""
    if draw.random() < 0.5:
        verb = draw.choice(VERBS)
        return Trial(malformed(draw, verb, known[verb]), "")
    trial = draw.choice([*[broken_run] * 12, *[broken_export] * 3, broken_bench])(draw, place)
    return trial._replace(broken=trial.broken.replace(f"{place}/", ""))


def broken_run(draw: random.Random, place: Path) -> Trial:
    if draw.random() < 0.25:
        file = draw.choice(["addition.json", "addition.json", "addition.parquet"])
        broken = break_file(draw, place / "packed" / file)
        run = draw.choice(["packed", "packed/addition.json", "packed/addition.json/run-s1"])
    else:
        broken = break_folder(draw, place / "runs" / "run")
        run = next((f"runs/{path.name}" for path in (place / "runs").glob("*")), "runs/run")
        run = draw.choice([*[run] * 12, "pipe-nobody-reads", "loop", "dangling", "file"])
    commands = [
        ["ask", run, "1 + 2", "--device", "cpu"],
        ["evaluate", run, "--test", "D1", "--device", "cpu"],
        ["report", run, "--out", "page.html"],
        ["report", "runs", "packed", "--out", "page.html", *draw.choice([[], ["--json"]])],
        ["train", *TINY, "--name", Path(run).name],
        ["export", run, "new"],
        ["(explorer)", "runs", "packed"],
    ]
    return Trial(draw.choice(commands), broken)


def broken_export(draw: random.Random, place: Path) -> Trial:
    files = sorted(path for path in (place / "exported").iterdir() if path.suffix in (".json", ".safetensors"))
    broken = break_file(draw, draw.choice([*files, place / "exported" / "config.json"]))
    return Trial(["evaluate", *HF, *draw.choice([[], IN_TEXT])], broken)


def broken_bench(draw: random.Random, place: Path) -> Trial:
    return Trial(["bench", *BENCH, "--against", "bench.json"], break_file(draw, place / "bench.json"))


# Running and judging ---------------------------------------------------------------------------------------------


class TooSlowError(BaseException):
    """The time is up. No `except Exception` may catch it."""


def execute(command: list[str], place: Path) -> Outcome:
    before, start = tree(place), time.monotonic()
    # As Python sets them up for a terminal: what cannot be written in UTF-8 is an error on stdout alone.
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="backslashreplace", write_through=True)
    code: int | None = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), limits():
        try:
            explorer(command[1:]) if command[0] == "(explorer)" else main(command)
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 0 if stop.code is None else 1
        except BaseException:  # also TooSlowError, and a panic of a library in Rust
            code = None
            traceback.print_exc(file=err)
    shown = [stream.buffer.getvalue().decode(errors="replace") for stream in (out, err)]
    return Outcome(code, *shown, time.monotonic() - start, before, tree(place))


@contextlib.contextmanager
def limits() -> Iterator[None]:
    """Bounded time and memory, a plain user's rights, and the process as it was afterwards."""

    def stop(*_: object) -> None:
        raise TooSlowError(f"more than {SECONDS} s of work, or {PATIENCE * SECONDS} s in all")

    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, resource.RLIM_INFINITY))
    for number in (signal.SIGPROF, signal.SIGALRM):
        signal.signal(number, stop)
    # Of its own work, so that a loaded machine fails no trial; whoever waits for ever does no work.
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    signal.alarm(PATIENCE * SECONDS)
    try:
        with plain_rights():
            yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        for number, handler in handlers.items():
            signal.signal(number, handler)


LIBC = ctypes.CDLL(None, use_errno=True)
OVERRIDE, READ_SEARCH = 1, 2
"""The two of root's rights that open what file modes close; without them, modes hold for root as for anyone."""


@contextlib.contextmanager
def plain_rights() -> Iterator[None]:
    header, rights = (ctypes.c_uint32 * 2)(0x20080522), (ctypes.c_uint32 * 6)()
    assert LIBC.capget(header, rights) == 0
    all_of_them = rights[0]
    rights[0] &= ~(1 << OVERRIDE | 1 << READ_SEARCH)
    assert LIBC.capset(header, rights) == 0
    try:
        yield
    finally:
        rights[0] = all_of_them
        assert LIBC.capset(header, rights) == 0


def give_up_rights() -> None:
    """The same for a process that is about to start."""
    drop = 24  # PR_CAPBSET_DROP, which a plain user may not and need not do
    for right in (OVERRIDE, READ_SEARCH):
        LIBC.prctl(drop, right)


def explorer(roots: list[str]) -> None:
    """What the explorer makes of these folders; a server would answer 500 where this raises."""
    from lengthwise.explorer.runs import Catalogue, judge, points

    catalogue = Catalogue(tuple(map(Path, roots)))
    assert all(entry.model_dump_json() for entry in catalogue.summaries().runs)
    for path in [*catalogue.listed()[0].values()]:
        for ask in (lambda path=path: points(path, 0), lambda path=path: judge(path=str(path))):
            with contextlib.suppress(InputError):
                ask()


def may_change(command: list[str], path: str) -> bool:
    """Whether it was told to write there: train into its folder of runs, report to the file after --out."""
    told = {after for option, after in pairwise(command) if option == "--out"}
    return any(f"{path}/".endswith(f"/{one}/") or (command[0] == "train" and f"/{one}/" in path) for one in told)


def broken_promises(command: list[str], found: Outcome) -> list[str]:
    """What the command promised and did not keep; empty if all is well."""
    # What takes long says so first: how long depends on what else the machine does.
    lines = [line for line in found.err.splitlines() if not line.endswith(": please wait")]
    changed = [path for path, content in found.before.items() if found.after.get(path) != content]
    added = sorted(set(found.after) - set(found.before))
    if found.code == 0:
        changed = [path for path in changed if not may_change(command, path)]
    checks = {
        # 1 is how bench says that something got slower.
        f"ended with {found.code}": found.code not in ((0, 1, 2) if "--against" in command else (0, 2)),
        "a traceback": "Traceback" in found.err,
        "not one line": found.code == 2 and len(lines) != 1,
        "no error line": found.code == 2 and not "".join(lines[:1]).startswith("error: "),
        "a long line": found.code == 2 and len(found.err) > LONGEST_LINE,
        "a half-written file": any(path.endswith((".new", ".lock")) for path in added),
        f"changed {changed[:3]}": bool(changed),
        f"refused, and left {added[:3]}": found.code == 2 and bool(added),
    }
    return [words for words, is_broken in checks.items() if is_broken]


def in_another_process(command: list[str], place: Path) -> Outcome:
    """As a shell runs it."""
    before, start = tree(place), time.monotonic()
    words = [os.fsencode(one) for one in [sys.executable, "-m", "lengthwise", *command]]
    how = {"capture_output": True, "stdin": subprocess.DEVNULL, "preexec_fn": give_up_rights}
    done = subprocess.run(words, **how, timeout=10 * SECONDS, check=False)
    shown = [text.decode(errors="replace") for text in (done.stdout, done.stderr)]
    return Outcome(done.returncode, *shown, time.monotonic() - start, before, tree(place))


class Fuzz:
    def __init__(self, folder: Path) -> None:
        self.template = make_template(folder / "template")
        self.known = {verb: options(verb) for verb in VERBS}

    def run(self, seed: int, number: int, run: Callable[[list[str], Path], Outcome] = execute):
        draw = random.Random(f"{seed}:{number}")
        with workplace(self.template) as place:
            trial = make_trial(draw, self.known, place)
            found = run(trial.command, place)
            return trial, found, broken_promises(trial.command, found)


def shown_failure(name: str, trial: Trial, found: Outcome, broken: list[str]) -> str:
    said = found.err if len(found.err) < 3_000 else f"{found.err[:600]}\n...\n{found.err[-2_000:]}"
    words = f"{name}: {'; '.join(broken) or 'all is well'} ({found.seconds:.1f} s)"
    return f"{words}\n  {trial.command!r}"[:2_000] + f"\n  {trial.broken}\n{said}"


def many(fuzz: Fuzz, names: list[str], *, verbose: bool = False) -> Iterator[str]:
    """Failures as text, one by one."""
    for name in names:
        seed, number = map(int, name.split(":"))
        trial, found, broken = fuzz.run(seed, number)
        if broken or verbose:
            yield shown_failure(name, trial, found, broken)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", default=[])
    given = parser.parse_args()
    chosen = given.only or [f"{given.seed}:{number}" for number in range(given.cases)]
    started, failures = time.monotonic(), 0
    with tempfile.TemporaryDirectory() as place:
        for failure in many(Fuzz(Path(place)), chosen, verbose=bool(given.only)):
            failures += 1
            print(failure, flush=True)
    print(f"{len(chosen)} trials, {failures} shown, {time.monotonic() - started:.0f} s")
