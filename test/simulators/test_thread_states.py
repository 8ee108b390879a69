"""What the kernel tells of threads that sleep, run and end."""

import subprocess
import sys
import time

import pytest

from gz_testauto.simulators.gazebo.threads import ThreadStates

SCRIPT = """
import sys, threading, time
threading.Thread(target=time.sleep, args=(100,), daemon=True).start()
end = time.monotonic() + float(sys.argv[1])
print("running", flush=True)
while time.monotonic() < end:
    pass
time.sleep(100)
"""


@pytest.fixture
def process_busy_for():
    started = []

    def start(seconds):
        process = subprocess.Popen(
            [sys.executable, "-c", SCRIPT, str(seconds)], stdout=subprocess.PIPE
        )
        started.append(process)
        process.stdout.readline()
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_a_busy_thread_is_waited_for(process_busy_for):
    begun = time.monotonic()
    states = ThreadStates(process_busy_for(0.5).pid)
    assert states.wait_until_asleep(30.0)
    assert time.monotonic() - begun > 0.4


def test_one_that_never_sleeps_is_not_waited_for_beyond_the_limit(process_busy_for):
    states = ThreadStates(process_busy_for(100).pid)
    assert not states.wait_until_asleep(0.2)


def test_threads_that_have_ended_are_no_hindrance(process_busy_for):
    process = process_busy_for(100)
    states = ThreadStates(process.pid)
    process.kill()
    process.wait()
    assert states.wait_until_asleep(0.2)


def test_a_process_that_is_not_there_has_none(process_busy_for):
    process = process_busy_for(0)
    process.kill()
    process.wait()
    assert ThreadStates(process.pid).wait_until_asleep(0.0)
