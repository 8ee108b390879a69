"""Detection of threads that sleep, run and end."""

import os
import subprocess
import sys
import threading
from types import SimpleNamespace

import pytest

from gz_testauto.simulators.gazebo import simulator
from gz_testauto.simulators.gazebo.instruments import sensor_rate
from gz_testauto.simulators.gazebo.lockstep import LockStep, ThreadStates

SCRIPT = """
import os, sys, threading, time
threading.Thread(target=time.sleep, args=(100,), daemon=True).start()
print("running", flush=True)
while not os.path.exists(sys.argv[1]):
    pass
time.sleep(100)
"""


@pytest.fixture
def process_busy_until():
    started = []

    def start(file):
        process = subprocess.Popen(
            [sys.executable, "-c", SCRIPT, str(file)], stdout=subprocess.PIPE
        )
        started.append(process)
        process.stdout.readline()
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate(timeout=60)


def test_wait_until_asleep_waits_for_a_busy_thread(process_busy_until, tmp_path):
    rest = tmp_path / "rest"
    states = ThreadStates(process_busy_until(rest).pid)
    timer = threading.Timer(0.3, rest.touch)
    timer.start()
    assert states.wait_until_asleep(30.0, 60.0)
    assert rest.exists()
    timer.join(60)


@pytest.mark.slow
def test_wait_until_asleep_ends_at_the_cpu_limit(process_busy_until, tmp_path):
    states = ThreadStates(process_busy_until(tmp_path / "never").pid)
    assert not states.wait_until_asleep(0.2, 60.0)
    assert not states.wait_until_asleep(60.0, 0.2)


@pytest.mark.slow
def test_wait_until_asleep_waits_for_a_thread_without_a_processor(process_busy_until, tmp_path):
    """The thread is awake but gets no CPU time, as on a busy machine."""
    rest = tmp_path / "rest"
    process = process_busy_until(rest)
    states = ThreadStates(process.pid)
    rival = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        for pid, policy in ((process.pid, os.SCHED_IDLE), (rival.pid, os.SCHED_OTHER)):
            os.sched_setaffinity(pid, {min(os.sched_getaffinity(0))})
            os.sched_setscheduler(pid, policy, os.sched_param(0))
        timer = threading.Timer(1.5, rest.touch)
        timer.start()
        assert states.wait_until_asleep(1.0, 60.0)
        timer.join(60)
    finally:
        rival.kill()
        rival.wait(60)


def test_ended_threads_count_as_asleep(process_busy_until, tmp_path):
    process = process_busy_until(tmp_path / "never")
    states = ThreadStates(process.pid)
    process.kill()
    process.wait(60)
    assert states.wait_until_asleep(60.0, 60.0)


def test_close_closes_the_files_of_all_threads(process_busy_until, tmp_path):
    before = set(os.listdir("/proc/self/fd"))
    process = process_busy_until(tmp_path / "never")
    pipe = set(os.listdir("/proc/self/fd")) - before
    states = ThreadStates(process.pid)
    assert len(os.listdir("/proc/self/fd")) == len(before | pipe) + 2
    states.close()
    assert set(os.listdir("/proc/self/fd")) == before | pipe


def test_each_scene_of_a_server_closes_the_files_of_the_last_one(monkeypatch):
    clocks = []

    class Clock:
        def __init__(self, *arguments):
            self.is_open = True
            clocks.append(self)

        def close(self):
            self.is_open = False

    monkeypatch.setattr(simulator, "LockStep", Clock)
    gazebo = simulator.GazeboSimulator.__new__(simulator.GazeboSimulator)
    gazebo._link, gazebo._clock, gazebo._period_ns = object(), None, 10**8
    split = SimpleNamespace(physics=SimpleNamespace(step_size_s=0.001))
    for count in range(1, 4):
        gazebo._new_clock(split)
        assert [clock.is_open for clock in clocks] == [False] * (count - 1) + [True]


def test_missing_process_has_no_threads(process_busy_until, tmp_path):
    process = process_busy_until(tmp_path)
    process.kill()
    process.wait(60)
    assert ThreadStates(process.pid).wait_until_asleep(0.0, 0.0)


@pytest.mark.parametrize("step_ms", [1, 1.5, 2, 3, 3.3, 5, 9.5, 12.5, 97, 99.9])
def test_rate_of_sensors_keeps_their_period_in_six_digits(step_ms):
    """gzserver rounds the rates of models to six digits: with a longer period than the rest, no
    sensor would measure, as with steps of 3 ms."""
    link = SimpleNamespace(listen=lambda *arguments, **keys: None)
    clock = LockStep(link, 10**8, round(step_ms * 1e6))
    rate = sensor_rate(clock.sensor_period_ns)
    assert float(rate) == float(f"{float(rate):.6g}")
    assert round(1e9 / float(rate)) == clock.sensor_period_ns
    assert 1000 <= clock.sensor_period_ns - clock.max_interval_ns < 20_000
    assert step_ms != 1 or clock.sensor_period_ns == 100_001_000
