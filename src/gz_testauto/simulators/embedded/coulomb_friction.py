"""Wheels that move the robot by friction, with sliding contacts that obey Coulomb's law.

MuJoCo solves friction as a convex problem, in which a sliding body is lifted from the ground in
proportion to its speed. This module applies De Saxcé's correction: the speed that a contact
requires along its normal is reduced by friction times the sliding speed (G. De Saxcé, Z.-Q. Feng,
"The bipotential method", Mathematical and Computer Modelling 28, 1998). MuJoCo solves for the
torques of the wheels together with the contacts.
"""

import math
from typing import Any, Sequence

import mujoco
import numpy as np

from gz_testauto.base.compiled import compiled

# Ratio of the stiffness of friction to that of the normal force; it reduces creeping on slopes.
IMPRATIO = 10.0

# MuJoCo's impedance of the motors, with which the speed of a sliding wheel is 0.1 % too low.
STIFFNESS = "0.9999 0.9999 0.001"

# A robot without a torque limit then accelerates and stops as in Gazebo. An immediate change of
# speed would tip the body onto its rear wheels.
RESPONSE_S = 0.02

# for a motor without a limit
UNLIMITED_NM = 1e4

_MOTOR = int(mujoco.mjtConstraint.mjCNSTR_FRICTION_DOF)


class CoulombFriction:
    def __init__(self, model: Any, data: Any, joints: Sequence[str]) -> None:
        self._data = data
        self._response_s = max(RESPONSE_S, float(model.opt.timestep))
        self._indices = {joint: index for index, joint in enumerate(joints)}
        dofs = [int(model.joint(joint).dofadr[0]) for joint in joints]
        self._index_of_dof = np.full(model.nv, -1)
        self._index_of_dof[dofs] = np.arange(len(dofs))
        self._rates_radps = np.zeros(len(dofs))

    def turn(self, joints: Sequence[str], rates_radps: Sequence[float]) -> None:
        """Set the speeds (rad/s) at which joints turn."""
        for joint, rate in zip(joints, rates_radps):
            self._rates_radps[self._indices[joint]] = rate

    def before_forces(self) -> None:
        """Correct the target accelerations of motors and contacts.

        Must be called once per step, when MuJoCo has set up its constraints but not solved them.
        """
        data, contact = self._data, self._data.contact
        _set_motor_accelerations(
            data.efc_type,
            data.efc_id,
            data.efc_vel,
            data.efc_aref,
            self._index_of_dof,
            self._rates_radps,
            self._response_s,
        )
        _correct_normal_accelerations(
            contact.dim, contact.efc_address, contact.friction, data.efc_aref
        )


@compiled
def _set_motor_accelerations(  # type: ignore[no-untyped-def]
    kinds, dofs, speeds, accelerations, motor_of_dof, rates, time_s
):
    """Set the target accelerations with which the wheels reach ``rates`` (rad/s) in ``time_s``.

    The first four arrays have one element per constraint of MuJoCo: its type, degree of freedom,
    speed and target acceleration. ``motor_of_dof`` is an index in ``rates``, or -1.
    """
    for row in range(len(kinds)):
        if kinds[row] == _MOTOR and motor_of_dof[dofs[row]] >= 0:
            accelerations[row] = (rates[motor_of_dof[dofs[row]]] - speeds[row]) / time_s


@compiled
def _correct_normal_accelerations(  # type: ignore[no-untyped-def]
    dimensions, rows, frictions, accelerations
):
    """Apply De Saxcé's correction to ``accelerations``, the targets of MuJoCo's constraints.

    Each contact has a dimension (3 with friction), its first constraint (the normal, or -1 without
    constraints), and its friction coefficients.
    """
    for contact in range(len(dimensions)):
        row = rows[contact]
        if dimensions[contact] == 3 and row >= 0:
            slip_acceleration = math.hypot(accelerations[row + 1], accelerations[row + 2])
            accelerations[row] -= frictions[contact, 0] * slip_acceleration
