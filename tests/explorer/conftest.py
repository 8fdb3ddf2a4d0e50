"""A server with runs to look at: two seeds of one config, one of another, and two that cannot be read."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes import tiny_config
from serving import Server, serving

from lengthwise.explorer import MAX_LISTED


@pytest.fixture(scope="session")
def run_folders(tmp_path_factory) -> Path:
    from fakes import train

    folder = tmp_path_factory.mktemp("explorer") / "runs"
    train([tiny_config(seed=seed) for seed in (1, 2)], folder, device="cpu")
    train([tiny_config(task="mul%5", seed=3)], folder / "products", device="cpu")
    (folder / "broken").mkdir()
    (folder / "broken" / "config.json").write_text("{}")
    unreadable = folder / "torn"
    (unreadable / "checkpoint").mkdir(parents=True)
    (unreadable / "config.json").write_text(tiny_config(train="D1").model_dump_json())
    (unreadable / "checkpoint" / "state.json").write_text("{}")
    return folder


@pytest.fixture(scope="session")
def server(run_folders) -> Iterator[Server]:
    with serving("--runs", str(run_folders)) as running:
        yield running._replace(runs=run_folders)


@pytest.fixture(scope="session")
def crowded(tmp_path_factory) -> Iterator[Server]:
    """A server with one run of one's own, and more runs of others than are listed."""
    folder = tmp_path_factory.mktemp("crowded")
    for name in ("runs/mine", *(f"results/{i:04}" for i in range(MAX_LISTED + 2))):
        (folder / name).mkdir(parents=True)
        (folder / name / "config.json").write_text(tiny_config().model_dump_json())
    with serving("--runs", str(folder / "runs"), str(folder / "results")) as running:
        yield running
