"""Work shared out to processes: order, errors, deaths, and the end of their owner."""

import os
import signal
import subprocess
import sys
import time

import pytest
from process_groups import gone, members

from gz_testauto.base.errors import ResourceError, SpecError
from gz_testauto.processes import map_in_processes


class Slowest:
    """Takes the longest for the first item; fails, or dies, at the one that it is told."""

    def __init__(self, fails=None, dies=None):
        self.fails, self.dies = fails, dies

    def __call__(self, item):
        if item == self.fails:
            raise SpecError(f"{item} is wrong")
        if item == self.dies:
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(0.3 if item == 0 else 0.0)
        return item, os.getpid()


@pytest.mark.slow
def test_results_come_in_order_from_other_processes():
    made = list(map_in_processes(Slowest(), range(7), 2, "trying"))
    assert [item for item, _ in made] == list(range(7))
    assert os.getpid() not in {process for _, process in made}


@pytest.mark.slow
def test_what_the_task_raises_arrives_after_what_came_before():
    results = map_in_processes(Slowest(fails=1), range(100), 2, "trying")
    assert next(results)[0] == 0
    with pytest.raises(SpecError, match="1 is wrong"):
        next(results)


@pytest.mark.slow
def test_a_process_that_died_is_said():
    with pytest.raises(ResourceError, match=r"a process died while trying.*--workers"):
        list(map_in_processes(Slowest(dies=2), range(5), 2, "trying"))


@pytest.mark.slow
def test_the_processes_end_with_their_owner(tmp_path):
    script = tmp_path / "owner.py"
    script.write_text(
        "import os, time\n"
        "from gz_testauto.processes import map_in_processes\n"
        "def wait(_):\n"
        "    print(os.getpid(), flush=True)\n"
        "    time.sleep(60)\n"
        "if __name__ == '__main__':\n"
        "    list(map_in_processes(wait, range(2), 2, 'waiting'))\n"
    )
    owner = subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        for _ in range(2):
            assert owner.stdout.readline()
        assert members(owner.pid) >= 3
    finally:
        owner.kill()
        owner.wait(60)
        owner.stdout.close()
    assert gone(owner.pid)
