"""Visuals of models, and their comparison with the collision shapes.

A ``gpu_ray`` sensor of Gazebo sees visuals. By default, the simulators' sensors see collision
shapes.
"""

import contextlib
from typing import Iterator, NamedTuple, Optional, Sequence, Tuple

import numpy as np
from shapely.errors import GEOSException
from shapely.geometry.base import BaseGeometry

from gz_testauto.base.errors import SdfError
from gz_testauto.base.pose import Pose
from gz_testauto.sdf.document import Element, SdfDocument
from gz_testauto.sdf.geometry_reader import read_geometry
from gz_testauto.sdf.includes import ModelLibrary
from gz_testauto.sdf.meshes.slices import union
from gz_testauto.sdf.meshes.surfaces import Heightmap
from gz_testauto.sdf.scene import SceneModel, WorldScene
from gz_testauto.sdf.shapes import Geometry

MOST_M = 0.05

_Shape = Tuple[Pose, Geometry]


class Visual(NamedTuple):
    """A ``<visual>`` of a model.

    ``link`` is the name of its link in the model. ``pose`` is in the model frame.
    """

    scoped_name: str
    link: str
    pose: Pose
    document: SdfDocument
    element: Element

    def geometry(self, library: ModelLibrary) -> Optional[Geometry]:
        """Return the shape, or None without one. Raises ``SdfError`` if it is invalid."""
        element = self.element.find("geometry")
        return None if element is None else read_geometry(self.document, element, library)


def walk_visuals(model: SceneModel) -> Iterator[Visual]:
    """Yield all visuals of a model and of its nested models."""
    for scope, nested, nested_pose in model.node.walk():
        for link in nested.links:
            for element in link.element.findall("visual"):
                name = f"{model.name}::{scope}{link.name}::{(element.get('name') or '').strip()}"
                pose = nested_pose * nested.frames.of(element.find("pose"), link.name)
                yield Visual(name, scope + link.name, pose, nested.document, element)


def visual_shapes(model: SceneModel, library: ModelLibrary) -> Iterator[Tuple[Visual, Geometry]]:
    """Yield the visuals that have a shape."""
    for visual in walk_visuals(model):
        geometry = visual.geometry(library)
        if geometry is not None:
            yield visual, geometry


def models_with_other_visuals(scene: WorldScene, height_m: float) -> Tuple[str, ...]:
    """Return the names of the models whose visuals and collision shapes differ by more than
    :data:`MOST_M` at a height (m, world frame). Terrain and models with an invalid visual are
    omitted."""
    library = ModelLibrary()
    names = []
    for name, model in scene.models.items():
        # No simulator needs the visuals, so that their errors are not reported.
        with contextlib.suppress(SdfError, GEOSException):
            visuals = [
                (model.pose * visual.pose, geometry)
                for visual, geometry in visual_shapes(model, library)
            ]
            if _differs(model, visuals, height_m):
                names.append(name)
    return tuple(names)


def _differs(model: SceneModel, visuals: Sequence[_Shape], height_m: float) -> bool:
    collisions = [(shape.pose, shape.geometry) for shape in model.collisions]
    has_terrain = any(isinstance(geometry, Heightmap) for _, geometry in (*visuals, *collisions))
    if has_terrain or set(visuals) == set(collisions):
        return False
    seen, solid = _outline(visuals, height_m), _outline(collisions, height_m)
    if seen.is_empty or solid.is_empty:
        return bool(seen.is_empty != solid.is_empty)
    if np.abs(np.subtract(seen.bounds, solid.bounds)).max() > MOST_M:
        return True
    return not seen.symmetric_difference(solid).buffer(-MOST_M / 2).is_empty


def _outline(shapes: Sequence[_Shape], height_m: float) -> BaseGeometry:
    return union(geometry.footprint(pose, height_m, height_m) for pose, geometry in shapes)
