"""Gazebo's physics engines: which there are, and what a world must say for each to mean the same.

Owns what is known of how they read SDF. All take friction from what is written for ODE, and of two
that touch the smaller one. But in Bullet and DART a link has one friction, Bullet that of its last
collision and DART the mean, so where they differ here all get that of what stands on the floor.
Bullet puts the middle of a height map's heights, not their zero, at the height of its collision,
moves it with its model, and spreads it over one vertex less than its size. ODE lets wheels through
the edges of height maps, and can be given meshes in their place. In DART bodies fall
through height maps, and rays meet nothing. What is changed of a world is changed back when it is
saved.
"""

import copy
import functools
import logging
from pathlib import Path
from typing import Dict, FrozenSet, List, Mapping, Optional, Sequence, Tuple

from lxml import etree

from gz_testauto.base.errors import SdfError
from gz_testauto.base.pose import Pose
from gz_testauto.sdf.document import Element, SdfDocument
from gz_testauto.sdf.dynamics import chosen_physics, read_surface
from gz_testauto.sdf.edit import find_link
from gz_testauto.sdf.meshes.surfaces import Heightmap
from gz_testauto.sdf.scene import CollisionShape, SceneModel
from gz_testauto.sdf.values import ensure_child, number, set_numbers
from gz_testauto.simulators.changes import ChangeKind, Push, SetFriction, SetMass, SetModel
from gz_testauto.simulators.gazebo.ground_meshes import write_mesh

LOGGER = logging.getLogger(__name__)

ENGINES = ("ode", "bullet", "dart")
"""Those that can be asked for."""

FRESH = ("dart",)
"""Those in which a world differs in its last bits where others were simulated before it."""

LACKING: Mapping[str, FrozenSet[ChangeKind]] = {
    "ode": frozenset(),
    "bullet": frozenset((Push, SetFriction, SetMass, SetModel)),
    "dart": frozenset((SetFriction,)),
}
"""Changes that do nothing: Bullet takes no wrench, and both look at friction once. A mass in Bullet
was not tried."""

SIMBODY = (
    "'simbody' cannot be stepped: it goes on while Gazebo's clock stands (a body that falls for "
    "0.7 s falls as in 0.75 s)"
)

CHANGED = ("pose", "geometry", "surface")
"""The parts of a collision that are."""

_Collision = Tuple[CollisionShape, Element]

_SAMPLING = 2
"""Vertices of a height map per pixel, where its ``<sampling>`` says nothing."""

_ASIDE_M = (1.1e-6, 0.7e-6)
"""How far a mesh is from its place: a ball exactly above a vertex falls through it in ODE (found: 6
of 200 that came to lie at points of the grid), and next to it none does."""


def check_engine(name: str) -> None:
    """Raise ``ValueError`` for what is no engine that can be asked for."""
    if name == "simbody":
        raise ValueError(f"engine: {SIMBODY}; take one of {', '.join(ENGINES)}")
    if name not in ENGINES:
        raise ValueError(f"engine is {name!r}; it must be one of {', '.join(ENGINES)}")


def stated_engine(world: Element) -> str:
    """The engine that a world states, else Gazebo's own; whatever it is."""
    physics = chosen_physics(world)
    return "ode" if physics is None else str(physics.get("type", "ode"))


def require_engine(document: SdfDocument) -> None:
    """Raise ``SdfError`` where a world states an engine that gzserver does not know, as worlds
    made for newer Gazebos do, or that cannot be stepped."""
    assert document.world is not None, "the caller looks before"
    engine = stated_engine(document.world)
    if engine in ENGINES:
        return
    where = document.where(chosen_physics(document.world))
    remedy = f'write type="ode", give the simulator the option engine ({", ".join(ENGINES)})'
    if engine == "simbody":
        raise SdfError(f"{where}: {SIMBODY}; {remedy}, or simulate it by 'embedded'")
    raise SdfError(
        f"{where}: <physics> is of type {engine!r}, which Gazebo 11 does not know; {remedy}, or "
        "simulate it by 'embedded'"
    )


def put_engine(world: Element, engine: str) -> None:
    """Have a world state another engine; what else its physics says stays."""
    physics = chosen_physics(world)
    if physics is None:
        physics = etree.SubElement(world, "physics")
        etree.SubElement(physics, "max_step_size").text = "0.001"
    physics.set("type", engine)


def fit(
    document: SdfDocument,
    model: Element,
    scene: SceneModel,
    place: Pose,
    engine: str,
    meshes: Optional[Path] = None,
) -> Dict[str, Element]:
    """Change what a model, with all includes written out, says to what means the same to
    ``engine``. ``place`` is where it stands; for ODE height maps become meshes in the folder
    ``meshes``, where one is given. Returns copies of the collisions that were changed, as they
    were, by scoped name. Raises ``SdfError`` for what the engine has not.
    """
    if engine == "ode":
        return {} if meshes is None else _as_meshes(document, model, scene, place, meshes)
    before: Dict[str, Element] = {}
    by_link: Dict[str, List[_Collision]] = {}
    for shape in scene.collisions:
        element = _element_of(model, shape)
        by_link.setdefault(shape.link, []).append((shape, element))
        if isinstance(shape.geometry, Heightmap):
            if engine == "dart":
                raise SdfError(
                    f"{document.where(element)}: {shape.scoped_name} is a height map, and in DART "
                    "bodies fall through it; take another engine"
                )
            before[shape.scoped_name] = copy.deepcopy(element)
            yaw_rad = (place * shape.local_pose).yaw_rad
            _lift(document, element, shape.geometry, place * scene.links[shape.link], yaw_rad)
    for parts in by_link.values():
        for name, was in _share_friction(document, scene, parts, engine).items():
            before.setdefault(name, was)
    return before


def restore(world: Element, before: Mapping[str, Element]) -> None:
    """Give the collisions of a saved world back what they said before they were fitted."""
    models = {model.get("name"): model for model in world.iterchildren("model")}
    for scoped, was in before.items():
        model, _, rest = scoped.partition("::")
        link_name, _, own = rest.rpartition("::")
        link = find_link(models[model], link_name) if model in models else None
        for element in [] if link is None else link.findall("collision"):
            if element.get("name") == own:
                for tag in CHANGED:
                    for part in element.findall(tag):
                        element.remove(part)
                    element.extend(copy.deepcopy(part) for part in was.findall(tag))


def _as_meshes(
    document: SdfDocument, model: Element, scene: SceneModel, place: Pose, folder: Path
) -> Dict[str, Element]:
    """Put a mesh where ODE has a height map. Returns what was changed, as it was."""
    before: Dict[str, Element] = {}
    for shape in scene.collisions:
        if not isinstance(shape.geometry, Heightmap):
            continue
        element = _element_of(model, shape)
        before[shape.scoped_name] = copy.deepcopy(element)
        try:
            path = write_mesh(shape.geometry, folder)
        except OSError as error:
            raise SdfError(
                f"{document.where(element)}: {shape.scoped_name} cannot be made a mesh: {error}"
            ) from error
        yaw_rad = (place * shape.local_pose).yaw_rad
        wanted = Pose.from_rpy(*_ASIDE_M, shape.geometry.position[2], 0.0, 0.0, yaw_rad)
        _move(element, (place * scene.links[shape.link]).inverse() * wanted)
        geometry = element.find("geometry")
        assert geometry is not None, "it was read from there"
        for child in list(geometry):
            geometry.remove(child)
        ensure_child(ensure_child(geometry, "mesh"), "uri").text = f"file://{path}"
    return before


def _move(element: Element, in_link: Pose) -> None:
    """Give a collision this pose."""
    pose = element.find("pose")
    if pose is None:
        pose = etree.SubElement(element, "pose")
    pose.attrib.clear()
    set_numbers(pose, *in_link.position, *in_link.rpy)


def _lift(
    document: SdfDocument, element: Element, terrain: Heightmap, link: Pose, yaw_rad: float
) -> None:
    """Put a height map for Bullet where ODE has it: around the world's origin, turned by
    ``yaw_rad``. ``link`` is where its link is in the world."""
    heights = terrain.heights
    middle_m = float(heights.min() + heights.max()) / 2
    above_m = terrain.position[2]
    wanted = Pose.from_rpy(0.0, 0.0, above_m + middle_m, 0.0, 0.0, yaw_rad)
    _move(element, link.inverse() * wanted)
    size = element.find("geometry/heightmap/size")
    assert size is not None, "a height map without a size is none"
    sampling = number(document, element.find("geometry/heightmap"), "sampling", _SAMPLING)
    vertices = (len(heights) - 1) * max(1, round(sampling)) + 1
    wider = vertices / (vertices - 1)
    length_m, width_m, height_m = terrain.size
    set_numbers(size, length_m * wider, width_m * wider, height_m)


def _element_of(model: Element, shape: CollisionShape) -> Element:
    link = find_link(model, shape.link)
    assert link is not None, "includes are written out"
    own = shape.scoped_name.rpartition("::")[2]
    return next(c for c in link.iterchildren("collision") if c.get("name") == own)


def _share_friction(
    document: SdfDocument, scene: SceneModel, parts: Sequence[_Collision], engine: str
) -> Dict[str, Element]:
    """Give all collisions of a link the friction of those that stand on the floor, or that are
    floor; where there are none, the least. Returns those that were changed, as they were."""
    surfaces = [read_surface(document, element) for _, element in parts]
    if len({(surface.mu, surface.mu2) for surface in surfaces}) < 2:
        return {}
    parts_above_floor = set(scene.body_shapes)
    touching = [
        surface
        for (shape, _), surface in zip(parts, surfaces)
        if (shape.is_ground if scene.static else shape not in parts_above_floor)
    ]
    chosen = min(touching or surfaces, key=lambda surface: surface.mu + surface.mu2)
    model, link = scene.name, parts[0][0].link
    _warn_once(
        f"{document.source}: a link has one friction in {engine}: all collisions of "
        f"{model}::{link} get mu {chosen.mu:g}, mu2 {chosen.mu2:g}"
    )
    before = {}
    for (shape, element), surface in zip(parts, surfaces):
        if (surface.mu, surface.mu2) != (chosen.mu, chosen.mu2):
            before[shape.scoped_name] = copy.deepcopy(element)
            ode = element
            for tag in ("surface", "friction", "ode"):
                ode = ensure_child(ode, tag)
            set_numbers(ensure_child(ode, "mu"), chosen.mu)
            set_numbers(ensure_child(ode, "mu2"), chosen.mu2)
    return before


@functools.lru_cache(maxsize=None)
def _warn_once(text: str) -> None:
    LOGGER.warning(text)
