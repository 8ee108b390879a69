"""Wheels that drive by friction: motors that hold a rate, and sliding by Coulomb's law.

MuJoCo solves friction as a convex problem, in which a sliding body is lifted from the ground in
proportion to its speed: it hops, and then grips in shocks, so that the yaw rate of a skid-steer
robot depends on the solver's step. This module applies De Saxcé's correction: the speed that a
contact requires along its normal is reduced by friction times the sliding speed, which the convex
problem adds (G. De Saxcé, Z.-Q. Feng, "The bipotential method", Mathematical and Computer Modeling
28, 1998). The motor is a force on the joint, up to the motor's limit, with which the wheel reaches
its rate. It is solved together with the contacts, since a controller would be one step late and
yield to contacts.
"""

import math
from typing import Any, Sequence

import mujoco
import numpy as np

from gz_testauto.base.compiled import compiled

IMPRATIO = 10.0
"""Ratio of the stiffness of friction to that of the normal force: reduces creeping on a slope."""

STIFFNESS = "0.9999 0.9999 0.001"
"""MuJoCo's impedance of the motors: the rate of a sliding wheel is too low by a thousandth."""

RESPONSE_S = 0.02
"""Time in which a wheel reaches its rate. A robot without a torque limit then accelerates and stops
as in Gazebo, whose plugin turns wheels without a reaction on the body; with an immediate change the
body would be thrown onto its rear wheels."""

UNLIMITED_NM = 1e4
"""The torque of a motor without a limit."""

_MOTOR = int(mujoco.mjtConstraint.mjCNSTR_FRICTION_DOF)


class CoulombFriction:
    """The contacts of one MuJoCo world, and its wheels that drive by friction."""

    def __init__(self, model: Any, data: Any, joints: Sequence[str]) -> None:
        """Set up for the ``joints`` of the wheels, with rates of 0."""
        self._data = data
        self._response_s = max(RESPONSE_S, float(model.opt.timestep))
        self._places = {joint: place for place, joint in enumerate(joints)}
        dofs = [int(model.joint(joint).dofadr[0]) for joint in joints]
        self._place_of_dof = np.full(model.nv, -1)
        self._place_of_dof[dofs] = np.arange(len(dofs))
        self._rates_radps = np.zeros(len(dofs))

    def turn(self, joints: Sequence[str], rates_radps: Sequence[float]) -> None:
        """Set the rates (rad/s) of wheels from now on."""
        for joint, rate in zip(joints, rates_radps):
            self._rates_radps[self._places[joint]] = rate

    def before_forces(self) -> None:
        """Correct the targets of motors and contacts. Called once per step, after MuJoCo has set up
        its constraints and before it solves them."""
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
    """Set each motor's target acceleration, with which its wheel reaches its rate in this time."""
    for row in range(len(kinds)):
        if kinds[row] == _MOTOR and places[owners[row]] >= 0:
            wanted[row] = (rates[places[owners[row]]] - speeds[row]) / time_s


@compiled
def _slide(dimensions, rows, frictions, wanted):  # type: ignore[no-untyped-def]
    """Reduce the target acceleration along the normal of each contact with friction."""
    for contact in range(len(dimensions)):
        row = rows[contact]
        if dimensions[contact] == 3 and row >= 0:
            sliding = math.hypot(wanted[row + 1], wanted[row + 2])
            wanted[row] -= frictions[contact, 0] * sliding
