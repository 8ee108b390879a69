"""Process pools: order of results, errors, killed processes, and the exit of the parent."""

import os
import signal
import subprocess
import sys
import time

import pytest
from process_groups import gone, members

from gz_testauto.base.errors import ResourceError, SpecError
from gz_testauto.processes import map_in_processes


class Task:
    """A task that takes longest for the first item and fails or dies at a chosen one."""

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
def test_process_pool_yields_results_in_the_order_of_items():
    results = list(map_in_processes(Task(), range(7), 2, "trying"))
    assert [item for item, _ in results] == list(range(7))
    assert os.getpid() not in {process for _, process in results}


@pytest.mark.slow
def test_process_pool_raises_the_exception_of_a_task_after_previous_results():
    results = map_in_processes(Task(fails=1), range(100), 2, "trying")
    assert next(results)[0] == 0
    with pytest.raises(SpecError, match="1 is wrong"):
        next(results)


@pytest.mark.slow
def test_death_of_a_pool_process_is_reported():
    with pytest.raises(ResourceError, match=r"a worker process exited .*while trying.*--workers"):
        list(map_in_processes(Task(dies=2), range(5), 2, "trying"))


@pytest.mark.slow
def test_pool_processes_exit_with_their_parent(tmp_path):
    script = tmp_path / "parent.py"
    script.write_text(
        "import os, time\n"
        "from gz_testauto.processes import map_in_processes\n"
        "def wait(_):\n"
        "    print(os.getpid(), flush=True)\n"
        "    time.sleep(60)\n"
        "if __name__ == '__main__':\n"
        "    list(map_in_processes(wait, range(2), 2, 'waiting'))\n"
    )
    parent = subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        for _ in range(2):
            assert parent.stdout.readline()
        assert members(parent.pid) >= 3
    finally:
        parent.kill()
        parent.wait(60)
        parent.stdout.close()
    assert gone(parent.pid)
