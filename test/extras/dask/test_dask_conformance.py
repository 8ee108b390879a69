"""Dask's workers pass the conformance suite of workers, on an existing cluster."""

import contextlib
import functools

import pytest

from gz_testauto.extras.dask.workers import DaskWorkers
from gz_testauto.testing.workers_conformance import WorkersConformance

distributed = pytest.importorskip("distributed")


def local_cluster(size):
    return distributed.LocalCluster(
        n_workers=size, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
    )


@pytest.mark.slow
class TestDaskWorkers(WorkersConformance):
    ends_processes = False

    @classmethod
    def setup_class(cls):
        cls.cluster = local_cluster(2)

    @classmethod
    def teardown_class(cls):
        super().teardown_class()
        cls.cluster.close()

    def make_workers(self, make_executor, campaign):
        return DaskWorkers(make_executor, campaign, scheduler=self.cluster.scheduler_address)

    @contextlib.contextmanager
    def growing(self):
        with local_cluster(1) as cluster:
            factory = functools.partial(DaskWorkers, scheduler=cluster.scheduler_address)
            yield factory, lambda: cluster.scale(2)
