"""Child processes that end with their owner, however that ends.

Four ways, each for another kind of child:

- :func:`start_with_watchdog`: a command whose processes stay in its process group, such as
  gzserver. A watchdog process and the kernel kill it, and files can be removed with it.
- :func:`start_under_subreaper`: a command whose processes leave its group, such as roslaunch, which
  gives every node a session of its own. A parent between us and it keeps them within reach.
- :class:`TaskPool`, :func:`map_in_processes`: our own code on many items, in as many processes as
  are asked for.
- :func:`on_parent_exit`: our own code in a process that others start, such as a worker of
  multiprocessing or a node of roslaunch. It looks itself whether its parent is still there.

:mod:`~gz_testauto.processes.remote` is how our own code in a child answers its owner's requests.
"""

from gz_testauto.processes.parent import on_parent_exit
from gz_testauto.processes.pool import TaskPool, map_in_processes
from gz_testauto.processes.ports import free_port, free_ports
from gz_testauto.processes.start import ChildProcess, start_under_subreaper, start_with_watchdog

__all__ = [
    "ChildProcess",
    "TaskPool",
    "free_port",
    "free_ports",
    "map_in_processes",
    "on_parent_exit",
    "start_under_subreaper",
    "start_with_watchdog",
]
