"""Child processes that exit with their parent process, even if the parent is killed.

- :func:`start_with_watchdog`: a command whose processes stay in one process group (gzserver).
- :func:`start_under_subreaper`: a command whose processes leave the process group. roslaunch starts
  each node in a new session.
- :class:`TaskPool`, :func:`map_in_processes`: Python code that is applied to many items.
- :func:`on_parent_exit`: Python code in a process that another library starts.

:mod:`~gz_testauto.processes.remote` exchanges requests and replies with a child over a pipe.
"""

from gz_testauto.processes.pool import TaskPool, map_in_processes, on_parent_exit
from gz_testauto.processes.start import (
    ChildProcess,
    cpu_time_s,
    free_port,
    free_ports,
    start_under_subreaper,
    start_with_watchdog,
)

__all__ = [
    "ChildProcess",
    "TaskPool",
    "cpu_time_s",
    "free_port",
    "free_ports",
    "map_in_processes",
    "on_parent_exit",
    "start_under_subreaper",
    "start_with_watchdog",
]
