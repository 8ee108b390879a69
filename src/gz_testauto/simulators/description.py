"""Description of a world: links, joints, collisions, visuals, lights and their properties.

A description is read from the loaded SDF and updated with every property change, since simulators
do not report all properties.
"""

import copy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Set, Tuple

import numpy as np

from gz_testauto.base.errors import SdfError, SimulatorError
from gz_testauto.base.pose import Pose
from gz_testauto.base.registry import unknown_name
from gz_testauto.sdf.appearance import (
    Appearance,
    Light,
    new_light,
    read_appearance,
    read_lights,
    write_appearance,
    write_light,
)
from gz_testauto.sdf.document import Element, SdfDocument
from gz_testauto.sdf.dynamics import (
    GRAVITY_MPS2,
    Inertial,
    check_joints,
    read_gravity,
    read_inertial,
    read_joints,
    read_surface,
    write_friction,
    write_inertial,
)
from gz_testauto.sdf.edit import find_link, model_elements
from gz_testauto.sdf.includes import ModelLibrary
from gz_testauto.sdf.scene import WorldScene, placed_model
from gz_testauto.sdf.shapes import Plane
from gz_testauto.sdf.tree import ModelNode
from gz_testauto.sdf.values import ensure_child, set_numbers
from gz_testauto.simulators.changes import (
    LIMITS,
    Change,
    SetFriction,
    SetGravity,
    SetLight,
    SetMass,
    SetVisual,
    set_fields,
)

# the largest SDF text of a model to spawn
MOST_SDF_BYTES = 1_000_000
# gzserver stalls for a minute on a model with 10,000
MOST_COLLISIONS = 1_000


def check_model(name: str, sdf: str) -> None:
    """Raise ``SdfError`` for an unreadable mesh, an invalid inertia or joint, and if the SDF text,
    the number of collisions or the size of a collision is too large."""
    size = len(sdf.encode())
    if size > MOST_SDF_BYTES:
        raise SdfError(f"its SDF text has {size} bytes; the limit is {MOST_SDF_BYTES}")
    model = placed_model(sdf, name, Pose())
    if len(model.collisions) > MOST_COLLISIONS:
        raise SdfError(
            f"it has {len(model.collisions)} collisions; the limit is {MOST_COLLISIONS}, so divide "
            "it into several models"
        )
    for shape in model.collisions:
        bounds = shape.geometry.bounds(shape.local_pose)  # reads the file of a mesh
        if not (isinstance(shape.geometry, Plane) or np.abs(bounds).max() <= LIMITS["pose"]):
            raise SdfError(
                f"the collision {shape.scoped_name!r} extends more than {LIMITS['pose']:g} m from "
                "the origin of its model; correct its size, its pose or the scale of its mesh"
            )
    for link_name, nested_model, link, _ in model.node.walk_links():
        if link_name not in model.static_links:
            read_inertial(nested_model.document, link.element)
    check_joints(model.node)


@dataclass(frozen=True)
class LinkDescription:
    """The pose of a link in its model, and its inertia, which is None for a static link."""

    pose: Pose
    inertial: Optional[Inertial]

    @property
    def static(self) -> bool:
        return self.inertial is None


@dataclass(frozen=True)
class JointDescription:
    """A joint. ``kind`` is its SDF type, and ``axes`` the number of its axes. ``parent`` is a link,
    or None for the world."""

    kind: str
    parent: Optional[str]
    child: str
    axes: int


@dataclass(frozen=True)
class CollisionDescription:
    mu: float
    mu2: float


@dataclass(frozen=True)
class Description:
    """The changeable properties of the parts of a world, each by scoped name."""

    gravity_mps2: Tuple[float, float, float]
    links: Dict[str, LinkDescription] = field(default_factory=dict)
    joints: Dict[str, JointDescription] = field(default_factory=dict)
    collisions: Dict[str, CollisionDescription] = field(default_factory=dict)
    visuals: Dict[str, Appearance] = field(default_factory=dict)
    lights: Dict[str, Light] = field(default_factory=dict)

    @property
    def parts(self) -> Dict[str, Dict[str, Any]]:
        """For each type of part (:attr:`Change.part`), its parts by scoped name."""
        return {
            "link": self.links,
            "joint": self.joints,
            "collision": self.collisions,
            "visual": self.visuals,
            "light": self.lights,
        }

    def links_of(self, model: str) -> List[str]:
        """Return the scoped names of a model's links, in file order."""
        return [name for name in self.links if name.startswith(f"{model}::")]


class DescribedWorld:
    """Two descriptions of a world: ``now`` with all property changes, ``before`` without them."""

    def __init__(self, scene: WorldScene) -> None:
        self._library = ModelLibrary()
        gravity = GRAVITY_MPS2
        if scene.document.world is not None:
            gravity = read_gravity(scene.document, scene.document.world)
        self.now = Description(gravity)
        self._scoped_models: Set[str] = set()
        for model in scene.models.values():
            self._add_model(model.node)
        for name, _, light in read_lights(scene.document, self._library):
            self.now.lights.setdefault(name, light)
        self.before = copy.deepcopy(self.now)

    def copy(self) -> Description:
        """Return a copy of the current description."""
        return Description(self.now.gravity_mps2, *map(dict, self.now.parts.values()))

    def add(self, name: str, sdf: str) -> None:
        self._add_model(placed_model(sdf, name, Pose()).node)
        for current_table, loaded_table in zip(self.now.parts.values(), self.before.parts.values()):
            loaded_table.update(
                {n: value for n, value in current_table.items() if n.startswith(f"{name}::")}
            )

    def remove(self, name: str) -> None:
        self._scoped_models.discard(name)
        for description in (self.now, self.before):
            for part, table in description.parts.items():
                for scoped_name in [
                    n for n in table if part != "light" and n.startswith(f"{name}::")
                ]:
                    del table[scoped_name]

    def require(self, change: Change) -> None:
        """Raise ``SimulatorError`` if the part does not exist or no simulator can change it."""
        table = self.now.parts.get(change.part)
        if table is not None and change.name not in table:
            model = change.name.split("::")[0]
            of_model = [name for name in table if name.startswith(f"{model}::")]
            message = unknown_name(change.part, change.name, of_model or table)
            raise SimulatorError(f"{type(change).__name__}: {message}")
        scoped_models = [
            name for name in self._scoped_models if change.name.startswith(f"{name}::")
        ]
        if table is not None and change.part != "light" and scoped_models:
            raise SimulatorError(
                f"{type(change).__name__}: {change.name!r} is a part of the model "
                f"{scoped_models[0]!r}, "
                "and parts of a model whose name contains '::' cannot be changed; rename the model"
            )
        if change.part == "link" and self.now.links[change.name].static:
            raise SimulatorError(
                f"{type(change).__name__}: {change.name!r} is static, so it cannot move and has "
                "no mass"
            )
        if change.part != "joint":
            return
        joint = self.now.joints[change.name]
        if self.now.links[joint.child].static:
            raise SimulatorError(
                f"{type(change).__name__}: {change.name!r} is a joint of a static link, so it "
                "cannot move"
            )
        if joint.axes != 1:
            raise SimulatorError(
                f"{type(change).__name__}: {change.name!r} is a joint of the type {joint.kind!r} "
                f"with {joint.axes} axes; only a joint with one axis can be set"
            )

    def note(self, change: Change) -> None:
        """Update the description with a change that :meth:`require` accepts."""
        description, name = self.now, change.name
        if isinstance(change, SetMass):
            link = description.links[name]
            assert link.inertial is not None, "checked by require()"
            description.links[name] = replace(
                link, inertial=link.inertial.scaled_to(change.mass_kg)
            )
        elif isinstance(change, SetFriction):
            mu2 = change.mu if change.mu2 is None else change.mu2
            description.collisions[name] = CollisionDescription(change.mu, mu2)
        elif isinstance(change, SetVisual):
            description.visuals[name] = replace(description.visuals[name], **set_fields(change))
        elif isinstance(change, SetLight):
            description.lights[name] = replace(description.lights[name], **set_fields(change))
        elif isinstance(change, SetGravity):
            self.now = replace(description, gravity_mps2=change.mps2)

    def write_changes(self, path: Path) -> None:
        """Write the changed properties into the world file ``path``."""
        changed_tables = {
            part: {n: value for n, value in table.items() if self.before.parts[part][n] != value}
            for part, table in self.now.parts.items()
        }
        gravity = self.now.gravity_mps2
        if not any(changed_tables.values()) and gravity == self.before.gravity_mps2:
            return
        document = SdfDocument.read(path)
        writer = _PropertyWriter(document, self._library)
        writer.write(changed_tables)
        if gravity != self.before.gravity_mps2:
            writer.write_gravity(gravity)
        document.write(path)

    # private methods

    def _add_model(self, node: ModelNode) -> None:
        if "::" in node.name:
            self._scoped_models.add(node.name)
        static_links = frozenset(node.static_links())
        for link_name, model, link, pose in node.walk_links():
            scoped_name = f"{node.name}::{link_name}"
            self.now.links[scoped_name] = LinkDescription(
                pose,
                None if link_name in static_links else read_inertial(model.document, link.element),
            )
            for collision in link.element.findall("collision"):
                surface = read_surface(model.document, collision)
                name = f"{scoped_name}::{collision.get('name')}"
                self.now.collisions[name] = CollisionDescription(surface.mu, surface.mu2)
            for visual in link.element.findall("visual"):
                name = f"{scoped_name}::{visual.get('name')}"
                self.now.visuals[name] = read_appearance(model.document, visual)
        try:
            joints = read_joints(node)
        except SdfError:  # an unsupported type, whose properties this package cannot set
            joints = []
        for joint in joints:
            parent = None if joint.parent is None else f"{node.name}::{joint.parent}"
            self.now.joints[f"{node.name}::{joint.name}"] = JointDescription(
                joint.kind, parent, f"{node.name}::{joint.child}", len(joint.axes)
            )


class _PropertyWriter:
    def __init__(self, document: SdfDocument, library: ModelLibrary) -> None:
        self._document, self._library = document, library
        self._models = model_elements(document, library)

    def write(self, changed_tables: Mapping[str, Mapping[str, Any]]) -> None:
        """Write changed properties, by kind of part and by scoped name, to the document."""
        for name, link in changed_tables["link"].items():
            write_inertial(self._link_element(name), link.inertial)
        for name, collision in changed_tables["collision"].items():
            write_friction(self._part_element(name, "collision"), collision.mu, collision.mu2)
        for name, appearance in changed_tables["visual"].items():
            write_appearance(self._part_element(name, "visual"), appearance)
        self._write_lights(changed_tables["light"])

    def write_gravity(self, gravity_mps2: Tuple[float, float, float]) -> None:
        world = self._document.require_world()
        for physics in world.findall("physics"):
            for element in physics.findall("gravity"):
                physics.remove(element)
        set_numbers(ensure_child(world, "gravity"), *gravity_mps2)

    def _write_lights(self, lights: Mapping[str, Light]) -> None:
        for name, element, _ in list(read_lights(self._document, self._library)):
            if name not in lights:
                continue
            if element.tag == "include":
                light_element = new_light(name, lights[name])
                light_element.tail = element.tail
                element.getparent().replace(element, light_element)
            else:
                write_light(element, lights[name])

    def _link_element(self, scoped_name: str) -> Element:
        model, _, link = scoped_name.partition("::")
        element = self._models.get(model)
        if element is None:
            raise SdfError(
                f"{self._document.source}: the model {model!r} was not found, so its "
                "changes cannot be saved"
            )
        if element.tag == "include":
            element = self._models[model] = self._library.expand(self._document, element)
        self._library.expand_all(self._document, element)
        link_element = find_link(element, link)
        if link_element is None:
            raise SdfError(f"{self._document.source}: {model!r} has no link {link!r}")
        return link_element

    def _part_element(self, scoped_name: str, tag: str) -> Element:
        link, _, name = scoped_name.rpartition("::")
        for element in self._link_element(link).findall(tag):
            if element.get("name") == name:
                return element
        raise SdfError(f"{self._document.source}: {link!r} has no {tag} {name!r}")
