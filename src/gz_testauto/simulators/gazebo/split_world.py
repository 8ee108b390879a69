"""Division of a world file into a base, with which a server starts, and models to spawn.

The *base* contains all elements that a trial cannot change: lights, physics settings, and static
models. The *movables* are spawned in each trial, in file order: all models that are not static,
and all random obstacles.
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
from gz_testauto.sdf.values import ensure_child
from gz_testauto.simulators.gazebo.adapted_robot import CONE
from gz_testauto.simulators.gazebo.engines import (
    adapt_model,
    require_engine,
    set_engine,
    stated_engine,
)
from gz_testauto.simulators.gazebo.instruments import RENDERED
from gz_testauto.simulators.interface import NamedModel
from gz_testauto.simulators.world_file import PhysicsSettings, check_shapes, physics_of

# Spawning the 418 cylinders of a BARN world took 7 to 11 s in every trial. With the cylinders
# in the base, the server took 3 s per world and 0.7 s per trial.
MAX_SPAWNED = 50

_STATEFUL = ("plugin", "population", "road", "state")


@dataclass(frozen=True)
class SplitWorld:
    """A divided world.

    ``base`` is SDF text. ``poses`` contains the world-frame poses of the models of the base, and
    ``links`` the poses of their links in the model frame. ``reusable`` is False if the base has an
    element that a trial can change, such as a plugin. ``stated_engine`` is the engine in the
    file. ``originals`` contains the collisions of the base that were adapted to ``engine``.
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
    originals: Mapping[str, Element] = field(default_factory=dict)

    @property
    def fingerprint(self) -> str:
        """A hash value that is equal for worlds that can share a server."""
        return hashlib.sha256(self.base.encode()).hexdigest()


def split_world(
    path: Path,
    update_rate_hz: float,
    obstacles: Optional[Pattern[str]] = None,
    plugins: bool = True,
    engine: Optional[str] = None,
    meshes: Optional[Path] = None,
    cone: bool = False,
) -> SplitWorld:
    """Read and divide a ``.world`` file.

    ``obstacles`` matches the whole names of random obstacles, by default those of the spawner. If
    more than ``MAX_SPAWNED`` of them are static, they belong to the base. ``plugins`` keeps the
    plugins of the world. ``engine`` is by default that of the file. For ODE, height maps of the
    base become meshes in the folder ``meshes``. With ``cone``, ODE limits friction by a cone.

    Raises ``SimulatorError`` for an invalid or missing element.
    """
    try:
        library = ModelLibrary()
        world = SdfDocument.read(path)
        scene = read_scene(world if plugins else without_plugins(world, library))
        stated_name = stated_engine(scene.document.require_world())
        check_shapes(scene)
        if engine is None:
            require_engine(scene.document)
            engine = stated_name
        document = scene.document.copy()
        physics = physics_of(document)
        static_names = [name for name, model in scene.models.items() if model.static]
        random_names = [name for name in static_names if is_obstacle(name, obstacles)]
        spawned_names = random_names if len(random_names) <= MAX_SPAWNED else []
        spawned_names = [
            *spawned_names,
            *(name for name in static_names if _has_unrendered_sensor(scene.models[name])),
        ]
        base, movables, originals = _divide(document, scene, library, spawned_names, engine, meshes)
    except SdfError as error:
        raise SimulatorError(f"cannot load the world: {error}") from error
    _set_update_rate(base, update_rate_hz)
    if engine != stated_name:
        set_engine(base, engine)
    if cone and engine == "ode":
        _set_cone_friction(base)
    movable_names = {model.name for model in movables}
    static_models = {
        name: model for name, model in scene.models.items() if name not in movable_names
    }
    return SplitWorld(
        name=scene.name or "default",
        base=etree.tostring(base.getroottree().getroot(), encoding="unicode"),
        movables=movables,
        poses={name: model.pose for name, model in static_models.items()},
        links={
            name: {f"{name}::{link}": pose for link, pose in model.links.items()}
            for name, model in static_models.items()
        },
        physics=physics,
        reusable=not _is_stateful(base),
        engine=engine,
        stated_engine=stated_name,
        originals=originals,
    )


def model_text(element: Element, version: str, name: Optional[str] = None) -> str:
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
    spawned_names: Collection[str],
    engine: str,
    meshes: Optional[Path],
) -> Tuple[Element, Tuple[NamedModel, ...], Mapping[str, Element]]:
    """Remove the models to spawn from ``document``, a copy of the document of the scene.

    Return the adapted world, the removed models in file order, and the original collisions of the
    base that were adapted.
    """
    world = document.require_world()
    for actor in world.findall("actor"):  # actors of Gazebo, which have no collisions
        world.remove(actor)
    movables = []
    originals: Dict[str, Element] = {}
    for model, element in zip(scene.models.values(), _placing_elements(scene, document)):
        if element.tag == "include":
            element = library.expand(document, element)
        else:
            library.absolutize(document, element)
            library.expand_all(document, element)
        if not model.static or model.name in spawned_names:
            version = document.root.get("version", "1.6")
            movables.append(NamedModel(model.name, model_text(element, version), model.pose))
            world.remove(element)
        else:
            originals.update(adapt_model(document, element, model, model.pose, engine, meshes))
    return world, tuple(movables), originals


def _placing_elements(scene: WorldScene, document: SdfDocument) -> Tuple[Element, ...]:
    """Return the element of each model of ``scene`` in ``document``, a copy of its document."""
    originals = list(scene.document.root.iter())
    copies = list(document.root.iter())
    index_of = {id(element): index for index, element in enumerate(originals)}
    return tuple(copies[index_of[id(model.element)]] for model in scene.models.values())


def _set_update_rate(world: Element, rate_hz: float) -> None:
    presets = world.findall("physics")
    if not presets:
        presets = [etree.SubElement(world, "physics", type="ode")]
        etree.SubElement(presets[0], "max_step_size").text = "0.001"
    for physics in presets:
        ensure_child(physics, "real_time_update_rate").text = repr(float(rate_hz))


def _set_cone_friction(world: Element) -> None:
    for physics in world.findall("physics"):
        solver = ensure_child(ensure_child(physics, "ode"), "solver")
        ensure_child(solver, "friction_model").text = CONE


def _has_unrendered_sensor(model: SceneModel) -> bool:
    # Gazebo updates all sensors of one type at the highest of their rates. In the base, these
    # sensors would keep their own rates and delay the robot's sensors.
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
