"""Check a directory of worlds from its files alone, and return the errors.

The check is independent of the generation: geometry is read from the files and collided by
separate shapes.
"""

import json
import math
import re
from pathlib import Path
from typing import List
from xml.etree import ElementTree

import fcl
import numpy as np
import yaml

from gz_testauto.sdf.meshes.surfaces import Mesh
from gz_testauto.sdf.scene import read_scene
from gz_testauto.sdf.shapes import Box, Cylinder, Plane, Sphere

TOLERATED_M = 1e-3
SUPPORT_M = 1e-3


def faults_of(directory: Path, workspace=None, item_sizes=None) -> List[str]:
    """All faults of a directory. ``workspace`` is (x_min, y_min, x_max, y_max); ``item_sizes`` has
    the radius and height (m) that must be free at each type's mission items."""
    manifest = json.loads((directory / "worlds.json").read_text())
    faults = []
    for listed in manifest["worlds"]:
        world = directory / listed["file"]
        faults += [f"{world.name}: {fault}" for fault in _unresolved(directory, world)]
        faults += [f"{world.name}: {fault}" for fault in _names(world)]
        models = _models(directory, world)
        mission = yaml.safe_load(world.with_suffix(".yaml").read_text()) or {}
        for fault in (
            *_penetrations(models),
            *_outside(models, workspace),
            *_unsupported(models),
            *_blocked(mission, models, item_sizes or {}),
        ):
            faults.append(f"{world.name}: {fault}")
    return faults


def _unresolved(directory, world):
    files = [world, *(directory / "models").rglob("*.sdf")]
    for file in files:
        for uri in ElementTree.parse(str(file)).iter("uri"):
            scheme, _, rest = uri.text.strip().partition("://")
            if scheme == "file" and rest.startswith("media/"):
                continue
            found = directory / "models" / rest if scheme == "model" else file.parent / rest
            if scheme not in ("model",) or not found.exists():
                yield f"{file.name}: {uri.text} does not resolve in the output"
            if (
                scheme == "model"
                and not (directory / "models" / rest.split("/")[0] / "model.config").exists()
            ):
                yield f"{file.name}: {uri.text} has no model.config"


def _names(world):
    root = ElementTree.parse(str(world)).getroot().find("world")
    names = [m.get("name") for m in root.findall("model")]
    names += [i.findtext("name") for i in root.findall("include") if i.findtext("name")]
    for name in names:
        if not re.fullmatch(r"[A-Za-z]\w*", name):
            yield f"{name!r} is no valid name"
        if names.count(name) > 1:
            yield f"{name!r} appears twice"


def _models(directory, world):
    scene = read_scene(world, [directory / "models"])
    return {name: model for name, model in scene.models.items() if not model.is_ground}


def _shape(geometry, pose, by_m):
    """An FCL object, smaller by ``by_m`` at each side."""
    transform = fcl.Transform(pose.rotation, np.asarray(pose.position))
    if isinstance(geometry, Box):
        return fcl.CollisionObject(
            fcl.Box(*(max(s - 2 * by_m, 1e-6) for s in geometry.size)), transform
        )
    if isinstance(geometry, Cylinder):
        shape = fcl.Cylinder(geometry.radius - by_m, geometry.length - 2 * by_m)
        return fcl.CollisionObject(shape, transform)
    if isinstance(geometry, Sphere):
        return fcl.CollisionObject(fcl.Sphere(geometry.radius - by_m), transform)
    assert isinstance(geometry, Mesh), geometry
    corners = geometry.surface.triangles.reshape(-1, 3)
    middle = (corners.min(axis=0) + corners.max(axis=0)) / 2
    extent = np.ptp(corners, axis=0)
    corners = middle + (corners - middle) * np.maximum(1 - 2 * by_m / extent, 1e-3)
    shape = fcl.BVHModel()
    faces = np.arange(len(corners)).reshape(-1, 3)
    shape.beginModel(len(faces), len(corners))
    shape.addSubModel(corners, faces)
    shape.endModel()
    return fcl.CollisionObject(shape, transform)


def _collide(one, other):
    return fcl.collide(one, other, fcl.CollisionRequest(), fcl.CollisionResult()) > 0


def _near(one, other, margin=0.01):
    a, b = one.bounds, other.bounds
    return bool((a[:, 0] <= b[:, 1] + margin).all() and (b[:, 0] <= a[:, 1] + margin).all())


def _shapes(model, by_m, down_m=0.0):
    from gz_testauto.base.pose import Pose

    lowered = Pose((0.0, 0.0, -down_m))
    return [_shape(s.geometry, lowered * s.pose, by_m) for s in model.collisions]


def _penetrations(models):
    there = list(models.values())
    for number, one in enumerate(there):
        for other in there[:number]:
            if not _near(one, other):
                continue
            small = _shapes(one, TOLERATED_M / 2), _shapes(other, TOLERATED_M / 2)
            if any(_collide(a, b) for a in small[0] for b in small[1]):
                yield f"{one.name} and {other.name} penetrate each other"
    for model in there:
        is_ground = any(isinstance(s.geometry, Plane) for s in model.collisions)
        if not is_ground and model.bounds[2, 0] < -TOLERATED_M:
            yield f"{model.name} is {-model.bounds[2, 0]:.4f} m in the ground"


def _outside(models, workspace):
    if workspace is None:
        return
    x_min, y_min, x_max, y_max = workspace
    for model in models.values():
        (x0, x1), (y0, y1), _ = model.bounds
        if x0 < x_min - 1e-6 or y0 < y_min - 1e-6 or x1 > x_max + 1e-6 or y1 > y_max + 1e-6:
            yield f"{model.name} is outside of the workspace"


def _unsupported(models):
    for model in models.values():
        if abs(model.bounds[2, 0]) <= SUPPORT_M:
            continue
        lowered = _shapes(model, 0.0, SUPPORT_M)
        if not any(
            _collide(a, b)
            for other in models.values()
            if other is not model and _near(model, other)
            for a in lowered
            for b in _shapes(other, 0.0)
        ):
            yield f"{model.name} stands on nothing, {model.bounds[2, 0]:.4f} m high"


def _blocked(mission, models, item_sizes):
    for kind, items in mission.items():
        radius, height = item_sizes.get(kind, (4e-6, 0.3))
        for item in items:
            assert set(item) == {"heading", "x", "y", "z"}
            assert all(math.isfinite(value) for value in item.values())
            middle = np.array([item["x"], item["y"], item["z"] + 1e-3 + height / 2])
            body = fcl.CollisionObject(
                fcl.Cylinder(radius, height), fcl.Transform(np.eye(3), middle)
            )
            for model in models.values():
                if any(_collide(body, shape) for shape in _shapes(model, 0.0)):
                    yield f"{kind} at {item['x']:.2f} {item['y']:.2f} is inside of {model.name}"
