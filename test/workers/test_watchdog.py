"""The watchdog distinguishes a worker that computes for a long time from a stopped one."""

import os
import subprocess
import sys
import time

import pytest

from gz_testauto.workers import worker_process
from gz_testauto.workers.worker_process import ProcessWatchdog

COMPUTES = "while True: pass"
FROZEN = "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)"


@pytest.mark.slow
@pytest.mark.parametrize(("program", "lifeless"), [(COMPUTES, False), (FROZEN, True)])
def test_only_a_process_without_heartbeat_and_processor_time_is_lifeless(program, lifeless):
    process = subprocess.Popen([sys.executable, "-c", program])
    try:
        watchdog = ProcessWatchdog(process.pid, [0, 0])
        longest_s = 0.0
        deadline = time.monotonic() + 60.0
        while longest_s < 3.0 and time.monotonic() < deadline and watchdog.idle_s < 5.0:
            time.sleep(0.2)
            watchdog.check()
            longest_s = watchdog.lifeless_s
    finally:
        process.kill()
        process.wait(60)
    assert (longest_s >= 3.0) is lifeless


def test_watchdog_ignores_the_time_in_which_the_parent_was_stopped(monkeypatch):
    now_s = [0.0]
    monkeypatch.setattr(worker_process.time, "monotonic", lambda: now_s[0])
    watchdog = ProcessWatchdog(os.getpid(), [0, 0])
    watchdog.check()
    now_s[0] = 3600.0
    watchdog.check()
    assert watchdog.lifeless_s <= 1.0
