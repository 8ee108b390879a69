"""Takes a world file apart: what a server is started with, and what every trial brings anew.

Owns the division. The *base* is everything that cannot have changed when a trial ends:
lights, physics, and the static models. The *movables* are spawned for each trial, in file
order: every model that is not static, and every static one whose name says that it is a random
obstacle, so that worlds that differ in their obstacles alone share a base. Where these are more
than a server takes in less time than a new one takes to start, they stay in the base. The division
depends on the world alone, never on what a server did before. Talks to no server.
"""

import copy
import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Collection, Dict, Mapping, Optional, Pattern, Tuple

from lxml import etree

from gz_testauto.base.errors import SdfError, SimulatorError
from gz_testauto.base.pose import Pose
from gz_testauto.sampling.naming import is_obstacle
from gz_testauto.sdf.document import Element, SdfDocument
from gz_testauto.sdf.includes import ModelLibrary
from gz_testauto.sdf.plugins import without_plugins
from gz_testauto.sdf.scene import SceneModel, WorldScene, read_scene
from gz_testauto.simulators.gazebo.engines import fit, put_engine, require_engine, stated_engine
from gz_testauto.simulators.gazebo.instruments import RENDERED
from gz_testauto.simulators.interface import NamedModel, PhysicsSettings
from gz_testauto.simulators.world_models import check_shapes, physics_of

MOST_SPAWNED = 50
"""So many random obstacles are spawned for each trial. To spawn BARN's 418 cylinders took 7 to 11 s
in every trial; a server with them in its base took 3 s for each world and 0.7 s for a trial."""

_STATEFUL = ("plugin", "population", "road", "state")


@dataclass(frozen=True)
class SplitWorld:
    """A world, divided.

    ``base`` is the world text to start a server with, ``physics`` what the file itself says.
    ``poses`` has every model of the base, in the world frame, and ``links`` the poses of their
    links in the model's. ``reusable`` is False when the
    base holds something that a trial may change, such as a plugin: then every trial needs a
    fresh server. ``engine`` is the physics engine, ``stated_engine`` the one that the file states,
    and ``before`` has the collisions of the base that were changed for the engine, as they were.
    """

    name: str
    base: str
    movables: Tuple[NamedModel, ...]
    poses: Mapping[str, Pose]
    links: Mapping[str, Mapping[str, Pose]]
    physics: PhysicsSettings
    reusable: bool
    engine: str = "ode"
    stated_engine: str = "ode"
    before: Mapping[str, Element] = field(default_factory=dict)

    @property
    def fingerprint(self) -> str:
        """Equal for worlds that can share a server."""
        return hashlib.sha256(self.base.encode()).hexdigest()


def split_world(
    path: Path,
    update_rate_hz: float,
    obstacles: Optional[Pattern[str]] = None,
    most_spawned: float = MOST_SPAWNED,
    plugins: bool = True,
    engine: Optional[str] = None,
    meshes: Optional[Path] = None,
) -> SplitWorld:
    """Read and divide a ``.world`` file; the base gets ``update_rate_hz`` as its update rate.
    ``obstacles`` matches the whole names of random obstacles, by default the spawner's; static
    ones stay in the base where they are more than ``most_spawned``. Without ``plugins`` nothing
    in the world has any. ``engine`` is the physics engine, by default the one that it states.
    In ODE the base has height maps as meshes in the folder ``meshes``, where one is given.

    Raises ``SimulatorError`` that names what is broken or missing, before any server sees it.
    """
    try:
        library = ModelLibrary()
        world = SdfDocument.read(path)
        scene = read_scene(world if plugins else without_plugins(world, library))
        if scene.document.world is None:
            raise SdfError(f"{path}: has no <world>")
        check_shapes(scene)
        stated = stated_engine(scene.document.world)
        if engine is None:
            require_engine(scene.document)
            engine = stated
        document = scene.document.copy()
        physics = physics_of(document)
        static = [name for name, model in scene.models.items() if model.static]
        random = [name for name in static if is_obstacle(name, obstacles)]
        spawned = random if len(random) <= most_spawned else []
        spawned = [*spawned, *(name for name in static if _measures(scene.models[name]))]
        base, movables, before = _divide(document, scene, library, spawned, engine, meshes)
    except SdfError as error:
        raise SimulatorError(f"cannot load the world: {error}") from error
    _set_update_rate(base, update_rate_hz)
    if engine != stated:
        put_engine(base, engine)
    moved = {model.name for model in movables}
    stay = {name: model for name, model in scene.models.items() if name not in moved}
    return SplitWorld(
        name=scene.name or "default",
        base=etree.tostring(base.getroottree().getroot(), encoding="unicode"),
        movables=movables,
        poses={name: model.pose for name, model in stay.items()},
        links={name: _scoped_links(model) for name, model in stay.items()},
        physics=physics,
        reusable=not _is_stateful(base),
        engine=engine,
        stated_engine=stated,
        before=before,
    )


def model_text(element: Element, version: str, name: Optional[str] = None) -> str:
    """A ``<model>`` element as SDF text of its own."""
    root = etree.Element("sdf", version=version)
    model = copy.deepcopy(element)
    model.tail = None
    if name is not None:
        model.set("name", name)
    root.append(model)
    return str(etree.tostring(root, encoding="unicode"))


def _divide(
    document: SdfDocument,
    scene: WorldScene,
    library: ModelLibrary,
    spawned: Collection[str],
    engine: str,
    meshes: Optional[Path],
) -> Tuple[Element, Tuple[NamedModel, ...], Mapping[str, Element]]:
    """Take the models that are spawned out of ``document``, a copy of the scene's own: what is not
    static, and the static models that are ``spawned``. Returns the world without them, fitted to
    the engine, them in file order, and the collisions that were changed, as they were."""
    world = document.world
    assert world is not None, "the caller looks before"
    for actor in world.findall("actor"):  # bodies go their ways
        world.remove(actor)
    movables = []
    before: Dict[str, Element] = {}
    for model, element in zip(scene.models.values(), _placing_elements(scene, document)):
        if element.tag == "include":
            element = library.expand(document, element)
        else:
            library.absolutize(document, element)
            library.expand_all(document, element)
        if not model.static or model.name in spawned:
            version = document.root.get("version", "1.6")
            movables.append(NamedModel(model.name, model_text(element, version), model.pose))
            world.remove(element)
        else:
            before.update(fit(document, element, model, model.pose, engine, meshes))
    return world, tuple(movables), before


def _placing_elements(scene: WorldScene, document: SdfDocument) -> Tuple[Element, ...]:
    """The elements of ``document``, a copy, that correspond to the scene's models."""
    originals = list(scene.document.root.iter())
    copies = list(document.root.iter())
    position = {id(element): index for index, element in enumerate(originals)}
    return tuple(copies[position[id(model.element)]] for model in scene.models.values())


def _set_update_rate(world: Element, rate_hz: float) -> None:
    presets = world.findall("physics")
    if not presets:
        presets = [etree.SubElement(world, "physics", type="ode")]
        etree.SubElement(presets[0], "max_step_size").text = "0.001"
    for physics in presets:
        rate = physics.find("real_time_update_rate")
        if rate is None:
            rate = etree.SubElement(physics, "real_time_update_rate")
        rate.text = repr(float(rate_hz))


def _measures(model: SceneModel) -> bool:
    """Whether a model has sensors that Gazebo looks after together with the robot's, all of a kind
    at the highest rate of any: in the base, with a rate of their own, they would have the robot's
    miss their turn. What is spawned gets the robot's rate."""
    return any(
        sensor.get("type") not in RENDERED
        for _, node, _ in model.node.walk()
        for sensor in node.element.iter("sensor")
    )


def _is_stateful(world: Element) -> bool:
    if any(world.find(tag) is not None for tag in _STATEFUL):
        return True
    return any(
        next(model.iter(tag), None) is not None
        for model in world.findall("model")
        for tag in ("plugin", "sensor")
    )


def _scoped_links(model: SceneModel) -> Mapping[str, Pose]:
    """Pose of every link in the model's frame, by the name that Gazebo gives it."""
    return {f"{model.name}::{link}": pose for link, pose in model.links.items()}
