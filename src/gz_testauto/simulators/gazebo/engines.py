"""Adaptation of a world to Gazebo's physics engines, so that it behaves equally in all of them.

- Friction: in Bullet and DART, a link has a single coefficient (that of its last collision, or
  the mean). If the coefficients in a link differ, all of its collisions get that of the
  collisions that touch the ground.
- Height maps: Bullet places the middle of the range of heights, instead of zero, at the height of
  the collision, moves a height map with its model, and makes it smaller by one vertex. In ODE, a
  wheel sinks into a step by almost its height, so height maps can become meshes. In DART, bodies
  fall through height maps, and rays do not detect them.
- Planes: ODE ignores the rotation of a plane's pose, and its x and y. Bullet rotates and moves a
  plane with its pose. DART places it at z = 0 of its link.

The adaptations are reverted in a saved world.
"""

import copy
import functools
import hashlib
import logging
from pathlib import Path
from typing import Dict, FrozenSet, List, Mapping, Optional, Sequence, Tuple

import numpy as np

from gz_testauto.base.disk import replace_file
from gz_testauto.base.errors import SdfError
from gz_testauto.base.pose import Pose, rotation_from_z
from gz_testauto.sdf.document import Element, SdfDocument
from gz_testauto.sdf.dynamics import chosen_physics, read_surface, write_friction
from gz_testauto.sdf.edit import find_link
from gz_testauto.sdf.meshes.surfaces import Heightmap
from gz_testauto.sdf.scene import CollisionShape, SceneModel
from gz_testauto.sdf.shapes import Plane
from gz_testauto.sdf.values import ensure_child, number, set_numbers
from gz_testauto.simulators.changes import ChangeKind, Push, SetFriction, SetMass, SetModel

LOGGER = logging.getLogger(__name__)

ENGINES = ("ode", "bullet", "dart")

# engines whose results differ in the last bits after gzserver has simulated other worlds
NOT_REUSABLE = ("dart",)

# Property changes without an effect: Bullet accepts no wrench, and Bullet and DART read friction
# only once. A change of mass in Bullet was not tested.
UNSUPPORTED_CHANGES: Mapping[str, FrozenSet[ChangeKind]] = {
    "ode": frozenset(),
    "bullet": frozenset((Push, SetFriction, SetMass, SetModel)),
    "dart": frozenset((SetFriction,)),
}

SIMBODY = (
    "'simbody' cannot be stepped: it continues while Gazebo's clock is paused (a body that falls "
    "for 0.7 s falls as in 0.75 s)"
)

# the elements of a collision that an adaptation can change
CHANGED = ("pose", "geometry", "surface")

# Largest distance (m) of a plane from the origin of its link, and difference of their axes,
# with which DART places the plane as ODE does.
_PLANE_TOLERANCE = 1e-6

_Collision = Tuple[CollisionShape, Element]

# The default of <sampling>, the number of vertices of a height map per pixel.
_SAMPLING = 2

# Horizontal offset of a mesh from its height map: in ODE, a ball that is exactly above a vertex
# can fall through the mesh (6 of 200 balls at grid points).
_ASIDE_M = (1.1e-6, 0.7e-6)


def check_engine(name: str) -> None:
    """Raise ``ValueError`` for an unsupported physics engine."""
    if name == "simbody":
        raise ValueError(f"'engine': {SIMBODY}; use one of {', '.join(ENGINES)}")
    if name not in ENGINES:
        raise ValueError(f"'engine' is {name!r}; it must be one of {', '.join(ENGINES)}")


def stated_engine(world: Element) -> str:
    """Return the engine that a world specifies, or Gazebo's default."""
    physics = chosen_physics(world)
    return "ode" if physics is None else str(physics.get("type", "ode"))


def require_engine(document: SdfDocument) -> None:
    """Raise ``SdfError`` if gzserver does not support the engine of a world or cannot step it."""
    world = document.require_world()
    engine = stated_engine(world)
    if engine in ENGINES:
        return
    location = document.where(chosen_physics(world))
    remedy = f'write type="ode", set the simulator option engine ({", ".join(ENGINES)})'
    if engine == "simbody":
        raise SdfError(f"{location}: {SIMBODY}; {remedy}, or use the simulator 'embedded'")
    raise SdfError(
        f"{location}: <physics> is of type {engine!r}, which Gazebo 11 does not support; {remedy}, "
        "or use the simulator 'embedded'"
    )


def set_engine(world: Element, engine: str) -> None:
    physics = chosen_physics(world)
    assert physics is not None, "the step was set"
    physics.set("type", engine)


def adapt_model(
    document: SdfDocument,
    model: Element,
    scene: SceneModel,
    model_pose: Pose,
    engine: str,
    meshes: Optional[Path] = None,
) -> Dict[str, Element]:
    """Adapt a model, whose includes are expanded, to the physics engine.

    ``model_pose`` is the pose of the model in the world. For ODE, height maps become meshes in the
    folder ``meshes``, unless it is None. Return copies of the original collisions that were
    changed, by scoped name. Raises ``SdfError`` for shapes that the engine does not support.
    """
    if engine == "ode":
        if meshes is None:
            return {}
        return _replace_height_maps(document, model, scene, model_pose, meshes)
    originals: Dict[str, Element] = {}
    by_link: Dict[str, List[_Collision]] = {}
    for shape in scene.collisions:
        element = _collision_element(model, shape)
        by_link.setdefault(shape.link, []).append((shape, element))
        if isinstance(shape.geometry, Heightmap):
            if engine == "dart":
                raise SdfError(
                    f"{document.where(element)}: {shape.scoped_name} is a height map, and in DART "
                    "bodies fall through it; use another engine"
                )
            originals[shape.scoped_name] = copy.deepcopy(element)
            yaw_rad = (model_pose * shape.local_pose).yaw_rad
            _lift(document, element, shape.geometry, model_pose * scene.links[shape.link], yaw_rad)
        elif isinstance(shape.geometry, Plane):
            link = model_pose * scene.links[shape.link]
            if engine == "dart":
                shape_pose = model_pose * shape.local_pose
                _require_plane_of_link(document, element, shape, shape.geometry, shape_pose, link)
                continue
            original = _set_plane(element, shape.geometry, shape, model_pose, link)
            if original is not None:
                originals[shape.scoped_name] = original
    for parts in by_link.values():
        for name, original in _share_friction(document, scene, parts, engine).items():
            originals.setdefault(name, original)
    return originals


def restore_collisions(world: Element, originals: Mapping[str, Element]) -> None:
    """Restore the collisions that :func:`adapt_model` returned, in a saved world."""
    models = {model.get("name"): model for model in world.iterchildren("model")}
    for scoped_name, original in originals.items():
        model, _, in_model = scoped_name.partition("::")
        link_name, _, collision_name = in_model.rpartition("::")
        link = find_link(models[model], link_name) if model in models else None
        for element in [] if link is None else link.findall("collision"):
            if element.get("name") == collision_name:
                for tag in CHANGED:
                    for part in element.findall(tag):
                        element.remove(part)
                    element.extend(copy.deepcopy(part) for part in original.findall(tag))


def _replace_height_maps(
    document: SdfDocument, model: Element, scene: SceneModel, model_pose: Pose, folder: Path
) -> Dict[str, Element]:
    """Replace height maps by meshes; return copies of the original collisions by scoped name."""
    originals: Dict[str, Element] = {}
    for shape in scene.collisions:
        if not isinstance(shape.geometry, Heightmap):
            continue
        element = _collision_element(model, shape)
        originals[shape.scoped_name] = copy.deepcopy(element)
        try:
            path = _write_mesh(shape.geometry, folder)
        except OSError as error:
            raise SdfError(
                f"{document.where(element)}: {shape.scoped_name} cannot be written as a mesh: "
                f"{error}; set the simulator option height_maps: fields"
            ) from error
        yaw_rad = (model_pose * shape.local_pose).yaw_rad
        mesh_pose = Pose.from_rpy(*_ASIDE_M, shape.geometry.position[2], 0.0, 0.0, yaw_rad)
        _set_pose_in_link(element, (model_pose * scene.links[shape.link]).inverse() * mesh_pose)
        geometry = element.find("geometry")
        assert geometry is not None, "the height map was read from it"
        for child in list(geometry):
            geometry.remove(child)
        ensure_child(ensure_child(geometry, "mesh"), "uri").text = f"file://{path}"
    return originals


def _write_mesh(terrain: Heightmap, folder: Path) -> Path:
    """Write a height map's surface as an STL file into ``folder`` and return its path.

    The mesh is centered, and its height is 0 where the map is black. Equal meshes share a file.
    """
    # Its import takes 0.5 s.
    import trimesh
    from trimesh.exchange.stl import export_stl

    heights = terrain.heights
    rows, columns = heights.shape
    length_m, width_m, _ = terrain.size
    x_m, y_m = np.meshgrid(
        np.linspace(-length_m / 2, length_m / 2, columns),
        np.linspace(width_m / 2, -width_m / 2, rows),
    )
    number = np.arange(rows * columns).reshape(rows, columns)
    north_west, north_east = number[:-1, :-1].ravel(), number[:-1, 1:].ravel()
    south_west, south_east = number[1:, :-1].ravel(), number[1:, 1:].ravel()
    faces = np.concatenate(
        [
            np.column_stack([north_west, south_west, south_east]),
            np.column_stack([north_west, south_east, north_east]),
        ]
    )
    vertices = np.column_stack([x_m.ravel(), y_m.ravel(), heights.ravel()])
    mesh = trimesh.Trimesh(vertices, faces, process=False)
    content = bytes(export_stl(mesh))
    path = folder / f"{hashlib.sha256(content).hexdigest()[:16]}.stl"
    if not path.exists():
        replace_file(path, content)
    return path


def _set_pose_in_link(element: Element, in_link: Pose) -> None:
    pose = ensure_child(element, "pose")
    pose.attrib.clear()
    set_numbers(pose, *in_link.position, *in_link.rpy)


def _lift(
    document: SdfDocument, element: Element, terrain: Heightmap, link: Pose, yaw_rad: float
) -> None:
    """Move a height map for Bullet to its pose in ODE: centered on the world's origin."""
    heights = terrain.heights
    middle_m = float(heights.min() + heights.max()) / 2
    above_m = terrain.position[2]
    map_pose = Pose.from_rpy(0.0, 0.0, above_m + middle_m, 0.0, 0.0, yaw_rad)
    _set_pose_in_link(element, link.inverse() * map_pose)
    size = element.find("geometry/heightmap/size")
    assert size is not None, "a height map has a size"
    sampling = number(document, element.find("geometry/heightmap"), "sampling", _SAMPLING)
    vertices = (len(heights) - 1) * max(1, round(sampling)) + 1
    stretch = vertices / (vertices - 1)
    length_m, width_m, height_m = terrain.size
    set_numbers(size, length_m * stretch, width_m * stretch, height_m)


def _set_plane(
    element: Element, plane: Plane, shape: CollisionShape, model_pose: Pose, link: Pose
) -> Optional[Element]:
    """Move and rotate a plane for Bullet to its surface in ODE.

    ``model_pose`` and ``link`` are the poses of the model and the link in the world. Return a copy
    of the original element, or None if it is unchanged.
    """
    shape_pose = model_pose * shape.local_pose
    if plane.normal == (0.0, 0.0, 1.0) and shape_pose.rotation[2, 2] == 1.0:
        return None
    original = copy.deepcopy(element)
    position = tuple(plane.surface_point(shape_pose).tolist())
    _set_pose_in_link(element, link.inverse() * Pose(position, rotation_from_z(plane.world_normal)))
    plane_element = element.find("geometry/plane")
    assert plane_element is not None, "the plane was read from it"
    set_numbers(ensure_child(plane_element, "normal"), 0.0, 0.0, 1.0)
    return original


def _require_plane_of_link(
    document: SdfDocument,
    element: Element,
    shape: CollisionShape,
    plane: Plane,
    shape_pose: Pose,
    link: Pose,
) -> None:
    """Raise ``SdfError`` for a plane that is not at z = 0 of its link, where DART places it.

    ``shape_pose`` and ``link`` are the poses of the collision and its link in the world.
    """
    normal = plane.world_normal
    above_m = normal @ (plane.surface_point(shape_pose) - np.asarray(link.position))
    if abs(above_m) > _PLANE_TOLERANCE or normal @ link.rotation[:, 2] < 1 - _PLANE_TOLERANCE:
        raise SdfError(
            f"{document.where(element)}: {shape.scoped_name} is a plane, and DART ignores its "
            "normal and the pose of the collision; use another engine, or set the normal to "
            "0 0 1 and the height in the pose of the link"
        )


def _collision_element(model: Element, shape: CollisionShape) -> Element:
    link = find_link(model, shape.link)
    assert link is not None, "includes are expanded"
    name = shape.scoped_name.rpartition("::")[2]
    return next(c for c in link.iterchildren("collision") if c.get("name") == name)


def _share_friction(
    document: SdfDocument, scene: SceneModel, parts: Sequence[_Collision], engine: str
) -> Dict[str, Element]:
    """Set the same friction for all collisions of a link; return the originals by scoped name.

    It is the smallest friction of the collisions that touch the ground, or are ground in a static
    model. Without these collisions, it is the smallest friction of all.
    """
    surfaces = [read_surface(document, element) for _, element in parts]
    if len({(surface.mu, surface.mu2) for surface in surfaces}) < 2:
        return {}
    parts_above_floor = set(scene.body_shapes)
    touching_surfaces = [
        surface
        for (shape, _), surface in zip(parts, surfaces)
        if (shape.is_ground if scene.static else shape not in parts_above_floor)
    ]
    shared_surface = min(
        touching_surfaces or surfaces, key=lambda surface: surface.mu + surface.mu2
    )
    model, link = scene.name, parts[0][0].link
    _warn_once(
        f"{document.source}: a link has one friction in {engine}: all collisions of "
        f"{model}::{link} get mu {shared_surface.mu:g}, mu2 {shared_surface.mu2:g}"
    )
    originals = {}
    for (shape, element), surface in zip(parts, surfaces):
        if (surface.mu, surface.mu2) != (shared_surface.mu, shared_surface.mu2):
            originals[shape.scoped_name] = copy.deepcopy(element)
            write_friction(element, shared_surface.mu, shared_surface.mu2)
    return originals


@functools.lru_cache(maxsize=None)
def _warn_once(text: str) -> None:
    LOGGER.warning(text)
