"""One world in Bullet. The friction coefficients depend on all collisions of the world."""

import math
from dataclasses import replace
from typing import Any, Dict, FrozenSet, Iterable, List, NamedTuple, Optional, Sequence, Set, Tuple

from gz_testauto.base.errors import SdfError, UnstablePhysicsError
from gz_testauto.base.observation import ModelState
from gz_testauto.base.pose import Pose
from gz_testauto.extras.pybullet.client import SOLVER
from gz_testauto.extras.pybullet.friction import FrictionSurface, solve
from gz_testauto.extras.pybullet.multibody import (
    BASE,
    BulletModel,
    JointPlace,
    Key,
    LinkPlace,
    build,
    motion,
    static_pose,
)
from gz_testauto.extras.pybullet.shapes import ShapeFactory
from gz_testauto.sdf.engine_model.bodies import BodyShape, EngineModel
from gz_testauto.sdf.engine_model.coverage import SdfCoverage
from gz_testauto.sdf.floor import is_floor_slab
from gz_testauto.sdf.meshes.surfaces import Heightmap
from gz_testauto.sdf.shapes import Plane
from gz_testauto.simulators.changes import Push, Vector
from gz_testauto.simulators.engine_simulation import velocity_at

SETTLING_STEPS = 1000
"""Largest number of physics steps for the separation of overlapping bodies after a body was placed.
Bullet corrects a twentieth of the overlap per step, at most 0.1 m, and less with a rotation."""

MIN_SETTLING_STEPS = 40
"""Smallest number of these steps."""

OVERLAP_M = 0.002  # largest overlap that is not corrected


class _Speeds(NamedTuple):
    """The twist of a body's base, and the speeds of its joints by index."""

    linear_mps: Vector
    angular_radps: Vector
    joints: Tuple[Tuple[int, float], ...]

    @property
    def size(self) -> float:
        return math.hypot(*self.linear_mps, *self.angular_radps, *(rate for _, rate in self.joints))


class BulletSettling:
    """A limit on the speed with which Bullet separates bodies that were placed with an overlap.

    It applies to the first steps after a placement, and not to robots.
    """

    # Without it, a box that starts 0.1 m below the surface of the ground jumps 1.1 m high.

    def __init__(self, client: Any) -> None:
        self._client = client
        self._steps = SETTLING_STEPS
        self._settled = False

    def begin(self) -> None:
        self._steps, self._settled = 0, False

    def before_step(self, models: Iterable[BulletModel]) -> Dict[int, _Speeds]:
        """Return the speeds of all bodies of the models, by Bullet's number of the body, for
        :meth:`after_step`; nothing after the first steps or without an overlap."""
        if self._settled or self._steps == SETTLING_STEPS:
            return {}
        self._steps += 1
        speeds = {}
        for built in models:
            axes: Dict[int, List[int]] = {}
            for places in built.joints.values():
                for joint in places:
                    axes.setdefault(joint.body, []).append(joint.index)
            for body in {place.body for place in built.links.values()}:
                speeds[body] = self._read_speeds(body, tuple(axes.get(body, ())))
        return speeds

    def after_step(self, before: Dict[int, _Speeds]) -> None:
        """Restore the speeds of bodies that overlap and that the step accelerated."""
        client = self._client
        if not before:
            return
        overlapping: Set[int] = set()
        for hit in client.getContactPoints():
            if hit[8] < -OVERLAP_M:
                overlapping.update((hit[1], hit[2]))
        self._settled = self._steps >= MIN_SETTLING_STEPS and not overlapping & before.keys()
        for body in sorted(overlapping & before.keys()):
            speeds = before[body]
            if (
                self._read_speeds(body, tuple(index for index, _ in speeds.joints)).size
                <= speeds.size
            ):
                continue
            client.resetBaseVelocity(body, speeds.linear_mps, speeds.angular_radps)
            for index, rate in speeds.joints:
                client.resetJointState(body, index, client.getJointState(body, index)[0], rate)

    def _read_speeds(self, body: int, joints: Tuple[int, ...]) -> _Speeds:
        client = self._client
        rates = tuple((index, client.getJointState(body, index)[1]) for index in joints)
        linear, angular = client.getBaseVelocity(body)
        return _Speeds(linear, angular, rates)


class BulletWorld:
    """The only world of a client. ``robots`` are the names of the robots."""

    def __init__(
        self,
        client: Any,
        step_s: float,
        gravity_mps2: Vector,
        coverage: SdfCoverage,
        robots: FrozenSet[str],
    ) -> None:
        self.client = client
        self.step_s = step_s
        self.gravity_mps2 = gravity_mps2
        self.models: Dict[str, BulletModel] = {}
        self.names: Dict[Key, str] = {}
        self._coverage = coverage
        self._robots = robots
        self._settling = BulletSettling(client)
        self._surfaces: Dict[str, FrictionSurface] = {}
        self._weightless: Dict[str, List[str]] = {}
        self._springs: Dict[str, List[JointPlace]] = {}
        client.resetSimulation()
        client.setPhysicsEngineParameter(fixedTimeStep=step_s, **SOLVER)
        client.setGravity(*gravity_mps2)
        self._factory = ShapeFactory(client, coverage)

    # adding and removing models

    def add(self, models: Iterable[EngineModel]) -> None:
        added: List[str] = []
        try:
            for model in models:
                self._add_model(model)
                added.append(model.name)
        except SdfError:
            self.remove(added)
            raise
        self._settling.begin()
        self._set_frictions()

    def _add_model(self, model: EngineModel) -> None:
        built = build(self.client, self._factory, model)
        self.models[model.name] = built
        self.names.update((key, name) for name, keys in built.shapes.items() for key in keys)
        self._weightless[model.name] = [
            body.name
            for body in (model.bodies if built.links else ())
            if not body.gravity and body.inertial is not None
        ]
        self._springs[model.name] = [
            joint for places in built.joints.values() for joint in places if joint.axis.stiffness
        ]
        self._surfaces.update(_surfaces_of(model))

    def remove(self, names: Iterable[str]) -> None:
        for name in names:
            built = self.models.pop(name)
            for body in built.bodies:
                self.client.removeBody(body)
            for keys in built.shapes.values():
                for key in keys:
                    del self.names[key]
            for shape in _surfaces_of(built.model):
                del self._surfaces[shape]
            del self._weightless[name], self._springs[name]
        self._set_frictions()

    # time

    def step(self, pushes: Sequence[Push]) -> None:
        # Bullet clears forces after each step, and supports neither springs nor weightless links.
        gravity = self.gravity_mps2
        for model, links in self._weightless.items():
            for link in links:
                place = self.models[model].links[link]
                x, y, z = (-place.mass_kg * component for component in gravity)
                self._apply_force(place, (x, y, z))
        for springs in self._springs.values():
            for joint in springs:
                self._apply_spring(joint)
        for push in pushes:
            place = self._link_place(push.name)
            self._apply_force(place, push.force_n)
            self.client.applyExternalTorque(
                place.body, place.index, push.torque_nm, self.client.WORLD_FRAME
            )
        before = self._settling.before_step(
            built for name, built in self.models.items() if name not in self._robots
        )
        self.client.stepSimulation()
        self._settling.after_step(before)

    def check(self) -> None:
        """Raise ``SimulatorError`` if the pose of a model is not finite."""
        for name, built in self.models.items():
            if not built.links:
                continue
            state = self.state(built.model)
            if not all(map(math.isfinite, (*state.pose.position, *state.pose.quaternion))):
                raise UnstablePhysicsError(
                    f"the physics became unstable at {name!r}: shapes overlap deeply, or masses "
                    "differ too much; try a shorter step_s"
                )

    # states

    def state(self, model: EngineModel) -> ModelState:
        first = model.roots[0]
        place = self.models[model.name].links[first.name]
        center_motion = motion(self.client, place)
        return center_motion.state(
            center_motion.center * place.center.inverse() * first.pose.inverse()
        )

    def place_static(self, model: EngineModel, pose: Pose) -> None:
        self._settling.begin()
        for body, (shape, link, part) in self.models[model.name].fixed.items():
            self._place_body(body, static_pose(pose, shape, link, part))

    def place_movable(self, model: EngineModel, state: ModelState) -> None:
        self._settling.begin()
        client, built = self.client, self.models[model.name]
        current = self.state(model).pose
        for index, root in enumerate(model.roots):
            relative = root.pose
            if index:
                place = built.links[root.name]
                relative = current.inverse() * motion(client, place).of_link(place).pose
            self._place_root(built.links[root.name], state.pose * relative)
        for places in built.joints.values():
            for joint in places:
                angle = client.getJointState(joint.body, joint.index)[0]
                client.resetJointState(joint.body, joint.index, angle, 0.0)
        self.set_twist(model, state)

    def set_twist(self, model: EngineModel, state: ModelState) -> None:
        for root in model.roots:
            if root.joint is None:
                self.set_link_twist(root.name, state)

    def link_state(self, link: str) -> ModelState:
        place = self._link_place(link)
        return motion(self.client, place).of_link(place)

    def place_link(self, link: str, state: ModelState) -> None:
        self._settling.begin()
        place = self._link_place(link)
        self._place_body(place.body, state.pose * place.center)
        self.set_link_twist(link, state)

    def set_link_twist(self, link: str, state: ModelState) -> None:
        """Set the twist of a link without a joint; ``state`` is of any frame that moves with it."""
        linear, angular = state.linear_mps, state.angular_radps
        assert linear is not None and angular is not None, "it has a twist"
        body = self._link_place(link).body
        at = self.client.getBasePositionAndOrientation(body)[0]
        moving = velocity_at(linear, angular, at, state.pose.position)
        self.client.resetBaseVelocity(body, moving, angular)

    def set_joint(self, joint: str, position: Optional[float], velocity: Optional[float]) -> None:
        (place,) = self.models[joint.split("::", 1)[0]].joints[joint]
        current = self.client.getJointState(place.body, place.index)
        self.client.resetJointState(
            place.body,
            place.index,
            current[0] if position is None else position,
            current[1] if velocity is None else velocity,
        )

    # properties

    def set_gravity(self, gravity_mps2: Vector) -> None:
        self.gravity_mps2 = gravity_mps2
        self.client.setGravity(*gravity_mps2)

    def set_mass(self, link: str, mass_kg: float) -> None:
        place = self._link_place(link)
        factor = mass_kg / place.mass_kg
        moments = tuple(moment * factor for moment in place.moments_kgm2)
        self.client.changeDynamics(
            place.body, place.index, mass=mass_kg, localInertiaDiagonal=moments
        )
        changed = replace(place, mass_kg=mass_kg, moments_kgm2=moments)
        self.models[link.split("::", 1)[0]].links[link] = changed

    def set_friction(self, collision: str, coefficient: float) -> None:
        self._surfaces[collision] = self._surfaces[collision]._replace(mu=coefficient)
        self._set_frictions()

    def _link_place(self, name: str) -> LinkPlace:
        return self.models[name.split("::", 1)[0]].links[name]

    def _place_body(self, body: int, base: Pose) -> None:
        self.client.resetBasePositionAndOrientation(body, base.position, base.quaternion)

    def _place_root(self, place: LinkPlace, pose: Pose) -> None:
        center = pose * place.center
        if place.index != BASE:  # a child of a separate massless base, which must follow it
            hinge = motion(self.client, place).of_link(place).pose.inverse()
            base = Pose(*self.client.getBasePositionAndOrientation(place.body))
            center = pose * hinge * base
        self._place_body(place.body, center)

    def _apply_force(self, place: LinkPlace, force_n: Vector) -> None:
        at = motion(self.client, place).center.position
        self.client.applyExternalForce(
            place.body, place.index, force_n, at, self.client.WORLD_FRAME
        )

    def _apply_spring(self, joint: JointPlace) -> None:
        axis = joint.axis
        away = axis.reference - self.client.getJointState(joint.body, joint.index)[0]
        self.client.setJointMotorControl2(
            joint.body, joint.index, self.client.TORQUE_CONTROL, force=axis.stiffness * away
        )

    def _set_frictions(self) -> None:
        solved = solve(self._surfaces)
        for (body, index), name in self.names.items():
            coefficient = solved.coefficients[name]
            self.client.changeDynamics(body, index, lateralFriction=coefficient)
        if solved.worst is not None:
            first, second, product, expected = solved.worst
            self._coverage.warn_once(
                f"friction {first} {second}",
                f"the friction between {first} and {second} is {product:.3g} in 'pybullet' instead "
                f"of {expected:.3g}, because Bullet multiplies the coefficients of a pair; other "
                "pairs have smaller errors",
            )


def _surfaces_of(model: EngineModel) -> Dict[str, FrictionSurface]:
    moving = None if model.static else model.name
    return {
        shape.name: FrictionSurface(
            min(shape.surface.mu, shape.surface.mu2),
            None if body.inertial is None else moving,
            model.static and _is_ground(shape, model.pose * body.pose * shape.pose),
        )
        for body in model.bodies
        for shape in body.shapes
    }


def _is_ground(shape: BodyShape, placed: Pose) -> bool:
    if isinstance(shape.geometry, (Heightmap, Plane)):
        return True
    return is_floor_slab(shape.geometry.bounds(placed))
