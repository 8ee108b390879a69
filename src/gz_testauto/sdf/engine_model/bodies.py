"""Read models as trees of bodies for physics engines. Names are scoped as in the contacts of
Gazebo: ``model::link::collision``."""

from dataclasses import dataclass, replace
from typing import Dict, FrozenSet, List, Mapping, Optional, Tuple, Union

from gz_testauto.base.errors import SdfError
from gz_testauto.base.pose import Pose
from gz_testauto.sdf.document import Element, SdfDocument
from gz_testauto.sdf.dynamics import (
    ContactParameters,
    Inertial,
    Joint,
    read_inertial,
    read_joints,
    read_surface,
)
from gz_testauto.sdf.engine_model.coverage import SdfCoverage
from gz_testauto.sdf.includes import ModelLibrary
from gz_testauto.sdf.meshes.surfaces import Heightmap
from gz_testauto.sdf.scene import SceneModel
from gz_testauto.sdf.shapes import Geometry, Plane
from gz_testauto.sdf.values import flag
from gz_testauto.sdf.visuals import visual_shapes

# smallest moment of inertia of a moving body
MIN_INERTIA_KGM2 = 1e-12  # MuJoCo treats a thousandth of it as zero


@dataclass(frozen=True)
class BodyShape:
    """A collision or visual of a body. ``pose`` is in the link frame."""

    name: str
    pose: Pose
    geometry: Geometry
    surface: ContactParameters


@dataclass(frozen=True)
class Body:
    """A link of a model as a rigid body.

    ``pose`` is in the model frame. ``joint`` connects the body to its parent; it is None for a free
    body. ``inertial`` is None for a static link. ``visuals`` is empty unless the simulator's lidar
    sees visuals.
    """

    name: str
    pose: Pose
    shapes: Tuple[BodyShape, ...]
    inertial: Optional[Inertial]
    gravity: bool
    joint: Optional[Joint]
    children: Tuple["Body", ...] = ()
    visuals: Tuple[BodyShape, ...] = ()


@dataclass(frozen=True)
class EngineModel:
    """A model of the world as trees of bodies. The first of ``roots`` determines the pose of the
    model. ``links`` maps the scoped name of each link to its pose in the model frame."""

    name: str
    static: bool
    pose: Pose
    self_collide: bool
    roots: Tuple[Body, ...]
    links: Mapping[str, Pose]

    @property
    def bodies(self) -> List[Body]:
        """All bodies, each parent before its children."""
        return [body for root in self.roots for body in walk(root)]


def read_engine_model(
    scene: SceneModel, coverage: SdfCoverage, known_elements: FrozenSet[Element] = frozenset()
) -> EngineModel:
    """Convert a model for a physics engine. ``known_elements`` contains elements that the simulator
    implements itself.

    Logs a warning for each ignored element. Raises ``SdfError`` for an element that must not be
    ignored, or if the joints do not form a tree.
    """
    node = scene.node
    coverage.check_model(node, known_elements)
    return EngineModel(
        name=scene.name,
        static=scene.static,
        pose=scene.pose,
        self_collide=flag(node.document, node.element, "self_collide"),
        roots=_BodyTree(scene, coverage).roots(),
        links={f"{scene.name}::{name}": pose for name, pose in scene.links.items()},
    )


def _joints(model: SceneModel) -> List[Joint]:
    """Return the movable joints of a model, and a fixed joint to the world for each static link."""
    movable_joints = [
        joint for joint in read_joints(model.node) if joint.child not in model.static_links
    ]
    fixed_joints = [
        Joint(f"{link} stays", "fixed", None, link, (0.0, 0.0, 0.0), ())
        for link in model.links
        if link in model.static_links
    ]
    return [*movable_joints, *fixed_joints]


def _shapes_by_link(scene: SceneModel, coverage: SdfCoverage) -> Dict[str, List[BodyShape]]:
    elements: Dict[str, Tuple[SdfDocument, Element]] = {}
    for scoped_name, model, link, _ in scene.node.walk_links():
        for collision in link.element.findall("collision"):
            name = f"{scene.name}::{scoped_name}::{(collision.get('name') or '').strip()}"
            elements.setdefault(name, (model.document, collision))
    shapes: Dict[str, List[BodyShape]] = {}
    for shape in scene.collisions:
        document, element = elements[shape.scoped_name]
        if not scene.static and isinstance(shape.geometry, (Plane, Heightmap)):
            kind = type(shape.geometry).__name__.lower()
            raise SdfError(
                f"{document.where(element)}: {shape.scoped_name} is a {kind} in a model that can "
                f"move, which {coverage.simulator!r} cannot simulate; make the model static"
            )
        surface = read_surface(document, element)
        if surface.mu != surface.mu2 and min(surface.mu, surface.mu2) < 10:
            coverage.warn_once(
                "friction directions",
                f"{document.where(element)}: {shape.scoped_name} has mu {surface.mu} and mu2 "
                f"{surface.mu2}; {coverage.simulator!r} uses the smaller one in all directions. "
                "Further cases are not reported",
            )
        pose = scene.links[shape.link].inverse() * shape.local_pose
        shapes.setdefault(shape.link, []).append(
            BodyShape(shape.scoped_name, pose, shape.geometry, surface)
        )
    return shapes


def _visuals_by_link(scene: SceneModel) -> Dict[str, List[BodyShape]]:
    shapes: Dict[str, List[BodyShape]] = {}
    for visual, geometry in visual_shapes(scene, ModelLibrary()):
        pose = scene.links[visual.link].inverse() * visual.pose
        name = f"{visual.scoped_name} (visual)"  # a collision can have the same name
        shape = BodyShape(name, pose, geometry, ContactParameters())
        shapes.setdefault(visual.link, []).append(shape)
    return shapes


class _BodyTree:
    def __init__(self, scene: SceneModel, coverage: SdfCoverage) -> None:
        self._scene, self._coverage = scene, coverage
        self._shapes = _shapes_by_link(scene, coverage)
        self._visuals = _visuals_by_link(scene) if coverage.reads_visuals else {}
        self._elements = {
            name: (model.document, link.element) for name, model, link, _ in scene.node.walk_links()
        }
        self._joints: Dict[str, Joint] = {}
        self._children: Dict[str, List[str]] = {}
        for joint in () if scene.static else _joints(scene):
            if joint.child in self._joints:
                raise SdfError(
                    f"model {scene.name!r}: link {joint.child!r} is the child of two joints, "
                    f"{self._joints[joint.child].name!r} and {joint.name!r}; "
                    f"{coverage.simulator!r} supports trees only; remove one of the joints, or use "
                    "the simulator gazebo"
                )
            self._joints[joint.child] = joint
            if joint.parent is not None:
                self._children.setdefault(joint.parent, []).append(joint.child)

    def roots(self) -> Tuple[Body, ...]:
        names = [
            name
            for name in self._scene.links
            if name not in self._joints or self._joints[name].parent is None
        ]
        roots = tuple(self._make_body(name) for name in names)
        reached_names = {body.name for root in roots for body in walk(root)}
        prefix = f"{self._scene.name}::"  # the name of a model can contain "::", too
        cyclic = sorted(set(self._scene.links) - {name[len(prefix) :] for name in reached_names})
        if cyclic:
            raise SdfError(
                f"model {self._scene.name!r}: the joints of {', '.join(map(repr, cyclic))} form a "
                f"cycle; {self._coverage.simulator!r} supports trees only; remove one of the "
                "joints, or use the simulator gazebo"
            )
        return roots

    def _possible_inertial(
        self, scoped_name: str, document: SdfDocument, element: Element
    ) -> Inertial:
        """Return the mass properties of a link. Impossible moments of inertia are replaced by their
        mean, with a warning."""
        inertial = read_inertial(document, element)
        if inertial.is_possible:
            return inertial
        mean_kgm2 = sum(inertial.tensor_kgm2[:3]) / 3
        problem = (
            f"{document.where(element)}: the moments of inertia of {scoped_name} are impossible"
        )
        if not mean_kgm2 > MIN_INERTIA_KGM2:
            raise SdfError(
                f"{problem}: their mean is {mean_kgm2:.3g} kg m²; it must be > 0 for "
                f"{self._coverage.simulator!r}. "
                "Correct ixx, iyy and izz, or remove <inertia>, so that each is 1"
            )
        self._coverage.warn_once(
            f"inertia {scoped_name}",
            f"{problem}; {self._coverage.simulator!r} uses their mean ({mean_kgm2:.3g} kg m²) for "
            "each axis; correct <inertia>",
        )
        return replace(inertial, tensor_kgm2=(mean_kgm2, mean_kgm2, mean_kgm2, 0.0, 0.0, 0.0))

    def _make_body(self, name: str) -> Body:
        document, element = self._elements[name]
        scoped_name = f"{self._scene.name}::{name}"
        inertial = None
        if name not in self._scene.static_links:
            inertial = self._possible_inertial(scoped_name, document, element)
        return Body(
            name=scoped_name,
            pose=self._scene.links[name],
            shapes=tuple(self._shapes.get(name, ())),
            inertial=inertial,
            gravity=flag(document, element, "gravity", True),
            joint=self._joints.get(name),
            children=tuple(self._make_body(child) for child in self._children.get(name, ())),
            visuals=tuple(self._visuals.get(name, ())),
        )


def walk(body: Body) -> "List[Body]":
    return [body, *(descendant for child in body.children for descendant in walk(child))]


def ground_pose(geometry: Union[Heightmap, Plane], pose: Pose) -> Pose:
    """Return the pose (world frame) at which Gazebo places a ground shape for collisions. ``pose``
    is the pose in the SDF (world frame)."""
    # Gazebo centers a height map at the origin of the world and rotates it by the yaw only. It does
    # not rotate a plane, and moves it along its normal only.
    if isinstance(geometry, Plane):
        return Pose(tuple(geometry.surface_point(pose).tolist()))
    return Pose.from_rpy(0.0, 0.0, geometry.position[2], 0.0, 0.0, pose.yaw_rad)
