"""Changes of a world that is compiled: twists, joints, masses, friction, gravity and pushes.

Owns what each means in MuJoCo's arrays, and what must be done again when the world is compiled
anew. How things look and lights are nobody's business here: rays do not see colors.
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


class Alterations:
    """What has been changed of one world and outlasts its being compiled anew."""

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
        """Make changes, in order; ``truth`` is what holds after them, None where only models are
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
                _alter(engine, change, truth)
        engine.refresh()

    def redo(self, engine: Engine, models: Mapping[str, EngineModel], truth: Description) -> None:
        """Make the lasting ones again in a world that has been compiled anew of these models."""

        def gone(name: str) -> bool:
            return "::" in name and name.split("::")[0] not in models

        self.pushes.keep(models)
        for key, change in list(self._lasting.items()):
            if gone(change.name):
                del self._lasting[key]
            else:
                _alter(engine, change, truth)

    def push(self, engine: Engine) -> None:
        """Apply the forces of the tick to come."""
        engine.release()
        for push in self.pushes.tick():
            engine.force(push.name, push.force_n, push.torque_nm)


def check(change: Change, models: Mapping[str, EngineModel], drives: Sequence[Drivetrain]) -> None:
    """Raise ``SimulatorError`` for what cannot be done here; ``drives`` are the robots': on the
    friction of wheels that servos stand for nothing depends."""
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
            f"SetFriction: {change.name!r} is part of a wheel of a robot with more than two, which "
            "this simulator drives by its body, so its friction has no effect; set the option "
            "skid: wheels, or take Gazebo"
        )


def free_root(model: EngineModel, link: str) -> Body:
    """The body that is a link which no joint holds. Raises ``SimulatorError``."""
    for root in model.roots:
        if root.name == link and root.joint is None:
            return root
    raise SimulatorError(f"SetLink: {link!r} is held by a joint; set that, or the model")


def _move(engine: Engine, model: EngineModel, change: SetModel) -> None:
    if change.pose is not None:
        state = ModelState(change.pose, change.linear_mps, change.angular_radps)
        if model.static:
            engine.place_static(model.name, change.pose)
        elif model.roots:
            engine.place_movable(model, state)
    elif change.linear_mps is not None or change.angular_radps is not None:
        engine.set_twist(model, change.linear_mps, change.angular_radps)


def _alter(engine: Engine, change: Change, truth: Description) -> None:
    if isinstance(change, SetMass):
        inertial = truth.links[change.name].inertial
        assert inertial is not None, "looked at before"
        engine.set_mass(change.name, inertial.mass_kg)
    elif isinstance(change, SetFriction):
        collision = truth.collisions[change.name]
        engine.set_friction(change.name, min(collision.mu, collision.mu2))
    elif isinstance(change, SetGravity):
        engine.model.opt.gravity[:] = change.mps2
