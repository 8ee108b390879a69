"""The ``world_multiplier`` node: ``gz_testauto multiply`` as a service.

Reads the request; :mod:`gz_testauto.worlds.multiply` generates the worlds.
"""

from pathlib import Path

import rospy

from gz_testauto.base.errors import SpecError
from gz_testauto.ros.graph import offer
from gz_testauto.ros.interface import existing_file, user_directory
from gz_testauto.ros.node import run_node
from gz_testauto.ros.obstacles.interface import MULTIPLIER
from gz_testauto.ros.obstacles.spec_argument import read_spec
from gz_testauto.srv import MultiplyWorldRequest, MultiplyWorldResponse
from gz_testauto.worlds.multiply import multiply


def serve(request: MultiplyWorldRequest) -> MultiplyWorldResponse:
    """Write the worlds and return their paths."""
    if not request.out:
        raise SpecError("out is empty; set it to the directory for the worlds")
    out = user_directory() / Path(request.out).expanduser()
    world = existing_file(request.world, "world")
    worlds = multiply(world, read_spec(request.spec), request.count, request.seed, out)
    paths = [str(entry.path) for entry in worlds]
    return MultiplyWorldResponse(True, f"{len(paths)} worlds in {out}", paths)


def start() -> int:
    """Offer the service until shut down."""
    offer(MULTIPLIER.services, {"multiply": serve}.__getitem__)
    rospy.spin()
    return 0


def main() -> int:
    """Run the node; the entry point of the script."""
    return run_node("world_multiplier", start)
