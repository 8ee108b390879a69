"""Child processes that end with their owner, however that ends.

Four ways, each for another kind of child:

- :func:`start_watched`: a command whose processes stay in its process group, such as gzserver. A
  watcher beside it and the kernel see to its end, and files may be removed with it.
- :func:`start_under_subreaper`: a command whose processes leave its group, such as roslaunch, which
  gives every node a session of its own. A parent between us and it keeps them within reach.
- :class:`TaskPool`, :func:`map_side_by_side`: our own code on many items, in as many processes as
  are asked for.
- :func:`when_owner_ends`: our own code in a process that others start, such as a worker of
  multiprocessing or a node of roslaunch. It looks itself whether its parent is still there.

:mod:`~gz_testauto.processes.remote` is how our own code in a child answers its owner's requests.
"""

from gz_testauto.processes.owner import when_owner_ends
from gz_testauto.processes.pool import TaskPool, map_side_by_side
from gz_testauto.processes.ports import free_port, free_ports
from gz_testauto.processes.start import OwnedProcess, start_under_subreaper, start_watched

__all__ = [
    "OwnedProcess",
    "TaskPool",
    "free_port",
    "free_ports",
    "map_side_by_side",
    "start_under_subreaper",
    "start_watched",
    "when_owner_ends",
]
