"""Worker processes that die, freeze or hang: no trial is lost, and the campaign can be stopped."""

import functools
import multiprocessing
import os
import signal
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from test_workers import Eventful, is_running, processes

from gz_testauto.base.errors import SimulatorError
from gz_testauto.campaign.progress import CampaignListener
from gz_testauto.campaign.runner import run_campaign
from gz_testauto.trial.outcome import Outcome
from gz_testauto.trial.plan import TrialSelection
from gz_testauto.workers import interface
from gz_testauto.workers import processes as processes_module
from gz_testauto.workers.processes import ProcessWorkers


class Unlucky(Eventful):
    """Lists its processes in ``directory``, and executes events also while it opens."""

    def open(self):
        (self.directory / f"opens-{os.getpid()}").touch()
        for event, number in (("die", signal.SIGKILL), ("freeze", signal.SIGSTOP)):
            if self.takes(f"{event}-opening"):
                os.kill(os.getpid(), number)
        if (self.directory / "always-die-opening").exists():
            os.kill(os.getpid(), signal.SIGKILL)
        super().open()

    def freeze(self, should_stop):
        os.kill(os.getpid(), signal.SIGSTOP)

    def hang(self, should_stop):
        time.sleep(3600.0)

    events = (*Eventful.events, "freeze", "hang")


@pytest.fixture
def unlucky(smoke, tmp_path):
    """Return a function that runs the small campaign on two processes with events."""

    def run(*orders, make_workers=None, stall_timeout_s=30.0, **options):
        for order in orders:
            (tmp_path / order).touch()
        limits = smoke.limits.model_copy(update={"stall_timeout_s": stall_timeout_s})
        return run_campaign(
            smoke.model_copy(update={"limits": limits}),
            tmp_path / "out",
            functools.partial(Unlucky, directory=tmp_path),
            make_workers=make_workers or processes(2),
            **options,
        )

    return run


def pids(directory):
    return [int(path.name.split("-")[1]) for path in directory.glob("opens-*")]


def all_reached(results):
    return [record.outcome for record in results.trials] == [Outcome.REACHED] * 4


@pytest.mark.slow
def test_death_of_a_worker_before_its_first_trial_is_not_an_attempt(unlucky, tmp_path):
    killed = []

    class Killer(CampaignListener):
        def trial_began(self, trial, progress):
            if not killed:
                killed.extend(pids(tmp_path))
                for pid in killed:
                    os.kill(pid, signal.SIGKILL)

    results = unlucky(listener=Killer())
    assert all_reached(results)
    assert results.invalid_attempts == ()
    assert len(results.worker_deaths) <= 2  # the trials that were sent to them


@pytest.mark.slow
def test_no_worker_starts_without_a_trial(unlucky, tmp_path):
    results = unlucky(selection=TrialSelection(worlds=1, planners=("straight",)))
    assert len(results.trials) == 1
    assert len(pids(tmp_path)) == 1


@pytest.mark.slow
def test_a_worker_that_dies_while_it_starts_is_replaced(unlucky):
    results = unlucky("die-opening")
    assert all_reached(results)
    assert results.worker_deaths == ()


@pytest.mark.slow
def test_starting_workers_ignore_ctrl_c(unlucky, tmp_path, capfd):
    interrupted = []

    def ctrl_c():
        if not interrupted:
            interrupted.extend(multiprocessing.active_children())
            for worker in interrupted:
                os.kill(worker.pid, signal.SIGINT)
        return False

    assert all_reached(unlucky(should_stop=ctrl_c))
    assert {worker.pid for worker in interrupted} == set(pids(tmp_path)), "none was replaced"
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.slow
def test_campaign_stops_with_the_cause_if_workers_always_die_at_start(unlucky, monkeypatch):
    monkeypatch.setattr(processes_module, "MAX_FAILED_STARTS", 2)
    with pytest.raises(SimulatorError, match=r"no worker could start, 2 times in a row: .*SIGKILL"):
        unlucky("always-die-opening")


def test_delay_before_a_replacement_worker_grows_with_the_number_of_deaths(monkeypatch):
    now_s = [0.0]
    monkeypatch.setattr(processes_module.time, "monotonic", lambda: now_s[0])
    slot, delays = processes_module._WorkerSlot(), []
    for _ in range(8):
        slot.schedule_replacement(SimpleNamespace(is_ready=True))
        delays.append(next(second for second in range(100) if is_due_at(slot, now_s, second)))
    assert delays == [0, 1, 2, 4, 8, 16, 30, 30]


def is_due_at(slot, now_s, second):
    now_s[0] = float(second)
    due = slot.is_due
    now_s[0] = 0.0
    return due


@pytest.mark.slow
def test_worker_that_does_not_respond_is_replaced_and_its_trial_repeated(unlucky):
    results = unlucky("freeze-1", stall_timeout_s=5.0)
    assert all_reached(results)
    assert results.invalid_attempts == ()
    causes = {death.trial: death.cause for death in results.worker_deaths}
    assert "did not respond for 5 s" in causes[1]


@pytest.mark.slow
def test_worker_that_does_not_respond_during_its_start_is_replaced(unlucky):
    results = unlucky("freeze-opening", stall_timeout_s=5.0)
    assert all_reached(results)
    assert [death.trial for death in results.worker_deaths if death.trial == 0] == []


class Impatient(ProcessWorkers):
    """Workers that count as hung after three seconds without a control period."""

    def begin(self, trial):
        self._limits = self._limits.model_copy(update={"hang_timeout_s": 3.0})
        super().begin(trial)


@pytest.mark.slow
def test_hung_worker_costs_one_attempt(unlucky):
    results = unlucky("hang-1", make_workers=functools.partial(Impatient, size=2))
    assert all_reached(results)
    (attempt,) = [attempt for attempt in results.invalid_attempts if attempt.trial == 1]
    assert "hung" in attempt.cause and "3 s" in attempt.cause


@pytest.mark.slow
@pytest.mark.parametrize("order", ["freeze-0", "freeze-opening"])
def test_campaign_with_a_worker_that_does_not_respond_can_be_stopped(
    unlucky, tmp_path, monkeypatch, order
):
    monkeypatch.setattr(interface, "CLOSE_TIMEOUT_S", 1.0)
    monkeypatch.setattr(processes_module, "CLOSE_TIMEOUT_S", 1.0)
    stopped = unlucky(order, should_stop=lambda: any(map(is_stopped, pids(tmp_path))))
    assert 0 not in [record.trial for record in stopped.trials]
    assert stopped.worker_deaths == ()
    assert not any(map(is_running, pids(tmp_path)))
    assert all_reached(unlucky())


@pytest.mark.slow
@pytest.mark.parametrize("order", ["freeze-0", "freeze-opening"])
def test_second_ctrl_c_does_not_wait_for_a_worker_that_does_not_respond(
    unlucky, tmp_path, monkeypatch, order
):
    monkeypatch.setattr(processes_module, "CLOSE_TIMEOUT_S", 600.0)

    def second_ctrl_c():
        if any(map(is_stopped, pids(tmp_path))):
            raise KeyboardInterrupt
        return False

    with pytest.raises(KeyboardInterrupt):
        unlucky(order, should_stop=second_ctrl_c)
    assert not any(map(is_running, pids(tmp_path)))


def is_stopped(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][:1] == "T"
    except OSError:
        return False
