"""Bullet in this process: how it is opened, and how its solver is set.

Owns what every world has alike. PyBullet is imported only when a simulator is opened.
"""

import functools
import inspect
import sys
from importlib import metadata
from typing import Any, Tuple

from gz_testauto.base.errors import MissingDependencyError

SOLVER = {
    "numSubSteps": 0,
    "solverResidualThreshold": 1e-12,
    "contactBreakingThreshold": 0.001,
    "contactERP": 0.05,
    "globalCFM": 1e-6,
    "deterministicOverlappingPairs": 1,
}
"""Bullet stops when the impulses of a step change by less than the threshold; its own, 1e-7, lets
boxes creep. Points of contact are kept as long as they are so near to each other (m); with its own
20 mm a box that slides is braked up to 5 % too much or too little. What hits something is inside it
after that step, and is moved out by this share of the depth in each, which speed it keeps; with
Bullet's own, a fifth, a box bounces with up to a fifth of the speed that it fell with. With a
little give (a weight of 500 N sinks in by 0.01 mm) it is determined which of six wheels bears how
much, and a symmetric robot drives straight on; without, it leaves its line by 14 mrad when it
starts."""

LIDAR_BIT = 1 << 16
"""The bit of Bullet's groups that rays look for; those below are SDF's ``<collide_bitmask>``."""

NEWEST_PYTHON = (3, 11)
"""The last that PyBullet is published for."""


class Client:
    """PyBullet's functions and constants, for a world of its own."""

    def __init__(self, bullet: Any) -> None:
        self._bullet = bullet
        self._number = bullet.connect(bullet.DIRECT)

    def __getattr__(self, name: str) -> Any:
        """One of them; a function speaks to this world."""
        found = getattr(self._bullet, name)
        if inspect.isbuiltin(found):
            found = functools.partial(found, physicsClientId=self._number)
        setattr(self, name, found)  # the next time it is there
        return found


def open_client() -> Tuple[Any, str]:
    """A client to an empty world, and the version. Raises ``MissingDependencyError``."""
    try:
        import pybullet
    except ImportError as error:
        here = ".".join(map(str, sys.version_info[:2]))
        remedy = (
            "python3 -m pip install 'gz_testauto[pybullet]'"
            if sys.version_info[:2] <= NEWEST_PYTHON
            else f"it is published for Python 3.8 to 3.11, and this is {here}; take one of these, "
            "or the simulator 'embedded'"
        )
        raise MissingDependencyError(
            f"the simulator 'pybullet' needs PyBullet: {remedy} ({error})"
        ) from error
    return Client(pybullet), f"PyBullet {metadata.version('pybullet')}"


def begin_world(client: Any, step_s: float, gravity_mps2: Tuple[float, float, float]) -> None:
    """Empty the world and set how it is simulated."""
    client.resetSimulation()
    client.setPhysicsEngineParameter(fixedTimeStep=step_s, **SOLVER)
    client.setGravity(*gravity_mps2)
