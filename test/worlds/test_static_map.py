import re
from pathlib import Path

import numpy as np
import pytest

from gz_testauto.base.errors import SpecError
from gz_testauto.grid.occupancy import OccupancyGrid
from gz_testauto.sdf.scene import read_scene
from gz_testauto.worlds.static_map import map_of, unknown_outside

ROOM = Path(__file__).resolve().parents[2] / "worlds" / "room.world"


def base_map(world, *arguments, **options):
    return map_of(read_scene(world), *arguments, **options)


def world_with(tmp_path, models):
    text = ROOM.read_text().replace("    <gui", f"{models}\n    <gui")
    path = tmp_path / "w.world"
    path.write_text(text)
    return path


def box(name, x, z, height):
    return (
        f'<model name="{name}"><pose>{x} 0 {z} 0 0 0</pose><link name="l"><collision name="c">'
        f"<geometry><box><size>1 1 {height}</size></box></geometry></collision></link></model>"
    )


def test_walls_are_occupied_and_the_floor_is_free():
    grid = base_map(ROOM, 0.05)
    assert grid.bounds == pytest.approx((-5.3, -5.3, 5.3, 5.3))
    for x, y in ((0, 0), (4.97, -4.97), (-4.97, 0)):
        assert grid.is_free(x, y)
    for x, y in ((5.1, 0), (0, -5.02), (-5.18, 5.18)):
        assert not grid.is_free(x, y)
    # four walls of 0.2 m with common corners, whose faces are on borders of cells
    assert grid.occupied.sum() == 4 * (208 - 4) * 4


def test_random_obstacles_are_not_in_the_map(tmp_path):
    world = world_with(tmp_path, box("obstacle_box_0", 2, 0.5, 1) + box("crate_0", -2, 0.5, 1))
    grid = base_map(world, 0.1)
    assert grid.is_free(2, 0)
    assert not grid.is_free(-2, 0)
    grid = base_map(world, 0.1, pattern=re.compile(r"crate_\d+"))
    assert not grid.is_free(2, 0)
    assert grid.is_free(-2, 0)


def test_the_map_includes_the_area_of_a_random_obstacle_outside_of_the_walls(tmp_path):
    grid = base_map(world_with(tmp_path, box("obstacle_box_0", 9, 0.5, 1)), 0.1)
    assert grid.is_free(9.4, 0)


def test_only_shapes_at_the_height_of_the_lidar_are_occupied(tmp_path):
    world = world_with(tmp_path, box("kerb", 2, 0.1, 0.2) + box("lamp", -2, 1.0, 0.2))
    assert base_map(world, 0.1, 0.3).is_free(2, 0)
    assert base_map(world, 0.1, 0.3).is_free(-2, 0)
    assert not base_map(world, 0.1, 0.15).is_free(2, 0)
    assert not base_map(world, 0.1, 1.0).is_free(-2, 0)


def test_map_origin_is_a_whole_number_of_cells():
    for resolution in (0.05, 0.1, 0.07, 1 / 7):
        grid = base_map(ROOM, resolution)
        for value in (grid.origin_x_m, grid.origin_y_m):
            cells = round(value / resolution)
            assert value == pytest.approx(cells * resolution, rel=0.0, abs=1e-9)


def test_map_bounds_do_not_depend_on_the_height():
    above = base_map(ROOM, 0.1, 9.0)
    assert above.bounds == base_map(ROOM, 0.1).bounds
    assert not above.occupied.any()


def test_map_of_an_empty_world_needs_bounds(tmp_path):
    path = tmp_path / "empty.world"
    path.write_text("<sdf version='1.6'><world name='w'/></sdf>")
    with pytest.raises(SpecError, match=r"empty.world: .*--bounds"):
        base_map(path, 0.1)
    assert base_map(path, 0.1, bounds=(-1, -1, 1, 1)).occupied.shape == (20, 20)


def test_map_is_unknown_outside_of_the_walls():
    grid = base_map(ROOM, 0.05)
    unknown = unknown_outside(grid)
    assert unknown[0, 0]
    assert not unknown[grid.cell_of(0, 0)]
    assert not (unknown & grid.occupied).any()


def test_map_without_enclosing_walls_has_no_unknown_cell():
    occupied = np.zeros((20, 20), dtype=bool)
    occupied[5:9, 5:9] = True
    occupied[6:8, 6:8] = False  # a small closed shed in an open field
    assert unknown_outside(OccupancyGrid(occupied, 0.1, 0, 0)) is None


def test_the_error_for_a_too_large_map_names_the_farthest_model(tmp_path):
    path = tmp_path / "far.world"
    box = (
        "<model name='{}'><static>1</static><pose>{} 0 0.5 0 0 0</pose><link name='l'>"
        "<collision name='c'><geometry><box><size>1 1 1</size></box></geometry></collision>"
        "</link></model>"
    )
    models = box.format("near", 1) + box.format("lost", 8e17)
    path.write_text(f"<sdf version='1.6'><world name='w'>{models}</world></sdf>")
    with pytest.raises(
        SpecError, match=r"far.world: a map of .* m has .* model lost reaches 8e\+17 m"
    ):
        base_map(path, 0.1)
