"""Campaigns on a real Dask scheduler with real workers, one of which is killed."""

import functools
import os
import re
import signal
import subprocess
import sys
import time

import pytest
from test_worker_processes import Unlucky, is_stopped, pids
from test_workers import Eventful, drive, same_bits, times_run, what_was_driven

from gz_testauto.base.errors import MissingDependencyError, ResultsError, SimulatorError
from gz_testauto.base.installation import install_command
from gz_testauto.campaign.progress import CampaignListener
from gz_testauto.campaign.runner import run_campaign
from gz_testauto.extras.dask import workers as dask_module
from gz_testauto.extras.dask.workers import DaskWorkers
from gz_testauto.trial.outcome import Outcome
from gz_testauto.workers import interface

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
    ) as cluster:
        yield cluster


@pytest.fixture
def dask(cluster):
    return functools.partial(DaskWorkers, scheduler=cluster.scheduler_address)


@pytest.fixture
def eventful(smoke, tmp_path, dask):
    """Runs the small campaign on the cluster, with orders for its trials."""

    def run(*orders, **options):
        for order in orders:
            (tmp_path / order).touch()
        executor = functools.partial(Eventful, directory=tmp_path)
        return run_campaign(smoke, tmp_path / "out", executor, make_workers=dask, **options)

    return run


@pytest.mark.slow
def test_results_are_the_same_bits_as_here(smoke, tmp_path, dask):
    run_campaign(smoke, tmp_path / "here", drive)
    run_campaign(smoke, tmp_path / "there", drive, make_workers=dask)
    assert same_bits(what_was_driven(tmp_path / "here"), what_was_driven(tmp_path / "there"))


@pytest.mark.slow
def test_without_an_address_it_starts_a_local_scheduler(smoke, tmp_path):
    executor = functools.partial(Eventful, directory=tmp_path)
    workers = functools.partial(DaskWorkers, size=2)
    results = run_campaign(smoke, tmp_path / "out", executor, make_workers=workers)
    assert [record.trial for record in results.trials] == [0, 1, 2, 3]


@pytest.mark.slow
def test_the_death_of_a_worker_costs_one_attempt_and_its_replacement_continues(eventful, tmp_path):
    results = eventful("die-1")
    assert [record.outcome for record in results.trials] == [Outcome.REACHED] * 4
    assert [record.attempts for record in results.trials] == [1, 2, 1, 1]
    assert "has disappeared" in results.worker_deaths[0].cause
    assert times_run(tmp_path) == [0, 1, 1, 2, 3]


@pytest.mark.slow
def test_a_dead_simulator_costs_one_attempt(eventful):
    results = eventful("fail-2")
    assert [record.attempts for record in results.trials] == [1, 1, 2, 1]


@pytest.mark.slow
def test_a_bug_in_a_worker_is_a_bug_here(eventful):
    with pytest.raises(ZeroDivisionError, match="bug"):
        eventful("crash-0")


@pytest.mark.slow
def test_a_stop_abandons_running_trials_which_a_later_run_executes(eventful, tmp_path):
    def all_wait():
        return len(times_run(tmp_path)) >= 3

    stopped = eventful("wait-1", "wait-2", should_stop=all_wait)
    assert [record.trial for record in stopped.trials] == [0]
    assert [record.trial for record in eventful().trials] == [0, 1, 2, 3]


class Mortal(Eventful):
    """Dies while it starts, once."""

    def open(self):
        if self.takes("die-at-start"):
            os.kill(os.getpid(), signal.SIGKILL)
        super().open()


@pytest.mark.slow
def test_a_worker_that_dies_while_it_starts_is_not_waited_for(smoke, tmp_path, dask):
    (tmp_path / "die-at-start").touch()
    deadline_s = time.monotonic() + 120.0

    def in_time():
        assert time.monotonic() < deadline_s
        return False

    executor = functools.partial(Mortal, directory=tmp_path)
    results = run_campaign(
        smoke, tmp_path / "out", executor, make_workers=dask, should_stop=in_time
    )
    assert [record.trial for record in results.trials] == [0, 1, 2, 3]
    assert not (tmp_path / "die-at-start").exists()


class Waiting(Eventful):
    """Finishes trial 0 when trial 1 has started, or a minute later."""

    def execute(self, trial, should_stop):
        deadline = time.monotonic() + 60.0
        while not (trial.index or 1 in times_run(self.directory) or time.monotonic() > deadline):
            time.sleep(0.05)
        result = super().execute(trial, should_stop)
        (self.directory / f"ended-{trial.index}").touch()
        return result


@pytest.mark.slow
def test_a_worker_that_joins_during_a_trial_gets_a_trial_immediately(smoke, tmp_path):
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
    ) as growing:

        class Grower(CampaignListener):
            def trial_began(self, trial, progress):
                growing.scale(2)

        run_campaign(
            smoke,
            tmp_path / "out",
            functools.partial(Waiting, directory=tmp_path),
            make_workers=functools.partial(DaskWorkers, scheduler=growing.scheduler_address),
            listener=Grower(),
        )
    (began,) = tmp_path.glob("ran-1-*")
    assert began.stat().st_mtime < (tmp_path / "ended-0").stat().st_mtime


@pytest.mark.slow
def test_campaign_with_a_worker_that_does_not_respond_can_be_stopped(smoke, tmp_path, monkeypatch):
    monkeypatch.setattr(interface, "CLOSE_TIMEOUT_S", 1.0)
    monkeypatch.setattr(dask_module, "CLOSE_TIMEOUT_S", 1.0)
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
    ) as own:
        frozen = functools.partial(Unlucky, directory=tmp_path)
        (tmp_path / "freeze-0").touch()
        try:
            stopped = run_campaign(
                smoke,
                tmp_path / "out",
                frozen,
                make_workers=functools.partial(DaskWorkers, scheduler=own.scheduler_address),
                should_stop=lambda: any(map(is_stopped, pids(tmp_path))),
            )
        finally:
            for pid in filter(is_stopped, pids(tmp_path)):
                os.kill(pid, signal.SIGKILL)
    assert stopped.trials == ()
    assert stopped.worker_deaths == ()


SCHEDULER = """
import time
from distributed import LocalCluster
if __name__ == "__main__":
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, host="127.0.0.1",
                           dashboard_address="127.0.0.1:0")
    print(cluster.scheduler_address, flush=True)
    time.sleep(600)
"""


@pytest.mark.slow
def test_a_lost_scheduler_loses_no_finished_trial(smoke, tmp_path, monkeypatch):
    monkeypatch.setattr(dask_module, "CLOSE_TIMEOUT_S", 1.0)
    monkeypatch.setattr(dask_module, "CONNECTING_S", 5.0)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    script = tmp_path / "scheduler.py"
    script.write_text(SCHEDULER)
    scheduler = subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, text=True, start_new_session=True
    )

    def kill_it_in_the_third_trial():
        if len(times_run(tmp_path)) >= 3 and scheduler.poll() is None:
            os.killpg(scheduler.pid, signal.SIGKILL)
            scheduler.wait(60)
        return False

    workers = functools.partial(DaskWorkers, scheduler=scheduler.stdout.readline().strip())
    executor = functools.partial(Eventful, directory=tmp_path)
    for trial in (2, 3):
        (tmp_path / f"wait-{trial}").touch()
    try:
        with pytest.raises(SimulatorError, match=r"cannot be reached.*run the same command again"):
            run_campaign(
                smoke,
                tmp_path / "out",
                executor,
                make_workers=workers,
                should_stop=kill_it_in_the_third_trial,
            )
    finally:
        scheduler.stdout.close()
    for order in tmp_path.glob("wait-*"):
        order.unlink()
    results = run_campaign(smoke, tmp_path / "out", executor)
    assert [record.trial for record in results.trials] == [0, 1, 2, 3]
    assert [record.attempts for record in results.trials] == [1, 1, 1, 1]


@pytest.mark.slow
def test_a_worker_with_other_code_is_refused(eventful, monkeypatch):
    monkeypatch.setattr(dask_module, "__version__", "0.0.0")
    with pytest.raises(ResultsError, match=r"started with 0\.0\.0; install the same"):
        eventful()


@pytest.mark.slow
def test_a_worker_without_the_worlds_is_refused(eventful, tmp_path, monkeypatch):
    def break_world():
        path = tmp_path / "out" / "worlds" / "world_0001.world"
        if path.is_file():
            path.write_text(path.read_text() + "<!-- moved a box -->")
        return False

    with pytest.raises(ResultsError, match=r"does not have .*world_0001\.world"):
        eventful(should_stop=break_world)


@pytest.mark.slow
def test_a_scheduler_that_is_not_there_is_named(smoke, tmp_path, monkeypatch):
    monkeypatch.setattr(dask_module, "CONNECTING_S", 0.5)
    workers = functools.partial(DaskWorkers, scheduler="tcp://127.0.0.1:1")
    with pytest.raises(SimulatorError, match=r"tcp://127\.0\.0\.1:1 cannot be reached"):
        run_campaign(smoke, tmp_path / "out", drive, make_workers=workers)


@pytest.mark.slow
def test_the_error_without_dask_has_the_command_to_install_it(smoke, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingDependencyError, match=re.escape(install_command("dask"))):
        run_campaign(smoke, tmp_path / "out", drive, make_workers=DaskWorkers)
