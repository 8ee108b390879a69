"""A client of Bullet in this process, and the settings of its solver.

PyBullet is imported only when a simulator is opened.
"""

import functools
import inspect
import sys
from importlib import metadata
from typing import Any, Tuple

from gz_testauto.base.errors import MissingDependencyError
from gz_testauto.base.installation import install_command

SOLVER = {
    "numSubSteps": 0,
    "solverResidualThreshold": 1e-12,
    "contactBreakingThreshold": 0.001,
    "contactERP": 0.05,
    "globalCFM": 1e-6,
    "deterministicOverlappingPairs": 1,
}
"""Settings of Bullet's solver.

``solverResidualThreshold`` is the change of impulses below which Bullet stops its iterations. With
the default of 1e-7, boxes creep. ``contactBreakingThreshold`` is the distance (m) up to which
contact points are kept. With the default of 20 mm, the friction of a sliding box has an error of up
to 5 %. ``contactERP`` is the fraction of a penetration that is corrected per step, which adds
speed. With the default of 0.2, a box bounces with up to a fifth of its speed. ``globalCFM`` is a
small compliance: a load of 500 N penetrates by 0.01 mm. It makes the loads of six wheels unique, so
that a symmetric robot drives straight. Without it, the robot deviates by 14 mrad when it starts.
"""

LIDAR_BIT = 1 << 16
"""Bit of Bullet's collision groups for shapes that rays detect. The lower bits contain the
``<collide_bitmask>``."""

NEWEST_PYTHON = (3, 11)
"""Newest Python version for which PyBullet is published."""


class Client:
    """The functions and constants of PyBullet for one world."""

    def __init__(self, bullet: Any) -> None:
        self._bullet = bullet
        self._number = bullet.connect(bullet.DIRECT)

    def __getattr__(self, name: str) -> Any:
        """Return the function or constant of PyBullet with this name. A function is bound to the
        world of this client."""
        found = getattr(self._bullet, name)
        if inspect.isbuiltin(found):
            found = functools.partial(found, physicsClientId=self._number)
        setattr(self, name, found)  # cache it as an attribute
        return found


def open_client() -> Tuple[Any, str]:
    """Return a client with an empty world, and the version of PyBullet. Raises
    ``MissingDependencyError`` if PyBullet is not installed."""
    try:
        import pybullet
    except ImportError as error:
        here = ".".join(map(str, sys.version_info[:2]))
        remedy = (
            f"{install_command('pybullet')}"
            if sys.version_info[:2] <= NEWEST_PYTHON
            else f"it is published for Python 3.8 to 3.11, and this is {here}; use one of these, "
            "or the simulator 'embedded'"
        )
        raise MissingDependencyError(
            f"the simulator 'pybullet' needs PyBullet: {remedy} ({error})"
        ) from error
    return Client(pybullet), f"PyBullet {metadata.version('pybullet')}"
