"""A scan of a robot's lidar in an empty world, in which only the robot's own body is detected.

Rays are cast in MuJoCo at the collision shapes of the robot, as in Gazebo, or at its visuals.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Mapping, Optional, Tuple

import numpy as np
from lxml import etree

from gz_testauto.base.arithmetic import matrix_product
from gz_testauto.base.errors import SdfError
from gz_testauto.base.observation import SensorReading
from gz_testauto.base.pose import Pose
from gz_testauto.sdf.document import SdfDocument
from gz_testauto.sdf.dynamics import ContactParameters
from gz_testauto.sdf.engine_model.bodies import BodyShape
from gz_testauto.sdf.engine_model.coverage import SdfCoverage
from gz_testauto.sdf.includes import ModelLibrary
from gz_testauto.sdf.robot import RobotModel
from gz_testauto.sdf.scene import scene_model
from gz_testauto.sdf.tree import read_model
from gz_testauto.sdf.visuals import visual_shapes
from gz_testauto.simulators.embedded.geoms import GeomFactory
from gz_testauto.simulators.merged_scan import merged_scan
from gz_testauto.simulators.mujoco_geoms import cast_scan, set_mjcf_pose


@dataclass(frozen=True, eq=False)
class OwnBodyScan:
    """A scan in an empty world.

    ``angles_rad`` and ``ranges_m`` have shape (n,). The range is infinite for a ray that does not
    end on the robot. ``rays`` contains the number of rays on each shape, by scoped name and in
    descending order.
    """

    angles_rad: np.ndarray
    ranges_m: np.ndarray
    rays: Mapping[str, int]

    @property
    def count(self) -> int:
        return sum(self.rays.values())


def scan_own_body(robot: RobotModel, visuals: bool = False) -> Optional[OwnBodyScan]:
    import mujoco

    lidar = robot.lidar
    if lidar is None:
        return None
    library, document = ModelLibrary(), SdfDocument.parse(robot.sdf, str(robot.path))
    scene = scene_model(read_model(document, document.require_model(), library), library)
    factory, names = GeomFactory(SdfCoverage("embedded")), []
    root = etree.Element("mujoco")
    assets, world = etree.SubElement(root, "asset"), etree.SubElement(root, "worldbody")
    shapes = [(shape.scoped_name, shape.local_pose, shape.geometry) for shape in scene.collisions]
    if visuals:
        shapes = [
            (visual.scoped_name, visual.pose, geometry)
            for visual, geometry in visual_shapes(scene, library)
        ]
    for scoped_name, pose, geometry in shapes:
        shape = BodyShape(scoped_name, pose, geometry, ContactParameters())
        for geom in factory.lidar_geoms(shape):
            names.append(scoped_name.split("::", 1)[1])
            element = etree.SubElement(world, "geom", **geom.attributes)
            set_mjcf_pose(element, pose * geom.pose)
    files = factory.add_assets(assets)
    try:
        model = mujoco.MjModel.from_xml_string(etree.tostring(root, encoding="unicode"), files)
    except ValueError as error:
        raise SdfError(f"{robot.path}: MuJoCo cannot load the collision shapes: {error}") from error
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    counts: Counter[str] = Counter()

    def cast(mount: Pose, rays: np.ndarray, range_m: Tuple[float, float]) -> np.ndarray:
        origin, directions = np.asarray(mount.position), matrix_product(rays, mount.rotation.T)
        ranges, hit_geoms = cast_scan(model, data, origin, directions, range_m)
        counts.update(names[geom] for geom in hit_geoms.tolist() if geom >= 0)
        return ranges

    if lidar.parts:
        readings = [
            SensorReading(
                part,
                0.0,
                cast(part.mount, part.directions, (part.range_min_m, part.range_max_m))[None],
            )
            for part in lidar.parts
        ]
        ranges = merged_scan(lidar, readings).ranges_m
    else:
        ranges = cast(lidar.mount, lidar.directions, lidar.range_m)
    return OwnBodyScan(lidar.angles_rad, ranges, dict(counts.most_common()))
