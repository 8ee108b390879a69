"""Worlds of GzScenic's three scenarios, in Scenic 3 and converted from Scenic 2, load in Gazebo and
stay as they are."""

from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).resolve().parents[3] / "config" / "scenic"

pytestmark = [pytest.mark.gazebo, pytest.mark.slow, pytest.mark.usefixtures("needs_scenic")]

SCENIC_2 = {
    "empty_room": """
from gzscenic.model import *
ego = Turtlebot3
create_room(workspace.region.length, workspace.region.width)
Waypoint behind ego by 3
Waypoint offset by Range(1, 2) @ Range(1, 2)
""",
    "things": """
from gzscenic.model import *
ego = Turtlebot3
CafeTable offset by 1 @ 2
TrafficCone
Crate left of ego by 1.5
""",
    "fetch": """
from gzscenic.model import *
width = 8
length = 8
heading = 0
workspace = Workspace(RectangularRegion(0 @ 0, heading, width, length))
create_room(workspace.region.length, workspace.region.width)
ego = Fetch at 0 @ 0
table = CafeTable offset by 0 @ 1.5, facing 0 deg
create_room(3, 2.5, x=-2, y=2, sides='NSE')
table2 = CafeTable at -2 @ 2
Bookshelf at Range(-3, 3) @ -3.5, facing 180 deg
back_right_region = RectangularRegion(-2 @ -2, 0, 3.5, 2.5)
FloorLamp in back_right_region
DemoCube on table
Waypoint in back_right_region
Waypoint ahead of table2 by 1
""",
}


def scenario(kind, name, folder):
    if kind == "scenic 3":
        return EXAMPLES / f"{name}.scenic"
    from gz_testauto.extras.scenic.convert import convert

    path = folder / f"{name}.scenic"
    path.write_text(convert(SCENIC_2[name]).text)
    return path


@pytest.mark.parametrize("kind", ["scenic 3", "scenic 2"])
@pytest.mark.parametrize("name", SCENIC_2)
def test_generated_objects_are_at_rest_after_two_seconds_in_gazebo(
    name, kind, tmp_path, monkeypatch
):
    from gz_testauto.extras.scenic.output import write_scenes
    from gz_testauto.extras.scenic.source import ScenicSource
    from gz_testauto.sdf.scene import read_scene
    from gz_testauto.simulators.gazebo import GazeboSimulator
    from gz_testauto.simulators.interface import Scene

    source = ScenicSource(scenario(kind, name, tmp_path), EXAMPLES / "models.yaml", 4)
    worlds = write_scenes(source, 2, tmp_path / "out", plots=False)
    monkeypatch.setenv("GAZEBO_MODEL_PATH", str(tmp_path / "out" / "models"))
    with GazeboSimulator() as simulator:
        for world in worlds:
            written = read_scene(world.path).models
            simulation = simulator.load(Scene(world.path))
            after = simulation.step(2.0).models
            assert set(written) <= set(after)
            for model_name, model in written.items():
                moved = np.subtract(after[model_name].pose.position, model.pose.position)
                limit = 1e-6 if model.static else 0.01
                assert np.linalg.norm(moved) <= limit, (world.name, model_name, moved)
