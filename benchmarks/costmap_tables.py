"""Mark tables in the real costmap_2d, by the scans of a planar lidar and by the cloud of a camera.

The worlds are those of `config/sensors_campaign.yaml`. The simulator node drives the service robot
to 1.5 m before the table. Two nodes costmap_2d_node of ros-planning/navigation have one source of
observations each: the scan of the front lidar, and the points of the depth camera above 0.1 m.
Prints, for each world, the share of the visible edge of the table top with a lethal cell within
--near m, and the number of lethal cells below the top that are not at a leg.

--prefix starts costmap_2d_node, for example `chroot ROOT` or `docker exec CONTAINER`.

    python3 benchmarks/costmap_tables.py [--worlds 10] [--prefix "docker exec CONTAINER"]
"""

import argparse
import contextlib
import math
import shlex
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import shapely
import yaml

from gz_testauto.base.resources import share_directory
from gz_testauto.cli.main import main as gz_testauto
from gz_testauto.ros.launched_process import LaunchedProcess
from gz_testauto.ros.master import start_master
from gz_testauto.sdf.scene import read_scene

SOURCES = {
    "lidar": {"data_type": "LaserScan", "topic": "/scan", "inf_is_valid": True},
    "camera": {"data_type": "PointCloud2", "topic": "/camera/depth/points"},
}
LOWEST_M, HIGHEST_M = 0.1, 1.15
"""Heights (m) of the observations that are marked, up to the height of the robot."""
LETHAL = 100
SPEED_MPS, BEFORE_M, LIMIT_S, UPDATE_S = 0.3, 1.5, 40.0, 3.0
FIELD_RAD = math.radians(38)
"""Half of the horizontal field of view in which an edge counts as visible."""
LEG_M = 0.1


def costmap_parameters(name):
    """Return the parameters of a costmap of voxels with one source of observations."""
    source = {"marking": True, "clearing": True, "obstacle_range": 4.5, "raytrace_range": 5.0}
    source.update(min_obstacle_height=LOWEST_M, max_obstacle_height=HIGHEST_M, **SOURCES[name])
    voxels = {"origin_z": 0.0, "z_resolution": 0.1, "z_voxels": 12, "unknown_threshold": 12}
    voxels.update(max_obstacle_height=HIGHEST_M, observation_sources="source", source=source)
    side_m = 0.1
    return {
        "global_frame": "odom",
        "robot_base_frame": "base_link",
        "rolling_window": True,
        "width": 10.0,
        "height": 10.0,
        "resolution": 0.05,
        "update_frequency": 5.0,
        "publish_frequency": 2.0,
        "transform_tolerance": 1.0,
        "always_send_full_costmap": True,
        "footprint": [[x * side_m, y * side_m] for x, y in ((1, 1), (1, -1), (-1, -1), (-1, 1))],
        "plugins": [{"name": "voxels", "type": "costmap_2d::VoxelLayer"}],
        "voxels": voxels,
    }


class Table:
    """The table of a world. The outlines of its top and of its legs are polygons (m)."""

    def __init__(self, world):
        models = read_scene(world).models
        (model,) = (models[name] for name in models if name.startswith("obstacle_table"))
        outlines = [(shape, shape.footprint(0.0, 2.0)) for shape in model.collisions]
        top, self.outline = max(outlines, key=lambda one: shapely.area(one[1]))
        self.legs = shapely.union_all([outline for one, outline in outlines if one is not top])
        self.edge_x_m = float(shapely.bounds(self.outline)[0])

    def visible_edge(self, x_m, y_m):
        """Return points (m) of the edge that are visible from a point, with a spacing of 0.05 m."""
        ring, inner = self.outline.exterior, shapely.buffer(self.outline, -0.02)
        points = [ring.interpolate(along) for along in np.arange(0.0, ring.length, 0.05)]
        return [
            one
            for one in points
            if not shapely.crosses(shapely.LineString([(x_m, y_m), (one.x, one.y)]), inner)
            and abs(math.atan2(one.y - y_m, one.x - x_m)) < FIELD_RAD
        ]

    def marks(self, grid, pose, near_m):
        """Return the numbers of marked and of all visible points of the edge, and of lethal cells
        below the top that are not at a leg."""
        info = grid.info
        lethal = np.array(grid.data).reshape(info.height, info.width) >= LETHAL
        rows, columns = np.nonzero(lethal)
        corner, cell_m = info.origin.position, info.resolution
        cells = shapely.points(
            corner.x + (columns + 0.5) * cell_m, corner.y + (rows + 0.5) * cell_m
        )
        visible = self.visible_edge(pose.x, pose.y)
        tree = shapely.STRtree(cells)
        marked = [len(tree.query(one, predicate="dwithin", distance=near_m)) > 0 for one in visible]
        below = shapely.contains(self.outline, cells) & ~shapely.dwithin(self.legs, cells, LEG_M)
        return sum(marked), len(visible), int(below.sum())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--worlds", type=int, default=10)
    parser.add_argument("--near", type=float, default=0.075, help="distance (m) of a marked edge")
    parser.add_argument("--prefix", type=shlex.split, default=[], help="before costmap_2d_node")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as opened:
        files = Path(folder)
        campaign = share_directory() / "config" / "sensors_campaign.yaml"
        document = yaml.safe_load(campaign.read_text(encoding="utf-8"))
        obstacles = {key: document["worlds"]["obstacles"][key] for key in ("obstacles", "region")}
        (files / "tables.yaml").write_text(yaml.safe_dump(obstacles), encoding="utf-8")
        command = ["multiply", str(share_directory() / "worlds" / "room.world")]
        command += ["--spec", str(files / "tables.yaml"), "--out", str(files / "worlds")]
        if gz_testauto([*command, "--count", str(arguments.worlds), "--seed", "11"]) != 0:
            sys.exit("the worlds were not generated")
        run(files, arguments, opened)


def run(files, arguments, opened):
    """Drive to the table of each world, and print what both costmaps mark."""
    opened.enter_context(contextlib.closing(start_master(files / "home", files, 60.0)))
    import rospy
    from geometry_msgs.msg import Pose2D, Twist
    from gz_testauto.srv import LoadScene, LoadSceneRequest
    from nav_msgs.msg import OccupancyGrid, Odometry

    rospy.set_param("/use_sim_time", True)
    sensors = {"robot_lidar": "front_lidar", "robot_sensors": "camera"}
    rospy.set_param("/simulator", {"simulator": "embedded", **sensors})
    for name in SOURCES:
        rospy.set_param(f"/{name}/costmap", costmap_parameters(name))

    def start(name, command):
        log = files / f"{name}.log"
        process = LaunchedProcess(name, [*command, f"__name:={name}"], log, may_exit=True)
        return contextlib.closing(process)

    opened.enter_context(
        start("simulator", [sys.executable, "-m", "gz_testauto.ros.simulator.node"])
    )
    rospy.init_node("tables", disable_signals=True)
    load = rospy.ServiceProxy("/simulator/load_scene", LoadScene)
    load.wait_for_service(90.0)
    grids, true = {}, []
    for name in SOURCES:
        topic = f"/{name}/costmap/costmap"
        rospy.Subscriber(topic, OccupancyGrid, lambda grid, name=name: grids.update({name: grid}))
    rospy.Subscriber("/simulator/ground_truth", Odometry, true.append)
    commands = rospy.Publisher("/cmd_vel", Twist, queue_size=1)

    def drive(speed_mps, condition, limit_s):
        """Drive until the condition holds, for at most ``limit_s`` of wall time."""
        command, end = Twist(), time.monotonic() + limit_s
        command.linear.x = speed_mps
        while not condition() and time.monotonic() < end:
            commands.publish(command)
            time.sleep(0.1)
        return condition()

    print("| world | lidar: edge | below the top | camera: edge | below the top |")
    print("|---|---|---|---|---|")
    total = {name: np.zeros(2, dtype=int) for name in SOURCES}
    for world in sorted((files / "worlds").glob("world_*.world")):
        table = Table(world)
        request = LoadSceneRequest(world=str(world), robot_name="robot", start=Pose2D(-3.8, 0, 0))
        request.robot_model = str(share_directory() / "models" / "service_robot" / "model.sdf")
        request.robot_lidar = "front_lidar"
        load(request)
        true.clear()
        with contextlib.ExitStack() as costmaps:
            for name in SOURCES:
                node = [*arguments.prefix, "rosrun", "costmap_2d", "costmap_2d_node"]
                costmaps.enter_context(start(name, node))
            grids.clear()
            if not drive(0.0, lambda: len(grids) == len(SOURCES), LIMIT_S):
                sys.exit(f"no costmap after {LIMIT_S:g} s")
            stop_m = table.edge_x_m - BEFORE_M
            drive(SPEED_MPS, lambda: true and true[-1].pose.pose.position.x > stop_m, LIMIT_S)  # noqa: B023
            drive(0.0, lambda: False, UPDATE_S)
            cells = []
            for name in SOURCES:
                marked, visible, below = table.marks(
                    grids[name], true[-1].pose.pose.position, arguments.near
                )
                total[name] += (marked, visible)
                cells += [f"{marked} of {visible}", str(below)]
        print(f"| {world.stem} | {' | '.join(cells)} |", flush=True)
    for name, (marked, visible) in total.items():
        print(f"{name}: {marked} of {visible} points of the edge, {100 * marked / visible:.0f} %")


if __name__ == "__main__":
    main()
