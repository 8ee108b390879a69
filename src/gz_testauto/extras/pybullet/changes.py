"""Property changes in Bullet: twists, joints, masses, friction, gravity and pushes.

Visuals and lights have no effect, since rays do not detect colors.
"""

from typing import FrozenSet, Mapping, Optional, Sequence

from gz_testauto.base.errors import SimulatorError
from gz_testauto.base.observation import ModelState
from gz_testauto.extras.pybullet import motion
from gz_testauto.extras.pybullet.multibody import BulletModel
from gz_testauto.extras.pybullet.world import BulletWorld
from gz_testauto.simulators.changes import (
    ALL,
    Change,
    ChangeKind,
    Push,
    SetFriction,
    SetGravity,
    SetJoint,
    SetLink,
    SetMass,
    SetModel,
)
from gz_testauto.simulators.description import Description
from gz_testauto.simulators.pushes import Pushes

SUPPORTED_CHANGES: FrozenSet[ChangeKind] = ALL


class BulletPropertyChanges:
    """Applies property changes in one world, and holds its active pushes."""

    def __init__(self, step_s: float) -> None:
        self.pushes = Pushes(step_s)

    def apply(
        self, world: BulletWorld, changes: Sequence[Change], truth: Optional[Description]
    ) -> None:
        """Apply changes in order; ``truth`` is the description after them, None if only models are
        moved."""
        if any(isinstance(change, SetModel) and change.pose is not None for change in changes):
            world.correct_overlaps()
        for change in changes:
            if isinstance(change, Push):
                self.pushes.begin(change)
            elif isinstance(change, SetLink):
                motion.place_link(
                    world.client,
                    world.link(change.name),
                    change.pose,
                    change.linear_mps,
                    change.angular_radps,
                )
            elif isinstance(change, SetModel):
                _move(world, world.models[change.name], change)
            elif isinstance(change, SetJoint):
                _set_joint(world, change)
            elif truth is not None:
                _set_property(world, change, truth)


def check(change: Change, models: Mapping[str, BulletModel]) -> None:
    """Raise ``SimulatorError`` for an unsupported change."""
    if isinstance(change, SetLink):
        roots = models[change.name.split("::", 1)[0]].model.roots
        if not any(root.name == change.name and root.joint is None for root in roots):
            raise SimulatorError(
                f"SetLink: {change.name!r} is attached to a joint; set the joint or the model"
            )
    elif isinstance(change, SetModel):
        built = models[change.name]
        if (change.linear_mps or change.angular_radps) and not built.links:
            raise SimulatorError(f"SetModel: {change.name!r} is static, so it has no twist")


def _move(world: BulletWorld, built: BulletModel, change: SetModel) -> None:
    client = world.client
    if change.pose is not None:
        if built.links:
            state = ModelState(change.pose, change.linear_mps, change.angular_radps)
            motion.place_movable(client, built, state)
        else:
            motion.place_static(client, built, change.pose)
    elif change.linear_mps is not None or change.angular_radps is not None:
        motion.set_twist(client, built, change.linear_mps, change.angular_radps)


def _set_joint(world: BulletWorld, change: SetJoint) -> None:
    client = world.client
    (joint,) = world.models[change.name.split("::", 1)[0]].joints[change.name]
    position, velocity = client.getJointState(joint.body, joint.index)[:2]
    client.resetJointState(
        joint.body,
        joint.index,
        position if change.position is None else change.position,
        velocity if change.velocity is None else change.velocity,
    )


def _set_property(world: BulletWorld, change: Change, truth: Description) -> None:
    if isinstance(change, SetMass):
        inertial = truth.links[change.name].inertial
        assert inertial is not None, "checked by require()"
        world.set_mass(change.name, inertial.mass_kg)
    elif isinstance(change, SetFriction):
        collision = truth.collisions[change.name]
        world.set_friction(change.name, min(collision.mu, collision.mu2))
    elif isinstance(change, SetGravity):
        world.set_gravity(change.mps2)
