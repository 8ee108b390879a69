"""Read a world as a set of placed models with collision shapes.

The ``<state>`` is applied, includes are resolved, and nested models belong to the model that
contains them. Visuals, lights, plug-ins and actors are ignored.
"""

import collections
import functools
import hashlib
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Dict, FrozenSet, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np
import shapely
from lxml import etree
from shapely.geometry.base import BaseGeometry

from gz_testauto.base.description_files import XACRO
from gz_testauto.base.disk import read_input
from gz_testauto.base.errors import SdfError
from gz_testauto.base.pose import Pose
from gz_testauto.sdf.document import Element, SdfDocument
from gz_testauto.sdf.dynamics import read_mass_kg, read_surface
from gz_testauto.sdf.floor import GROUND_TOLERANCE_M, is_floor_slab
from gz_testauto.sdf.geometry_reader import read_geometry
from gz_testauto.sdf.includes import ModelLibrary
from gz_testauto.sdf.meshes.slices import EMPTY, union
from gz_testauto.sdf.meshes.surfaces import Heightmap
from gz_testauto.sdf.missing import remove_missing
from gz_testauto.sdf.shapes import Box, Geometry, Plane, box_corners, ranges_overlap
from gz_testauto.sdf.state import apply_state
from gz_testauto.sdf.tree import ModelNode, read_model, read_models
from gz_testauto.sdf.values import name_of, required

Outlines = Dict[Tuple[float, float], BaseGeometry]  # by lowest and highest height (m)

MOST_SCENES = 2  # worlds that stay in memory: a base world and the world of the trial


@dataclass(frozen=True)
class CollisionShape:
    """A collision with its pose.

    ``scoped_name`` is the name in Gazebo's contacts, ``model::link::collision``. ``link`` is scoped
    within the model. ``pose`` is in the world frame, and ``local_pose`` is in the model frame.
    """

    scoped_name: str
    link: str
    pose: Pose
    local_pose: Pose
    geometry: Geometry

    @functools.cached_property
    def bounds(self) -> np.ndarray:
        """The axis-aligned bounds (m) in the world frame, shape (3, 2), read-only."""
        bounds = self.geometry.bounds(self.pose)
        bounds.setflags(write=False)
        return bounds

    def footprint(self, z_min: float, z_max: float) -> BaseGeometry:
        """Return the outline between two heights (m), in the world frame."""
        return self.geometry.footprint(self.pose, z_min, z_max)

    @functools.cached_property
    def is_ground(self) -> bool:
        """True if robots drive on the collision: a plane that faces up, terrain, or a wide flat
        slab with its top near z = 0."""
        if isinstance(self.geometry, Plane):
            return bool(self.geometry.world_normal[2] > 0.7)
        if isinstance(self.geometry, Heightmap):
            return True
        return is_floor_slab(self.bounds)


def footprints(shapes: Iterable[CollisionShape], z_min: float, z_max: float) -> List[BaseGeometry]:
    """Return the outlines of shapes between two heights (m), in the world frame. For boxes that are
    rotated about z only, this is faster than :meth:`CollisionShape.footprint`."""
    outlines: List[BaseGeometry] = []
    boxes: List[Tuple[int, CollisionShape, Box]] = []
    for shape in shapes:
        geometry = shape.geometry
        if isinstance(geometry, Box) and shape.pose.quaternion[:2] == (0.0, 0.0):
            z, half = shape.pose.position[2], geometry.size[2] / 2
            if ranges_overlap(z - half, z + half, z_min, z_max):
                boxes.append((len(outlines), shape, geometry))
            outlines.append(EMPTY)
        else:
            outlines.append(shape.footprint(z_min, z_max))
    if boxes:
        corners = box_corners(
            [box.size for *_, box in boxes], [shape.pose for _, shape, _ in boxes]
        )
        for (index, *_), outline in zip(boxes, shapely.polygons(corners)):
            outlines[index] = outline
    return outlines


@dataclass(frozen=True, eq=False)
class SceneModel:
    """A model directly in a world, with all its nested models.

    ``pose`` is in the world frame. ``links`` maps the scoped name of each link to its pose in the
    model frame. ``static_links`` are the links that cannot move; if ``static`` is True, these are
    all links. ``element`` is the ``<model>`` or ``<include>`` that places the model.
    """

    name: str
    pose: Pose
    static: bool
    collisions: Tuple[CollisionShape, ...]
    links: Mapping[str, Pose]
    static_links: FrozenSet[str]
    element: Element
    node: ModelNode
    _outlines: Outlines = field(default_factory=dict, repr=False)

    @property
    def is_ground(self) -> bool:
        return bool(self.collisions) and all(shape.is_ground for shape in self.collisions)

    @property
    def bounds(self) -> Optional[np.ndarray]:
        """The bounds (m) of all collisions in the world frame, shape (3, 2), or None."""
        if not self.collisions:
            return None
        all_bounds = np.stack([shape.bounds for shape in self.collisions])
        return np.column_stack([all_bounds[..., 0].min(axis=0), all_bounds[..., 1].max(axis=0)])

    def footprint(self, z_min: float, z_max: float) -> BaseGeometry:
        return union(footprints(self.collisions, z_min, z_max))

    def footprint_at(self, pose: Pose, z_min: float, z_max: float) -> BaseGeometry:
        """Return the outline of the model at ``pose``, between two heights (m, world frame)."""
        return union(
            shape.geometry.footprint(pose * shape.local_pose, z_min, z_max)
            for shape in self.collisions
        )

    @property
    def body_shapes(self) -> Tuple[CollisionShape, ...]:
        """The collisions of a robot that do not touch the ground, which is at its lowest point."""
        lowest_m = [shape.geometry.bounds(shape.local_pose)[2, 0] for shape in self.collisions]
        ground_m = min(lowest_m, default=0.0)
        return tuple(
            shape
            for shape, low_m in zip(self.collisions, lowest_m)
            if low_m - ground_m > GROUND_TOLERANCE_M
        )

    def obstacle_footprint(self, z_min: float, z_max: float) -> BaseGeometry:
        """Return the outline between two heights (m) of all collisions that are not ground."""
        heights = (z_min, z_max)
        if heights not in self._outlines:
            shapes = [shape for shape in self.collisions if not shape.is_ground]
            self._outlines[heights] = union(footprints(shapes, *heights))
        return self._outlines[heights]


@dataclass(frozen=True, eq=False)
class WorldScene:
    """All models of a world by name, in file order.

    ``document`` has its ``<state>`` applied. ``unmeasured`` contains the names of ignored elements
    that might be obstacles. ``missing`` contains the URIs of files that were allowed to be missing.
    """

    name: str
    models: Dict[str, SceneModel]
    document: SdfDocument
    unmeasured: Tuple[str, ...] = ()
    missing: Tuple[str, ...] = ()


_last_scenes: "collections.OrderedDict[Tuple, WorldScene]" = collections.OrderedDict()


def read_scene(
    source: Union[SdfDocument, str, Path],
    model_path: Optional[Sequence[Path]] = None,
    repair: bool = False,
    allow_missing: Sequence[str] = (),
) -> WorldScene:
    """Read a world file, or a model file as a world that contains only this model.

    ``model_path`` is that of :class:`ModelLibrary`. ``allow_missing`` contains patterns of files
    that are ignored if they do not exist (:mod:`gz_testauto.sdf.missing`). ``source`` is not
    modified. The result must not be modified, since later calls can return it again.
    """
    if isinstance(source, SdfDocument):
        return _scene_of(source, model_path, repair, allow_missing)
    path = Path(source)
    if path.suffix == XACRO:
        return _scene_of(SdfDocument.read(path, repair), model_path, repair, allow_missing)
    content = read_input(path, SdfError)
    key = (path, repair, tuple(allow_missing), hashlib.sha256(content).digest())
    scene = _last_scenes.pop(key, None)
    if scene is None:
        document = SdfDocument.parse(content, str(path), repair, path)
        scene = _scene_of(document, model_path, repair, allow_missing)
    refers_to_files = b"uri>" in content or b"\0" in content  # or is UTF-16
    if not (refers_to_files or allow_missing):
        _last_scenes[key] = scene
        if len(_last_scenes) > MOST_SCENES:
            _last_scenes.popitem(last=False)
    return scene


def _scene_of(
    document: SdfDocument,
    model_path: Optional[Sequence[Path]],
    repair: bool,
    allow_missing: Sequence[str],
) -> WorldScene:
    library = ModelLibrary(model_path, repair)
    missing: Tuple[str, ...] = ()
    if allow_missing:
        document = document.copy()
        missing = remove_missing(document, library, allow_missing)
    world = document.world
    heights_before: Dict[str, List[float]] = {}
    if world is not None and world.find("state") is not None:
        heights_before = _plane_heights(read_models(document, library), library)
        document = document.copy()
        apply_state(document, library)
        world = document.world
    models: Dict[str, SceneModel] = {}
    unmeasured_names: List[str] = []
    for node in read_models(document, library):
        if node.name in models:  # Gazebo loads only the first
            unmeasured_names.append(f"a second model named {node.name!r}")
        else:
            models[node.name] = large_models.scene_model(node, library)
    for moved_name, heights in heights_before.items():
        heights_after = (
            _plane_heights([models[moved_name].node], library) if moved_name in models else {}
        )
        if not np.allclose(
            heights_after.get(moved_name, heights), heights, rtol=0.0, atol=GROUND_TOLERANCE_M
        ):
            raise SdfError(
                f"{document.source}: <state> moves the model {moved_name!r}, which has a <plane>, "
                "and Gazebo does not move the plane; write the pose in <model> or <include>, and "
                "remove the model from <state>"
            )
    name = ""
    if world is not None:
        name = world.get("name", "")
        unmeasured_names += [
            f"<{tag}>" for tag in ("population", "road") for _ in world.findall(tag)
        ]
    return WorldScene(name, models, document, tuple(unmeasured_names), missing)


def _plane_heights(nodes: Sequence[ModelNode], library: ModelLibrary) -> Dict[str, List[float]]:
    """Return z (m, world frame) of all planes of each model that has planes."""
    plane_heights: Dict[str, List[float]] = {}
    for node in nodes:
        for _, model, _ in node.walk():
            if any(next(link.element.iter("plane"), None) is not None for link in model.links):
                shapes = scene_model(node, library).collisions
                heights = [s.pose.position[2] for s in shapes if isinstance(s.geometry, Plane)]
                plane_heights.setdefault(node.name, heights)
    return plane_heights


def scene_model(node: ModelNode, library: ModelLibrary) -> SceneModel:
    """Return a model with its collision shapes. The pose of ``node`` must be in the world frame."""
    shapes: List[CollisionShape] = []
    links: Dict[str, Pose] = {}
    static_links = frozenset(node.static_links())
    for scope, model, model_pose in node.walk():
        for link in model.links:
            links[scope + link.name] = model_pose * link.pose
            if scope + link.name not in static_links:
                read_mass_kg(model.document, link.element)  # raises an error if it is invalid
            local_poses: Dict[str, Pose] = {}
            for collision in link.element.findall("collision"):
                read_surface(model.document, collision)
                geometry = read_geometry(
                    model.document, required(model.document, collision, "geometry"), library
                )
                if geometry is None:
                    continue
                name = name_of(model.document, collision)
                local_pose = model_pose * model.frames.of(collision.find("pose"), link.name)
                # Gazebo places collisions with the same name in the link like the first one.
                local_pose = local_poses.setdefault(name, local_pose)
                shapes.append(
                    CollisionShape(
                        scoped_name=f"{node.name}::{scope}{link.name}::{name}",
                        link=scope + link.name,
                        pose=node.pose * local_pose,
                        local_pose=local_pose,
                        geometry=geometry,
                    )
                )
    return SceneModel(
        name=node.name,
        pose=node.pose,
        static=static_links == links.keys(),  # also a model without links, which cannot move
        collisions=tuple(shapes),
        links=links,
        static_links=static_links,
        element=node.placed_by,
        node=node,
    )


class LargeModels:
    """A cache of the last large models of primitive shapes, such as the walls of a building in many
    worlds. Models with equal elements share their collisions and outlines."""

    FEWEST_BYTES = 100_000
    MOST_MODELS = 4

    def __init__(self) -> None:
        self._models: collections.OrderedDict[Tuple, SceneModel] = collections.OrderedDict()
        self._adopted: Dict[Tuple, Outlines] = {}

    @property
    def outlines(self) -> Dict[Tuple, Outlines]:
        """The computed outlines of the models, which another process can adopt."""
        return {key: model._outlines for key, model in self._models.items()}

    def adopt(self, outlines: Dict[Tuple, Outlines]) -> None:
        self._adopted = outlines

    def scene_model(self, node: ModelNode, library: ModelLibrary) -> SceneModel:
        content = etree.tostring(node.element, with_tail=False)
        if node.is_included or len(content) < self.FEWEST_BYTES or b"uri>" in content:
            return scene_model(node, library)
        digest = hashlib.sha256(content).digest()
        key = (digest, node.name, node.pose, node.static, node.document.version)
        model = self._models.pop(key, None) or scene_model(node, library)
        model._outlines.update(self._adopted.pop(key, {}))
        self._models[key] = model
        if len(self._models) > self.MOST_MODELS:
            self._models.popitem(last=False)
        return replace(model, element=node.placed_by, node=node)


large_models = LargeModels()


def placed_model(sdf: str, name: str, pose: Pose) -> SceneModel:
    """Return a model from SDF text, with or without an enclosing ``<sdf>``. ``name`` and ``pose``
    (world frame) replace those in the text."""
    text = sdf.strip()
    if not text.startswith("<?xml") and "<sdf" not in text:
        text = f'<sdf version="1.6">{text}</sdf>'
    document, library = SdfDocument.parse(text, name), ModelLibrary()
    node = read_model(document, document.require_model(), library)
    node.name, node.pose = name, pose
    return scene_model(node, library)


def collisions_by_link(scene: SceneModel) -> Dict[str, List[str]]:
    """Return the names of a robot's collisions that do not touch the ground, grouped by link."""
    shapes: Dict[str, List[str]] = {}
    for shape in scene.body_shapes:
        shapes.setdefault(shape.link, []).append(shape.scoped_name.rsplit("::", 1)[-1])
    return shapes
