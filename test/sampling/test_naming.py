"""All modules recognize the same models as random obstacles."""

import re

import pytest

from gz_testauto.sampling.naming import is_obstacle
from gz_testauto.sdf.scene import read_scene
from gz_testauto.simulators.gazebo.split_world import split_world
from gz_testauto.simulators.gazebo_ros.simulator import diff_models
from gz_testauto.simulators.interface import NamedModel
from gz_testauto.worlds.base import BaseWorld
from gz_testauto.worlds.static_map import map_of

BOX = (
    '<model name="{}"><static>1</static><pose>{} 0 0.5 0 0 0</pose><link name="l">'
    '<collision name="c"><geometry><box><size>1 1 1</size></box></geometry></collision>'
    "</link></model>"
)
NAMES = ("obstacle_b", "obstacle_box_0", "obstacle_box_0_old", "crate_1", "my_obstacle_box_1")


@pytest.mark.parametrize("pattern", [None, re.compile(r"crate_\d"), re.compile("obstacle_b")])
def test_all_modules_recognize_the_same_random_obstacles(tmp_path, pattern):
    boxes = "".join(BOX.format(name, 3 * index) for index, name in enumerate(NAMES))
    world = tmp_path / "some.world"
    world.write_text(f'<sdf version="1.6"><world name="w">{boxes}</world></sdf>')
    expected = {None: {"obstacle_box_0"}}.get(pattern) or {
        name for name in NAMES if re.fullmatch(pattern, name)
    }
    assert len(expected) == 1
    base = BaseWorld(world, pattern)
    assert {model.name for model in base.obstacles} == expected
    assert {name for name in NAMES if is_obstacle(name, pattern)} == expected
    # Gazebo spawns them for each trial, and gazebo_ros deletes those of another world.
    assert {model.name for model in split_world(world, 1000.0, pattern).movables} == expected
    assert set(diff_models({}, NAMES, {}, pattern).delete) == expected
    changed = {name: NamedModel(name, "<sdf/>") for name in NAMES}
    assert {model.name for model in diff_models(changed, NAMES, {}, pattern).spawn} == expected
    # The static map contains all other models.
    grid = map_of(read_scene(world), 0.1, 0.5, pattern)
    free = {name for index, name in enumerate(NAMES) if grid.is_free(3.0 * index, 0.0)}
    assert free == expected
