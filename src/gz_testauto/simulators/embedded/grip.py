"""What drives by friction: motors that hold a rate, and whatever slides by Coulomb's law.

MuJoCo solves friction as a convex problem, in which what slides is lifted from the ground in
proportion to its speed: it hops, and then grips in blows, so that a skid-steer robot turns at a
rate that follows from the solver's step. Owns the cure, which is De Saxcé's: the speed that a
contact asks for along its normal is less by friction times the speed of sliding, which the
convex problem adds (G. De Saxcé, Z.-Q. Feng, "The bipotential method", Mathematical and
Computer Modeling 28, 1998). Owns also the motor: a force on the joint, as large as it needs to
be and at most the motor's, that brings the wheel to its rate; it is solved for together with the
contacts, where a controller would come a step late and give way to what the wheel meets.
"""

import math
from typing import Any, Sequence

import mujoco
import numpy as np

from gz_testauto.base.compiled import compiled

IMPRATIO = 10.0
"""How much stiffer friction is than the normal force: what stands on a slope creeps by less."""

STIFFNESS = "0.9999 0.9999 0.001"
"""MuJoCo's impedance of the motors: a wheel that slides falls behind its rate by a thousandth."""

RESPONSE_S = 0.02
"""How long a wheel takes to come to its rate. A robot without a torque limit then speeds up and
stops as in Gazebo, whose plugin turns wheels without pushing the body back; at once, the body
would be thrown on to its rear wheels."""

UNLIMITED_NM = 1e4
"""The torque of a motor without a limit."""

_MOTOR = int(mujoco.mjtConstraint.mjCNSTR_FRICTION_DOF)


class Grip:
    """The contacts of one MuJoCo world, and its wheels that drive by friction."""

    def __init__(self, model: Any, data: Any, joints: Sequence[str]) -> None:
        """``joints`` are those of the wheels; all stand still until they are told otherwise."""
        self._data = data
        self._response_s = max(RESPONSE_S, float(model.opt.timestep))
        self._places = {joint: place for place, joint in enumerate(joints)}
        dofs = [int(model.joint(joint).dofadr[0]) for joint in joints]
        self._place_of_dof = np.full(model.nv, -1)
        self._place_of_dof[dofs] = np.arange(len(dofs))
        self._rates_radps = np.zeros(len(dofs))

    def turn(self, joints: Sequence[str], rates_radps: Sequence[float]) -> None:
        """Hold these rates from now on."""
        for joint, rate in zip(joints, rates_radps):
            self._rates_radps[self._places[joint]] = rate

    def before_forces(self) -> None:
        """Correct what is asked of motors and contacts. Called once in each step, when MuJoCo has
        set its constraints up and not solved them yet."""
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
    """Ask of each motor the acceleration that brings its wheel to its rate in this time."""
    for row in range(len(kinds)):
        if kinds[row] == _MOTOR and places[owners[row]] >= 0:
            wanted[row] = (rates[places[owners[row]]] - speeds[row]) / time_s


@compiled
def _slide(dimensions, rows, frictions, wanted):  # type: ignore[no-untyped-def]
    """Ask of each contact with friction, along its normal, that much less."""
    for contact in range(len(dimensions)):
        row = rows[contact]
        if dimensions[contact] == 3 and row >= 0:
            sliding = math.hypot(wanted[row + 1], wanted[row + 2])
            wanted[row] -= frictions[contact, 0] * sliding
