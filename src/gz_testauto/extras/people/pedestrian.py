"""The behavior ``pedestrian``: a person with a reaction to the robot, alone or in a group.

Without the keys ``reaction`` and ``group``, the motion is identical to ``social_force`` to the last
bit.
"""

import copy
import math
from typing import Optional, Tuple

import numpy as np
from pydantic import BeforeValidator, model_validator
from shapely.geometry.base import BaseGeometry
from typing_extensions import Annotated, Literal, override

from gz_testauto.actors.actor import turn_rate
from gz_testauto.actors.creation import TRIES_TO_START, NewActor, draw_point, reach_of
from gz_testauto.actors.hook import StepContext
from gz_testauto.actors.social_force import (
    ARRIVED_M,
    SLOWEST_MPS,
    SocialForce,
    SocialForceSpec,
    repulsion,
)
from gz_testauto.base.errors import PlacementError
from gz_testauto.base.observation import ModelState
from gz_testauto.base.pose import Pose2D
from gz_testauto.extras.people.groups import (
    NEAR_M,
    RAMP_M,
    SLOWER_SHARE,
    Group,
    GroupSpec,
    formation,
    group_force,
)
from gz_testauto.extras.people.reactions import REGULAR, Reaction, ReactionField, ReactionSpec, sees
from gz_testauto.spec.model import as_tuple
from gz_testauto.spec.regions import union_of

FREE_GAP_M = 0.3  # smallest gap that a curious or threatening person keeps from the robot

PLACE_S = 1.0  # time constant with which a member of a talking group returns to its place


class PedestrianSpec(SocialForceSpec):
    """A person that walks under social forces, reacts to the robot, and can belong to a group."""

    behavior: Literal["pedestrian"]  # type: ignore[assignment]
    tags: Annotated[Tuple[str, ...], BeforeValidator(as_tuple)] = ("person",)
    """Labels by which the behaviors of other actors select this actor. The metrics of people use
    the label ``person``."""
    reaction: ReactionField = ReactionSpec(kind="regular")
    """The reaction to the robot: a name, a mapping with ``kind``, or ``shares``. All members of a
    group have the same reaction."""
    group: Optional[GroupSpec] = None
    """Groups of people; default: each person walks alone. A group has one drawn speed, which each
    further member reduces by 3 %."""

    @model_validator(mode="after")
    def _require_consistent_group(self) -> "PedestrianSpec":
        if self.group is not None and self.count < self.group.sizes[0]:
            raise ValueError(
                f"{self.name} has count {self.count}, but its first group has "
                f"{self.group.sizes[0]} people; increase 'count'"
            )
        if self.group is not None and self.yield_distance_m:
            raise ValueError(
                f"{self.name} has both keys 'group' and 'yield_distance_m'; remove one of them"
            )
        return self

    @property
    @override
    def groups(self) -> Tuple[Tuple[str, ...], ...]:
        return () if self.group is None else self.group.parts(self.names)

    @override
    def create(self, new: NewActor) -> Tuple["Pedestrian", Pose2D]:
        members = next((part for part in self.groups if new.name in part), ())
        if members and new.name != members[0]:
            return self._create_member(new, members)
        if not members:
            actor, start = super().create(new)
            assert isinstance(actor, Pedestrian)
            actor.reaction = self.reaction.draw(new.random)
            return actor, start
        assert self.group is not None
        region, reach_m = union_of(self.region), reach_of(self)
        speed_mps = new.draw(self.speed_mps) * (1.0 - SLOWER_SHARE * (len(members) - 1))
        leader = self.wanderer(new, region, reach_m, speed_mps)
        for _ in range(TRIES_TO_START):
            point = draw_point(region, new.random)
            if point is None:
                break
            center = Pose2D(*point, float(new.random.uniform(-math.pi, math.pi)))
            starts = formation(center, len(members), reach_m, self.group.talking)
            if all(new.is_free(start[:2], reach_m, self.min_robot_gap_m) for start in starts):
                leader.reaction = self.reaction.draw(new.random)
                leader.group = Group(
                    members, starts, leader, region, new.ground.surroundings, self.group.talking
                )
                return leader, starts[0]
        raise PlacementError(
            f"the group of actor {new.name!r}, {len(members)} people, has no free start after "
            f"{TRIES_TO_START} tries; enlarge the region, or reduce 'group.size', 'count' or "
            "'min_robot_gap_m'"
        )

    def _create_member(
        self, new: NewActor, members: Tuple[str, ...]
    ) -> Tuple["Pedestrian", Pose2D]:
        leader = new.others[members[0]]
        assert isinstance(leader, Pedestrian) and leader.group is not None
        member = self.wanderer(new, union_of(self.region), reach_of(self), leader.speed_mps)
        member.reaction, member.group = leader.reaction, leader.group
        return member, leader.group.starts[members.index(new.name)]

    @override
    def wanderer(
        self, new: NewActor, region: BaseGeometry, reach_m: float, speed_mps: float
    ) -> "Pedestrian":
        return Pedestrian(new, self, region, reach_m, speed_mps)


class Pedestrian(SocialForce):
    reaction: Reaction = REGULAR
    group: Optional[Group] = None
    is_distracted = False  # True while the person stops for the robot or follows it

    @override
    def reset(self) -> None:
        super().reset()
        self._reacted_s = 0.0
        self.is_distracted = False
        self._limit_mps, self._additional_mps2 = self.speed_mps, None
        if self.group is not None:
            self.group.reset()

    @property
    @override
    def activity(self) -> str:
        return f"pedestrian, {self.reaction.kind if self.is_distracted else 'regular'}"

    @override
    def act(self, context: StepContext) -> None:
        if self.group is not None:
            self.group.update(context, self.speed_mps, self._spec.pause_s)
        robot = self._noticed_robot(context)
        self.is_distracted = robot is not None and self.reaction.kind != "scared"
        if robot is None:
            self._continue_path(context, self.speed_mps)
            return
        self._reacted_s += context.duration_s
        if self.reaction.kind == "scared":
            self._continue_path(context, self.reaction.speed_mps, self._repulsion_by_robot(robot))
            return
        self._until_s += context.duration_s  # the path of the person continues later
        if self.reaction.kind == "surprised":
            self._turn_to_robot(robot, context)
        elif self.reaction.kind == "curious":
            self._approach_robot(robot, context)
        else:
            self._block_robot(robot, context)

    # reactions

    def _noticed_robot(self, context: StepContext) -> Optional[ModelState]:
        """Return the state of the robot if the person reacts to it in this step, else None."""
        state = None if context.robot is None else context.state(context.robot)
        if state is None or not self.reaction.distance_m:
            return None
        here, there = self.planar, state.pose.position[:2]
        if self._reacted_s >= self.reaction.duration_s - 1e-9 or (
            here.distance_to(*there) > self.reaction.distance_m
        ):
            return None
        is_visible = sees(here, there) and self._surroundings.is_free_path(here[:2], there, 0.0)
        return state if is_visible else None

    def _offset_from_robot(self, robot: ModelState) -> Tuple[np.ndarray, float]:
        """Return the vector (2,) from the robot to the person, and its length (m)."""
        away = np.array(self.pose.position[:2]) - np.array(robot.pose.position[:2])
        return away, float(np.hypot(*away))

    @property
    def _stop_m(self) -> float:
        """The distance (m) of the centers at which the person stops."""
        nearest_m = self._robot_radius_m + self._radius_m + FREE_GAP_M
        return max(self.reaction.stop_distance_m, nearest_m)

    def _heading_to_robot_rad(self, robot: ModelState) -> float:
        x_m, y_m = robot.pose.position[:2]
        return math.atan2(y_m - self.planar.y_m, x_m - self.planar.x_m)

    def _turn_to_robot(self, robot: ModelState, context: StepContext) -> None:
        turn = turn_rate(self.pose.yaw_rad, self._heading_to_robot_rad(robot), context.duration_s)
        self.set_twist((0.0, 0.0, 0.0), (0.0, 0.0, turn))

    def _approach_robot(self, robot: ModelState, context: StepContext) -> None:
        away, distance_m = self._offset_from_robot(robot)
        if distance_m <= self._stop_m:
            self._turn_to_robot(robot, context)
            return
        speed_mps = self.reaction.speed_mps * distance_m / self.reaction.distance_m
        self._walk(context, -speed_mps / distance_m * away, speed_mps)

    def _block_robot(self, robot: ModelState, context: StepContext) -> None:
        """Walk to a point ahead of the robot, and face the robot there."""
        target = np.array(robot.pose.position[:2]) + self._stop_m * robot.pose.rotation[:2, 0]
        offset = target - np.array(self.pose.position[:2])
        left_m = float(np.hypot(*offset))
        fastest_mps = self.reaction.speed_mps
        # decelerate with the relaxation time, so that the person does not pass the target
        desired = offset / max(self._forces.relaxation_time_s, left_m / fastest_mps)
        _, distance_m = self._offset_from_robot(robot)
        is_there = distance_m <= self._stop_m + 0.1  # difference of HuNavSim: 1.2 m and 1.1 m
        facing = self._heading_to_robot_rad(robot) if is_there else None
        self._walk(context, desired, fastest_mps, yaw_rad=facing)

    def _repulsion_by_robot(self, robot: ModelState) -> np.ndarray:
        """Return the acceleration (m/s²) of a scared person away from the robot, (2,)."""
        away, distance_m = self._offset_from_robot(robot)
        if distance_m < 1e-9:
            return np.zeros(2)
        gap_m = max(distance_m - self._radius_m, 0.1)
        return np.asarray(self.reaction.repulsion_m2ps2 / gap_m / distance_m * away)

    # motion

    def _continue_path(
        self, context: StepContext, speed_mps: float, additional_mps2: Optional[np.ndarray] = None
    ) -> None:
        """Continue the path of the person or group with an additional acceleration (m/s²)."""
        if self.group is not None:
            self._move_in_group(
                context, speed_mps, np.zeros(2) if additional_mps2 is None else additional_mps2
            )
            return
        self._limit_mps, self._additional_mps2 = speed_mps, additional_mps2
        super().act(context)

    @override
    def go(self, context: StepContext) -> bool:
        if self._additional_mps2 is None:
            return super().go(context)
        offset = np.array(self._target) - np.array(self.pose.position[:2])
        left_m = float(np.hypot(*offset))
        if left_m <= ARRIVED_M:
            self.stop()
            return True
        speed_mps = min(self._limit_mps, self.speed_mps)
        self._walk(context, speed_mps / left_m * offset, speed_mps, self._additional_mps2)
        return False

    def _move_in_group(
        self, context: StepContext, speed_mps: float, additional_mps2: np.ndarray
    ) -> None:
        group = self.group
        assert group is not None
        here = np.array(self.pose.position[:2])
        speed_mps = min(speed_mps, self.speed_mps)
        if group.talking:
            start = group.starts[group.members.index(self.name)]
            offset = np.array(start[:2]) - here
            desired = offset / max(PLACE_S, float(np.hypot(*offset)) / speed_mps)
            self._walk(context, desired, speed_mps, additional_mps2, rest_yaw_rad=start.yaw_rad)
            return
        velocity = np.array(self.linear_mps[:2])
        force = group_force(here, group.others(self.name), velocity, group.heading)
        self._walk(context, speed_mps * group.heading, speed_mps, force + additional_mps2)

    def _walk(
        self,
        context: StepContext,
        desired: np.ndarray,
        speed_mps: float,
        additional_mps2: Optional[np.ndarray] = None,
        yaw_rad: Optional[float] = None,
        rest_yaw_rad: Optional[float] = None,
    ) -> None:
        """Move with a desired velocity (m/s) and an additional acceleration (m/s²).

        The speed is limited to 1.3 times ``speed_mps``. The person faces ``yaw_rad``, or the
        direction of motion; at rest, ``rest_yaw_rad``.
        """
        fast_mps = float(np.hypot(*desired))
        heading = desired / fast_mps if fast_mps > 0.0 else desired
        by_members = self._repulsion_by_members(heading)
        additional_mps2 = by_members if additional_mps2 is None else additional_mps2 + by_members
        velocity, speed = self.pushed(context, desired, heading, speed_mps, additional_mps2)
        facing_rad = yaw_rad
        if facing_rad is None:
            facing_rad = rest_yaw_rad
            if speed > SLOWEST_MPS:
                facing_rad = math.atan2(float(velocity[1]), float(velocity[0]))
        turn = 0.0
        if facing_rad is not None:
            turn = turn_rate(self.pose.yaw_rad, facing_rad, context.duration_s)
        self.set_twist((float(velocity[0]), float(velocity[1]), 0.0), (0.0, 0.0, turn))

    def _repulsion_by_members(self, heading: np.ndarray) -> np.ndarray:
        """Return the acceleration (m/s²) by other members that are too near, (2,)."""
        force = np.zeros(2)
        if self.group is None:
            return force
        touch_m = 2.0 * self._radius_m
        near_m = max(NEAR_M, touch_m + RAMP_M)  # below the distance at which members walk and talk
        for other in self.group.others(self.name):
            away = np.array(self.pose.position[:2]) - other
            ramp = min(1.0, (near_m - float(np.hypot(*away))) / RAMP_M)
            if ramp > 0.0:
                (by_other,) = repulsion(away[None], np.array([touch_m]), heading, self._forces)
                force = force + ramp * by_other
        return force

    @override
    def ignores(self, name: str, context: StepContext) -> bool:
        members = () if self.group is None else self.group.members
        is_robot = name == context.robot and self.reaction.kind == "impassive"
        return super().ignores(name, context) or name in members or is_robot

    @override
    def _must_give_way(self, context: StepContext) -> bool:
        # An impassive person does not give way to the robot.
        if self.reaction.kind == "impassive":
            context = copy.copy(context)
            context.robot = None
        return super()._must_give_way(context)
