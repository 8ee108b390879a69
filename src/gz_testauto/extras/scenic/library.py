"""The Scenic library of a model descriptor: a class for each model, and GzScenic's functions.

Programs use it without an import; ``model gzscenic.model`` and ``from gzscenic.model import *`` are
also accepted.
"""

import collections
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Tuple

import numpy as np

from gz_testauto.base import resources
from gz_testauto.base.errors import GzTestautoError, SpecError
from gz_testauto.base.pose import Pose
from gz_testauto.extras.scenic.descriptor import (
    MISSION_HEIGHT_M,
    MISSION_SIDE_M,
    WALL,
    DescriptorSpec,
    ModelSpec,
    class_name,
)
from gz_testauto.extras.scenic.model_search import ModelSearch
from gz_testauto.extras.scenic.solids import THINNEST_M, Solid, solid_of
from gz_testauto.sdf.missing import without_missing_hint
from gz_testauto.spec.yaml_source import YamlSource, read_yaml_text

DEFAULT_WORKSPACE_M = (5.0, 10.0)  # size along x and y

GROWTH = (0.5, 2.0)  # smallest and largest factor of a drawn size, as in GzScenic

_HEAD = '''\
from gz_testauto.extras.scenic.scene_objects import SceneObject
from gz_testauto.extras.scenic.library import shape_of

Object = SceneObject

_default_region = RectangularRegion(0 @ 0, 0, {width!r}, {length!r})
{workspace}

class Placed(SceneObject):
    """A model of the descriptor, by default anywhere in the workspace with any heading."""
    position: new Point in _region_of_workspace()
    yaw: Range(0, 360) deg


class MissionItem(Placed):
    """A mission item, which is not in the world. Its origin is at its base."""
    _middle_share = 0.5


{wall}def create_room(length, width, x=0, y=0, sides='NSWE', height={wall_height!r}, thickness=0.1):
    """Create walls around a room of a length (along y) and width (along x), centered at x, y.

    The center of each wall is 0.1 m inside the room's border. Walls touch at the corners.
    """
    unknown = set(sides) - set('NSWE')
    if unknown:
        raise ValueError(f"sides is {{sides!r}}; it can contain the letters N, S, W and E")
    north = y + length / 2 - 0.1
    south = y - length / 2 + 0.1
    east = x + width / 2 - 0.1
    west = x - width / 2 + 0.1
    across = width - 0.2 + thickness
    along = length - 0.2 - thickness
    walls = []
    for side, place, heading, size in (
        ('N', x @ north, 90 deg, across), ('S', x @ south, 90 deg, across),
        ('E', east @ y, 0 deg, along), ('W', west @ y, 0 deg, along)):
        if side in sides:
            walls.append(new GreyWall at place, facing heading, with length size,
                with width thickness, with height height)
    return walls
'''

_WALL = '''\
class GreyWall(Placed):
    """A wall of {wall_height!r} m."""
    yaw: 0
    width: 0.1
    length: 1.0
    height: {wall_height!r}
    is_wall: True
    color: (0.6, 0.6, 0.6)


'''

_IN_TIME = '''

from gz_testauto.extras.scenic.dynamic.actions import *


behavior Stand():
    """Stay in the same place."""
    while True:
        take SetVelocityAction(0, 0)


behavior WalkTo(point, speed=1.4):
    """Walk straight to a point at a speed (m/s), facing it, and stop there."""
    while (distance from self.position.x @ self.position.y to point.x @ point.y) > NEAR_M:
        take WalkTowardAction(point, speed)
    take SetVelocityAction(0, 0)


behavior WalkAlong(points, speed=1.4):
    """Walk to several points in order."""
    for point in points:
        do WalkTo(point, speed)


behavior SlideBy(offset, seconds):
    """Move by an offset along the object's own axes (across @ along), without turning."""
    target = self.position offset along self.heading by offset
    speed = (distance from self.position to target) / seconds
    while (distance from self.position to target) > NEAR_M:
        take SlideTowardAction(target, speed)
    take SetVelocityAction(0, 0)
'''

_WITH_WORKSPACE = """\
workspace = Workspace(_default_region)

def _region_of_workspace():
    return workspace
"""
_WITHOUT_WORKSPACE = """\
def _region_of_workspace():
    from gz_testauto.extras.scenic.library import workspace_region
    return workspace_region(_default_region)
"""

WALL_HEIGHT_M = 1.0

SUNK_M = 0.01  # depth below the ground from which a model is reported


@dataclass(frozen=True, eq=False)
class PlacedModel:
    """A model of the descriptor with its measured properties.

    ``turn_rad`` is the rotation from Scenic's frame, in which +y is the front, to the frame of the
    model. ``size`` is Scenic's width, length and height (m). ``directory`` and ``sdf`` are None for
    a mission item.
    """

    spec: ModelSpec
    size: Tuple[float, float, float]
    turn_rad: float
    solid: Optional[Solid] = None
    directory: Optional[Path] = None
    sdf: Optional[Path] = None

    @property
    def notes(self) -> Tuple[str, ...]:
        """A note if the key ``z`` places the model below a ground at height 0."""
        if self.solid is None or self.spec.z is None:
            return ()
        base_m = self.spec.z + float(self.solid.center[2] - self.solid.size[2] / 2)
        if base_m > -SUNK_M:
            return ()
        return (
            f"{self.spec.name}: with the descriptor's z of {self.spec.z:g}, its base is at "
            f"{base_m:.2f} m, and a simulator pushes it out of a ground at height 0 unless it is "
            "static; remove z to place it on the ground",
        )

    def factors(self, size: Tuple[float, float, float]) -> np.ndarray:
        """Return the scale factors (3,) along the model's axes for a width, length and height."""
        across, along, up = (new / old for new, old in zip(size, self.size))
        return np.array([along, across, up] if self.turn_rad else [across, along, up])


def models_of(
    descriptor: DescriptorSpec, search: ModelSearch, source: str
) -> Dict[str, PlacedModel]:
    """Return the models by name. Raises ``SpecError`` for all that do not exist or cannot be
    placed."""
    placed_models: Dict[str, PlacedModel] = {}
    faults: List[str] = []
    for number, spec in enumerate(descriptor.models):
        try:
            placed_models[spec.name] = _read_model(spec, search)
        except GzTestautoError as error:
            faults.append(f"{_location_of(source, number)}: {error.full}")
    if faults:
        raise SpecError("\n".join(faults))
    return placed_models


def _location_of(source: str, number: int) -> str:
    document = YamlSource(read_yaml_text(Path(source)), source)
    line, _ = document.locate(("models", number, "name"))
    return f"{source}:{line}: models[{number}].name"


def _read_model(spec: ModelSpec, search: ModelSearch) -> PlacedModel:
    turn = np.pi / 2 if spec.faces == "x" else 0.0
    if spec.mission_only:
        size = (
            spec.width or MISSION_SIDE_M,
            spec.length or MISSION_SIDE_M,
            spec.height or MISSION_HEIGHT_M,
        )
        return PlacedModel(spec, size, turn)
    directory = search.find(spec)
    sdf = resources.model_file(directory)
    with without_missing_hint("or remove it from a copy of the model in models_dir"):
        model_path = tuple(dict.fromkeys([directory.parent, *search.model_path]))
        solid = solid_of(sdf, model_path, spec.hollow)
    x, y, z = map(float, solid.size)
    return PlacedModel(spec, (y, x, z) if turn else (x, y, z), turn, solid, directory, sdf)


_SHAPES: Dict[str, Any] = {}


def shape_of(name: str) -> Any:
    """Return the Scenic shape that :func:`library_text` created for a model. The library calls this
    function while it is compiled."""
    return _SHAPES[name]


def workspace_region(default: Any) -> Any:
    """Return the workspace, or ``default`` if it is unlimited."""
    import scenic.syntax.veneer as veneer
    from scenic.core.regions import AllRegion

    workspace = veneer.currentScenario._workspace
    if workspace is None or isinstance(workspace.region, AllRegion):
        return default
    return workspace


def library_text(
    models: Mapping[str, PlacedModel], default_workspace: bool, dynamic: bool = False
) -> str:
    """Return the library as a Scenic program, and create the shapes for :func:`shape_of`."""
    _SHAPES.clear()
    width, length = DEFAULT_WORKSPACE_M
    replaced = any(class_name(name) == WALL for name in models)
    text = _HEAD.format(
        width=width,
        length=length,
        wall_height=WALL_HEIGHT_M,
        wall="" if replaced else _WALL.format(wall_height=WALL_HEIGHT_M),
        workspace=_WITH_WORKSPACE if default_workspace else _WITHOUT_WORKSPACE,
    )
    if dynamic:
        text += _IN_TIME
    for name, model in models.items():
        _SHAPES[name] = _scenic_shape(model)
        text += "\n\n" + "\n".join(_class_lines(name, model)) + "\n"
    return text + "".join(_further_spellings(models))


def _further_spellings(names: Iterable[str]) -> Iterator[str]:
    """Yield lines that define a second name of a class, with upper case as in the model's name."""
    classes = {class_name(name) for name in names}
    spellings = collections.Counter(class_name(name, keeps_case=True) for name in names)
    for name in names:
        spelling = class_name(name, keeps_case=True)
        if spelling not in classes and spellings[spelling] == 1:
            yield f"\n{spelling} = {class_name(name)}\n"


def _scenic_shape(model: PlacedModel) -> Any:
    from scenic.core.shapes import BoxShape, MeshShape

    if model.solid is None or model.solid.is_box:
        return BoxShape(dimensions=model.size)
    mesh = model.solid.mesh.copy()
    mesh.apply_transform(Pose.from_rpy(0, 0, 0, 0, 0, model.turn_rad).matrix)
    shape = MeshShape(mesh, dimensions=model.size)
    if model.spec.hollow:
        # an interior point: Scenic searches for one at random, which takes long in thin plates
        face = int(np.argmax(mesh.area_faces))
        point = mesh.triangles_center[face] - mesh.face_normals[face] * THINNEST_M / 2
        shape._cached__interiorPoint = (point - mesh.bounds.mean(axis=0)) / mesh.extents
    return shape


def _random_size_lines(model: PlacedModel) -> List[str]:
    if model.spec.dynamic_size != "drawn" or model.solid is None:
        return []
    axes = ("width", "length", "height")
    # a round model remains round
    together = {"xyz": axes, "": ()}.get(model.solid.round_axes, axes[:2])
    low, high = GROWTH
    lines = []
    for axis, size in zip(axes, model.size):
        random_range = f"Range({low * size!r}, {high * size!r})"
        follows = axis in together[1:]
        lines.append(f"    {axis}: {f'self.{together[0]}' if follows else random_range}")
    return lines


def _class_lines(name: str, model: PlacedModel) -> List[str]:
    spec = model.spec
    base = "MissionItem" if spec.mission_only else "Placed"
    lines = [f"class {class_name(name)}({base}):", f"    gz_model: {name!r}"]
    lines.append(f"    shape: shape_of({name!r})")
    is_wall = class_name(name) == WALL
    if spec.heading is not None or is_wall:
        lines.append(f"    yaw: {spec.heading or 0.0!r}")
    if is_wall:
        lines.append("    is_wall: True")
    lines += _random_size_lines(model)
    bodiless = model.solid is not None and model.solid.bodiless
    if spec.allow_collisions or bodiless:
        lines.append("    allowCollisions: True")
    if spec.color is not None:
        lines.append(f"    color: {tuple(spec.color)!r}")
    if model.solid is not None:
        lines.append(f"    static: {model.solid.static}")
        if model.solid.round_axes == "xyz":
            lines.append("    _round_together = ('width', 'length', 'height')")
        elif model.solid.round_axes:
            lines.append("    _round_together = ('width', 'length')")
        share = float(model.solid.center[2] / model.solid.size[2])
        lines.append(f"    _middle_share = {share!r}")
    if spec.z is not None:
        lines.append(f"    _origin_z = {spec.z!r}")
    return lines
