"""Read the model file of a robot as SDF for Gazebo 11: SDF, URDF, xacro or a Gazebo Sim model."""

import logging
from pathlib import Path
from typing import FrozenSet, List, NamedTuple, Optional, Tuple

from lxml import etree

from gz_testauto.base import resources
from gz_testauto.base.description_files import XACRO
from gz_testauto.base.disk import read_input
from gz_testauto.base.errors import ResourceError, SdfError
from gz_testauto.base.xml_file import parse_xml
from gz_testauto.sdf.document import Element, SdfDocument
from gz_testauto.sdf.urdf.converter import convert_urdf
from gz_testauto.sdf.urdf.xacro import XacroInput, expand_xacro
from gz_testauto.sdf.values import remove_child

LOGGER = logging.getLogger(__name__)

_MACRO = b"<xacro:"
_GAZEBO_SIM_LIDARS = ("gpu_lidar", "lidar")


class RobotFile(NamedTuple):
    """The SDF of a model file, in which the ``lidar`` and ``gpu_lidar`` sensors of Gazebo Sim are
    ``ray`` sensors. ``gpu_lidars`` are the scoped names of those that were a ``gpu_lidar``."""

    document: SdfDocument
    is_urdf: bool
    gpu_lidars: FrozenSet[str] = frozenset()


def is_converted(path: Path) -> bool:
    """Return whether the SDF is generated from this file, which is URDF or xacro."""
    return path.suffix in (".urdf", XACRO)


def runs_xacro(path: Path) -> bool:
    """Return whether a model file or directory contains expressions of xacro."""
    try:
        path = resources.model_file(path)
        return path.suffix == XACRO or (is_converted(path) and _MACRO in read_input(path, SdfError))
    except (ResourceError, SdfError):  # reported when the model is read
        return False


def read_robot_file(path: Path, xacro: Optional[XacroInput] = None) -> RobotFile:
    """Read a model file. Raises ``SdfError`` if it cannot be read or converted, and
    ``MissingDependencyError`` if xacro is not installed.
    """
    is_urdf = False
    if is_converted(path):
        document, is_urdf = _convert(path, xacro or XacroInput(key="robot.xacro"))
    elif xacro is not None:
        raise SdfError(f"{path} is not a xacro file; remove the key robot.xacro, or use .xacro")
    else:
        document = SdfDocument.read(path)
    gpu_lidars = set()
    for sensor in document.root.iter("sensor"):
        if sensor.get("type") in _GAZEBO_SIM_LIDARS:
            if sensor.get("type") == "gpu_lidar":
                gpu_lidars.add(f"{sensor.getparent().get('name')}::{sensor.get('name')}")
            sensor.set("type", "ray")
            for lidar in sensor.findall("lidar"):
                lidar.tag = "ray"
    return RobotFile(document, is_urdf, frozenset(gpu_lidars))


def _convert(path: Path, xacro: XacroInput) -> Tuple[SdfDocument, bool]:
    content = read_input(path, SdfError)
    source = str(path)
    if path.suffix == XACRO or _MACRO in content:
        content = expand_xacro(path, xacro)
        source = f"{path} (expanded by xacro)"
        if parse_xml(content).tag == "sdf":
            return SdfDocument.parse(content, source, path=path), False
    root = convert_urdf(content, source)
    _remove_visuals_without_mesh(root, path)
    return SdfDocument(root, etree.tostring(root), source, path), True


def _remove_visuals_without_mesh(root: Element, path: Path) -> None:
    # Visuals do not affect physics and ray sensors.
    missing_files: List[str] = []
    for visual in list(root.iter("visual")):
        uri = visual.findtext("geometry/mesh/uri")
        try:
            if uri is None or resources.resolve(uri, path).exists():
                continue
        except ResourceError:
            pass
        missing_files.append(uri)
        remove_child(visual)
    if missing_files:
        LOGGER.info(
            "%s: %d visuals without a mesh file were removed: %s",
            path,
            len(missing_files),
            ", ".join(sorted(set(missing_files))),
        )
