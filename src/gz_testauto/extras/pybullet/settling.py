"""Separates overlapping bodies after they were placed, without accelerating them.

Bullet separates overlapping bodies by a twentieth of the depth in each step, and they keep that
speed: a box that starts 0.1 m deep in the floor jumps 1.1 m high. Gazebo corrects the poses only.
This module does the same in the first steps after a body was placed; a later overlap results from
motion. Robots are excluded.
"""

import math
from typing import Any, Dict, Iterable, List, NamedTuple, Set, Tuple

from gz_testauto.extras.pybullet.multibody import BulletModel

STEPS = 1000
"""Largest number of physics steps after a placement in which bodies are separated: Bullet corrects
a twentieth of the depth in each, at most 0.1 m, and less if it rotates the body."""

MIN_STEPS = 40
"""Smallest number of these steps, also without an overlap."""

OVERLAP_M = 0.002
"""A smaller overlap is not corrected."""

Vector = Tuple[float, float, float]


class _Speeds(NamedTuple):
    """Speeds of a body: of its base, and of each of its joints by index."""

    linear_mps: Vector
    angular_radps: Vector
    joints: Tuple[Tuple[int, float], ...]

    @property
    def size(self) -> float:
        return math.hypot(*self.linear_mps, *self.angular_radps, *(rate for _, rate in self.joints))


class BulletSettling:
    """The bodies of one world that can move and do not belong to robots."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._steps = STEPS
        self._settled = False

    def begin(self) -> None:
        """Start to correct overlaps, after a body was placed."""
        self._steps, self._settled = 0, False

    def before_step(self, models: Iterable[BulletModel]) -> Dict[int, _Speeds]:
        """Return the speeds of all bodies; none after all overlaps were corrected."""
        if self._settled or self._steps == STEPS:
            return {}
        self._steps += 1
        found = {}
        for built in models:
            axes: Dict[int, List[int]] = {}
            for places in built.joints.values():
                for joint in places:
                    axes.setdefault(joint.body, []).append(joint.index)
            for body in {place.body for place in built.links.values()}:
                found[body] = self._speeds(body, tuple(axes.get(body, ())))
        return found

    def after_step(self, before: Dict[int, _Speeds]) -> None:
        """Restore the speeds of bodies that the separation has accelerated."""
        client = self._client
        if not before:
            return
        deep: Set[int] = set()
        for hit in client.getContactPoints():
            if hit[8] < -OVERLAP_M:
                deep.update((hit[1], hit[2]))
        self._settled = self._steps >= MIN_STEPS and not deep & before.keys()
        for body in sorted(deep & before.keys()):
            speeds = before[body]
            if self._speeds(body, tuple(index for index, _ in speeds.joints)).size <= speeds.size:
                continue
            client.resetBaseVelocity(body, speeds.linear_mps, speeds.angular_radps)
            for index, rate in speeds.joints:
                client.resetJointState(body, index, client.getJointState(body, index)[0], rate)

    def _speeds(self, body: int, joints: Tuple[int, ...]) -> _Speeds:
        client = self._client
        rates = tuple((index, client.getJointState(body, index)[1]) for index in joints)
        linear, angular = client.getBaseVelocity(body)
        return _Speeds(linear, angular, rates)
