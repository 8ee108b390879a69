"""Gazebo worlds from drawn scenes, and the only conversion from Scenic's frames to those of SDF.

A model in its own size becomes an ``<include>``; a resized model, or an object that only the
program describes, a complete ``<model>``.
"""

import copy
import hashlib
import math
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

import numpy as np
from lxml import etree

from gz_testauto.base import resources
from gz_testauto.base.errors import SpecError
from gz_testauto.base.pose import Pose
from gz_testauto.extras.scenic.library import PlacedModel
from gz_testauto.extras.scenic.names import SceneName
from gz_testauto.extras.scenic.packing import ModelPack, mesh_model
from gz_testauto.extras.scenic.stretch import stretch_model
from gz_testauto.sdf.document import Element, SdfDocument
from gz_testauto.sdf.includes import ModelLibrary
from gz_testauto.sdf.shapes import Box, Cylinder
from gz_testauto.sdf.values import set_numbers, set_pose

SAME_SIZE = 1e-9
DENSITY_KGPM3 = 100.0
_GREY = (0.6, 0.6, 0.6, 1.0)


def scenic_pose(obj: Any) -> Pose:
    """Return the pose of the center in Scenic's axes, in which +y is the front."""
    x, y, z = (float(value) + 0.0 for value in obj.position)
    i, j, k, w = (float(value) for value in obj.orientation.getRotation().as_quat())
    norm = math.sqrt(i * i + j * j + k * k + w * w)
    return Pose((x, y, z), (i / norm, j / norm, k / norm, w / norm))


def expanded_world(content: bytes, name: str, models: Path) -> SdfDocument:
    """Return a world with expanded includes and absolute URIs. Files are searched in ``models``
    first."""
    document = SdfDocument.parse(content.decode("utf-8"), name)
    library = ModelLibrary((models, *resources.model_path()))
    library.expand_all(document, document.root)
    library.absolutize(document, document.root)
    return document


def size_of(obj: Any) -> Tuple[float, float, float]:
    """Return the width, length and height (m) of a Scenic object."""
    return float(obj.width), float(obj.length), float(obj.height)


def model_pose(obj: Any, model: PlacedModel) -> Pose:
    """Return the pose of the origin of an object's model, in the axes of the model."""
    pose = scenic_pose(obj) * Pose.from_rpy(0, 0, 0, 0, 0, model.turn_rad)
    if model.solid is None:
        return pose
    x, y, z = (-model.solid.center * model.factors(size_of(obj))).tolist()
    return pose * Pose((x, y, z))


def check_size(name: SceneName, obj: Any, model: PlacedModel, place: str) -> bool:
    """Return whether the size of an object differs from that of its model. Raises ``SpecError`` if
    it differs and the model has a fixed size."""
    factors = model.factors(size_of(obj))
    if model.solid is None or np.abs(factors - 1).max() <= SAME_SIZE:
        return False
    if model.spec.dynamic_size is False:
        requested = " × ".join(f"{value:g}" for value in size_of(obj))
        fixed = " × ".join(f"{value:g}" for value in model.size)
        raise SpecError(
            f"{place}: {name.text} has the size {requested} m (width × length × height), but the "
            f"size of model {model.spec.name!r} is fixed to {fixed} m by `dynamic_size: false` in "
            "the descriptor; remove this key, or the size"
        )
    return True


class WorldWriter:
    """A writer of the worlds of one program. ``base`` is the world to which objects are added;
    ``pack`` must contain its files."""

    def __init__(
        self,
        base: SdfDocument,
        models: Mapping[str, PlacedModel],
        pack: ModelPack,
        model_path: Sequence[Any],
        place: str,
    ) -> None:
        self._base = base
        self._models = models
        self._pack = pack
        self._library = ModelLibrary(model_path, repair=True)
        self._place = place

    def write(
        self, objects: Sequence[Tuple[SceneName, Any]]
    ) -> Tuple[bytes, Dict[str, bytes], Dict[str, Element]]:
        """Return the world file, further files of this world only, and SDF elements by name. Agents
        are among the elements, but not in the world file."""
        document = self._base.copy()
        world = document.world
        files: Dict[str, bytes] = {}
        elements: Dict[str, Element] = {}
        for name, obj in objects:
            model = self._models.get(obj.gz_model)
            if model is not None and model.spec.mission_only:
                continue
            if model is None:
                element = self._model_of_shape(name, obj, files)
            elif check_size(name, obj, model, self._place):
                element = self._resized_model(name, obj, model)
            else:
                element = _include_element(name, obj, model)
            elements[name.text] = element
        # agents are spawned in trials
        acting = {name.text for name, obj in objects if obj.behavior is not None}
        _append_indented(
            world, [element for name, element in elements.items() if name not in acting]
        )
        return document.to_bytes(), files, elements

    def world_of(self, elements: List[Element]) -> bytes:
        root = etree.Element("sdf", version=self._base.root.get("version"))
        etree.SubElement(root, "world", name="acting").extend(elements)
        return bytes(etree.tostring(root))

    def _resized_model(self, name: SceneName, obj: Any, model: PlacedModel) -> Element:
        version = self._base.root.get("version")
        text = (
            f'<sdf version="{version}"><world name="w"><include><uri>{model.directory}</uri>'
            "</include></world></sdf>"
        )
        document = SdfDocument.parse(text, str(model.sdf))
        assert document.world is not None
        element = self._library.expand(document, document.world.find("include"))
        self._library.expand_all(document, element)
        stretch_model(document, element, model.factors(size_of(obj)))
        self._pack.settle(document, element)
        element = copy.deepcopy(element)
        element.set("name", name.text)
        set_pose(element, model_pose(obj, model))
        return element

    def _model_of_shape(self, name: SceneName, obj: Any, files: Dict[str, bytes]) -> Element:
        from scenic.core.shapes import BoxShape

        acts = obj.behavior is not None
        moves = not obj.static or acts
        element = etree.Element("model", name=name.text)
        etree.SubElement(element, "static").text = "false" if moves else "true"
        etree.SubElement(element, "pose").text = scenic_pose(obj).to_text()
        link = etree.SubElement(element, "link", name="link")
        size = size_of(obj)
        mesh = None if isinstance(obj.shape, BoxShape) else _scaled_mesh(obj)
        round_shape = _cylinder_of(obj) if acts else None
        if moves:
            link.append(_inertial_element(obj, size, mesh, round_shape))
        uri = None
        if mesh is not None and round_shape is None:
            content: bytes = mesh.export(file_type="stl")
            folder = f"shape_{hashlib.sha256(content).hexdigest()[:12]}"
            files.update(mesh_model(folder, content))
            uri = f"model://{folder}/meshes/shape.stl"
        for kind in ("collision", "visual"):
            part = etree.SubElement(link, kind, name=kind)
            geometry = etree.SubElement(part, "geometry")
            if round_shape is not None:
                cylinder = etree.SubElement(geometry, "cylinder")
                set_numbers(etree.SubElement(cylinder, "radius"), round_shape.radius)
                set_numbers(etree.SubElement(cylinder, "length"), round_shape.length)
            elif uri is None:
                set_numbers(etree.SubElement(etree.SubElement(geometry, "box"), "size"), *size)
            else:
                etree.SubElement(etree.SubElement(geometry, "mesh"), "uri").text = uri
        _set_color(part, obj.color)
        return element


def _include_element(name: SceneName, obj: Any, model: PlacedModel) -> Element:
    assert model.directory is not None
    include = etree.Element("include")
    etree.SubElement(include, "name").text = name.text
    etree.SubElement(include, "uri").text = f"model://{model.directory.name}"
    etree.SubElement(include, "pose").text = model_pose(obj, model).to_text()
    return include


def _scaled_mesh(obj: Any) -> Any:
    mesh = obj.shape.mesh.copy()
    mesh.apply_transform(np.diag([*size_of(obj), 1.0]))
    return mesh


def mass_kg(obj: Any, model: Optional[PlacedModel]) -> float:
    """Return the mass of the resized model, or volume times density without a model."""
    if model is not None and model.solid is not None:
        return float(model.solid.mass_kg * np.prod(model.factors(size_of(obj))))
    density = float(getattr(obj, "density", None) or DENSITY_KGPM3)
    return density * float(obj.shape.mesh.volume) * float(np.prod(size_of(obj)))


def _cylinder_of(obj: Any) -> Optional[Cylinder]:
    from scenic.core.shapes import CylinderShape

    width, length, height = size_of(obj)
    if not isinstance(obj.shape, CylinderShape) or abs(width - length) > SAME_SIZE:
        return None
    return Cylinder(width / 2, height)


def _inertial_element(
    obj: Any, size: Tuple[float, float, float], mesh: Any, round_shape: Optional[Cylinder]
) -> Element:
    density = float(getattr(obj, "density", None) or DENSITY_KGPM3)
    inertial = etree.Element("inertial")
    center = np.zeros(3)
    if round_shape is not None:
        mass = density * np.pi * round_shape.radius**2 * round_shape.length
        tensor = np.diag(round_shape.inertia_kgm2(mass))
    elif mesh is None:
        mass = density * float(np.prod(size))
        tensor = np.diag(Box(size).inertia_kgm2(mass))
    else:
        mesh.density = density
        mass, center, tensor = float(mesh.mass), mesh.center_mass, mesh.moment_inertia
    x, y, z = map(float, center)
    etree.SubElement(inertial, "pose").text = Pose((x, y, z)).to_text()
    set_numbers(etree.SubElement(inertial, "mass"), mass)
    inertia = etree.SubElement(inertial, "inertia")
    for row, row_axis in enumerate("xyz"):
        for column, column_axis in enumerate("xyz"):
            if row <= column:
                tag = f"i{row_axis}{column_axis}"
                set_numbers(etree.SubElement(inertia, tag), float(tensor[row, column]))
    return inertial


def _set_color(visual: Element, color: Any) -> None:
    values = _GREY if color is None else tuple(float(value) for value in color)
    material = etree.SubElement(visual, "material")
    for tag in ("ambient", "diffuse"):
        set_numbers(
            etree.SubElement(material, tag), *(values if len(values) == 4 else (*values, 1))
        )


def _append_indented(world: Element, elements: List[Element]) -> None:
    indent = world.text if world.text and not world.text.strip() else "\n    "
    for element in elements:
        etree.indent(element, space="  ", level=2)
        if len(world):
            element.tail = world[-1].tail
            world[-1].tail = indent
        else:
            world.text, element.tail = indent, "\n  "
        world.append(element)
