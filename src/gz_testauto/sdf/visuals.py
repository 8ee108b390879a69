"""Compare the visuals of models with their collision shapes.

A ``gpu_ray`` sensor of Gazebo sees visuals. All sensors of the simulators see collision shapes.
"""

import contextlib
from typing import List, Sequence, Tuple

import numpy as np
from shapely.errors import GEOSException
from shapely.geometry.base import BaseGeometry

from gz_testauto.base.errors import SdfError
from gz_testauto.base.pose import Pose
from gz_testauto.sdf.geometry_reader import read_geometry
from gz_testauto.sdf.includes import ModelLibrary
from gz_testauto.sdf.meshes.slices import union
from gz_testauto.sdf.meshes.surfaces import Heightmap
from gz_testauto.sdf.scene import SceneModel, WorldScene
from gz_testauto.sdf.shapes import Geometry
from gz_testauto.sdf.values import required

MOST_M = 0.05

_Shape = Tuple[Pose, Geometry]


def models_with_other_visuals(scene: WorldScene, height_m: float) -> Tuple[str, ...]:
    """Return the names of the models whose visuals and collision shapes differ by more than
    :data:`MOST_M` at a height (m, world frame). Terrain and models with an invalid visual are
    omitted."""
    library = ModelLibrary()
    names = []
    for name, model in scene.models.items():
        # No simulator needs the visuals, so that their errors are not reported.
        with contextlib.suppress(SdfError, GEOSException):
            if _differs(model, _read_visuals(model, library), height_m):
                names.append(name)
    return tuple(names)


def _read_visuals(model: SceneModel, library: ModelLibrary) -> List[_Shape]:
    shapes = []
    for _, nested, nested_pose in model.node.walk():
        for link in nested.links:
            for visual in link.element.findall("visual"):
                element = required(nested.document, visual, "geometry")
                geometry = read_geometry(nested.document, element, library)
                if geometry is not None:
                    pose = nested_pose * nested.frames.of(visual.find("pose"), link.name)
                    shapes.append((model.pose * pose, geometry))
    return shapes


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
