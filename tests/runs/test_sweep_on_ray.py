"""Sweeps on a real Ray cluster, of two nodes on this machine: a worker and a node are killed in mid-run.

One test, since Ray takes long to start, and two tests may be run by two processes.
"""

import os
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from gate import FOLDER, Disturbed, Gate, assert_equal, finish_behind_gate, gone, jobs, undisturbed, until
from rich.console import Console

from lengthwise.runs.sweep import sweep_jobs

pytest.importorskip("ray", reason="needs the extra ray")

from ray.cluster_utils import Cluster

from lengthwise.interop.clusters import RayEngine

NODE = {"num_cpus": 1, "object_store_memory": 100 * 2**20}


@contextmanager
def cluster_of_one_node():
    started = Cluster(initialize_head=True, head_node_args={**NODE, "include_dashboard": False})
    try:
        yield started
    finally:
        started.shutdown()


@pytest.mark.slow
def test_a_lost_worker_and_a_lost_node(tmp_path, monkeypatch):
    tests = Path(__file__).parent
    monkeypatch.setenv(FOLDER, str(tmp_path / "gate"))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tests), str(tests.parent), *sys.path]))
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    gate, reference = Gate(tmp_path / "gate"), undisturbed(tmp_path / "reference")
    with cluster_of_one_node() as cluster:
        every_run_ends_as_undisturbed(tmp_path / "retried", cluster, gate)
        assert_equal(tmp_path / "retried", reference)
        gate.close()
        without_retries_a_lost_worker_is_listed(tmp_path / "listed", cluster, gate)
        assert swept(tmp_path / "listed", cluster, iter(()), retries=0) == {}
        assert_equal(tmp_path / "listed", reference)


def swept(runs, cluster, scenario, retries):
    engine = RayEngine(address=cluster.address, workers=None, gpus=None, retries=retries)
    disturbed, console = Disturbed(engine, scenario), Console(quiet=True)
    return sweep_jobs(jobs(runs), disturbed, device="cpu", stack=8, console=console, finish=finish_behind_gate)


def every_run_ends_as_undisturbed(runs, cluster, gate):
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

    assert swept(runs, cluster, scenario(), retries=2) == {}
    assert len(on_node) == 1


def without_retries_a_lost_worker_is_listed(runs, cluster, gate):
    """On one node the stacks train one after the other."""

    def scenario():
        yield from gate.waits_for("learned", 1)
        gate.kill("learned")
        yield from gate.waits_for("coupled", 1)
        gate.open()

    failures = swept(runs, cluster, scenario(), retries=0)
    assert {Path(path).name for path in failures} == {job.folder.name for job in jobs(runs)[:2]}
    assert all(reason.startswith("WorkerCrashedError: ") for reason in failures.values())
