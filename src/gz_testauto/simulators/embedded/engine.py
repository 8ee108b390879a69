"""A compiled MuJoCo model with its state.

Only this module uses the ids and addresses in MuJoCo's arrays. All quantities that depend on
positions and velocities are up to date between two steps.
"""

import functools
import logging
from typing import (
    Any,
    Dict,
    FrozenSet,
    Iterable,
    List,
    NamedTuple,
    Optional,
    Sequence,
    Set,
    Tuple,
)

import mujoco
import numpy as np

from gz_testauto.base.arithmetic import matrix_product
from gz_testauto.base.errors import SceneError, SimulatorError, UnstablePhysicsError
from gz_testauto.base.observation import Contact, ModelState
from gz_testauto.base.pose import Pose
from gz_testauto.sdf.engine_model.bodies import EngineModel
from gz_testauto.simulators.changes import Push, Vector
from gz_testauto.simulators.embedded.coulomb_friction import CoulombFriction
from gz_testauto.simulators.embedded.height_map_contacts import HeightMapContacts
from gz_testauto.simulators.embedded.mjcf import MAX_FRICTION, Blueprint, condim, joint_names
from gz_testauto.simulators.engine_robot import LazyLinkStates
from gz_testauto.simulators.engine_simulation import AT_REST, velocity_at

LOGGER = logging.getLogger(__name__)

_IDENTITY = Pose()
_WORLD = 0  # MuJoCo's id of the body with the geoms of static models
_BAD = (
    mujoco.mjtWarning.mjWARN_BADQPOS,
    mujoco.mjtWarning.mjWARN_BADQVEL,
    mujoco.mjtWarning.mjWARN_BADQACC,
)

# The types of constraints of contacts are the last ones.
_FIRST_CONTACT_TYPE = int(mujoco.mjtConstraint.mjCNSTR_CONTACT_FRICTIONLESS)

# Contacts were dropped for lack of memory, after which bodies pass through each other.
_DROPPED_CONTACTS = (mujoco.mjtWarning.mjWARN_CONTACTFULL, mujoco.mjtWarning.mjWARN_CNSTRFULL)

# Each step reduces an overlap to a quarter, so that no overlap of a realistic size remains.
SETTLING_STEPS = 40

# Target acceleration of a contact below which MuJoCo exerts no force, whatever the bodies do.
APPROACHING_MPS2 = -1e6

# Resting contacts in MuJoCo are a millimeter deep.
OVERLAP_M = 0.002

# By default, MuJoCo writes its warnings to a file in the working directory.
mujoco.set_mju_user_warning(lambda message: LOGGER.debug("MuJoCo: %s", message))


class _Slots(NamedTuple):
    position: slice
    velocity: slice


class Engine:
    def __init__(self, blueprint: Blueprint, models: Sequence[EngineModel]) -> None:
        try:
            self.model: Any = mujoco.MjModel.from_xml_string(blueprint.xml, dict(blueprint.assets))
        except ValueError as error:
            raise SimulatorError(f"MuJoCo cannot build the world: {error}") from error
        self.data: Any = mujoco.MjData(self.model)
        held_joints = blueprint.held
        self._settling = MujocoSettling(self.model, self.data, held_joints)
        self.grip = CoulombFriction(self.model, self.data, held_joints) if blueprint.grip else None
        self._on_height_maps = HeightMapContacts(self.model, self.data)
        # mjcf writes no affinity for collisions whose contacts are only reported
        without_forces = (self.model.geom_contype & 0xFFFF != 0) & (
            self.model.geom_conaffinity == 0
        )
        self._without_forces = without_forces if without_forces.any() else None
        self._shapes = [
            blueprint.shapes[mujoco.mj_id2name(self.model, mujoco.mjtObj.mjOBJ_GEOM, geom)]
            for geom in range(self.model.ngeom)
        ]
        self._joints = {
            name: self._joint_slots(name) for model in models for name in joint_names(model)
        }
        self._geom_counts = self.model.body_geomnum
        self._world_geoms = int(self._geom_counts[_WORLD])
        self._first_world_geoms = _count_geoms_with_all_bits(self.model)
        self.refresh()

    # time

    def refresh(self) -> None:
        """Compute the contacts and all other values that follow from the state."""
        try:
            if self.data.time:
                self._refresh_moving()
            if not self.data.time:  # the model is new, or MuJoCo has reset a diverged state
                mujoco.mj_step1(self.model, self.data)
            self._on_height_maps.correct()
        except mujoco.FatalError as error:
            raise self._capacity_error(str(error).splitlines()[0]) from error

    def step(self, pushes: Sequence[Push]) -> None:
        for push in pushes:
            forces = self.data.xfrc_applied[self.body(push.name)]
            forces += (*push.force_n, *push.torque_nm)
        tree_velocities = self._settling.before_step()
        if self.grip is not None:
            self.grip.before_forces()
        if self._without_forces is not None:
            self._release(self._without_forces)
        try:
            mujoco.mj_step2(self.model, self.data)
        except mujoco.FatalError as error:
            raise self._capacity_error(str(error).splitlines()[0]) from error
        self._settling.after_step(tree_velocities)
        self.refresh()
        if pushes:
            self.data.xfrc_applied[:] = 0.0

    def check(self) -> None:
        """Raise ``SimulatorError`` if MuJoCo has reset a diverged state or dropped contacts."""
        counts = self.data.warning.number
        if not counts.any():
            return
        if any(counts[kind] for kind in _DROPPED_CONTACTS):
            raise self._capacity_error("MuJoCo does not have enough memory for these contacts")
        if any(counts[kind] for kind in _BAD):
            raise UnstablePhysicsError(
                "the physics became unstable: shapes overlap deeply, or masses differ too much; "
                "try a shorter step_s"
            )

    # states

    def body(self, name: str) -> int:
        return self._element_id(mujoco.mjtObj.mjOBJ_BODY, name)

    def actuator(self, name: str) -> int:
        """Return the index of an actuator in ``data.ctrl``."""
        return self._element_id(mujoco.mjtObj.mjOBJ_ACTUATOR, name)

    def body_pose(self, body: int) -> Pose:
        x, y, z = self.data.xpos[body].tolist()
        qw, qx, qy, qz = self.data.xquat[body].tolist()
        return Pose((x, y, z), (qx, qy, qz, qw))

    def state(self, model: EngineModel) -> ModelState:
        body = self.body(model.roots[0].name)
        pose, pose_in_model = self.body_pose(body), model.roots[0].pose
        velocity = np.empty(6)
        mujoco.mj_objectVelocity(
            self.model, self.data, mujoco.mjtObj.mjOBJ_XBODY, body, velocity, 0
        )
        angular, linear = velocity[:3], velocity[3:]
        if pose_in_model != _IDENTITY:
            model_pose = pose * pose_in_model.inverse()
            linear = linear + np.cross(angular, np.subtract(model_pose.position, pose.position))
            pose = model_pose
        return ModelState(pose, tuple(linear.tolist()), tuple(angular.tolist()))

    def place_static(self, model: EngineModel, pose: Pose) -> None:
        self._place_attached_body(model.name, pose)

    def place_movable(self, model: EngineModel, state: ModelState) -> None:
        self._settling.begin()
        model_pose = self.state(model).pose
        angular = np.array(state.angular_radps)
        for name in joint_names(model):
            slots = self._joints[name]
            self.data.qvel[slots.velocity] = 0.0
            self.data.qacc_warmstart[slots.velocity] = 0.0
        for index, root in enumerate(model.roots):
            relative = root.pose
            if index:
                relative = model_pose.inverse() * self.body_pose(self.body(root.name))
            pose = state.pose * relative
            if root.joint is not None:
                self._place_attached_body(root.name, pose)
                continue
            self._place_free_body(root.name, pose)
            offset_m = np.subtract(pose.position, state.pose.position)
            linear = np.array(state.linear_mps) + np.cross(angular, offset_m)
            velocity = self._joints[root.name].velocity
            self.data.qvel[velocity] = (*linear, *matrix_product(pose.rotation.T, angular))

    def set_twist(self, model: EngineModel, state: ModelState) -> None:
        linear, angular = _require_twist(state)
        for root in model.roots:
            if root.joint is None:
                pose = self.body_pose(self.body(root.name))
                root_linear = velocity_at(linear, angular, pose.position, state.pose.position)
                self._set_velocity(root.name, pose, root_linear, angular)

    def link_state(self, link: str) -> ModelState:
        pose = self.body_pose(self.body(link))
        velocity = self.data.qvel[self._joints[link].velocity]
        angular = matrix_product(pose.rotation, velocity[3:])
        return ModelState(pose, tuple(velocity[:3].tolist()), tuple(angular.tolist()))

    def place_link(self, link: str, state: ModelState) -> None:
        self._settling.begin()
        self._place_free_body(link, state.pose)
        self.set_link_twist(link, state)

    def set_link_twist(self, link: str, state: ModelState) -> None:
        self._set_velocity(link, state.pose, *_require_twist(state))

    def set_joint(self, joint: str, position: Optional[float], velocity: Optional[float]) -> None:
        slots = self._joints[joint]
        if position is not None:
            self.data.qpos[slots.position] = position
        if velocity is not None:
            self.data.qvel[slots.velocity] = velocity
        self.data.qacc_warmstart[slots.velocity] = 0.0

    def _place_attached_body(self, name: str, pose: Pose) -> None:
        self._settling.begin()
        body = self.body(name)
        x, y, z, w = pose.quaternion
        self.model.body_pos[body] = pose.position
        self.model.body_quat[body] = (w, x, y, z)

    def _place_free_body(self, name: str, pose: Pose) -> None:
        x, y, z, w = pose.quaternion
        self.data.qpos[self._joints[name].position] = (*pose.position, w, x, y, z)

    def _set_velocity(self, root: str, pose: Pose, linear: Vector, angular: Vector) -> None:
        """Set the twist of a free body; both vectors are in the world frame."""
        slots = self._joints[root]
        turning = matrix_product(pose.rotation.T, np.asarray(angular)) if any(angular) else angular
        self.data.qvel[slots.velocity] = (*linear, *turning)
        self.data.qacc_warmstart[slots.velocity] = 0.0

    def copy_state(self, source: "Engine") -> None:
        """Copy the time, and the positions and velocities of the joints that both engines have."""
        for name, slots in self._joints.items():
            source_slots = source._joints.get(name)
            if source_slots is None:
                continue
            self.data.qpos[slots.position] = source.data.qpos[source_slots.position]
            self.data.qvel[slots.velocity] = source.data.qvel[source_slots.velocity]
            warm = source.data.qacc_warmstart[source_slots.velocity]
            self.data.qacc_warmstart[slots.velocity] = warm
        self.data.time = source.data.time
        self.refresh()

    # properties

    def set_mass(self, link: str, mass_kg: float) -> None:
        body = self.body(link)
        self.model.body_inertia[body] *= mass_kg / self.model.body_mass[body]
        self.model.body_mass[body] = mass_kg
        mujoco.mj_setConst(self.model, mujoco.MjData(self.model))

    def set_friction(self, shape: str, coefficient: float) -> None:
        model, coefficient = self.model, min(coefficient, MAX_FRICTION)
        has_contacts = model.geom_contype != 0
        for geom in self.geoms_of(frozenset((shape,))):
            if has_contacts[geom]:
                model.geom_friction[geom, 0] = coefficient
                model.geom_condim[geom] = condim(coefficient)
        # The smaller friction of a pair applies, so all priorities are set again; see mjcf.
        coefficients = model.geom_friction[has_contacts, 0]
        _, rank = np.unique(-coefficients, return_inverse=True)
        model.geom_priority[has_contacts] = rank

    def set_gravity(self, gravity_mps2: Vector) -> None:
        self.model.opt.gravity[:] = gravity_mps2

    # contacts

    def geoms_of(self, shapes: FrozenSet[str]) -> FrozenSet[int]:
        return frozenset(geom for geom, shape in enumerate(self._shapes) if shape in shapes)

    def touches(self, geoms: FrozenSet[int]) -> bool:
        """Return whether MuJoCo lists a contact of ``geoms`` (ids), also without penetration."""
        return not geoms.isdisjoint(self.data.contact.geom.ravel().tolist())

    def contacts(self, geoms: FrozenSet[int], stamp_s: float) -> List[Contact]:
        """Return one ``Contact`` for each collision that touches one of ``geoms`` (ids)."""
        contact = self.data.contact
        pairs, distances = contact.geom.tolist(), contact.dist.tolist()
        hits_by_pair: Dict[Tuple[str, str], List[int]] = {}
        signs: Dict[int, float] = {}
        for hit, (first, second) in enumerate(pairs):
            if distances[hit] > 0.0 or geoms.isdisjoint((first, second)):
                continue
            signs[hit] = -1.0  # MuJoCo's normal points from the first to the second
            if first not in geoms:
                first, second, signs[hit] = second, first, 1.0
            hits_by_pair.setdefault((self._shapes[first], self._shapes[second]), []).append(hit)
        return [
            Contact(
                stamp_s=stamp_s,
                first=first,
                second=second,
                positions_m=tuple(tuple(contact.pos[hit].tolist()) for hit in hits_of),
                normals=tuple(
                    tuple((signs[hit] * contact.frame[hit][:3]).tolist()) for hit in hits_of
                ),
                depths_m=tuple(-distances[hit] for hit in hits_of),
            )
            for (first, second), hits_of in hits_by_pair.items()
        ]

    def loads_n(self) -> Dict[str, float]:
        """Return the sum of vertical contact forces (N, positive upward) by collision."""
        mujoco.mj_forward(self.model, self.data)
        loads_n: Dict[str, float] = {}
        force = np.empty(6)
        for index in range(self.data.ncon):
            contact = self.data.contact[index]
            mujoco.mj_contactForce(self.model, self.data, index, force)
            for geom, sign in zip(contact.geom.tolist(), (-1.0, 1.0)):
                shape = self._shapes[geom]
                loads_n[shape] = loads_n.get(shape, 0.0) + sign * force[0] * contact.frame[2]
        return loads_n

    # private methods

    def _release(self, geoms: np.ndarray) -> None:
        """Let the contacts of ``geoms``, a mask of all geoms, exert no force in the next step."""
        contacts = np.flatnonzero(geoms[self.data.contact.geom].any(axis=1))
        rows = self.data.contact.efc_address[contacts]
        if not self.grip:  # a contact has several rows, which all act along its normal
            is_contact = self.data.efc_type >= _FIRST_CONTACT_TYPE
            rows = np.flatnonzero(is_contact & np.isin(self.data.efc_id, contacts))
        self.data.efc_aref[rows[rows >= 0]] = APPROACHING_MPS2

    def _refresh_moving(self) -> None:
        # MuJoCo finds the geoms of the world near a body in a tree, but computes the poses and
        # combines the contact bits of all that are counted here. Their poses do not change.
        self._geom_counts[_WORLD] = self._first_world_geoms
        try:
            mujoco.mj_step1(self.model, self.data)
        except mujoco.FatalError:
            if self.data.time:  # else MuJoCo has reset a diverged state and all poses
                raise
        finally:
            self._geom_counts[_WORLD] = self._world_geoms

    def _capacity_error(self, reason: str) -> SceneError:
        return SceneError(
            f"MuJoCo cannot simulate a world of {self.model.nbody} bodies with "
            f"{self.data.ncon} contacts: {reason}. Use fewer models, simpler meshes for models "
            "that overlap the ground, or Gazebo as simulator"
        )

    def _element_id(self, kind: Any, name: str) -> int:
        number = int(mujoco.mj_name2id(self.model, kind, name))
        if number < 0:
            raise SimulatorError(f"the MuJoCo model has no element {name!r}")
        return number

    def _joint_slots(self, name: str) -> _Slots:
        joint = self._element_id(mujoco.mjtObj.mjOBJ_JOINT, name)
        position = int(self.model.jnt_qposadr[joint])
        velocity = int(self.model.jnt_dofadr[joint])
        # the numbers of positions and velocities of a free joint (0), a ball joint (1), or another
        sizes = {0: (7, 6), 1: (4, 3)}.get(int(self.model.jnt_type[joint]), (1, 1))
        return _Slots(slice(position, position + sizes[0]), slice(velocity, velocity + sizes[1]))


class MujocoSettling:
    """A limit on the speed with which MuJoCo separates bodies that were placed with an overlap.

    It applies to the first :data:`SETTLING_STEPS` steps after a placement, and not to trees of
    bodies with motors.
    """

    # A later overlap results from motion.

    def __init__(self, model: Any, data: Any, held_joints: Sequence[str] = ()) -> None:
        """``held_joints`` have a motor that is not an actuator of MuJoCo."""
        self._model, self._data = model, data
        driven_trees = _trees_with_actuators(model)
        driven_trees.update(
            int(model.body_treeid[model.joint(joint).bodyid[0]]) for joint in held_joints
        )
        self._velocities = {
            tree: np.flatnonzero(model.dof_treeid == tree)
            for tree in range(model.ntree)
            if tree not in driven_trees
        }
        self._steps_left = SETTLING_STEPS

    def begin(self) -> None:
        self._steps_left = SETTLING_STEPS

    def before_step(self) -> List[Tuple[np.ndarray, np.ndarray]]:
        """Return the indices in ``qvel`` and the velocities of each tree with an overlap."""
        if not self._steps_left:
            return []
        self._steps_left -= 1
        contact = self._data.contact
        deep_geoms = contact.geom[contact.dist < -OVERLAP_M].ravel()
        trees = set(self._model.body_treeid[self._model.geom_bodyid[deep_geoms]].tolist())
        velocity_indices = [
            self._velocities[tree] for tree in sorted(trees) if tree in self._velocities
        ]
        return [(indices, self._data.qvel[indices]) for indices in velocity_indices]

    def after_step(self, tree_velocities: List[Tuple[np.ndarray, np.ndarray]]) -> None:
        """Restore velocities of :meth:`before_step` that the step has increased."""
        for indices, velocities in tree_velocities:
            # In MuJoCo, bodies keep the speed of the separation: a 70 g tray that starts 25 mm
            # below the surface of its table leaves the table at 5 m/s.
            if np.square(self._data.qvel[indices]).sum() > np.square(velocities).sum():
                self._data.qvel[indices] = velocities


def _count_geoms_with_all_bits(model: Any) -> int:
    """Return how many geoms of the world, from the first, together have all its contact bits."""
    bits = np.bitwise_or.accumulate(model.geom_contype[: model.body_geomnum[_WORLD]])
    # MuJoCo tests two bodies with one geom each without a tree
    return max(int(np.searchsorted(bits, bits[-1:])[0]) + 1, 2) if len(bits) > 1 else len(bits)


def _trees_with_actuators(model: Any) -> Set[int]:
    at_site = model.actuator_trntype == mujoco.mjtTrn.mjTRN_SITE
    targets = model.actuator_trnid[:, 0]
    bodies = [*model.site_bodyid[targets[at_site]], *model.jnt_bodyid[targets[~at_site]]]
    return {int(model.body_treeid[body]) for body in bodies}


def mujoco_link_states(engine: Engine, models: Iterable[EngineModel]) -> LazyLinkStates:
    """Return the present states of all links, each computed when it is read."""
    data, rootids = engine.data, engine.model.body_rootid
    positions, quaternions = data.xpos.copy(), data.xquat.copy()
    velocities, centers = data.cvel.copy(), data.subtree_com.copy()

    @functools.lru_cache(maxsize=None)
    def owners() -> Dict[str, EngineModel]:
        return {link: model for model in models for link in model.links}

    def state(link: str) -> ModelState:
        model = owners()[link]
        if model.static:
            return ModelState(model.pose * model.links[link], AT_REST, AT_REST)
        body = engine.body(link)
        qw, qx, qy, qz = quaternions[body].tolist()
        angular, linear = velocities[body][:3], velocities[body][3:]
        linear = linear + np.cross(angular, positions[body] - centers[int(rootids[body])])
        return ModelState(
            Pose(tuple(positions[body].tolist()), (qx, qy, qz, qw)),
            tuple(linear.tolist()),
            tuple(angular.tolist()),
        )

    return LazyLinkStates(owners, state)


def _require_twist(state: ModelState) -> Tuple[Vector, Vector]:
    assert state.linear_mps is not None and state.angular_radps is not None, "it has a twist"
    return state.linear_mps, state.angular_radps
