"""`--out FILE`: what is there is written into, and nothing but a regular file is ever replaced."""

import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest
from fakes import tiny_config, train

from lengthwise.cli import main
from lengthwise.errors import InputError
from lengthwise.interop.data import DataSet, write
from lengthwise.records.files import replace_file, write_output

CONTENT = b"<p>\xc3\xa9</p>\n" * 100_000
"""More than a pipe holds."""

NOBODY = 65_534


def received(pipe: Path, write) -> bytes:
    """What comes out of a pipe while `write` runs."""
    found: list[bytes] = []
    reader = threading.Thread(target=lambda: found.append(pipe.read_bytes()), daemon=True)
    reader.start()
    write()
    reader.join(timeout=60)
    return b"".join(found)


def test_a_file_is_made_and_replaced(tmp_path):
    for content in (b"one", b"two"):
        write_output(tmp_path / "page", content)
        assert (tmp_path / "page").read_bytes() == content
    assert [path.name for path in tmp_path.iterdir()] == ["page"]


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: Path(path).symlink_to("page")])
def test_what_lies_where_the_file_is_written_aside_is_left_alone(tmp_path, make):
    (tmp_path / "page").write_bytes(b"old")
    make(tmp_path / "page.new")
    kind = (tmp_path / "page.new").lstat()
    with pytest.raises(InputError, match=r"page: page\.new beside it is not a regular file"):
        write_output(tmp_path / "page", CONTENT)
    assert (tmp_path / "page").read_bytes() == b"old"
    assert (tmp_path / "page.new").lstat() == kind


@pytest.mark.parametrize("linked", [False, True])
def test_a_pipe_stays_a_pipe_and_passes_everything_on(tmp_path, linked):
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to("pipe")
    assert received(pipe, lambda: write_output(link if linked else pipe, CONTENT)) == CONTENT
    assert pipe.is_fifo() and link.is_symlink()
    assert {path.name for path in tmp_path.iterdir()} == {"pipe", "link"}


@pytest.mark.parametrize("form", ["text", "jsonl", "parquet"])
def test_problems_go_into_a_pipe_without_a_card(tmp_path, form):
    pipe, file, data = tmp_path / "pipe", tmp_path / "file", DataSet(task="add", domain="D2", number=3)
    write(data, form, file)
    os.mkfifo(pipe)
    assert received(pipe, lambda: write(data, form, pipe)) == file.read_bytes()
    assert pipe.is_fifo() and {path.name for path in tmp_path.iterdir()} == {"pipe", "file", "file.md"}


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_nothing_but_a_regular_file_is_replaced(tmp_path, make):
    make(tmp_path / "there")
    kind = (tmp_path / "there").lstat()
    with pytest.raises(InputError, match="it is not a regular file"):
        replace_file(tmp_path / "there", lambda aside: aside.write_bytes(CONTENT))
    assert (tmp_path / "there").lstat() == kind and len(list(tmp_path.iterdir())) == 1


def test_a_reader_that_leaves_is_no_mistake_of_the_user(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: pipe.open("rb").close(), daemon=True)
    reader.start()
    with pytest.raises(BrokenPipeError):
        write_output(pipe, CONTENT)
    assert pipe.is_fifo()


def test_a_link_stays_and_its_file_is_written(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    target, link, chain = tmp_path / "elsewhere" / "page", tmp_path / "link", tmp_path / "chain"
    link.symlink_to("elsewhere/page")
    chain.symlink_to("link")
    for content in (b"made through a dangling link", b"replaced"):
        write_output(chain, content)
        assert target.read_bytes() == content
        assert link.readlink() == Path("elsewhere/page") and chain.readlink() == Path("link")
    assert [path.name for path in target.parent.iterdir()] == ["page"]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("folder", "it is a folder"),
        ("to-folder", "it is a folder"),
        ("loop", "Too many levels of symbolic links"),
        ("to-nowhere", "No such file or directory"),
        ("missing/page", "No such file or directory"),
        ("file/page", "Not a directory"),
        ("x" * 300, "File name too long"),
    ],
)
def test_what_is_refused_stays_as_it_was(tmp_path, name, why):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("kept")
    (tmp_path / "to-folder").symlink_to("folder")
    (tmp_path / "to-nowhere").symlink_to("missing/page")
    (tmp_path / "loop").symlink_to("loop")
    before = sorted((path.name, path.lstat().st_ino) for path in tmp_path.iterdir())
    with pytest.raises(InputError, match=f"cannot write .*: {why}"):
        write_output(tmp_path / name, b"new")
    assert sorted((path.name, path.lstat().st_ino) for path in tmp_path.iterdir()) == before
    assert (tmp_path / "file").read_text() == "kept" and not any((tmp_path / "folder").iterdir())


@pytest.fixture
def as_plain_user():
    """A folder that everyone may enter, and no rights but those of a plain user: root may write anywhere."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o777)
        if os.geteuid() != 0:
            yield Path(name)
            return
        os.seteuid(NOBODY)
        try:
            yield Path(name)
        finally:
            os.seteuid(0)


def test_without_the_right_to_write_nothing_changes(as_plain_user):
    closed, fixed = as_plain_user / "closed", as_plain_user / "fixed"
    closed.mkdir(mode=0o555)
    fixed.write_text("kept")
    fixed.chmod(0o444)
    for path in (closed / "page", fixed):
        with pytest.raises(InputError, match="Permission denied"):
            write_output(path, b"new")
    assert fixed.read_text() == "kept"
    assert sorted(path.name for path in as_plain_user.rglob("*")) == ["closed", "fixed"]


def test_a_device_stays_a_device(as_plain_user):
    """Without root's rights: whatever is wrong with the code, the machine keeps its device."""
    link, device = as_plain_user / "link", Path("/dev/null").stat()
    link.symlink_to("/dev/null")
    write_output(link, b"gone")
    write_output(Path("/dev/null"), b"gone")
    write(DataSet(task="add", domain="D2", number=3), "text", link)
    assert [path.name for path in as_plain_user.iterdir()] == ["link"]
    assert link.is_symlink() and Path("/dev/null").is_char_device()
    assert Path("/dev/null").stat().st_ino == device.st_ino


WRITES = """
import sys
from pathlib import Path
from lengthwise.records.files import write_output
print("before")
write_output(Path(sys.argv[1]), b"page\\n")
print("after")
"""


@pytest.mark.parametrize(("stream", "number"), [("stdout", 1), ("stderr", 2)])
@pytest.mark.parametrize("to_file", [False, True])
def test_our_own_output_takes_it_in_order(tmp_path, stream, number, to_file):
    """Also where the shell sends it to a file, which must not be replaced, nor written over.

    /dev/stdout is such a link; with one of our own, wrong code spoils nothing on this machine.
    """
    (tmp_path / stream).symlink_to(f"/proc/self/fd/{number}")
    command = [sys.executable, "-c", WRITES, str(tmp_path / stream)]
    shown = tmp_path / "shown"
    if to_file:
        with shown.open("wb") as handle:
            subprocess.run(command, stdout=handle, stderr=subprocess.STDOUT, check=True, timeout=60)
        assert shown.read_text() == "before\npage\nafter\n"
        assert {path.name for path in tmp_path.iterdir()} == {"shown", stream}
        assert (tmp_path / stream).is_symlink()
        return
    done = subprocess.run(command, capture_output=True, check=True, timeout=60)
    assert done.stdout == (b"before\npage\nafter\n" if stream == "stdout" else b"before\nafter\n")
    assert done.stderr == (b"" if stream == "stdout" else b"page\n")


def test_a_report_goes_into_a_pipe(tmp_path, capsys):
    (folder,) = train(tiny_config(training={"steps": 3, "evaluate_every": 3}), tmp_path / "runs", device="cpu")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    page = received(pipe, lambda: main(["report", str(folder.path), "--out", str(pipe)]))
    assert page.startswith(b"<!") and page.rstrip().endswith(b"</html>")
    assert pipe.is_fifo() and capsys.readouterr().out.startswith(f"{pipe}: 1 run")
    with pytest.raises(SystemExit) as stop:
        main(["report", str(folder.path), "--out", str(folder.path)])
    assert stop.value.code == 2
    assert capsys.readouterr().err == (
        f"error: cannot write {folder.path}: it is a folder; name a file, such as report.html\n"
    )
