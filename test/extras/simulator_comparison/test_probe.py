"""Probes that accept correct ground and reject wrong ground."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image
from pydantic import TypeAdapter

from gz_testauto.base.errors import SceneError, SpecError
from gz_testauto.extras.simulator_comparison.probe import ASIDE_M, probe_ground, resting_m
from gz_testauto.extras.simulator_comparison.terrain import TerrainSpec, make_terrain
from gz_testauto.simulators import open_simulator
from gz_testauto.simulators.embedded import EmbeddedSimulator
from gz_testauto.simulators.kinematic import KinematicSimulation, KinematicSimulator


def terrain_of(kind, **more):
    small = {"size_m": 3.2, "pixels": 65, "clear_m": 0.3, "blend_m": 0.2}
    spec = TypeAdapter(TerrainSpec).validate_python({"name": kind, "kind": kind, **small, **more})
    return make_terrain(spec, 0)


class Altered(EmbeddedSimulator):
    """A simulator that changes the ground of the worlds that it loads."""

    def __init__(self, alter):
        super().__init__(step_s=0.001)
        self._alter = alter

    def _load(self, scene):
        path = scene.world.with_name("altered.world")
        path.write_text(self._alter(scene.world.read_text()))
        return super()._load(replace(scene, world=path))


@pytest.mark.parametrize("kind", ("flat", pytest.param("gravel", marks=pytest.mark.slow)))
def test_ground_that_equals_the_terrain_is_accepted(kind, tmp_path):
    terrain = terrain_of(kind, friction=0.4)
    with EmbeddedSimulator(step_s=0.001) as simulator:
        probe = probe_ground(simulator, terrain, tmp_path)
    assert probe.refusal is None
    assert probe.worst_m < 0.0002
    assert probe.friction == pytest.approx(0.4, rel=0.005)
    assert (probe.terrain, probe.expected_friction) == (kind, 0.4)


def lowered(world, by_m):
    return re.sub(r"<pos>0 0 (\S+)</pos>", lambda found: _pos(float(found[1]) - by_m), world)


def _pos(z_m):
    return f"<pos>0 0 {z_m!r}</pos>"


@pytest.mark.slow
def test_ground_below_the_terrain_is_rejected_with_its_error(tmp_path):
    """In Gazebo's Bullet, the ground is too low by half of its relief."""
    with Altered(lambda world: lowered(world, 0.013)) as simulator:
        probe = probe_ground(simulator, terrain_of("fbm"), tmp_path, points=50)
    assert probe.worst_m == pytest.approx(0.013, abs=0.0002)
    assert "at 50 of 50 points" in probe.refusal and "median -13.0 mm" in probe.refusal


def test_ground_that_bodies_fall_through_is_rejected(tmp_path):
    """In Gazebo's DART, bodies fall through the ground."""
    with Altered(lambda world: re.sub(r"(?s)<collision.*</collision>", "", world)) as simulator:
        probe = probe_ground(simulator, terrain_of("fbm"), tmp_path, points=20)
    assert "at 20 of 20 points bodies fall through its ground" in probe.refusal
    assert probe.worst_m == np.inf and probe.friction == 0.0


@pytest.mark.parametrize("mu", (0.33, 0.5))
def test_ground_with_wrong_friction_is_rejected_with_the_measured_value(mu, tmp_path):
    with Altered(lambda world: re.sub(r">0.4</mu", f">{mu}</mu", world)) as simulator:
        probe = probe_ground(simulator, terrain_of("flat", friction=0.4), tmp_path, points=20)
    assert probe.worst_m < 0.0001
    assert probe.refusal.startswith(f"its friction is {probe.friction:.3g} instead of 0.4")
    if mu < 0.4:
        assert probe.friction == pytest.approx(mu, rel=0.02)
    else:  # on which the sled does not slide
        assert 0.42 < probe.friction <= mu


def test_friction_above_1_is_measured(tmp_path):
    with EmbeddedSimulator(step_s=0.001) as simulator:
        probe = probe_ground(simulator, terrain_of("flat", friction=1.6), tmp_path, points=20)
    assert probe.refusal is None and probe.friction == pytest.approx(1.6, rel=0.01)


@pytest.mark.slow
def test_mirrored_ground_is_rejected(tmp_path):
    def mirrored(world):
        for image in tmp_path.glob("fbm.png"):
            Image.fromarray(np.asarray(Image.open(image))[:, ::-1]).save(image)
        return world

    with Altered(mirrored) as simulator:
        probe = probe_ground(simulator, terrain_of("fbm"), tmp_path, points=50)
    assert "its ground has a wrong height at" in probe.refusal
    median_mm = float(re.search(r"median (\S+) mm", probe.refusal)[1])
    assert abs(median_mm) < 20.0 < 1000.0 * probe.worst_m


def test_ball_rests_on_the_highest_point_below_it():
    step = terrain_of("step", position_m=1.0, height_m=0.05)
    beside = np.array([0.0, 1.0 - step.pitch_m, 1.5])
    along = np.zeros(3)
    heights = resting_m(step, beside, along, 0.01)
    assert heights[[0, 2]] == pytest.approx([0.01, 0.06])
    assert np.isnan(heights[1])  # it hangs between floor and side
    slope = replace(step, heights_m=np.tile(step.x_m * 0.2, (65, 1)))
    expected = 0.01 / np.cos(np.arctan(0.2))
    assert resting_m(slope, along, along, 0.01) == pytest.approx(expected, abs=1e-5)


def test_points_at_which_simulators_differ_are_not_probed():
    """One diagonal of each cell is a ridge, the other a valley."""
    x, y = np.meshgrid(np.arange(65), np.arange(65))
    saddles = replace(terrain_of("flat"), heights_m=0.05 * ((x + y) % 2))
    at = saddles.x_m[[30, 31]]
    assert np.isnan(resting_m(saddles, at, np.zeros(2), 0.01)).any()


@pytest.mark.slow
def test_probe_with_too_few_suitable_points_is_rejected(tmp_path):
    with EmbeddedSimulator() as simulator, pytest.raises(SpecError, match="probe fewer"):
        probe_ground(simulator, terrain_of("flat", pixels=17), tmp_path, points=250)


@pytest.mark.gazebo
@pytest.mark.slow
def test_ground_in_gazebo_equals_the_terrain(tmp_path):
    with open_simulator("gazebo", stall_timeout_s=120.0) as simulator:
        terrain = terrain_of("gravel", friction=0.55)
        probe = probe_ground(simulator, terrain, tmp_path, points=60)
    assert probe.refusal is None
    assert probe.worst_m < ASIDE_M
    assert probe.friction == pytest.approx(0.55, rel=0.001)


class SilentSimulation(KinematicSimulation):
    ground_m = None  # as if the simulation lacked the method


class SilentSimulator(KinematicSimulator):
    def _load(self, scene):
        return SilentSimulation(scene, 0.01)


@pytest.mark.slow
def test_simulator_without_links_can_report_its_ground_height(tmp_path):
    terrain = terrain_of("flat")
    found = probe_ground(KinematicSimulator(), terrain, tmp_path)
    assert (found.worst_m, found.refusal) == (0.0, None) and math.isnan(found.friction)
    with pytest.raises(SceneError, match=r"no poses of links, .* ground_m"):
        probe_ground(SilentSimulator(), terrain, tmp_path)
