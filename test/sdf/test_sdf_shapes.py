"""Bounds and outlines are compared with formulas, matrices and random points."""

import math

import numpy as np
import pytest
import shapely
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from gz_testauto.base.pose import Pose
from gz_testauto.sdf.meshes.slices import TOLERANCE_M
from gz_testauto.sdf.shapes import (
    Box,
    Capsule,
    Cylinder,
    Ellipsoid,
    Plane,
    Polyline,
    Sphere,
)

SIZES = st.floats(0.05, 3.0)
ANGLES = st.floats(-math.pi, math.pi)
PLACES = st.floats(-5.0, 5.0)
POSES = st.builds(Pose.from_rpy, PLACES, PLACES, PLACES, ANGLES, ANGLES, ANGLES)
UPRIGHT = st.builds(Pose.from_rpy, PLACES, PLACES, PLACES, st.just(0.0), st.just(0.0), ANGLES)

BOXES = st.builds(Box, st.tuples(SIZES, SIZES, SIZES))
CYLINDERS = st.builds(Cylinder, SIZES, SIZES)
SPHERES = st.builds(Sphere, SIZES)
CAPSULES = st.builds(Capsule, SIZES, SIZES)
ELLIPSOIDS = st.builds(Ellipsoid, st.tuples(SIZES, SIZES, SIZES))
SOLIDS = st.one_of(BOXES, CYLINDERS, SPHERES, CAPSULES, ELLIPSOIDS)


def inside(shape, points):
    """Return which points (n, 3), in the shape's frame, are inside, by the shape's definition."""
    x, y, z = points.T
    if isinstance(shape, Box):
        return (np.abs(points) <= np.asarray(shape.size) / 2).all(axis=1)
    if isinstance(shape, Cylinder):
        return (np.hypot(x, y) <= shape.radius) & (np.abs(z) <= shape.length / 2)
    if isinstance(shape, Sphere):
        return np.linalg.norm(points, axis=1) <= shape.radius
    if isinstance(shape, Capsule):
        beyond = np.maximum(np.abs(z) - shape.length / 2, 0)
        return np.hypot(np.hypot(x, y), beyond) <= shape.radius
    return ((points / np.asarray(shape.radii)) ** 2).sum(axis=1) <= 1


def sampled_inside(shape, pose, z_min, z_max, seed=0):
    """Return world x and y (n, 2) of random points of the shape between two heights."""
    bounds = shape.bounds(Pose())
    local = np.random.default_rng(seed).uniform(bounds[:, 0], bounds[:, 1], (40_000, 3))
    points = pose.apply(local[inside(shape, local)])
    return points[(points[:, 2] >= z_min) & (points[:, 2] <= z_max)]


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(SOLIDS, POSES, st.floats(0, 1), st.floats(0, 1))
@example(
    Capsule(0.25, 1.0), Pose.from_rpy(0, 0, 0, 0, 1.5, 0), 0.0, 0.5
)  # a nearly lengthwise section
def test_outline_is_the_hull_of_the_points_between_the_heights(shape, pose, one, other):
    low, high = shape.bounds(pose)[2]
    z_min, z_max = sorted((low + one * (high - low), low + other * (high - low)))
    outline = shape.footprint(pose, z_min, z_max)
    points = sampled_inside(shape, pose, z_min, z_max)
    if not len(points):
        return
    # no point of the shape is outside the outline ...
    away = shapely.distance(outline, shapely.points(points[:, :2]))
    assert away.max() <= 1.5 * TOLERANCE_M
    assert outline.is_valid
    # ... and each point of the outline is above or below a point of the shape
    corners = shapely.get_coordinates(outline)
    center = corners.mean(axis=0)
    nearly = center + (corners - center) * (1 - 1e-3) if len(corners) else corners
    heights = np.linspace(z_min, z_max, 1001)
    for x, y in nearly[:: max(1, len(nearly) // 12)]:
        column = np.column_stack([np.full(len(heights), x), np.full(len(heights), y), heights])
        grown = _grown(shape, 1.5 * TOLERANCE_M + (z_max - z_min) / 1000)
        assert inside(grown, pose.inverse().apply(column)).any()


def _grown(shape, by):
    if isinstance(shape, Box):
        return Box(tuple(side + 2 * by for side in shape.size))
    if isinstance(shape, Ellipsoid):
        thinnest = min(shape.radii)
        return Ellipsoid(tuple(radius * (1 + by / thinnest) for radius in shape.radii))
    if isinstance(shape, Sphere):
        return Sphere(shape.radius + by)
    return type(shape)(shape.radius + by, shape.length + 2 * by)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(SOLIDS, POSES)
def test_bounds_contain_all_points_and_touch_the_shape(shape, pose):
    bounds = shape.bounds(pose)
    points = sampled_inside(shape, pose, -math.inf, math.inf)
    assert (points >= bounds[:, 0] - 1e-9).all()
    assert (points <= bounds[:, 1] + 1e-9).all()
    outline = np.array(shape.footprint(pose, -math.inf, math.inf).bounds)
    exact = np.array([bounds[0, 0], bounds[1, 0], bounds[0, 1], bounds[1, 1]])
    assert np.abs(outline - exact).max() <= 1.5 * TOLERANCE_M


@settings(max_examples=50, deadline=None)
@given(BOXES, UPRIGHT)
def test_upright_box_has_four_corners_and_its_exact_area(box, pose):
    outline = box.footprint(pose, pose.position[2], pose.position[2])
    assert len(outline.exterior.coords) == 5
    assert outline.area == pytest.approx(box.size[0] * box.size[1], rel=1e-12)


@settings(max_examples=50, deadline=None)
@given(CYLINDERS, UPRIGHT)
def test_upright_cylinder_is_a_disc_within_the_tolerance(cylinder, pose):
    outline = cylinder.footprint(pose, pose.position[2], pose.position[2])
    center = shapely.Point(pose.position[:2])
    corners = shapely.get_coordinates(outline)
    middles = (corners[1:] + corners[:-1]) / 2
    distances = np.linalg.norm(np.vstack([corners, middles]) - pose.position[:2], axis=1)
    assert np.abs(distances - cylinder.radius).max() <= TOLERANCE_M
    assert distances.mean() == pytest.approx(cylinder.radius, abs=TOLERANCE_M / 10)
    assert outline.contains(center)


@settings(max_examples=50, deadline=None)
@given(CYLINDERS, PLACES, ANGLES, ANGLES)
def test_disc_does_not_depend_on_yaw(cylinder, x, one, other):
    outlines = [
        cylinder.footprint(Pose.from_rpy(x, 1, 0, 0, 0, yaw), -1, 1) for yaw in (one, other)
    ]
    assert outlines[0].equals(outlines[1])


@settings(max_examples=50, deadline=None)
@given(SPHERES, st.floats(-0.99, 0.99))
def test_section_of_a_sphere_off_its_center_is_a_smaller_circle(sphere, share):
    level = share * sphere.radius
    outline = sphere.footprint(Pose(), level, level)
    expected = math.sqrt(sphere.radius**2 - level**2)
    assert outline.area == pytest.approx(math.pi * expected**2, abs=0.002 + 0.01 * expected**2)


@settings(max_examples=50, deadline=None)
@given(SOLIDS, POSES)
def test_outline_above_or_below_the_shape_is_empty(shape, pose):
    low, high = shape.bounds(pose)[2]
    assert shape.footprint(pose, high + 1e-6, high + 1).is_empty
    assert shape.footprint(pose, low - 1, low - 1e-6).is_empty


@pytest.mark.slow
@settings(max_examples=50, deadline=None)
@given(SOLIDS, POSES, POSES)
def test_outline_moves_with_the_shape_in_the_plane(shape, pose, other):
    shift = Pose.from_rpy(other.position[0], other.position[1], 0, 0, 0, other.yaw_rad)
    moved = shape.footprint(shift * pose, -math.inf, math.inf)
    outline = shape.footprint(pose, -math.inf, math.inf)
    turned = shapely.transform(
        outline, lambda flat: flat @ shift.rotation[:2, :2].T + shift.position[:2]
    )
    assert moved.hausdorff_distance(turned) <= 3 * TOLERANCE_M + 1e-3


def test_horizontal_plane_covers_everything_up_to_its_height():
    plane = Plane()
    assert plane.footprint(Pose((0, 0, 0.5)), 0.4, 1.0).contains(shapely.Point(900, -900))
    assert plane.footprint(Pose((0, 0, 0.5)), 0.6, 1.0).is_empty
    assert list(plane.bounds(Pose((0, 0, 0.5)))[2]) == [-math.inf, 0.5]


@settings(max_examples=50, deadline=None)
@given(ANGLES, PLACES, PLACES, PLACES, SIZES, PLACES)
def test_z_of_an_upright_plane_is_its_distance_along_the_normal(yaw, x, y, z, length, along):
    """ODE divides the distance by the length of the normal, and ignores x and y."""
    towards, aside = np.array([math.cos(yaw), math.sin(yaw)]), (-math.sin(yaw), math.cos(yaw))
    plane, pose = Plane(normal=(*(length * towards), 0.0)), Pose((x, y, z))
    outline = plane.footprint(pose, 0, 1)
    surface = z / length * towards + along * np.asarray(aside)
    assert outline.contains(shapely.Point(*(surface - 0.01 * towards)))
    assert not outline.contains(shapely.Point(*(surface + 0.01 * towards)))
    assert plane.surface_point(pose)[:2] @ towards == pytest.approx(z / length)


def test_ceiling_is_at_the_negative_height_of_its_pose():
    ceiling = Plane(normal=(0.0, 0.0, -1.0))
    assert list(ceiling.bounds(Pose((1, 2, -3)))[2]) == [3, math.inf]
    assert ceiling.footprint(Pose((1, 2, -3)), 2.0, 2.9).is_empty
    assert not ceiling.footprint(Pose((1, 2, -3)), 2.0, 3.1).is_empty


def test_wall_plane_ends_at_the_position_that_ode_reads():
    assert list(Plane((-1.0, 0.0, 0.0)).bounds(Pose((2, 5, 0)))[0]) == [0, math.inf]
    assert list(Plane((-1.0, 0.0, 0.0)).bounds(Pose((7, 5, -2)))[0]) == [2, math.inf]
    assert list(Plane((0.0, 0.5, 0.0)).bounds(Pose((7, 5, -2)))[1]) == [-math.inf, -4]


@settings(max_examples=50, deadline=None)
@given(ANGLES, ANGLES, ANGLES)
def test_pose_moves_a_plane_without_rotating_it(roll, pitch, yaw):
    pose = Pose.from_rpy(3, 4, 1.25, roll, pitch, yaw)
    assert Plane().footprint(pose, 1.3, 2).is_empty
    assert Plane().footprint(pose, 1.2, 2).contains(shapely.Point(-900, 900))
    assert list(Plane().bounds(pose)[2]) == [-math.inf, 1.25]


L_SHAPE = ((0, 0), (4, 0), (4, 1), (1, 1), (1, 3), (0, 3))
HOLE = ((2, 0.25), (3, 0.25), (3, 0.75), (2, 0.75))


def test_polyline_extends_up_from_its_origin_and_keeps_holes():
    shape = Polyline((L_SHAPE, HOLE), 2.0)
    assert shape.footprint(Pose(), 1.9, 5).area == pytest.approx(6 - 0.5)
    assert shape.footprint(Pose(), 2.1, 5).is_empty
    assert shape.footprint(Pose(), -1, -0.1).is_empty
    assert list(shape.bounds(Pose())[2]) == [0, 2]


@settings(max_examples=25, deadline=None)
@given(POSES, st.floats(0, 1), st.floats(0, 1))
def test_tilted_polyline_has_the_outline_of_its_two_boxes(pose, one, other):
    shape = Polyline((L_SHAPE,), 2.0)
    low, high = shape.bounds(pose)[2]
    z_min, z_max = sorted((low + one * (high - low), low + other * (high - low)))
    assume(z_max - z_min > 1e-3)
    parts = [
        Box((4.0, 1.0, 2.0)).footprint(pose * Pose((2, 0.5, 1)), z_min, z_max),
        Box((1.0, 3.0, 2.0)).footprint(pose * Pose((0.5, 1.5, 1)), z_min, z_max),
    ]
    difference = shapely.symmetric_difference(
        shape.footprint(pose, z_min, z_max), shapely.union_all(parts)
    )
    assert difference.area <= 0.01
