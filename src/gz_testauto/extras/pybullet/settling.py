"""Moves apart what was placed inside something else, without throwing it.

Bullet pushes overlapping bodies apart by a twentieth of the way in each step, and they keep that
speed: a box that starts 0.1 m deep in the floor jumps 1.1 m high. Gazebo corrects the places and
lets the speeds be. Owns doing likewise in the first ticks after something was placed; later,
whatever is deep in something drove or fell there. Robots are left alone.
"""

import math
from typing import Any, Dict, Iterable, List, NamedTuple, Set, Tuple

from gz_testauto.extras.pybullet.multibody import Built

TICKS = 1000
"""Ticks after a placement in which bodies are moved apart, at most: Bullet moves by a twentieth
of the depth in each, by 0.1 m at most, and by less where it turns what it moves."""

LEAST_TICKS = 40
"""So long what was placed is watched, also where nothing is deep yet."""

OVERLAP_M = 0.002
"""What is no deeper than this is left to Bullet."""

Vector = Tuple[float, float, float]


class _Speeds(NamedTuple):
    """Of a body: of its base, and of each of its joints, by number."""

    linear_mps: Vector
    angular_radps: Vector
    joints: Tuple[Tuple[int, float], ...]

    @property
    def size(self) -> float:
        return math.hypot(*self.linear_mps, *self.angular_radps, *(rate for _, rate in self.joints))


class Settling:
    """Watches over the bodies of one world that can move and are no robot's."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._ticks = TICKS
        self._settled = False

    def begin(self) -> None:
        """Something was placed."""
        self._ticks, self._settled = 0, False

    def before_tick(self, models: Iterable[Built]) -> Dict[int, _Speeds]:
        """The speeds of what may have to be held; nothing when all that was placed has settled."""
        if self._settled or self._ticks == TICKS:
            return {}
        self._ticks += 1
        found = {}
        for built in models:
            axes: Dict[int, List[int]] = {}
            for places in built.joints.values():
                for joint in places:
                    axes.setdefault(joint.body, []).append(joint.index)
            for body in {place.body for place in built.links.values()}:
                found[body] = self._speeds(body, tuple(axes.get(body, ())))
        return found

    def after_tick(self, before: Dict[int, _Speeds]) -> None:
        """Take back the speed that being moved apart has given; the places stay."""
        client = self._client
        if not before:
            return
        deep: Set[int] = set()
        for hit in client.getContactPoints():
            if hit[8] < -OVERLAP_M:
                deep.update((hit[1], hit[2]))
        self._settled = self._ticks >= LEAST_TICKS and not deep & before.keys()
        for body in sorted(deep & before.keys()):
            held = before[body]
            if self._speeds(body, tuple(index for index, _ in held.joints)).size <= held.size:
                continue
            client.resetBaseVelocity(body, held.linear_mps, held.angular_radps)
            for index, rate in held.joints:
                client.resetJointState(body, index, client.getJointState(body, index)[0], rate)

    def _speeds(self, body: int, joints: Tuple[int, ...]) -> _Speeds:
        client = self._client
        rates = tuple((index, client.getJointState(body, index)[1]) for index in joints)
        linear, angular = client.getBaseVelocity(body)
        return _Speeds(linear, angular, rates)
