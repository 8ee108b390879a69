"""What drives by friction: motors that hold a rate, and whatever slides by Coulomb's law.

MuJoCo solves friction as a convex problem, in which what slides is lifted from the ground in
proportion to its speed: it hops, and then grips in blows, so that a skid-steer robot turns at a
rate that follows from the solver's step. Owns the cure, which is De Saxcé's: the speed that a
contact asks for along its normal is less by friction times the speed of sliding, which the
convex problem adds (G. De Saxcé, Z.-Q. Feng, "The bipotential method", Mathematical and
Computer Modelling 28, 1998). Owns also the motor: a force on the joint, as large as it needs to
be and at most the motor's, that brings the wheel to its rate within the step; it is solved for
together with the contacts, where a controller would come a step late.
"""

from typing import Any, Sequence

import mujoco
import numpy as np

IMPRATIO = 10.0
"""How much stiffer friction is than the normal force: what stands on a slope creeps by less."""

STIFFNESS = "0.999 0.9999 0.001"
"""MuJoCo's impedance of the motors: the least share of the missing rate that one step makes up."""

UNLIMITED_NM = 1e4
"""The torque of a motor without a limit."""


class Grip:
    """The contacts of one MuJoCo world, and its wheels that drive by friction."""

    def __init__(self, model: Any, data: Any, joints: Sequence[str]) -> None:
        """``joints`` are those of the wheels; all stand still until they are told otherwise."""
        self._data = data
        self._step_s = float(model.opt.timestep)
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
        data = self._data
        rows = np.flatnonzero(data.efc_type == mujoco.mjtConstraint.mjCNSTR_FRICTION_DOF)
        places = self._place_of_dof[data.efc_id[rows]]
        rows, places = rows[places >= 0], places[places >= 0]
        missing = self._rates_radps[places] - data.efc_vel[rows]
        data.efc_aref[rows] = missing / self._step_s
        contact = data.contact
        rough = (contact.dim == 3) & (contact.efc_address >= 0)
        normals = contact.efc_address[rough]
        sliding = np.hypot(data.efc_aref[normals + 1], data.efc_aref[normals + 2])
        data.efc_aref[normals] -= contact.friction[rough, 0] * sliding
