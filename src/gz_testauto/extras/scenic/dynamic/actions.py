"""Actions of the agents in a dynamic scenario, which change the :class:`Motion` of an agent.

Actions of Scenic's own domains have the same names. A motion continues until another action changes
it, unless its description limits it to one step. Importing this module imports Scenic.
"""

import math
from dataclasses import dataclass
from typing import Any, Optional, Tuple

from scenic.core.simulators import Action
from scenic.core.vectors import Vector

__all__ = [
    "NEAR_M",
    "OffsetAction",
    "SetPositionAction",
    "SetSpeedAction",
    "SetTurnRateAction",
    "SetVelocityAction",
    "SetWalkingDirectionAction",
    "SetWalkingSpeedAction",
    "SlideTowardAction",
    "WalkTowardAction",
]

# simulators place models with an error of some micrometers
NEAR_M = 2e-3  # distance within which an agent has reached a point


@dataclass
class Motion:
    """The motion of an agent in the world frame.

    The agent turns to ``heading`` (rad, from +y as in Scenic). ``toward`` consists of a point, a
    speed, and whether the agent faces the point. ``place`` is a point to which the agent is moved
    at its current height. Both are valid for one step.
    """

    velocity_mps: Tuple[float, float, float] = (0.0, 0.0, 0.0)
    turn_radps: float = 0.0
    heading: Optional[float] = None
    toward: Optional[Tuple[Vector, float, bool]] = None
    place: Optional[Vector] = None


class _MotionAction(Action):
    def applyTo(self, agent: Any, simulation: Any) -> None:
        self.change(agent, simulation.motion_of(agent))

    def change(self, agent: Any, motion: Motion) -> None:
        raise NotImplementedError


class SetVelocityAction(_MotionAction):
    """An action that sets the velocity (m/s) along x, y and z of the world."""

    def __init__(self, xVel: float, yVel: float, zVel: float = 0.0) -> None:
        self.velocity_mps = (float(xVel), float(yVel), float(zVel))

    def change(self, agent: Any, motion: Motion) -> None:
        motion.velocity_mps, motion.heading = self.velocity_mps, None


class SetSpeedAction(_MotionAction):
    """An action that sets the velocity to a speed (m/s) along the current heading."""

    def __init__(self, speed: float) -> None:
        self.speed_mps = float(speed)

    def change(self, agent: Any, motion: Motion) -> None:
        motion.velocity_mps, motion.heading = _velocity_along(agent.heading, self.speed_mps), None


class SetTurnRateAction(_MotionAction):
    """An action that sets the yaw rate (rad/s, counter-clockwise)."""

    def __init__(self, rate: float) -> None:
        self.turn_radps = float(rate)

    def change(self, agent: Any, motion: Motion) -> None:
        motion.turn_radps, motion.heading = self.turn_radps, None


class SetWalkingDirectionAction(_MotionAction):
    """An action that sets the heading (rad) in which an agent walks and faces, at the same
    speed."""

    def __init__(self, heading: float) -> None:
        self.heading = float(heading)

    def change(self, agent: Any, motion: Motion) -> None:
        speed = math.hypot(*motion.velocity_mps[:2])
        motion.velocity_mps, motion.heading = _velocity_along(self.heading, speed), self.heading


class SetWalkingSpeedAction(_MotionAction):
    """An action that sets the speed (m/s) along the heading of an earlier action or, without one,
    the current heading."""

    def __init__(self, speed: float) -> None:
        self.speed_mps = float(speed)

    def change(self, agent: Any, motion: Motion) -> None:
        heading = agent.heading if motion.heading is None else motion.heading
        motion.velocity_mps = _velocity_along(heading, self.speed_mps)


class WalkTowardAction(_MotionAction):
    """An action that moves an agent straight towards a point at a speed (m/s) for one step, facing
    the point. The agent stops at the point."""

    faces = True

    def __init__(self, point: Any, speed: float) -> None:
        self.point, self.speed_mps = Vector(*_coordinates(point)), float(speed)

    def change(self, agent: Any, motion: Motion) -> None:
        motion.toward = (self.point, self.speed_mps, self.faces)


class SlideTowardAction(WalkTowardAction):
    """An action that moves an agent straight towards a point for one step, without turning it."""

    faces = False


class SetPositionAction(_MotionAction):
    """An action that moves an agent to a point at its current height in one step, and stops it. In
    Gazebo this takes 0.2 s of wall time, so a velocity is usually better."""

    def __init__(self, pos: Any) -> None:
        self.point = Vector(*_coordinates(pos))

    def change(self, agent: Any, motion: Motion) -> None:
        motion.place, motion.velocity_mps = self.point, (0.0, 0.0, 0.0)


class OffsetAction(_MotionAction):
    """An action that moves an agent by an offset (across @ along its heading) in one step, and
    stops it."""

    def __init__(self, offset: Any) -> None:
        self.offset = Vector(*_coordinates(offset))

    def change(self, agent: Any, motion: Motion) -> None:
        motion.place = agent.position.offsetRotated(agent.heading, self.offset)
        motion.velocity_mps = (0.0, 0.0, 0.0)


def _velocity_along(heading: float, speed_mps: float) -> Tuple[float, float, float]:
    # In Scenic, the heading 0 is the y axis.
    return (-math.sin(heading) * speed_mps, math.cos(heading) * speed_mps, 0.0)


def _coordinates(point: Any) -> Tuple[float, ...]:
    vector = point.toVector() if hasattr(point, "toVector") else point
    return tuple(float(value) for value in vector)
