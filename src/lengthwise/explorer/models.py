"""Models that are asked: loaded once, whoever asks first, and shared by all."""

import threading
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING

from lengthwise.explorer.bounds import LOADED_MODELS
from lengthwise.explorer.refusal import RefusedError

if TYPE_CHECKING:
    from lengthwise.experiments.load import Run

Key = tuple[Path, int]


class Models:
    """The models asked last. A checkpoint that training has renewed since is loaded anew."""

    def __init__(self) -> None:
        self._loads: dict[Key, Future[Run]] = {}
        self._lock = threading.Lock()
        self.computing = threading.Lock()
        """Held while a model computes: one at a time has all cores."""

    def get(self, path: Path) -> "Run":
        key = (path, _version(path))
        with self._lock:
            load, is_mine = self._loads.get(key), False
            if load is None:
                load, is_mine = Future(), True
                self._forget_oldest()
            # Last asked is last forgotten.
            self._loads.pop(key, None)
            self._loads[key] = load
        if is_mine:
            self._load(key, load)
        return load.result()

    def _load(self, key: Key, load: "Future[Run]") -> None:
        try:
            from lengthwise.experiments.load import load as load_run

            load.set_result(load_run(key[0], device="cpu"))
        except Exception as error:
            # Whatever is wrong with a model, the page lives on.
            with self._lock:
                self._loads.pop(key, None)
            load.set_exception(RefusedError(f"this model does not load: {error}", field="model", status=409))

    def _forget_oldest(self) -> None:
        while len(self._loads) >= LOADED_MODELS:
            self._loads.pop(next(iter(self._loads)))


def _version(path: Path) -> int:
    try:
        return (path / "checkpoint" / "state.json").stat().st_mtime_ns
    except OSError:
        return 0
