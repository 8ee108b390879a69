"""Colliders of all models of a world, compared with the lidar of a simulator."""

import embedded_scenes as scenes
import numpy as np
import pytest

from gz_testauto.base.observation import ModelState
from gz_testauto.base.pose import Pose
from gz_testauto.extras.colliders.bodies import Bodies, colliders_of
from gz_testauto.sdf.document import SdfDocument
from gz_testauto.sdf.scene import read_scene
from gz_testauto.simulators.embedded import EmbeddedSimulator

BOX = "<box><size>1 2 1</size></box>"
TUBE = "<cylinder><radius>0.5</radius><length>2</length></cylinder>"
BALL = "<sphere><radius>0.6</radius></sphere>"
EGG = "<ellipsoid><radii>0.6 1.2 0.5</radii></ellipsoid>"
NAMES = {"ball", "box", "egg", "tube"}


@pytest.mark.slow
def test_rays_at_colliders_equal_the_lidar_of_the_embedded_simulator(tmp_path):
    world = scenes.write_world(
        tmp_path,
        scenes.model("box", BOX, "4 1 0.5 0 0 0.4"),
        scenes.model("tube", TUBE, "-3 2 0.4 1.2 0 0.3"),
        scenes.model("ball", BALL, "0 -4 0.4 0 0 0"),
        scenes.model("egg", EGG, "1 5 0.8 0 0.5 0"),
    )
    with EmbeddedSimulator() as simulator:
        simulation = scenes.load(simulator, world, scenes.wheelchair())
        simulation.set_states({"robot": ModelState(Pose.from_rpy(0.3, -0.2, 0.0, 0, 0, 0.7))})
        snapshot = simulation.step(0.1)
    scan, robot = snapshot.scan, snapshot.models["robot"].pose
    models = read_scene(SdfDocument.read(world)).models
    bodies = Bodies([one for model in models.values() for one in colliders_of(model)])
    assert sorted({name.partition("::")[0] for name in bodies.names}) == sorted(NAMES)
    bodies.place(snapshot)
    assert bodies.touching() == frozenset()
    lidar = robot * scan.mount
    angles = scan.angles_rad
    flat = np.column_stack([np.cos(angles), np.sin(angles), np.zeros(len(angles))])
    found, met = bodies.raycast(lidar.position, flat @ lidar.rotation.T, scan.range_max_m)
    in_view = {bodies.names[number].partition("::")[0] for number in met if number >= 0}
    assert in_view == NAMES
    seen = np.isfinite(found)
    assert np.array_equal(seen, np.isfinite(scan.ranges_m))
    assert np.abs(found[seen] - scan.ranges_m[seen]).max() < 1e-6
