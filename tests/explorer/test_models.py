import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lengthwise.experiments import load as load_module
from lengthwise.explorer.bounds import LOADED_MODELS
from lengthwise.explorer.models import Models
from lengthwise.explorer.refusal import RefusedError


@pytest.fixture
def loads(monkeypatch):
    done = []

    def slow_load(path, *, device):
        assert device == "cpu"
        done.append(path)
        time.sleep(0.05)
        return object()

    monkeypatch.setattr(load_module, "load", slow_load)
    return done


def test_requests_at_the_same_time_share_one_load(loads, tmp_path):
    models, together = Models(), threading.Barrier(20)

    def get(_):
        together.wait()
        return models.get(tmp_path)

    with ThreadPoolExecutor(20) as pool:
        got = list(pool.map(get, range(20)))
    assert len(loads) == 1 and len(set(map(id, got))) == 1


def test_a_renewed_checkpoint_is_loaded_anew(loads, tmp_path):
    models, state = Models(), tmp_path / "checkpoint" / "state.json"
    first = models.get(tmp_path)
    assert models.get(tmp_path) is first
    state.parent.mkdir()
    state.write_text("{}")
    assert models.get(tmp_path) is not first


def test_the_models_asked_last_are_kept(loads):
    models = Models()
    for name in range(LOADED_MODELS):
        models.get(Path(f"/{name}"))
    models.get(Path("/0"))
    models.get(Path("/new"))
    del loads[:]
    models.get(Path("/0"))
    assert not loads
    models.get(Path("/1"))
    assert loads == [Path("/1")]


@pytest.mark.parametrize("error", [RuntimeError("odd weights"), KeyError("x"), MemoryError()])
def test_a_model_that_does_not_load_says_so_to_all_and_may_be_tried_again(monkeypatch, tmp_path, error):
    models, tries = Models(), []

    def failing_load(path, *, device):
        tries.append(path)
        raise error

    monkeypatch.setattr(load_module, "load", failing_load)
    for _ in range(2):
        with pytest.raises(RefusedError, match="does not load"):
            models.get(tmp_path)
    assert len(tries) == 2
