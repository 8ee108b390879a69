"""This process and processes of this machine pass the conformance suite of workers."""

import pytest

from gz_testauto.testing.workers_conformance import WorkersConformance
from gz_testauto.workers.interface import OneWorker
from gz_testauto.workers.processes import ProcessWorkers


class TestOneWorker(WorkersConformance):
    size = 1
    can_die = False

    def make_workers(self, make_executor, campaign):
        return OneWorker(make_executor, campaign)


@pytest.mark.slow
class TestProcessWorkers(WorkersConformance):
    def make_workers(self, make_executor, campaign):
        return ProcessWorkers(make_executor, campaign, size=2)
