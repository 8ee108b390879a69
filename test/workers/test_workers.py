"""Campaigns with parallel workers: no trial is lost or run twice, and no process remains."""

import dataclasses
import functools
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scripted import ScriptedExecutor

from gz_testauto.base.errors import SceneError, SimulatorError, SpecError
from gz_testauto.campaign.progress import CampaignListener
from gz_testauto.campaign.runner import run_campaign
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.store import ResultStore
from gz_testauto.simulators import SIMULATORS
from gz_testauto.simulators.kinematic import KinematicSimulator
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.spec.loader import load, parse
from gz_testauto.trial.executor import TrialStopped
from gz_testauto.trial.lockstep import LockstepExecutor
from gz_testauto.trial.outcome import Outcome
from gz_testauto.workers.interface import OneWorker
from gz_testauto.workers.processes import ProcessWorkers, local_workers

CONFIG = Path(__file__).resolve().parents[2] / "config"


def processes(size):
    return functools.partial(ProcessWorkers, size=size)


def kinematic(campaign):
    return KinematicSimulator()


drive = functools.partial(LockstepExecutor, open_simulator=kinematic)


class Eventful(ScriptedExecutor):
    """Executes one event for each file in ``directory``: ``die-2`` kills its process in trial 2."""

    events = ("die", "fail", "fault", "crash", "wait")

    def __init__(self, campaign, directory):
        super().__init__()
        self.directory = directory

    def execute(self, trial, should_stop):
        (self.directory / f"ran-{trial.index}-{os.getpid()}-{time.monotonic_ns()}").touch()
        for event in self.events:
            if self.takes(f"{event}-{trial.index}"):
                getattr(self, event)(should_stop)
        return super().execute(trial, should_stop)

    def takes(self, order):
        """Return whether this process is the one that takes the order, which only one can."""
        try:
            (self.directory / order).unlink()
        except FileNotFoundError:
            return False
        return True

    def die(self, should_stop):
        os.kill(os.getpid(), signal.SIGKILL)

    def fail(self, should_stop):
        raise SimulatorError("gzserver died")

    def fault(self, should_stop):
        raise SceneError("crate_1 flew 12 m")

    def crash(self, should_stop):
        raise ZeroDivisionError("bug")

    def wait(self, should_stop):
        while not should_stop():
            time.sleep(0.01)
        raise TrialStopped


class Crowded(ScriptedExecutor):
    """Records ten seconds for the first attempt at trial 0 and for each attempt at trial 2."""

    def __init__(self, campaign, directory):
        super().__init__()
        self.directory = directory

    def execute(self, trial, should_stop):
        first = not list(self.directory.glob(f"ran-{trial.index}-*"))
        (self.directory / f"ran-{trial.index}-{time.monotonic_ns()}").touch()
        result = super().execute(trial, should_stop)
        slow = trial.index == 2 or (trial.index == 0 and first)
        recording = dataclasses.replace(result.recording, wall_time_s=10.0 if slow else 0.1)
        return dataclasses.replace(result, recording=recording)


@pytest.fixture
def eventful(smoke, tmp_path):
    """Return a function that runs the small campaign on two processes, with events."""

    def run(*orders, **options):
        for order in orders:
            (tmp_path / order).touch()
        return run_campaign(
            smoke,
            tmp_path / "out",
            functools.partial(Eventful, directory=tmp_path),
            make_workers=processes(2),
            **options,
        )

    return run


def times_run(directory):
    return sorted(int(path.name.split("-")[1]) for path in directory.glob("ran-*"))


def what_was_driven(out):
    with ResultStore.read(CampaignDirectory(out)) as store:
        return [
            (record.trial, record.outcome, record.detail, store.trajectory(record))
            for record in store.results().trials
        ]


def same_bits(one, other):
    """Return whether two runs have equal outcomes and equal recordings."""
    return [row[:3] for row in one] == [row[:3] for row in other] and all(
        np.array_equal(getattr(here, field), getattr(there, field), equal_nan=True)
        for (*_, here), (*_, there) in zip(one, other)
        for field in ("time_s", "pose", "twist", "command", "clearance_m")
    )


@pytest.mark.slow
def test_a_killed_worker_is_replaced_and_its_trial_repeated(eventful, tmp_path):
    results = eventful("die-1")
    assert [record.outcome for record in results.trials] == [Outcome.REACHED] * 4
    assert [record.attempts for record in results.trials] == [1, 2, 1, 1]
    assert results.invalid_attempts == ()
    assert [death.cause for death in results.worker_deaths] == ["the worker process died (SIGKILL)"]
    assert times_run(tmp_path) == [0, 1, 1, 2, 3]


@pytest.mark.slow
def test_a_trial_with_a_faulty_scene_is_not_repeated(eventful, tmp_path):
    results = eventful("fault-1")
    assert [record.outcome for record in results.trials][:2] == [Outcome.REACHED, Outcome.INVALID]
    assert (results.trials[1].attempts, results.trials[1].detail) == (1, "crate_1 flew 12 m")
    assert times_run(tmp_path) == [0, 1, 2, 3]


@pytest.mark.slow
def test_a_trial_below_the_parallel_real_time_factor_is_repeated_once_alone(smoke, tmp_path):
    postponed = []

    class Listener(CampaignListener):
        def trial_postponed(self, trial, real_time_factor):
            postponed.append((trial.index, round(real_time_factor, 2)))

    limits = smoke.limits.model_copy(update={"min_parallel_real_time_factor": 1.0})
    results = run_campaign(
        smoke.model_copy(update={"limits": limits}),
        tmp_path / "out",
        functools.partial(Crowded, directory=tmp_path),
        make_workers=processes(2),
        listener=Listener(),
    )
    assert sorted(postponed) == [(0, 0.19), (2, 0.19)]
    order = sorted(tmp_path.glob("ran-*"), key=lambda path: int(path.name.split("-")[2]))
    assert [path.name.split("-")[1] for path in order[-2:]] == [
        str(index) for index, _ in postponed
    ]
    assert len(order) == 6
    factors = {record.trial: record.metrics["real_time_factor"] for record in results.trials}
    assert factors[0] == pytest.approx(19.0)
    assert factors[2] == pytest.approx(0.19)  # alone it has the same factor
    assert results.invalid_attempts == ()


@pytest.mark.slow
def test_overloaded_trial_is_repeated_alone_and_is_invalid_if_still_overloaded(tmp_path):
    example = CONFIG / "own_stack_campaign.yaml"
    text = re.sub("  min_real_time_factor.*\n", "", example.read_text())
    spec = parse(text, CampaignSpec, example)
    results = run_campaign(
        spec,
        tmp_path / "out",
        functools.partial(Crowded, directory=tmp_path),
        make_workers=processes(2),
    )
    order = sorted(tmp_path.glob("ran-*"), key=lambda path: int(path.name.split("-")[2]))
    ran = [int(path.name.split("-")[1]) for path in order]
    assert sorted(ran[:4]) == [0, 1, 2, 3]
    assert sorted(ran[4:]) == [0, 2, 2]  # after the other trials
    outcomes = [record.outcome for record in results.trials]
    assert outcomes == [Outcome.REACHED, Outcome.REACHED, Outcome.INVALID, Outcome.REACHED]
    assert [record.attempts for record in results.trials] == [2, 1, 3, 1]
    assert "real-time factor 0.19, below stack.min_real_time_factor = 0.8" in (
        results.trials[2].detail
    )
    assert results.trials[0].metrics["real_time_factor"] == pytest.approx(19.0)


@pytest.mark.slow
def test_a_stop_abandons_running_trials_which_a_later_run_executes(eventful, tmp_path):
    def all_wait():
        return len(list(tmp_path.glob("ran-*"))) >= 3

    stopped = eventful("wait-1", "wait-2", should_stop=all_wait)
    assert [record.trial for record in stopped.trials] == [0]
    assert stopped.invalid_attempts == ()
    assert [record.trial for record in eventful().trials] == [0, 1, 2, 3]


PARENT = """
import functools, sys
from pathlib import Path
sys.path[:0] = {tests!r}
if __name__ == "__main__":
    from test_workers import Eventful, processes
    from gz_testauto.campaign.runner import run_campaign
    from gz_testauto.spec.campaign import CampaignSpec
    from gz_testauto.spec.loader import load
    spec = load(Path({config!r}) / "smoke_campaign.yaml", CampaignSpec)
    run_campaign(spec, Path({out!r}), functools.partial(Eventful, directory=Path({directory!r})),
                 make_workers=processes(2))
"""


@pytest.mark.slow
def test_workers_exit_when_their_parent_is_killed(tmp_path):
    for trial in range(4):
        (tmp_path / f"wait-{trial}").touch()
    script = tmp_path / "parent.py"
    script.write_text(
        PARENT.format(
            tests=[str(folder) for folder in Path(__file__).parents[:2]],
            config=str(CONFIG),
            out=str(tmp_path / "out"),
            directory=str(tmp_path),
        )
    )
    parent = subprocess.Popen([sys.executable, str(script)])
    try:
        deadline = time.monotonic() + 60.0
        while len(times_run(tmp_path)) < 2 and time.monotonic() < deadline:
            time.sleep(0.05)
    finally:
        parent.kill()
        parent.wait(60)
    pids = {int(path.name.split("-")[2]) for path in tmp_path.glob("ran-*")}
    assert len(pids) == 2
    deadline = time.monotonic() + 10.0
    while any(is_running(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(is_running(pid) for pid in pids)


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][:1] not in ("Z", "")
    except OSError:
        return False


class TestSharedSimulator:
    """Trials in a simulator that is already running are executed one after the other."""

    @pytest.fixture
    def campaign(self, monkeypatch):
        monkeypatch.setattr(KinematicSimulator, "shared", True)
        monkeypatch.setattr(SIMULATORS, "get", lambda name: KinematicSimulator)
        monkeypatch.setattr(SIMULATORS, "names", lambda: ["theirs"])
        spec = load(CONFIG / "smoke_campaign.yaml", CampaignSpec)
        return SimpleNamespace(spec=spec.model_copy(update={"simulator": "theirs"}))

    def test_default_number_of_workers_is_one(self, campaign):
        workers = local_workers(4, at_most=True)(scripted_executor, campaign)
        assert type(workers) is OneWorker
        assert type(local_workers(1)(scripted_executor, campaign)) is OneWorker

    def test_several_workers_are_rejected_for_a_shared_simulator_with_a_remedy(self, campaign):
        with pytest.raises(SpecError, match=r"'theirs' is already running.*--workers 1"):
            local_workers(2)(scripted_executor, campaign)


def scripted_executor(campaign):
    return ScriptedExecutor()
