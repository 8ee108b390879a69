"""Groups of people: their formation at the start, their common path, and the forces in a group.

The forces and their parameters are those of Moussaïd, Perozo, Garnier, Helbing, Theraulaz 2010 (The
walking behaviour of pedestrian social groups and its impact on crowd dynamics). A group that talks
is an F-formation (Kendon 1990).
"""

import itertools
import math
from typing import Any, List, Optional, Sequence, Tuple, Union

import numpy as np
import shapely
from pydantic import BeforeValidator, Field
from shapely.geometry.base import BaseGeometry
from typing_extensions import Annotated

from gz_testauto.actors.creation import START_GAP_M, ObstacleOutlines, draw_point
from gz_testauto.actors.hook import StepContext
from gz_testauto.actors.social_force import ARRIVED_M
from gz_testauto.actors.wander import LATE, RETRY_S, TRIES
from gz_testauto.base.pose import Pose2D
from gz_testauto.spec.model import Spec, as_tuple

GAZE_PER_RAD = 4.0  # deceleration (m/s²) per rad of head rotation and per m/s of speed (β1)

ATTRACTION_MPS2 = 3.0  # acceleration of a member to the center of the group (β2)

REPULSION_MPS2 = 1.0  # acceleration away from another member that is too near (β3)

NEAR_M = 0.8  # distance of the centers of two members below which they repel each other (d0)

# In the paper, attraction and repulsion are step functions, so that rounding errors could change
# the path of a group. The gaze has no direction for the middle member of a row.
RAMP_M = 0.1  # distance over which attraction, repulsion and gaze increase from 0

SIDE_M = 0.85  # distance of neighbors in a group that starts to walk

VIEW_RAD = math.pi / 2  # half of the field of view without head rotation (φ)

SLOWER_SHARE = 0.04 / 1.22  # reduction of the speed per further member (figure 2, low density)

TALKING_M = 1.0  # distance of talking neighbors, within Hall's personal distance (1966)

GroupSize = Annotated[int, Field(ge=1, le=8)]


class GroupSpec(Spec):
    """Groups into which the actors of an entry are divided in order."""

    size: Union[
        GroupSize,
        Annotated[Tuple[GroupSize, ...], BeforeValidator(as_tuple), Field(min_length=1)],
    ]
    """Number of people in a group from 1 to 8. A list contains the sizes of consecutive groups, and
    is repeated. The last group has the remaining people."""
    talking: bool = False
    """True if the members talk: they remain on a circle and face its center. False if the groups
    walk."""

    @property
    def sizes(self) -> Tuple[int, ...]:
        return self.size if isinstance(self.size, tuple) else (self.size,)

    def parts(self, names: Sequence[str]) -> Tuple[Tuple[str, ...], ...]:
        """Divide the names into groups of the specified sizes, which repeat."""
        remaining = iter(names)
        parts = (tuple(itertools.islice(remaining, size)) for size in itertools.cycle(self.sizes))
        return tuple(itertools.takewhile(len, parts))


def formation(center: Pose2D, count: int, reach_m: float, talking: bool) -> List[Pose2D]:
    """Return the start poses of ``count`` members with the radius ``reach_m``: side by side at
    ``center``, or, if ``talking``, on a circle around it."""
    apart_m = max(TALKING_M if talking else SIDE_M, 2.0 * (reach_m + START_GAP_M))
    if not talking or count == 1:
        offsets = [(0.0, (index - (count - 1) / 2) * apart_m) for index in range(count)]
        positions_m = center.apply(np.array(offsets)).tolist()
        return [Pose2D(x_m, y_m, center.yaw_rad) for x_m, y_m in positions_m]
    radius_m = apart_m / (2.0 * math.sin(math.pi / count))  # apart_m is the chord of neighbors
    poses = []
    for index in range(count):
        angle_rad = center.yaw_rad + 2.0 * math.pi * index / count
        x_m = center.x_m + radius_m * math.cos(angle_rad)
        y_m = center.y_m + radius_m * math.sin(angle_rad)
        poses.append(Pose2D(x_m, y_m, math.atan2(center.y_m - y_m, center.x_m - x_m)))
    return poses


def group_force(
    here: np.ndarray, neighbors: np.ndarray, velocity: np.ndarray, heading: np.ndarray
) -> np.ndarray:
    """Return the acceleration (m/s²) of a member by the other members, (2,).

    ``here`` and ``neighbors`` (k, 2) are positions (m). ``velocity`` (m/s) is that of the member,
    and ``heading`` the direction in which the group walks, of length 1 or 0.
    """
    if not len(neighbors):
        return np.zeros(2)
    count = len(neighbors) + 1
    force = np.zeros(2)
    focus = neighbors.mean(axis=0) - here
    if heading.any():
        across = float(heading[0] * focus[1] - heading[1] * focus[0])
        rotation_rad = max(0.0, math.atan2(abs(across), float((focus * heading).sum())) - VIEW_RAD)
        ramp = min(1.0, float(np.hypot(*focus)) / RAMP_M)
        force = force - GAZE_PER_RAD * ramp * rotation_rad * velocity
    to_center = focus * (len(neighbors) / count)
    center_m = float(np.hypot(*to_center))
    outside_m = center_m - (count - 1) / 2
    if outside_m > 0.0:
        force = force + ATTRACTION_MPS2 * min(1.0, outside_m / RAMP_M) / center_m * to_center
    for neighbor in neighbors:
        away = here - neighbor
        apart_m = float(np.hypot(*away))
        if 0.0 < apart_m < NEAR_M:
            ramp = min(1.0, (NEAR_M - apart_m) / RAMP_M)
            force = force + REPULSION_MPS2 * ramp / apart_m * away
    return force


class Group:
    """The common state of the members of a group in a trial: their path and its direction.

    The members of a group that talks return to ``starts``. The random numbers of ``leader``
    determine the targets. ``heading`` has the length 1 or 0.
    """

    def __init__(
        self,
        members: Sequence[str],
        starts: Sequence[Pose2D],
        leader: Any,
        region: BaseGeometry,
        surroundings: ObstacleOutlines,
        talking: bool,
    ) -> None:
        self.members, self.starts, self.leader = tuple(members), tuple(starts), leader
        self.talking = talking
        self._region, self._surroundings = region, surroundings
        self.reset()

    def reset(self) -> None:
        self._target: Optional[np.ndarray] = None
        self._until_s = 0.0
        self._context: Optional[StepContext] = None
        self.positions: List[Tuple[str, np.ndarray]] = []
        self.heading = np.zeros(2)

    def others(self, name: str) -> np.ndarray:
        """Return the positions (k, 2) of the other members that are in the world."""
        positions = [place for other, place in self.positions if other != name]
        return np.array(positions).reshape(-1, 2)

    def update(self, context: StepContext, speed_mps: float, pause_s: float) -> None:
        """Update positions, target and direction once per step. The group waits while the robot
        distracts a member."""
        if self._context is context:
            return
        self._context = context
        states = ((name, context.state(name)) for name in self.members)
        self.positions = [
            (name, np.array(state.pose.position[:2])) for name, state in states if state is not None
        ]
        if self.talking:
            return
        center = np.mean([place for _, place in self.positions], axis=0)
        waits = any(
            getattr(context.actors.get(name), "is_distracted", False) for name, _ in self.positions
        )
        if waits:
            self._until_s += context.duration_s
        if self._target is not None:
            to_target = self._target - center
            left_m = float(np.hypot(*to_target))
            if left_m <= ARRIVED_M:
                self._target, self._until_s = None, context.time_s + pause_s
            elif context.time_s > self._until_s:  # the path is blocked
                self._target, self._until_s = None, context.time_s
        if self._target is None and context.time_s >= self._until_s - 1e-9:
            self._draw_target(center, context.time_s, speed_mps)
        to_target = np.zeros(2) if waits or self._target is None else self._target - center
        left_m = float(np.hypot(*to_target))
        self.heading = to_target / left_m if left_m > 0.0 else np.zeros(2)

    def _draw_target(self, center: np.ndarray, time_s: float, speed_mps: float) -> None:
        """Draw a free target, and the time limit for reaching it from ``center`` (2,). If there is
        no free target, set the time of the next try."""
        here = (float(center[0]), float(center[1]))
        reach_m: float = self.leader.radius_m
        # First a path that is wide enough for the group, otherwise one for a single person.
        for radius_m in (reach_m + (len(self.members) - 1) / 2 * NEAR_M, reach_m):
            for _ in range(TRIES):
                point = draw_point(self._region, self.leader.random)
                if point is not None and self._surroundings.is_free_path(here, point, radius_m):
                    self._target = np.array(point)
                    length_m = shapely.LineString([here, point]).length
                    self._until_s = time_s + LATE * length_m / speed_mps + 1.0
                    return
        self._until_s = time_s + RETRY_S
