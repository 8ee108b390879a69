"""The options that say how many trials run side by side, and where. No verb."""

import argparse
import functools
import os

from gz_testauto.base.registry import Registry
from gz_testauto.workers.interface import WorkersFactory
from gz_testauto.workers.processes import local_workers

CLUSTERS = Registry("cluster", {})
"""Workers on other machines: subclasses of ``Workers`` that accept the address ``scheduler``."""


def add_worker_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare ``--workers`` and ``--scheduler``."""
    parser.add_argument(
        "--workers",
        type=worker_count,
        metavar="N",
        help="trials that run side by side, each with a simulator of its own (default: one per "
        f"processor, here {processors()}, but 1 where the simulator is one that runs already); "
        "results do not depend on it, planners' wall times do; as many processes make the worlds "
        "of a scenario",
    )
    parser.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="run on the workers of this Dask scheduler, e.g. tcp://10.0.0.5:8786, instead of on "
        "this machine; they need the same gz_testauto, and DIR under the same path",
    )


def chosen_workers(arguments: argparse.Namespace) -> WorkersFactory:
    """Who runs the trials."""
    if arguments.scheduler:
        return functools.partial(CLUSTERS.get("dask"), scheduler=arguments.scheduler)
    return local_workers(arguments.workers or processors(), at_most=arguments.workers is None)


def processors() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):  # as many as this process may use
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def worker_count(text: str) -> int:
    """The value of an option such as ``--workers``."""
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a number of workers; it must be at least 1"
        )
    return int(text)
