"""Wheels that move the robot by friction: motors that keep a constant wheel speed, and sliding
contacts that obey Coulomb's law.

MuJoCo solves friction as a convex problem, in which a sliding body is lifted from the ground in
proportion to its speed. The body hops and grips alternately, so the yaw rate of a skid-steer robot
depends on the physics step. This module applies De Saxcé's correction: the speed that a contact
requires along its normal is reduced by friction times the sliding speed, which the convex problem
adds (G. De Saxcé, Z.-Q. Feng, "The bipotential method", Mathematical and Computer Modeling 28,
1998). The motor of a wheel is a torque on its joint, up to the motor's limit, that makes the wheel
reach its commanded speed. MuJoCo solves for the torque together with the contacts, since a
controller would react one step late.
"""

import math
from typing import Any, Sequence

import mujoco
import numpy as np

from gz_testauto.base.compiled import compiled

IMPRATIO = 10.0
"""Ratio of the stiffness of friction to that of the normal force, which reduces creeping on a
slope."""

STIFFNESS = "0.9999 0.9999 0.001"
"""MuJoCo's impedance of the motors. With these values, the speed of a sliding wheel is 0.1 % too
low."""

RESPONSE_S = 0.02
"""Time (s) in which a wheel reaches its commanded speed. A robot without a torque limit then
accelerates and stops as in Gazebo, whose plugin turns wheels without a reaction torque on the body.
An immediate change of speed would tip the body onto its rear wheels."""

UNLIMITED_NM = 1e4
"""The torque limit (N m) of a motor for which no limit is specified."""

_MOTOR = int(mujoco.mjtConstraint.mjCNSTR_FRICTION_DOF)


class CoulombFriction:
    """The friction of one MuJoCo world and the motors of its wheels that move robots by
    friction."""

    def __init__(self, model: Any, data: Any, joints: Sequence[str]) -> None:
        """Set the commanded speeds of all wheels to 0. ``joints`` are the names of the wheels'
        joints."""
        self._data = data
        self._response_s = max(RESPONSE_S, float(model.opt.timestep))
        self._places = {joint: place for place, joint in enumerate(joints)}
        dofs = [int(model.joint(joint).dofadr[0]) for joint in joints]
        self._place_of_dof = np.full(model.nv, -1)
        self._place_of_dof[dofs] = np.arange(len(dofs))
        self._rates_radps = np.zeros(len(dofs))

    def turn(self, joints: Sequence[str], rates_radps: Sequence[float]) -> None:
        """Set the commanded speeds (rad/s) of the wheels with the specified joints."""
        for joint, rate in zip(joints, rates_radps):
            self._rates_radps[self._places[joint]] = rate

    def before_forces(self) -> None:
        """Correct the target accelerations of motors and contacts. Must be called once per step,
        after MuJoCo has set up its constraints and before it solves them."""
        data, contact = self._data, self._data.contact
        _turn(
            data.efc_type,
            data.efc_id,
            data.efc_vel,
            data.efc_aref,
            self._place_of_dof,
            self._rates_radps,
            self._response_s,
        )
        _slide(contact.dim, contact.efc_address, contact.friction, data.efc_aref)


@compiled
def _turn(kinds, owners, speeds, wanted, places, rates, time_s):  # type: ignore[no-untyped-def]
    """Set the target acceleration of each motor to the value with which its wheel reaches the
    commanded speed in ``time_s``."""
    for row in range(len(kinds)):
        if kinds[row] == _MOTOR and places[owners[row]] >= 0:
            wanted[row] = (rates[places[owners[row]]] - speeds[row]) / time_s


@compiled
def _slide(dimensions, rows, frictions, wanted):  # type: ignore[no-untyped-def]
    """Reduce the target acceleration along the normal of each contact that has friction."""
    for contact in range(len(dimensions)):
        row = rows[contact]
        if dimensions[contact] == 3 and row >= 0:
            sliding = math.hypot(wanted[row + 1], wanted[row + 2])
            wanted[row] -= frictions[contact, 0] * sliding
