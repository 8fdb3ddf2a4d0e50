"""Sweeps on a real Ray cluster, of two nodes on this machine: a worker and a node are killed in mid-run."""

import os
import shutil
import sys
from pathlib import Path

import pytest
from gate import FOLDER, Disturbed, Gate, assert_equal, finish_behind_gate, gone, jobs, undisturbed, until
from rich.console import Console

from lengthwise.runs.sweep import sweep_jobs

pytest.importorskip("ray", reason="needs the extra ray")

from ray.cluster_utils import Cluster

from lengthwise.interop.on_ray import RayEngine

NODE = {"num_cpus": 1, "object_store_memory": 100 * 2**20}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("on-ray")


@pytest.fixture(scope="module")
def cluster(place):
    """Of one node; its workers know the gate by its folder."""
    tests = Path(__file__).parent
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(FOLDER, str(place / "gate"))
        patch.setenv("PYTHONPATH", os.pathsep.join([str(tests), str(tests.parent), *sys.path]))
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        started = Cluster(initialize_head=True, head_node_args={**NODE, "include_dashboard": False})
        try:
            yield started
        finally:
            started.shutdown()


@pytest.fixture
def gate(place):
    shutil.rmtree(place / "gate", ignore_errors=True)
    return Gate(place / "gate")


@pytest.fixture(scope="module")
def reference(place):
    return undisturbed(place / "reference")


def swept(runs, cluster, scenario, retries):
    engine = RayEngine(address=cluster.address, workers=None, gpus=None, retries=retries)
    disturbed, console = Disturbed(engine, scenario), Console(quiet=True)
    return sweep_jobs(jobs(runs), disturbed, device="cpu", stack=8, console=console, finish=finish_behind_gate)


def test_a_worker_and_a_node_are_lost_and_every_run_ends_as_undisturbed(tmp_path, cluster, gate, reference):
    node, on_node = cluster.add_node(**NODE), []

    def scenario():
        yield from gate.waits_for("learned", 1)
        yield from gate.waits_for("coupled", 1)
        gate.kill("learned")
        yield from gate.waits_for("learned", 2)
        there = gate.at("learned") | gate.at("coupled")
        on_node.extend(one for one, where in there.items() if where == node.node_id and not gone(one))
        cluster.remove_node(node, allow_graceful=False)
        yield from until(lambda: all(map(gone, on_node)))
        gate.open()

    assert swept(tmp_path, cluster, scenario(), retries=2) == {}
    assert len(on_node) == 1
    assert_equal(tmp_path, reference)


def test_without_retries_a_lost_worker_is_listed_and_the_next_call_takes_it_up(tmp_path, cluster, gate, reference):
    def scenario():
        """On one node the stacks train one after the other."""
        yield from gate.waits_for("learned", 1)
        gate.kill("learned")
        yield from gate.waits_for("coupled", 1)
        gate.open()

    failures = swept(tmp_path, cluster, scenario(), retries=0)
    assert {Path(path).name for path in failures} == {job.folder.name for job in jobs(tmp_path)[:2]}
    assert all(reason.startswith("WorkerCrashedError: ") for reason in failures.values())
    assert swept(tmp_path, cluster, iter(()), retries=0) == {}
    assert_equal(tmp_path, reference)
