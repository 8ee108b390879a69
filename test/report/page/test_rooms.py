"""Rooms and doors between walls, and those that trajectories entered and passed."""

import numpy as np
import pytest
import shapely
from scipy.sparse.csgraph import dijkstra

from gz_testauto.report.page import rooms as rooms_module
from gz_testauto.report.page.rooms import find_rooms

BOUNDS = (-1.0, -1.0, 11.0, 7.0)


def rings_of(*boxes):
    """Return the outlines of boxes (x_min, y_min, x_max, y_max)."""
    return [shapely.get_coordinates(shapely.box(*box).exterior)[:-1] for box in boxes]


def house(door_m=1.0, *, further=()):
    """Return the walls of two rooms of 5 m × 6 m, with a door at (5, 3) between them."""
    low, high = 3.0 - door_m / 2, 3.0 + door_m / 2
    outer = [(-0.2, -0.2, 10.2, 0), (-0.2, 6, 10.2, 6.2), (-0.2, 0, 0, 6), (10, 0, 10.2, 6)]
    return rings_of(*outer, (4.9, 0, 5.1, low), (4.9, high, 5.1, 6), *further)


def line(*corners):
    """Return the points of a line with steps of at most 0.1 m."""
    parts = [np.linspace(a, b, 101) for a, b in zip(corners, corners[1:])]
    return np.concatenate(parts) if parts else np.array(corners, dtype=float)


def close_to(point):
    return pytest.approx(point, abs=0.11)


def test_room_and_door_without_a_trajectory_are_reported():
    rooms = find_rooms(house(), BOUNDS, [line((1, 1), (4, 4))])
    (door,), (room,) = rooms.never_passed, rooms.never_entered
    assert door == close_to((5.0, 3.0))
    assert 5.1 < room[0] < 10.0
    assert (len(rooms.entered), rooms.passed) == (1, [])


def test_trajectory_through_the_door_enters_both_rooms():
    rooms = find_rooms(house(), BOUNDS, [line((1, 1)), line((8, 5), (5, 3), (2, 2))])
    assert (len(rooms.entered), rooms.never_entered, rooms.never_passed) == (2, [], [])
    assert rooms.passed[0] == close_to((5.0, 3.0))


def test_each_of_two_doors_between_the_same_rooms_counts():
    walls = rings_of((4.9, 1.2, 5.1, 4.8))
    rooms = find_rooms(house(6.0)[:4] + walls, BOUNDS, [line((2, 3), (5, 0.6), (8, 3))])
    assert rooms.passed == [close_to((5.0, 0.6))]
    assert rooms.never_passed == [close_to((5.0, 5.4))]


def test_graph_of_cells_has_indices_that_each_version_of_scipy_accepts(monkeypatch):
    graphs = []

    def record(graph, *arguments, **options):
        graphs.append(graph)
        return dijkstra(graph, *arguments, **options)

    monkeypatch.setattr(rooms_module, "dijkstra", record)
    find_rooms(house(), BOUNDS, [line((1, 1))])
    assert {(graph.indices.dtype.name, graph.indptr.dtype.name) for graph in graphs} == {
        ("int32", "int32")
    }


@pytest.mark.parametrize(("door_m", "separates"), [(1.2, True), (1.6, False)])
def test_wide_passage_separates_no_rooms(door_m, separates):
    assert (find_rooms(house(door_m), BOUNDS, [line((1, 1))]) is not None) is separates


def test_furniture_separates_no_rooms():
    tables = [(1.0, y, 3.7, y + 1.0) for y in (0.5, 2.2, 3.9)]
    rooms = find_rooms(house(further=tables), BOUNDS, [line((8, 3))])
    assert (len(rooms.entered), len(rooms.never_entered), len(rooms.never_passed)) == (1, 1, 1)


def test_room_without_a_door_and_the_surroundings_are_no_rooms():
    cabinet = [(6.0, 4.0, 10.0, 4.1), (6.0, 4.0, 6.1, 6.0)]
    rooms = find_rooms(house(further=cabinet), BOUNDS, [line((2, 2), (5, 3), (8, 2))])
    assert (len(rooms.entered), rooms.never_entered) == (2, [])


def test_trajectory_outside_of_the_walls_has_no_rooms():
    assert find_rooms(house(), BOUNDS, [line((-0.5, -0.5), (10.5, -0.5))]) is None


def test_map_without_walls_has_no_rooms():
    assert find_rooms([], BOUNDS, [line((1, 1))]) is None


def test_deep_door_belongs_to_the_nearer_room():
    passage = [(3.0, 2.3, 4.9, 2.5), (3.0, 3.5, 4.9, 3.7)]
    rooms = find_rooms(house(further=passage), BOUNDS, [line((1, 1))])
    assert rooms.never_passed == [close_to((4.05, 3.0))]
