"""The models of a world file, each as SDF text of its own, as Gazebo is told to spawn it.

Owns what both ways to Gazebo need of a world file. Which models are spawned, and when, is theirs.
"""

import copy
from typing import Collection, Optional, Tuple

from lxml import etree

from gz_testauto.errors import SdfError
from gz_testauto.sdf.document import Element, SdfDocument
from gz_testauto.sdf.dynamics import read_gravity, read_physics
from gz_testauto.sdf.includes import ModelLibrary
from gz_testauto.sdf.scene import WorldScene
from gz_testauto.sdf.shapes import Capsule, Ellipsoid
from gz_testauto.simulators.interface import NamedModel, PhysicsSettings


def divide(
    document: SdfDocument,
    scene: WorldScene,
    library: ModelLibrary,
    spawned: Collection[str],
) -> Tuple[Element, Tuple[NamedModel, ...]]:
    """Take the models that are spawned out of ``document``, a copy of the scene's own: what is not
    static, and the static models that are ``spawned``. Returns the world without them, and them in
    file order."""
    world = document.world
    assert world is not None, "the caller looks before"
    movables = []
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
    return world, tuple(movables)


def physics_of(document: SdfDocument) -> PhysicsSettings:
    """The physics that a world file states, else Gazebo's own."""
    world = document.world
    assert world is not None, "the caller looks before"
    step_s = read_physics(document, world, "max_step_size")
    rate_hz = read_physics(document, world, "real_time_update_rate")
    return PhysicsSettings(
        step_size_s=step_s or 0.001,
        max_update_rate_hz=1000.0 if rate_hz is None else rate_hz,
        gravity_mps2=read_gravity(document, world),
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


def check_shapes(scene: WorldScene) -> None:
    """Refuse the shapes on which gzserver aborts."""
    for model in scene.models.values():
        for shape in model.collisions:
            if isinstance(shape.geometry, (Capsule, Ellipsoid)):
                raise SdfError(
                    f"{scene.document.source}: {shape.scoped_name} is a "
                    f"{type(shape.geometry).__name__.lower()}, on which Gazebo 11 aborts; make "
                    "it of boxes, cylinders and spheres, or simulate it by 'embedded'"
                )


def _placing_elements(scene: WorldScene, document: SdfDocument) -> Tuple[Element, ...]:
    """The elements of ``document``, a copy, that correspond to the scene's models."""
    originals = list(scene.document.root.iter())
    copies = list(document.root.iter())
    position = {id(element): index for index, element in enumerate(originals)}
    return tuple(copies[position[id(model.element)]] for model in scene.models.values())
