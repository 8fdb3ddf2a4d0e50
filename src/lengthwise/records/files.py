"""Files and folders that survive crashes and other processes: written in one step, changed by one at a time.

A crash leaves either the old file or the new one, never half of one. What reads a file, changes it and writes it
again holds its lock meanwhile.
"""

import fcntl
import json
import os
import re
import signal
import stat
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from lengthwise.errors import InputError

FAULT = "LENGTHWISE_FAULT"

LOCK_WAITS = (0.02, 0.1, 0.4)
"""Seconds between tries to lock a folder: who looks whether it is in use holds it for a moment."""

_passed: dict[str, int] = {}


class InUseError(InputError):
    """Another process holds what is asked for, and will let go of it when it ends."""


def fault_point(name: str) -> None:
    """Die at once, as if the power failed, if LENGTHWISE_FAULT is `name:k` and this is the k-th pass.

    Tests prove with it that a run survives being killed there.
    """
    wanted = os.environ.get(FAULT)
    if wanted is None:
        return
    _passed[name] = _passed.get(name, 0) + 1
    if wanted == f"{name}:{_passed[name]}":
        os.kill(os.getpid(), signal.SIGKILL)


def replace_file(path: Path, write: Callable[[Path], object]) -> None:
    """Have `write` fill a file aside, force it to disk, and put it in place in one step.

    Only a regular file is replaced: whoever has root's rights would lose a device.
    """
    if path.exists() and not path.is_file():
        raise InputError(f"cannot write {path}: it is not a regular file")
    aside = path.with_name(path.name + ".new")
    if aside.is_symlink() or (aside.exists() and not aside.is_file()):
        raise InputError(f"cannot write {path}: {aside.name} beside it is not a regular file")
    try:
        write(aside)
        with aside.open("rb") as handle:
            os.fsync(handle.fileno())
        fault_point(f"before-rename-{path.name}")
        aside.replace(path)
        fault_point(f"after-rename-{path.name}")
    except OSError as error:
        raise _cannot_write(path, error) from error
    finally:
        with suppress(OSError):
            aside.unlink()


def _cannot_write(path: Path, error: OSError) -> InputError:
    return InputError(f"cannot write {path}: {error.strerror or error}")


def write_output(path: Path, content: bytes) -> None:
    """Write what a user asked for to where they want it, as `report --out FILE` does."""
    fill_output(path, lambda file: file.write(content))


def fill_output(path: Path, fill: Callable[[BinaryIO], object]) -> bool:
    """Have `fill` write what a user asked for to where they want it. Returns whether that is a file of its own.

    Links are followed. A regular file is replaced in one step; a pipe, a device and our own stdout are written
    into, so that none of them turns into a file.
    """
    try:
        stream = _stream(path)
        if stream is not None:
            with stream:
                fill(stream)
            return False
    except BrokenPipeError:
        raise  # the reader left, which is no mistake of the user
    except OSError as error:
        raise _cannot_write(path, error) from None

    def fill_file(aside: Path) -> None:
        with aside.open("wb") as file:
            fill(file)

    replace_file(Path(os.path.realpath(path)) if path.is_symlink() else path, fill_file)
    return True


def _stream(path: Path) -> BinaryIO | None:
    """What is at this path, open, if it can only be written into; None for a file, or where there is none yet."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(found.st_mode):
        raise InputError(f"cannot write {path}: it is a folder, and not a file such as report.html")
    for output in (sys.__stdout__, sys.__stderr__):
        # A file too, if the shell sends them there; what follows what was printed before must not overwrite it.
        if output is not None and os.path.samestat(os.fstat(output.fileno()), found):
            output.flush()
            return os.fdopen(os.dup(output.fileno()), "wb")
    if not stat.S_ISREG(found.st_mode):
        return path.open("wb")
    path.open("ab").close()  # a file that may not be written to may not be replaced either
    return None


def refuse_used_folder(path: Path) -> None:
    """Refuse to write a folder where there is something else already."""
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise InputError(f"{path} is there already and is not an empty folder")


def write_json(path: Path, content: Any) -> None:
    text = json_text(content)
    replace_file(path, lambda aside: aside.write_text(text))


def json_text(content: Any) -> str:
    return json.dumps(content, indent=2) + "\n"


def read_file(path: Path, start: int = 0, most: int | None = None) -> bytes:
    """The bytes of a regular file from `start` on, at most `most` of them. Reading a pipe would wait forever."""
    if path.exists() and not path.is_file():
        raise InputError(f"cannot read {path}: it is not a regular file")
    with path.open("rb") as handle:
        handle.seek(start)
        return handle.read(most)


def printable(name: str) -> str:
    """A file name as text, whatever bytes it has."""
    return os.fsencode(name).decode(errors="backslashreplace")


def read_json(path: Path) -> Any:
    try:
        content = json.loads(text := read_file(path).decode())
        return _in_whole_characters(content) if "\\ud" in text.lower() else content
    except FileNotFoundError:
        raise InputError(f"no file {path}") from None
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"cannot read {path}: {error}") from None


def _in_whole_characters(content: Any) -> Any:
    """With half a character, which no page, reply or file name can have, given by its number."""
    text = json.dumps(content, ensure_ascii=False)
    return json.loads(re.sub("[\ud800-\udfff]", lambda half: rf"\\u{ord(half[0]):x}", text))


@contextmanager
def file_lock(path: Path) -> Generator[None]:
    """Wait for whoever else changes the file `path`. Its lock lies beside it, and is gone afterwards."""
    lock = path.with_name(path.name + ".lock")
    try:
        handle = _locked(lock)
    except OSError as error:
        raise InputError(f"cannot lock {lock}: {error.strerror or error}") from None
    with handle:
        try:
            yield
        finally:
            lock.unlink()


@contextmanager
def folder_lock(folder: Path) -> Generator[None]:
    """Refuse a folder that another process has locked."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        _lock_folder(handle, folder)
        yield
    finally:
        os.close(handle)


def folder_in_use(folder: Path) -> bool | None:
    """Whether a process holds the folder's lock; None where that cannot be told."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return False
    except BlockingIOError:
        return True
    except OSError:
        return None
    finally:
        os.close(handle)


def _lock_folder(handle: int, folder: Path) -> None:
    for wait in (*LOCK_WAITS, None):
        try:
            return fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if wait is None:
                raise InUseError(f"{folder} is in use by another process") from None
            time.sleep(wait)
        except OSError:
            return None  # some network file systems lock no folders
    return None


def _locked(path: Path) -> TextIO:
    while True:
        handle = path.open("w")
        fcntl.flock(handle, fcntl.LOCK_EX)
        if _is_open_file(path, handle):
            return handle
        handle.close()  # whoever held it has removed it


def _is_open_file(path: Path, handle: TextIO) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(handle.fileno()))
    except FileNotFoundError:
        return False
