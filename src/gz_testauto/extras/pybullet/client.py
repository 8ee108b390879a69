"""A client of Bullet in this process. PyBullet is imported only when a simulator is opened."""

import functools
import inspect
import sys
from importlib import metadata
from typing import Any, Tuple

from gz_testauto.base.errors import MissingDependencyError
from gz_testauto.base.installation import install_command

SOLVER = {
    "numSubSteps": 0,
    # change of impulses below which Bullet stops to iterate; with the default 1e-7, boxes creep
    "solverResidualThreshold": 1e-12,
    # distance (m) up to which contact points are kept; with the default 0.02, the friction of a
    # sliding box has an error of up to 5 %
    "contactBreakingThreshold": 0.001,
    # corrected fraction of a penetration per step, which adds speed; with the default 0.2, a box
    # bounces with up to a fifth of its speed
    "contactERP": 0.05,
    # a compliance that makes the loads of six wheels unique: 500 N penetrate by 0.01 mm; without
    # it, a symmetric robot deviates by 14 mrad when it starts
    "globalCFM": 1e-6,
    "deterministicOverlappingPairs": 1,
}

LIDAR_BIT = 1 << 16
"""Bit of the collision groups for shapes that rays detect. The lower bits contain the
``<collide_bitmask>``."""

NEWEST_PYTHON = (3, 11)  # newest version for which PyBullet is published


class Client:
    """The functions and constants of PyBullet for one world."""

    def __init__(self, bullet: Any) -> None:
        self._bullet = bullet
        self._number = bullet.connect(bullet.DIRECT)

    def __getattr__(self, name: str) -> Any:
        """Return a constant of PyBullet, or a function bound to the world of this client."""
        member = getattr(self._bullet, name)
        if inspect.isbuiltin(member):
            member = functools.partial(member, physicsClientId=self._number)
        setattr(self, name, member)  # cache it as an attribute
        return member


def open_client() -> Tuple[Any, str]:
    """Return a client with an empty world, and the version of PyBullet."""
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
