"""One process at a time: what reads a file, changes it and writes it again holds its lock meanwhile."""

import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from lengthwise.errors import InputError


@contextmanager
def alone(path: Path) -> Generator[None]:
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
def kept(folder: Path) -> Generator[None]:
    """Refuse a folder that another process keeps; nobody else may, meanwhile."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        _keep(handle, folder)
        yield
    finally:
        os.close(handle)


def _keep(handle: int, folder: Path) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise InputError(f"{folder} is in use by another process") from None
    except OSError:
        return  # some network file systems lock no folders


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
