"""Compare how Gazebo 11 and this package read generated worlds.

Each world is drawn from a seed: frames, poses relative to them, includes, nested models, scaled
meshes, planes, saved states and static models, in SDF 1.5 to 1.9. A gzserver loads the file, to
which a static model with ray sensors is added. Compared are the pose of each model and link, the
links that move under gravity, and 1,000 horizontal rays at random heights, with the outlines at
their height. With --expanded, gzserver loads the text that the simulator ``gazebo`` writes for the
file, in which includes are expanded.

The command prints the seed and the differences of each world that is read differently. The exit
status is 1 if there is one. A world that this package rejects does not count.

    python3 benchmarks/world_readings.py --count 500
    python3 benchmarks/world_readings.py --first 137 --count 1 --keep /tmp/worlds
"""

import argparse
import contextlib
import math
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Dict, Iterator, List, Optional, Set, Tuple
from unittest import mock

import numpy as np
import trimesh
from lxml import etree
from shapely import Polygon
from trimesh.exchange.stl import export_stl

from gz_testauto.base.errors import SdfError
from gz_testauto.base.pose import Pose
from gz_testauto.sdf.scene import WorldScene, read_scene
from gz_testauto.sdf.values import set_pose
from gz_testauto.simulators.gazebo.installation import find_gazebo
from gz_testauto.simulators.gazebo.messages import MESSAGES
from gz_testauto.simulators.gazebo.server import ServerProcess
from gz_testauto.simulators.gazebo.split_world import split_world
from gz_testauto.simulators.gazebo.world import WorldLink, pose_from
from gz_testauto.simulators.kinematic.outlines import edges_of

VERSIONS = ("1.5", "1.6", "1.7", "1.8", "1.9")
PROBES, RAYS, SCANS = 10, 100, 3
RANGE_M = 60.0
POSITION_M, ANGLE_RAD, RAY_M = 1e-4, 1e-4, 2e-3
"""Tolerances of positions, of orientations and of ranges. Gazebo rounds the poses of models that
it merges to about six digits."""

ASIDE_M = 4e-4
"""A ray can differ as much as a parallel ray at this distance (m), since the outlines are within
0.2 mm. At the edge of a shape, this decides which shape the ray hits."""

NEAR_M = 0.005
"""Rays are not compared if an outline is closer (m), since Gazebo's rays start at the minimum
range."""

LEVEL_M = 1e-4
"""A ray can differ as much as a ray at a height that differs by this distance (m)."""

PROBE = """<model name="probe"><static>1</static>{links}</model>"""
PROBE_LINK = """<link name="p{index}"><pose>{pose}</pose><sensor name="s" type="ray">
<always_on>1</always_on><update_rate>1000</update_rate><ray><scan><horizontal>
<samples>{rays}</samples><min_angle>{low!r}</min_angle><max_angle>{high!r}</max_angle></horizontal>
</scan><range><min>0.001</min><max>{range_m}</max></range></ray></sensor></link>"""
LOW_RAD, HIGH_RAD = -math.pi, math.pi * (1 - 2 / RAYS)


class WorldWriter:
    """A generator of one random world in ``folder``, and of the models that it includes."""

    def __init__(self, seed: int, folder: Path) -> None:
        self._random = np.random.default_rng(seed)
        self._folder = folder
        self._parts: List[str] = []
        self._mergeable: List[str] = []
        self._with_planes: Set[str] = set()
        self._current = ""

    def write(self) -> Path:
        """Write the world file and return its path. The folder ``models`` next to it contains the
        included models."""
        for name, mesh in self._meshes():
            (self._folder / "models" / "meshes").mkdir(parents=True, exist_ok=True)
            path = self._folder / "models" / "meshes" / name
            path.write_bytes(export_stl(mesh))
        for index in range(3):
            name = f"part{index}"
            folder = self._folder / "models" / name
            folder.mkdir(parents=True)
            version = self._choice(VERSIONS)
            self._current = name
            (folder / "model.config").write_text(
                f'<model><name>{name}</name><sdf version="{version}">model.sdf</sdf></model>'
            )
            model = self._model(name, version, depth=1, pose=self._pose(version, ()))
            (folder / "model.sdf").write_text(f'<sdf version="{version}">{model}</sdf>')
            self._parts.append(name)
            if "<model" not in model[1:]:  # Gazebo misplaces nested models of merged models
                self._mergeable.append(name)
        path = self._folder / "generated.world"
        path.write_text(self._world())
        return path

    def _world(self) -> str:
        version = self._choice(VERSIONS)
        frames, names, models = [], [], []
        for index in range(self._random.integers(0, 3)):
            frames.append(self._frame(f"f{index}", version, names))
            names.append(f"f{index}")
        for index in range(self._random.integers(2, 6)):
            name = self._current = f"m{index}"
            pose = self._pose(version, names)
            if self._chance(0.3):
                models.append(self._include(name, pose, self._parts))
            else:
                models.append(self._model(name, version, depth=0, pose=pose))
            names.append(name)
        self._random.shuffle(models)
        state = self._state(names) if self._chance(0.2) else ""
        return (
            f'<sdf version="{version}"><world name="default"><gravity>0 0 9.8</gravity>\n'
            + "\n".join([*frames, *models, state])
            + "\n</world></sdf>\n"
        )

    def _model(self, name: str, version: str, depth: int, pose: str) -> str:
        """Return a model. ``depth`` is 0 in a world, 1 in an included file, 2 in a model."""
        names: List[str] = ["__model__"]
        parts = [pose]
        if self._chance(0.6 if depth < 2 else 0.3):
            parts.append(f"<static>{self._choice(('1', 'true', '0'))}</static>")
        nested = []
        if depth < 2 and self._chance(0.4):
            inner = self._model("inner", version, depth=2, pose=self._pose(version, ()))
            nested.append(inner)
            names.append("inner")
        if depth < 2 and self._mergeable and self._chance(0.3):
            pose = self._pose(version, ["__model__"])
            nested.append(self._include(f"added{depth}", pose, self._mergeable))
        for index in range(self._random.integers(0, 3)):
            parts.append(self._frame(f"g{index}", version, names))
            names.append(f"g{index}")
        for index in range(self._random.integers(1, 4)):
            parts.append(self._link(f"l{index}", version, names))
            names.append(f"l{index}")
        return f'<model name="{name}">' + "\n".join([*parts, *nested]) + "</model>"

    def _include(self, name: str, pose: str, parts: List[str]) -> str:
        part = self._choice(parts)
        if part in self._with_planes:
            self._with_planes.add(self._current)
        parts = [f"<name>{name}</name>", f"<uri>model://{part}</uri>"]
        if self._chance(0.7):
            parts.append(pose)
        if self._chance(0.2):
            parts.append(f"<static>{self._choice(('1', '0'))}</static>")
        return "<include>" + "".join(parts) + "</include>"

    def _frame(self, name: str, version: str, names: List[str]) -> str:
        attached = ""
        if names and self._chance(0.5):
            attached = f' attached_to="{self._choice(names)}"'
        return f'<frame name="{name}"{attached}>{self._pose(version, names)}</frame>'

    def _link(self, name: str, version: str, names: List[str]) -> str:
        collisions = "".join(
            f'<collision name="c{index}">{self._pose(version, names, 0.5)}'
            f"<geometry>{self._shape()}</geometry></collision>"
            for index in range(self._random.integers(0, 3))
        )
        return f'<link name="{name}">{self._pose(version, names, 2.0)}{collisions}</link>'

    def _pose(self, version: str, names: Tuple[str, ...] = (), reach_m: float = 4.0) -> str:
        if self._chance(0.15):
            return ""
        position = self._random.uniform(-reach_m, reach_m, 3) * (1, 1, 0.2)
        angles = self._random.uniform(-math.pi, math.pi, 3)
        kind = self._choice(("none", "yaw", "right", "any"))
        if kind != "any":
            angles[:2] = 0.0
        if kind == "none":
            angles[2] = 0.0
        if kind == "right":
            angles = self._random.choice([0.0, math.pi / 2, -math.pi / 2, math.pi], 3)
        relative = ""
        if names and self._chance(0.4):
            attribute = "frame" if version < "1.7" and self._chance(0.5) else "relative_to"
            relative = f' {attribute}="{self._choice(names)}"'
        numbers = " ".join(f"{value:.4f}" for value in (*position, *angles))
        return f"<pose{relative}>{numbers}</pose>"

    def _shape(self) -> str:
        kind = self._choice(("box", "box", "cylinder", "sphere", "mesh", "plane"))
        x, y, z = self._random.uniform(0.2, 1.5, 3).round(3)
        if kind == "box":
            return f"<box><size>{x} {y} {z}</size></box>"
        if kind == "cylinder":
            return f"<cylinder><radius>{x}</radius><length>{y}</length></cylinder>"
        if kind == "sphere":
            return f"<sphere><radius>{x}</radius></sphere>"
        if kind == "mesh":
            signs = self._random.choice([1, 1, 1, -1], 3)
            numbers = " ".join(f"{value:.3f}" for value in signs * (x, y, z))
            name = self._choice([name for name, _ in self._meshes()])
            scale = f"<scale>{numbers}</scale>" if self._chance(0.6) else ""
            return f"<mesh><uri>model://meshes/{name}</uri>{scale}</mesh>"
        self._with_planes.add(self._current)
        normal = self._random.normal(size=3) * self._choice(((1, 1, 0), (1, 0, 0), (1, 1, 1)))
        if self._chance(0.2):
            normal = np.array([0.0, 0.0, 1.0])
        numbers = " ".join(f"{value:.3f}" for value in normal)
        return f"<plane><normal>{numbers}</normal><size>{x} {y}</size></plane>"

    def _state(self, names: List[str]) -> str:
        models = "".join(
            f'<model name="{name}">{self._pose("1.6")}</model>'
            for name in names
            if name.startswith("m") and name not in self._with_planes and self._chance(0.5)
        )
        return f'<state world_name="default">{models}</state>'

    @staticmethod
    def _meshes() -> List[Tuple[str, trimesh.Trimesh]]:
        outline = np.array([(0, 0), (1, 0), (1, 0.3), (0.3, 0.3), (0.3, 1), (0, 1)])
        return [
            ("corner.stl", trimesh.creation.extrude_polygon(Polygon(outline), 0.6)),
            ("cone.stl", trimesh.creation.cone(0.5, 1.0, sections=12)),
        ]

    def _chance(self, probability: float) -> bool:
        return bool(self._random.random() < probability)

    def _choice(self, values):  # type: ignore[no-untyped-def]
        return values[int(self._random.integers(len(values)))]


def probe_poses(seed: int) -> List[Pose]:
    """Return the poses of the ray sensors in the world."""
    random = np.random.default_rng([seed, 1])
    return [
        Pose.from_rpy(*random.uniform(-6, 6, 2), random.uniform(-0.5, 1.5), 0, 0, angle)
        for angle in random.uniform(-math.pi, math.pi, PROBES)
    ]


def expanded(path: Path) -> str:
    """Return a world as the simulator ``gazebo`` loads it, with the models that it spawns."""
    split = split_world(path, 1000.0)
    root = etree.fromstring(split.base)
    for movable in split.movables:
        model = etree.fromstring(movable.sdf).find("model")
        set_pose(model, movable.pose)
        root.find("world").append(model)
    return etree.tostring(root, encoding="unicode")


@contextlib.contextmanager
def served(text: str, folder: Path, poses: List[Pose]) -> Iterator[WorldLink]:
    """Load a world with the ray sensors in a new gzserver, with the models in ``folder``."""
    links = "".join(
        PROBE_LINK.format(
            index=index,
            pose=pose.to_text(),
            rays=RAYS,
            low=LOW_RAD,
            high=HIGH_RAD,
            range_m=RANGE_M,
        )
        for index, pose in enumerate(poses)
    )
    text = text.replace("</world>", PROBE.format(links=links) + "</world>")
    server = ServerProcess(find_gazebo(), text, 1, [folder])
    try:
        link = WorldLink(server)
        try:
            yield link
        finally:
            link.close()
    finally:
        server.close()


def link_poses(link: WorldLink) -> Dict[str, Pose]:
    """Return the poses of all models and links in the world frame, by scoped name."""
    poses: Dict[str, Pose] = {}

    def add(model, frame: Pose) -> None:  # type: ignore[no-untyped-def]
        for part in model.link:
            poses[part.name] = frame * pose_from(part.pose)
        for nested in model.model:
            add(nested, frame * pose_from(nested.pose))

    for name, model in link.list_models().items():
        if name != "probe":
            poses[name] = pose_from(model.pose)
            add(model, poses[name])
    return poses


def measured_rays(link: WorldLink, count: int, timeout_s: float = 20.0) -> np.ndarray:
    """Return the ranges (count, RAYS) of all sensors, measured without physics. The first scan can
    be older than the last model of the world, so the third one is used."""
    ranges: Dict[int, List[np.ndarray]] = {index: [] for index in range(count)}

    def reader(index: int):  # type: ignore[no-untyped-def]
        def read(payload: bytes) -> None:
            message = MESSAGES["LaserScanStamped"].FromString(payload)
            ranges[index].append(np.array(message.scan.ranges))

        return read

    for index in range(count):
        link.listen(f"probe/p{index}/s/scan", "LaserScanStamped", reader(index))
    link.wait_for_topics()
    link.set_physics(enable_physics=False)
    for scans in ranges.values():
        scans.clear()
    deadline_s = time.monotonic() + timeout_s
    while min(map(len, ranges.values())) < SCANS:
        if time.monotonic() > deadline_s:
            missing = sum(len(scans) < SCANS for scans in ranges.values())
            raise TimeoutError(f"scans of {missing} of {count} sensors have not arrived")
        link.control(multi_step=1)
        link.node.poll(0.02)
    return np.stack([ranges[index][SCANS - 1] for index in range(count)])


def outline_rays(scene: WorldScene, poses: List[Pose]) -> Tuple[np.ndarray, np.ndarray]:
    """Return the shortest and the longest range (m) of each ray and those at a distance of
    ``ASIDE_M``, each (n, RAYS), from the outlines of all shapes at the height of the ray."""
    shapes = [shape for model in scene.models.values() for shape in model.collisions]
    low, high = [], []
    for pose in poses:
        x, y, z = pose.position
        several = []
        for level in (z - LEVEL_M, z, z + LEVEL_M):
            outlines = [edges_of(shape.footprint(level, level)) for shape in shapes]
            edges = np.concatenate([np.empty((0, 4)), *outlines])
            for aside in (-ASIDE_M, 0.0, ASIDE_M):
                angles = pose.yaw_rad + np.linspace(LOW_RAD, HIGH_RAD, RAYS)
                several.append(first_edges(edges, np.array([x, y]), angles, aside))
        low.append(np.min(several, axis=0))
        high.append(np.max(several, axis=0))
    return np.stack(low), np.stack(high)


def first_edges(
    edges: np.ndarray, start: np.ndarray, angles: np.ndarray, aside_m: float = 0.0
) -> np.ndarray:
    """Return the distances (n,) along rays to the first of the edges (m, 4), from both sides. Each
    ray starts ``aside_m`` to the left of ``start``."""
    ray = np.column_stack([np.cos(angles), np.sin(angles)])[:, None]
    left = ray[..., ::-1] * (-1, 1)
    begin, along = edges[:, :2] - start - aside_m * left, edges[:, 2:] - edges[:, :2]
    with np.errstate(divide="ignore", invalid="ignore"):
        across = ray[..., 0] * along[:, 1] - ray[..., 1] * along[:, 0]
        distance = (begin[..., 0] * along[:, 1] - begin[..., 1] * along[:, 0]) / across
        share = (begin[..., 0] * ray[..., 1] - begin[..., 1] * ray[..., 0]) / across
    hit = (share >= 0) & (share <= 1) & (distance > 0)
    return np.min(np.where(hit, distance, np.inf), axis=1, initial=RANGE_M)


def differences(seed: int, folder: Path, expand: bool = False) -> Optional[List[str]]:
    """Generate the world of a seed in ``folder`` and return a line for each difference, or None for
    a world that this package rejects. With ``expand``, Gazebo loads the text of the simulator
    ``gazebo``."""
    path = WorldWriter(seed, folder).write()
    poses = probe_poses(seed)
    with mock.patch.dict(os.environ, GAZEBO_MODEL_PATH=str(folder / "models")):
        try:
            scene = read_scene(path)
        except SdfError as error:
            print(f"{seed}: rejected: {error}")
            return None
        text = expanded(path) if expand else path.read_text()
    with served(text, folder / "models", poses) as link:
        before = link_poses(link)
        ranges = measured_rays(link, len(poses))
        link.set_physics(enable_physics=True)
        link.control(multi_step=20)
        link.acknowledge()
        time.sleep(0.3)
        after = link_poses(link)
    return [
        *motion_differences(scene, before, after),
        *pose_differences(scene, before),
        *ray_differences(scene, poses, ranges),
    ]


def motion_differences(
    scene: WorldScene, before: Dict[str, Pose], after: Dict[str, Pose]
) -> Iterator[str]:
    for name, model in scene.models.items():
        for part in model.links:
            scoped = f"{name}::{part}"
            if scoped in after and scoped in before:
                moved_m = math.dist(after[scoped].position, before[scoped].position)
                if (part in model.static_links) != (moved_m < 1e-7):
                    kind = "fixed" if part in model.static_links else "movable"
                    yield f"{scoped} is {kind}, and moved by {moved_m:.2g} m in Gazebo"


def pose_differences(scene: WorldScene, gazebo: Dict[str, Pose]) -> Iterator[str]:
    poses = {name: model.pose for name, model in scene.models.items()}
    for name, model in scene.models.items():
        poses.update({f"{name}::{part}": model.pose * pose for part, pose in model.links.items()})
    for name in sorted(poses.keys() | gazebo.keys()):
        if name not in poses or name not in gazebo:
            yield f"{name} is missing {'here' if name in gazebo else 'in Gazebo'}"
            continue
        difference = poses[name].inverse() * gazebo[name]
        angle_rad = 2 * np.linalg.norm(difference.quaternion[:3])
        if np.linalg.norm(difference.position) > POSITION_M or angle_rad > ANGLE_RAD:
            yield f"{name}: {poses[name].to_text()} here, {gazebo[name].to_text()} in Gazebo"


def ray_differences(scene: WorldScene, poses: List[Pose], ranges: np.ndarray) -> Iterator[str]:
    low, high = outline_rays(scene, poses)
    gazebo_m = np.where(np.isinf(ranges), RANGE_M, ranges)
    differs = (low > NEAR_M) & ((gazebo_m < low - RAY_M) | (gazebo_m > high + RAY_M))
    for sensor, ray in zip(*np.nonzero(differs)):
        yield (
            f"ray {ray} of sensor {sensor}: {high[sensor, ray]:.4f} m here, "
            f"{gazebo_m[sensor, ray]:.4f} m in Gazebo"
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--count", type=int, default=500, help="number of worlds")
    parser.add_argument("--first", type=int, default=0, help="seed of the first world")
    parser.add_argument("--keep", type=Path, help="directory in which the worlds are kept")
    parser.add_argument("--expanded", action="store_true", help="load the simulator's text")
    arguments = parser.parse_args()
    different, rejected, began_s = 0, 0, time.monotonic()
    for seed in range(arguments.first, arguments.first + arguments.count):
        with contextlib.ExitStack() as stack:
            if arguments.keep is None:
                folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            else:
                folder = arguments.keep / str(seed)
                folder.mkdir(parents=True)
            lines = differences(seed, folder, arguments.expanded)
        if lines is None:
            rejected += 1
        elif lines:
            different += 1
            print(f"{seed}: {len(lines)} differences:", *lines[:6], sep="\n    ", flush=True)
    print(
        f"{arguments.count} worlds, {rejected} rejected, {different} read differently, in "
        f"{time.monotonic() - began_s:.0f} s"
    )
    return int(different > 0)


if __name__ == "__main__":
    sys.exit(main())
