"""The models in one Bullet world, the forces on them, and time.

Bullet clears forces after each physics step, and supports neither links without gravity nor
springs. So this module applies them before every step. It also sets the friction coefficients,
which depend on all collisions of the world.
"""

import math
from typing import Any, Dict, FrozenSet, Iterable, List, Sequence, Tuple

from gz_testauto.base.errors import SdfError, SimulatorError
from gz_testauto.base.observation import ModelState
from gz_testauto.base.pose import Pose
from gz_testauto.extras.pybullet.client import reset_world
from gz_testauto.extras.pybullet.friction import FrictionSurface, solve
from gz_testauto.extras.pybullet.motion import model_state, motion
from gz_testauto.extras.pybullet.multibody import (
    BulletModel,
    JointPlace,
    Key,
    LinkPlace,
    build,
    links_without_gravity,
)
from gz_testauto.extras.pybullet.settling import BulletSettling
from gz_testauto.extras.pybullet.shapes import ShapeFactory
from gz_testauto.sdf.engine_model.bodies import BodyShape, EngineModel, walk
from gz_testauto.sdf.engine_model.coverage import SdfCoverage
from gz_testauto.sdf.floor import is_floor_slab
from gz_testauto.sdf.meshes.surfaces import Heightmap
from gz_testauto.sdf.shapes import Plane
from gz_testauto.simulators.changes import Push

Vector = Tuple[float, float, float]


class BulletWorld:
    """One world in Bullet, the only one of its client. ``robots`` are the names of the robots."""

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
        reset_world(client, step_s, gravity_mps2)
        self._factory = ShapeFactory(client, coverage)

    # adding and removing models

    def add(self, models: Iterable[EngineModel]) -> None:
        """Add models. Raises ``SdfError`` for one that Bullet does not support, and then none of
        them is added."""
        added: List[str] = []
        try:
            for model in models:
                self._add(model)
                added.append(model.name)
        except SdfError:
            self.remove(added)
            raise
        self._settling.begin()
        self._set_frictions()

    def _add(self, model: EngineModel) -> None:
        built = build(self.client, self._factory, model)
        self.models[model.name] = built
        self.names.update((key, name) for name, keys in built.shapes.items() for key in keys)
        self._weightless[model.name] = links_without_gravity(model) if built.links else []
        self._springs[model.name] = [
            joint for places in built.joints.values() for joint in places if joint.axis.stiffness
        ]
        self._surfaces.update(_surfaces_of(model))

    def remove(self, names: Iterable[str]) -> None:
        """Remove models."""
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

    def tick(self, pushes: Sequence[Push]) -> None:
        """Advance by one physics step, in which these pushes act."""
        gravity = self.gravity_mps2
        for model, links in self._weightless.items():
            for link in links:
                place = self.models[model].links[link]
                x, y, z = (-place.mass_kg * component for component in gravity)
                self._push(place, (x, y, z))
        for springs in self._springs.values():
            for joint in springs:
                self._pull(joint)
        for push in pushes:
            place = self.link(push.name)
            self._push(place, push.force_n)
            self.client.applyExternalTorque(
                place.body, place.index, push.torque_nm, self.client.WORLD_FRAME
            )
        held = self._settling.before_tick(
            built for name, built in self.models.items() if name not in self._robots
        )
        self.client.stepSimulation()
        self._settling.after_tick(held)

    def correct_overlaps(self) -> None:
        """Start to correct overlaps, after a model was placed."""
        self._settling.begin()

    def check(self) -> None:
        """Raise ``SimulatorError`` if the state has diverged."""
        for name, built in self.models.items():
            if not built.links:
                continue
            state = model_state(self.client, built)
            if not all(map(math.isfinite, (*state.pose.position, *state.pose.quaternion))):
                raise SimulatorError(
                    f"the physics became unstable at {name!r}: shapes overlap deeply, or masses "
                    "differ too much; try a shorter step_s"
                )

    # properties

    def link(self, name: str) -> LinkPlace:
        """Return the link of a model that can move."""
        return self.models[name.split("::", 1)[0]].links[name]

    def state(self, model: str) -> ModelState:
        """Return pose and twist of a model that can move."""
        return model_state(self.client, self.models[model])

    def set_gravity(self, gravity_mps2: Vector) -> None:
        """Set the gravity (m/s²)."""
        self.gravity_mps2 = gravity_mps2
        self.client.setGravity(*gravity_mps2)

    def set_mass(self, name: str, mass_kg: float) -> None:
        """Set the mass (kg) of a link, and scale its inertia."""
        place = self.link(name)
        factor = mass_kg / place.mass_kg
        moments = tuple(moment * factor for moment in place.moments_kgm2)
        self.client.changeDynamics(
            place.body, place.index, mass=mass_kg, localInertiaDiagonal=moments
        )
        links = self.models[name.split("::", 1)[0]].links
        links[name] = LinkPlace(place.body, place.index, place.center, mass_kg, moments)

    def set_friction(self, collision: str, mu: float) -> None:
        """Set the friction coefficient of a collision."""
        surface = self._surfaces[collision]
        self._surfaces[collision] = FrictionSurface(mu, surface.model, surface.ground)
        self._set_frictions()

    # inside

    def _push(self, place: LinkPlace, force_n: Vector) -> None:
        at = motion(self.client, place).center.position
        self.client.applyExternalForce(
            place.body, place.index, force_n, at, self.client.WORLD_FRAME
        )

    def _pull(self, joint: JointPlace) -> None:
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
            first, second, has, wanted = solved.worst
            self._coverage.warn_once(
                f"friction {first} {second}",
                f"Bullet multiplies friction coefficients, and with those of this world the "
                f"friction between {first} and {second} is {has:.3g} in 'pybullet' instead of "
                f"{wanted:.3g}; other pairs have smaller errors",
            )


def _surfaces_of(model: EngineModel) -> Dict[str, FrictionSurface]:
    moving = None if model.static else model.name
    return {
        shape.name: FrictionSurface(
            min(shape.surface.mu, shape.surface.mu2),
            None if body.inertial is None else moving,
            model.static and _is_ground(shape, model.pose * body.pose * shape.pose),
        )
        for root in model.roots
        for body in walk(root)
        for shape in body.shapes
    }


def _is_ground(shape: BodyShape, placed: Pose) -> bool:
    if isinstance(shape.geometry, (Heightmap, Plane)):
        return True
    return is_floor_slab(shape.geometry.bounds(placed))
