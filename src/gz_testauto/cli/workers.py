"""Declare the command-line options for the number and the location of workers."""

import argparse
import functools

from gz_testauto.base.registry import Registry
from gz_testauto.cli.options import processors, worker_count
from gz_testauto.workers.interface import WorkersFactory
from gz_testauto.workers.processes import local_workers

# classes of workers on other machines, whose parameter ``scheduler`` is an address
CLUSTERS = Registry("cluster", {})


def add_worker_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--workers",
        type=worker_count,
        metavar="N",
        help="number of parallel trials, each with a separate simulator, and of processes that "
        f"generate worlds of scenarios (default: number of processors, here {processors()}; 1 for "
        "a simulator that is already running); this number changes only the measured wall times",
    )
    parser.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="address of a Dask scheduler, e.g. tcp://10.0.0.5:8786, whose workers run the trials; "
        "they need the same version of gz_testauto, and DIR under the same path",
    )


def chosen_workers(arguments: argparse.Namespace) -> WorkersFactory:
    if arguments.scheduler:
        return functools.partial(CLUSTERS.get("dask"), scheduler=arguments.scheduler)
    return local_workers(arguments.workers or processors(), at_most=arguments.workers is None)
