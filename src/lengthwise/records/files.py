"""Files that survive crashes and concurrent processes: atomic writes and locks.

A crash leaves either the old file or the new one, never half of one. Code that reads a file, changes it and writes
it again holds its lock in between.
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
"""Seconds between attempts to lock a folder: a check whether it is in use also holds the lock for a moment."""

_passed: dict[str, int] = {}


class InUseError(InputError):
    """Another process holds the lock, and will release it when it ends."""


def fault_point(name: str) -> None:
    """Kill this process if LENGTHWISE_FAULT is `name:k` and this is the k-th call with the name.

    Tests use it to show that a run survives a crash at this point.
    """
    wanted = os.environ.get(FAULT)
    if wanted is None:
        return
    _passed[name] = _passed.get(name, 0) + 1
    if wanted == f"{name}:{_passed[name]}":
        os.kill(os.getpid(), signal.SIGKILL)


def replace_file(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` fill a temporary file, force it to disk, and rename it atomically.

    Only a regular file is replaced: root would otherwise overwrite a device.
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
    """Write content to a path given by the user, as `report --out FILE` does."""
    fill_output(path, lambda file: file.write(content))


def fill_output(path: Path, fill: Callable[[BinaryIO], object]) -> bool:
    """Let `fill` write to a path given by the user. Returns whether it is a regular file.

    Links are followed. A regular file is replaced atomically; a pipe, a device and our own stdout are written to,
    so that none of them is replaced by a file.
    """
    try:
        stream = _stream(path)
        if stream is not None:
            with stream:
                fill(stream)
            return False
    except BrokenPipeError:
        raise  # the reader has closed it, which is not the user's mistake
    except OSError as error:
        raise _cannot_write(path, error) from None

    def fill_file(aside: Path) -> None:
        with aside.open("wb") as file:
            fill(file)

    replace_file(Path(os.path.realpath(path)) if path.is_symlink() else path, fill_file)
    return True


def _stream(path: Path) -> BinaryIO | None:
    """An open stream, if the path is a pipe, a device or our own output; None for a file or a new path."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(found.st_mode):
        raise InputError(f"cannot write {path}: it is a folder; name a file, such as report.html")
    for output in (sys.__stdout__, sys.__stderr__):
        # The shell may redirect them to a file, whose earlier output must not be overwritten.
        if output is not None and os.path.samestat(os.fstat(output.fileno()), found):
            output.flush()
            return os.fdopen(os.dup(output.fileno()), "wb")
    if not stat.S_ISREG(found.st_mode):
        return path.open("wb")
    path.open("ab").close()  # fails for a file without write permission, which must not be replaced either
    return None


def refuse_used_folder(path: Path) -> None:
    """Raise an InputError unless the path is new or an empty folder."""
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise InputError(f"{path} already exists and is not an empty folder")


def write_json(path: Path, content: Any) -> None:
    text = json_text(content)
    replace_file(path, lambda aside: aside.write_text(text))


def json_text(content: Any) -> str:
    return json.dumps(content, indent=2) + "\n"


def read_file(path: Path, start: int = 0, most: int | None = None) -> bytes:
    """At most `most` bytes of a regular file from `start`. A pipe is refused, as reading it would wait forever."""
    if path.exists() and not path.is_file():
        raise InputError(f"cannot read {path}: it is not a regular file")
    with path.open("rb") as handle:
        handle.seek(start)
        return handle.read(most)


def printable(name: str) -> str:
    """A file name as printable text; invalid bytes are escaped."""
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
    """Hold a lock on changing the file `path`, waiting for other processes. The lock file is removed
    afterwards."""
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
    """Hold a folder's lock; raises InUseError if another process has it."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        _lock_folder(handle, folder)
        yield
    finally:
        os.close(handle)


def folder_in_use(folder: Path) -> bool | None:
    """Whether a process holds the folder's lock; None if the file system cannot say."""
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
            return None  # some network file systems cannot lock folders
    return None


def _locked(path: Path) -> TextIO:
    while True:
        handle = path.open("w")
        fcntl.flock(handle, fcntl.LOCK_EX)
        if _is_open_file(path, handle):
            return handle
        handle.close()  # its former holder has removed the file


def _is_open_file(path: Path, handle: TextIO) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(handle.fileno()))
    except FileNotFoundError:
        return False
