"""Claims of processors by gzserver processes, which end with the process."""

import os
import signal
import subprocess
import sys

import pytest

from gz_testauto.simulators.gazebo import server
from gz_testauto.simulators.gazebo.server import ClaimedProcessor

ALLOWED = sorted(os.sched_getaffinity(0))

HOLDER = """
import sys, time
from gz_testauto.simulators.gazebo import server
server.CLAIM_NAME = "\\0" + sys.argv[1] + ".{}"
claims = [server.ClaimedProcessor() for _ in range(int(sys.argv[2]))]
print(*(claim.number for claim in claims), flush=True)
time.sleep(100)
"""


@pytest.fixture(autouse=True)
def names_of_our_own(monkeypatch):
    """Use names of claims that differ from those of gzserver processes that run at the same
    time."""
    name = f"gz_testauto.test.{os.getpid()}"
    monkeypatch.setattr(server, "CLAIM_NAME", f"\0{name}.{{}}")
    return name


@pytest.fixture
def claim():
    claims = []

    def one_more():
        claims.append(ClaimedProcessor())
        return claims[-1]

    yield one_more
    for held in claims:
        held.release()


def test_servers_claim_different_processors_until_all_are_claimed(claim):
    assert [claim().number for _ in ALLOWED] == ALLOWED
    assert claim().number is None


def test_released_processor_can_be_claimed_again(claim):
    first = claim()
    first.release()
    assert first.number is None
    assert claim().number == ALLOWED[0]


@pytest.mark.slow
def test_processor_claimed_by_another_process_is_free_after_it_is_killed(claim, names_of_our_own):
    command = [sys.executable, "-c", HOLDER, names_of_our_own, str(len(ALLOWED))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        try:
            assert holder.stdout.readline().split() == [str(number) for number in ALLOWED]
            assert claim().number is None
        finally:
            holder.send_signal(signal.SIGKILL)
    assert claim().number == ALLOWED[0]


def test_only_children_are_bound_to_the_processor(claim):
    policy = os.sched_getscheduler(0)
    claimed = claim()
    with claimed.for_children():
        told = subprocess.run(
            [
                sys.executable,
                "-c",
                "import os; print(os.sched_getaffinity(0), os.sched_getscheduler(0))",
            ],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    assert told.strip() == f"{{{claimed.number}}} {os.SCHED_BATCH}"
    assert sorted(os.sched_getaffinity(0)) == ALLOWED
    assert os.sched_getscheduler(0) == policy


def test_children_are_not_bound_without_a_claimed_processor(claim):
    for _ in ALLOWED:
        claim()
    with claim().for_children():
        assert sorted(os.sched_getaffinity(0)) == ALLOWED


def test_scheduling_policy_of_the_user_is_kept(claim):
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    except PermissionError:
        pytest.skip("this user may not choose another policy")
    try:
        with claim().for_children():
            assert os.sched_getscheduler(0) == os.SCHED_RR
        assert os.sched_getscheduler(0) == os.SCHED_RR
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
