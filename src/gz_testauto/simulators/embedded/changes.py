"""Property changes of a compiled world: twists, joints, masses, friction, gravity and pushes.

Changes of masses, friction and gravity are applied again when the world is recompiled. Visuals and
lights have no effect, since rays do not detect colors.
"""

from typing import Dict, FrozenSet, Mapping, Optional, Sequence, Tuple

from gz_testauto.base.errors import SimulatorError
from gz_testauto.base.observation import ModelState
from gz_testauto.sdf.engine_model.bodies import Body, EngineModel
from gz_testauto.simulators.changes import (
    ALL,
    Change,
    ChangeKind,
    Push,
    SetFriction,
    SetGravity,
    SetJoint,
    SetLight,
    SetLink,
    SetMass,
    SetModel,
    SetVisual,
)
from gz_testauto.simulators.description import Description
from gz_testauto.simulators.embedded.engine import Engine
from gz_testauto.simulators.embedded.wheel_drive import Drivetrain
from gz_testauto.simulators.pushes import Pushes

SUPPORTED_CHANGES: FrozenSet[ChangeKind] = ALL


class MujocoPropertyChanges:
    """The property changes of one world that remain after it is recompiled, and its pushes."""

    def __init__(self, step_s: float) -> None:
        self.pushes = Pushes(step_s)
        self._lasting: Dict[Tuple[ChangeKind, str], Change] = {}

    def apply(
        self,
        engine: Engine,
        models: Mapping[str, EngineModel],
        changes: Sequence[Change],
        truth: Optional[Description],
    ) -> None:
        """Apply changes in order; ``truth`` is the description after them, None if only models are
        moved."""
        for change in changes:
            if isinstance(change, Push):
                self.pushes.begin(change)
            elif isinstance(change, SetLink):
                root = free_root(models[change.name.split("::")[0]], change.name)
                engine.place_link(root, change.pose, change.linear_mps, change.angular_radps)
            elif isinstance(change, SetModel):
                _move(engine, models[change.name], change)
            elif isinstance(change, SetJoint):
                engine.set_joint(change.name, change.position, change.velocity)
            elif truth is not None and not isinstance(change, (SetVisual, SetLight)):
                self._lasting[type(change), change.name] = change
                _set_property(engine, change, truth)
        engine.refresh()

    def reapply(
        self, engine: Engine, models: Mapping[str, EngineModel], truth: Description
    ) -> None:
        """Apply the remaining changes again in a recompiled world with these models."""

        def gone(name: str) -> bool:
            return "::" in name and name.split("::")[0] not in models

        self.pushes.keep(models)
        for key, change in list(self._lasting.items()):
            if gone(change.name):
                del self._lasting[key]
            else:
                _set_property(engine, change, truth)

    def push(self, engine: Engine) -> None:
        """Set the forces of the next tick."""
        engine.release()
        for push in self.pushes.tick():
            engine.force(push.name, push.force_n, push.torque_nm)


def check(change: Change, models: Mapping[str, EngineModel], drives: Sequence[Drivetrain]) -> None:
    """Raise ``SimulatorError`` for an unsupported change; ``drives`` are those of the robots. The
    friction of wheels that servos replace has no effect."""
    if isinstance(change, SetModel) and not isinstance(change, SetLink):
        model = models[change.name]
        if (change.linear_mps or change.angular_radps) and (model.static or not model.roots):
            raise SimulatorError(f"SetModel: {change.name!r} is static, so it has no twist")
    if isinstance(change, SetLink):
        free_root(models[change.name.split("::")[0]], change.name)
    if isinstance(change, SetFriction):
        link = change.name.rpartition("::")[0]
        servos = {wheel.link for drive in drives if drive.servos for wheel in drive.wheels}
        if link not in servos:
            return
        raise SimulatorError(
            f"SetFriction: {change.name!r} is part of a wheel of a robot with more than two "
            "wheels, whose base this simulator drives, so its friction has no effect; set the "
            "option skid: wheels, or use Gazebo"
        )


def free_root(model: EngineModel, link: str) -> Body:
    """Return the body of a link that is not attached to a joint. Raises ``SimulatorError``."""
    for root in model.roots:
        if root.name == link and root.joint is None:
            return root
    raise SimulatorError(f"SetLink: {link!r} is attached to a joint; set the joint or the model")


def _move(engine: Engine, model: EngineModel, change: SetModel) -> None:
    if change.pose is not None:
        state = ModelState(change.pose, change.linear_mps, change.angular_radps)
        if model.static:
            engine.place_static(model.name, change.pose)
        elif model.roots:
            engine.place_movable(model, state)
    elif change.linear_mps is not None or change.angular_radps is not None:
        engine.set_twist(model, change.linear_mps, change.angular_radps)


def _set_property(engine: Engine, change: Change, truth: Description) -> None:
    if isinstance(change, SetMass):
        inertial = truth.links[change.name].inertial
        assert inertial is not None, "checked by require()"
        engine.set_mass(change.name, inertial.mass_kg)
    elif isinstance(change, SetFriction):
        collision = truth.collisions[change.name]
        engine.set_friction(change.name, min(collision.mu, collision.mu2))
    elif isinstance(change, SetGravity):
        engine.model.opt.gravity[:] = change.mps2
