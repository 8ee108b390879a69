"""The actions that agents of a scenario may take, and the motion that they add up to.

Owns their names, which are those of Scenic's own domains where these have one, and what each does
to the agent's :class:`Motion`. Carrying it out is the simulation's. A motion holds until another
action changes it, but for what is said to hold for one step. Imports Scenic when it is imported.
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

NEAR_M = 2e-3
"""Who is so near to a point is there: simulators place a body to some micrometers."""


@dataclass
class Motion:
    """How an agent moves, in the world frame: m/s of its middle, and rad/s about the vertical.

    ``heading`` (rad, Scenic's: 0 looks along +y) is where it is to face, turning there; ``toward``
    is a point, a speed and whether it is to be faced, and ``place`` a point where it is put at its
    height: these hold for one step.
    """

    velocity_mps: Tuple[float, float, float] = (0.0, 0.0, 0.0)
    turn_radps: float = 0.0
    heading: Optional[float] = None
    toward: Optional[Tuple[Vector, float, bool]] = None
    place: Optional[Vector] = None


class _MotionAction(Action):
    def applyTo(self, agent: Any, simulation: Any) -> None:
        """Called by Scenic."""
        self.change(agent, simulation.motion_of(agent))

    def change(self, agent: Any, motion: Motion) -> None:
        """Do to a motion what the action says."""
        raise NotImplementedError


class SetVelocityAction(_MotionAction):
    """Move like this (m/s along x, y and z of the world)."""

    def __init__(self, xVel: float, yVel: float, zVel: float = 0.0) -> None:
        self.velocity_mps = (float(xVel), float(yVel), float(zVel))

    def change(self, agent: Any, motion: Motion) -> None:
        """See the class."""
        motion.velocity_mps, motion.heading = self.velocity_mps, None


class SetSpeedAction(_MotionAction):
    """Move ahead (m/s) along the heading that the agent has now."""

    def __init__(self, speed: float) -> None:
        self.speed_mps = float(speed)

    def change(self, agent: Any, motion: Motion) -> None:
        """See the class."""
        motion.velocity_mps, motion.heading = _along(agent.heading, self.speed_mps), None


class SetTurnRateAction(_MotionAction):
    """Turn about the vertical (rad/s, counter-clockwise)."""

    def __init__(self, rate: float) -> None:
        self.turn_radps = float(rate)

    def change(self, agent: Any, motion: Motion) -> None:
        """See the class."""
        motion.turn_radps, motion.heading = self.turn_radps, None


class SetWalkingDirectionAction(_MotionAction):
    """Walk on at the same speed in that direction (a heading), and face it."""

    def __init__(self, heading: float) -> None:
        self.heading = float(heading)

    def change(self, agent: Any, motion: Motion) -> None:
        """See the class."""
        speed = math.hypot(*motion.velocity_mps[:2])
        motion.velocity_mps, motion.heading = _along(self.heading, speed), self.heading


class SetWalkingSpeedAction(_MotionAction):
    """Walk on in the same direction at that speed (m/s): that which was set, else ahead."""

    def __init__(self, speed: float) -> None:
        self.speed_mps = float(speed)

    def change(self, agent: Any, motion: Motion) -> None:
        """See the class."""
        heading = agent.heading if motion.heading is None else motion.heading
        motion.velocity_mps = _along(heading, self.speed_mps)


class WalkTowardAction(_MotionAction):
    """In this step, go straight towards a point at a speed (m/s), no farther, and face it."""

    faces = True

    def __init__(self, point: Any, speed: float) -> None:
        self.point, self.speed_mps = Vector(*_coordinates(point)), float(speed)

    def change(self, agent: Any, motion: Motion) -> None:
        """See the class."""
        motion.toward = (self.point, self.speed_mps, self.faces)


class SlideTowardAction(WalkTowardAction):
    """The same without turning."""

    faces = False


class SetPositionAction(_MotionAction):
    """Be at a point, at the height where the agent is, at rest. In Gazebo that takes 0.2 s of wall
    time: move instead."""

    def __init__(self, pos: Any) -> None:
        self.point = Vector(*_coordinates(pos))

    def change(self, agent: Any, motion: Motion) -> None:
        """See the class."""
        motion.place, motion.velocity_mps = self.point, (0.0, 0.0, 0.0)


class OffsetAction(_MotionAction):
    """Be put where an offset (across @ along) leads, at rest. See ``SetPositionAction``."""

    def __init__(self, offset: Any) -> None:
        self.offset = Vector(*_coordinates(offset))

    def change(self, agent: Any, motion: Motion) -> None:
        """See the class."""
        motion.place = agent.position.offsetRotated(agent.heading, self.offset)
        motion.velocity_mps = (0.0, 0.0, 0.0)


def _along(heading: float, speed_mps: float) -> Tuple[float, float, float]:
    return (-math.sin(heading) * speed_mps, math.cos(heading) * speed_mps, 0.0)


def _coordinates(point: Any) -> Tuple[float, ...]:
    vector = point.toVector() if hasattr(point, "toVector") else point
    return tuple(float(value) for value in vector)
