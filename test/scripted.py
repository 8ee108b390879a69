"""Records, recordings, and a small real campaign with an executor that a test controls."""

import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from gz_testauto.actors.localization import PoseEstimator
from gz_testauto.base.observation import Twist2D
from gz_testauto.base.pose import Pose2D
from gz_testauto.campaign.runner import run_campaign
from gz_testauto.metrics.recording import Recording
from gz_testauto.results.records import TrialRecord
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.spec.loader import load
from gz_testauto.trial.executor import SimulatorIdentity, TrialExecutor, TrialResult
from gz_testauto.trial.outcome import Color, Declaration, Outcome

CONFIG = Path(__file__).resolve().parents[1] / "config"


def short_recording(completed=True):
    time_s = 0.1 * np.arange(20)
    return Recording(
        time_s=time_s,
        pose=np.column_stack([time_s, 0 * time_s, 0 * time_s]),
        twist=np.column_stack([1 + 0 * time_s, 0 * time_s, 0 * time_s]),
        command=np.full((20, 2), np.nan),
        clearance_m=np.full(20, 1.0),
        cycle_time_s=np.full(19, 0.001),
        cycle_cpu_s=np.full(19, 0.001),
        completed=completed,
        wall_time_s=0.1,
        shortest_path_m=1.9,
    )


class ScriptedExecutor(TrialExecutor):
    """An executor that ends each trial with the outcome or exception of ``script(trial)``."""

    def __init__(self, script=lambda trial: Outcome.REACHED, version="1"):
        self.script = script
        self.calls = []
        self.executed = []
        self._identity = SimulatorIdentity("scripted", version)

    def open(self):
        self.calls.append("open")

    @property
    def identity(self):
        return self._identity

    def execute(self, trial, should_stop):
        self.executed.append(trial.label)
        answer = self.script(trial)
        if isinstance(answer, BaseException):
            raise answer
        return TrialResult(answer, short_recording(answer is Outcome.REACHED), "as scripted")

    def recover(self):
        self.calls.append("recover")

    def close(self):
        self.calls.append("close")


def record(trial=0, **changes):
    values = {
        "trial": trial,
        "world": f"world_{trial:04d}",
        "world_index": trial,
        "planner": "fgm",
        "repetition": 0,
        "seed": 5,
        "outcome": Outcome.COLLIDED,
        "detail": "touched a box",
        "attempts": 1,
        "wall_s": 1.5,
        "finished_at": "2024-01-01T00:00:00+00:00",
        "trajectory": f"world_{trial:04d}--fgm--0.npz",
        "metrics": {"distance_m": 3.25, "spl": math.nan},
    }
    return TrialRecord(**{**values, **changes})


class Ahead(PoseEstimator):
    """An estimator whose pose is ``ahead_m`` in front of the true position, along x."""

    twist = Twist2D(0.3, 0.1)
    covariance = twist_covariance = np.zeros((3, 3))

    pose = odometry = Pose2D(0.0, 0.0)

    def __init__(self, ahead_m):
        self.ahead_m = ahead_m

    def advance(self, time_s, pose, twist):
        self.pose = Pose2D(pose.x_m + self.ahead_m, pose.y_m, pose.yaw_rad)

    def place(self, pose):
        raise NotImplementedError


@pytest.fixture(scope="session")
def smoke():
    return load(CONFIG / "smoke_campaign.yaml", CampaignSpec)


@pytest.fixture
def run(smoke, tmp_path):
    """Run the small campaign with a scripted executor; return both."""

    def start(script=lambda trial: Outcome.REACHED, spec=smoke, version="1", **options):
        executor = ScriptedExecutor(script, version)
        out = options.pop("out", tmp_path / "out")
        results = run_campaign(spec, out, lambda campaign: executor, **options)
        return SimpleNamespace(results=results, executor=executor, out=out)

    return start


@pytest.fixture
def declare_outcome(monkeypatch):
    """Return a function that adds an outcome for one test, as a line in its module would."""

    def declare(**properties):
        declaration = Declaration("drowned", "≈", Color.GREY, "Robot drowned!", **properties)
        outcome = object.__new__(Outcome)
        outcome._name_, outcome._value_ = "DROWNED", declaration.name
        outcome.declaration = declaration
        monkeypatch.setitem(Outcome._member_map_, "DROWNED", outcome)
        monkeypatch.setitem(Outcome._value2member_map_, declaration.name, outcome)
        monkeypatch.setattr(Outcome, "_member_names_", [*Outcome._member_names_, "DROWNED"])
        return outcome

    return declare
