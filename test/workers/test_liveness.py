"""A process that works for long is told from one that will never end."""

import os
import subprocess
import sys
import time

import pytest

from gz_testauto.workers import liveness
from gz_testauto.workers.liveness import ProcessWatchdog

COMPUTES = "while True: pass"
FROZEN = "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)"


@pytest.mark.slow
@pytest.mark.parametrize(("program", "lifeless"), [(COMPUTES, False), (FROZEN, True)])
def test_a_process_that_computes_without_a_beat_is_alive_and_one_that_is_stopped_is_not(
    program, lifeless
):
    process = subprocess.Popen([sys.executable, "-c", program])
    try:
        watch = ProcessWatchdog(process.pid, [0, 0])
        longest_s = 0.0
        deadline = time.monotonic() + 60.0
        while longest_s < 3.0 and time.monotonic() < deadline and watch.idle_s < 5.0:
            time.sleep(0.2)
            watch.look()
            longest_s = watch.lifeless_s
    finally:
        process.kill()
        process.wait(60)
    assert (longest_s >= 3.0) is lifeless


def test_an_owner_that_was_stopped_itself_does_not_count_that_time(monkeypatch):
    now_s = [0.0]
    monkeypatch.setattr(liveness.time, "monotonic", lambda: now_s[0])
    watch = ProcessWatchdog(os.getpid(), [0, 0])
    watch.look()
    now_s[0] = 3600.0
    watch.look()
    assert watch.lifeless_s <= 1.0
