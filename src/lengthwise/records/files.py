"""Writing files so that a crash leaves either the old one or the new one, never half of one."""

import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from lengthwise.errors import InputError
from lengthwise.records.faults import fault_point


def replace_file(path: Path, write: Callable[[Path], object]) -> None:
    """Have `write` fill a file aside, force it to disk, and put it in place in one step."""
    aside = path.with_name(path.name + ".new")
    try:
        write(aside)
        with aside.open("rb") as handle:
            os.fsync(handle.fileno())
        fault_point(f"before-rename-{path.name}")
        aside.replace(path)
        fault_point(f"after-rename-{path.name}")
    except OSError as error:
        with suppress(OSError):
            aside.unlink()
        raise InputError(f"cannot write {path}: {error.strerror or error}") from error


def write_json(path: Path, content: Any) -> None:
    text = json_text(content)
    replace_file(path, lambda aside: aside.write_text(text))


def json_text(content: Any) -> str:
    return json.dumps(content, indent=2) + "\n"


def read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text())
    except FileNotFoundError:
        raise InputError(f"no file {path}") from None
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"cannot read {path}: {error}") from None
