"""The start of roscore: a slow one is awaited, one that exits is replaced."""

import itertools
from types import SimpleNamespace

import pytest
import rosgraph

from gz_testauto.base.errors import ConfigurationError, SimulatorError
from gz_testauto.processes import free_port, start
from gz_testauto.ros import master

PID = 7


@pytest.fixture
def cores(monkeypatch):
    """The started roscores: each answers ``answers_after_s`` after its start, or fails with the
    next of ``troubles``."""
    cores = SimpleNamespace(now_s=0.0, started_s=[], answers_after_s=1.0, troubles=[])

    def start(*_):
        cores.started_s.append(cores.now_s)
        trouble = cores.troubles.pop(0) if cores.troubles else ""
        return SimpleNamespace(pid=PID, failure=lambda: trouble, close=lambda: None)

    def ask(port):
        there = cores.now_s - cores.started_s[-1] >= cores.answers_after_s
        return {"pid": PID, "rosout": True} if there else {}

    def sleep(seconds):
        cores.now_s += seconds

    monkeypatch.setattr(master, "LaunchedProcess", start)
    monkeypatch.setattr(master, "isolate", lambda *_: None)
    monkeypatch.setattr(master, "descendants", lambda pid: {pid})
    monkeypatch.setattr(master, "_query_master", ask)
    clock = SimpleNamespace(monotonic=lambda: cores.now_s, sleep=sleep)
    monkeypatch.setattr(master, "time", clock)
    return cores


def test_a_slow_roscore_is_not_replaced(cores, tmp_path):
    cores.answers_after_s = 70.0
    master.start_master(tmp_path, tmp_path, 90.0)
    assert cores.started_s == [0.0]


def test_a_roscore_that_exits_is_replaced(cores, tmp_path):
    cores.troubles = ["roscore ended (status 1)"] * 2
    master.start_master(tmp_path, tmp_path, 90.0)
    assert len(cores.started_s) == 3


def test_roscore_that_finds_an_invalid_package_is_not_replaced(cores, tmp_path):
    text = "catkin_pkg.package.InvalidPackage: Error(s) in package '/ws/src/bad/package.xml'"
    cores.troubles = [f"roscore ended (status 1): {text}"] * 2
    with pytest.raises(ConfigurationError, match="/ws/src/bad/package"):
        master.start_master(tmp_path, tmp_path, 90.0)
    assert len(cores.started_s) == 1


def test_ros_master_and_gazebo_master_have_different_ports(cores, monkeypatch, tmp_path):
    held, masters = set(), []

    class Probe:
        """A socket of a system that gives the first port that no socket holds."""

        def bind(self, address):
            self.port = next(port for port in itertools.count(40000) if port not in held)
            held.add(self.port)

        def getsockname(self):
            return "127.0.0.1", self.port

        def __enter__(self):
            return self

        def __exit__(self, *_):
            held.remove(self.port)

    monkeypatch.setattr(start, "socket", SimpleNamespace(socket=Probe))
    monkeypatch.setattr(master, "isolate", lambda core, gazebo, *_: masters.append((core, gazebo)))
    master.start_master(tmp_path, tmp_path, 90.0)
    assert masters == [(40000, 40001)]


def test_unresponsive_roscore_raises_an_error_after_the_timeout(cores, tmp_path):
    cores.answers_after_s = 1e9
    with pytest.raises(SimulatorError, match="within 90 s: roscore does not respond"):
        master.start_master(tmp_path, tmp_path, 90.0)
    assert cores.now_s == pytest.approx(90.0, abs=0.2)


def test_an_unreachable_master_makes_the_trial_invalid(monkeypatch):
    monkeypatch.setenv("ROS_MASTER_URI", f"http://127.0.0.1:{free_port()}")
    refused = pytest.raises(SimulatorError, match=r"master of the trial does not respond .*refused")
    with refused, master.master_faults():
        rosgraph.Master("/test").getParam("/use_sim_time")
