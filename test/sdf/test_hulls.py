"""Convex parts represent a mesh without filled cavities and without missing solids."""

import numpy as np
import pytest
import trimesh
from scipy.spatial import ConvexHull, cKDTree
from shapely.geometry import Polygon

from gz_testauto.sdf.meshes import hulls
from gz_testauto.sdf.meshes.solids import find_solids
from gz_testauto.sdf.meshes.surfaces import TriangleMesh

SQUARE = ((-2, -1.5), (2, -1.5), (2, 1.5), (-2, 1.5))
INNER = ((-1.9, -1.4), (1.9, -1.4), (1.9, 1.4), (-1.9, 1.4))


def walls():
    """Return four walls of 0.1 m, 1 m high, as one closed mesh."""
    return trimesh.creation.extrude_polygon(Polygon(SQUARE, [INNER]), 1.0)


def table_parts():
    parts = [trimesh.creation.box((1.2, 0.8, 0.05))]
    parts[0].apply_translation((0, 0, 0.725))
    for x in (-0.5, 0.5):
        for y in (-0.3, 0.3):
            leg = trimesh.creation.box((0.05, 0.05, 0.7))
            leg.apply_translation((x, y, 0.35))
            parts.append(leg)
    return parts


def table():
    """Return a table top of 1.2 m x 0.8 m at 0.7 m on four legs."""
    return trimesh.util.concatenate(table_parts())


def room():
    """Return a floor and four walls of zero thickness, open at the top."""
    box = trimesh.creation.box((4, 3, 2))
    return trimesh.Trimesh(box.vertices, box.faces[box.face_normals[:, 2] < 0.5])


def bowl():
    ball = trimesh.creation.icosphere(4, 0.5)
    return trimesh.Trimesh(ball.vertices, ball.faces[ball.triangles_center[:, 2] < 0.0])


def chamber():
    """Return a closed hall with a crate inside."""
    return trimesh.util.concatenate(
        [trimesh.creation.box((6, 5, 3)), trimesh.creation.box((0.5, 0.5, 0.5))]
    )


SOLIDS = {"table": table_parts, "chamber": lambda: [trimesh.creation.box((0.5, 0.5, 0.5))]}
"""Of these shapes; a hall with something in it is none."""

SHAPES = {"walls": walls, "table": table, "room": room, "bowl": bowl, "chamber": chamber}


def parts_of(mesh, limit=2000):
    return hulls.convex_parts(TriangleMesh(*find_solids(np.array(mesh.triangles))), limit)


def corners_of(parts):
    """Return the corners of each convex part."""
    signs = np.array(np.meshgrid(*[(-1, 1)] * 3)).reshape(3, -1).T
    for box in parts.boxes:
        yield box.center + (signs * box.half) @ box.axes.T
    for hull in parts.hulls:
        yield hull.reshape(-1, 3)


def planes_of(parts):
    return [ConvexHull(corners).equations for corners in corners_of(parts)]


def depth(planes, points):
    """Return the depth of points in the convex parts, negative outside all of them."""
    return np.max([-(points @ p[:, :3].T + p[:, 3]).max(axis=1) for p in planes], axis=0)


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_convex_parts_fill_no_cavity_and_omit_no_solid(shape):
    mesh = SHAPES[shape]()
    parts = parts_of(mesh)
    planes = planes_of(parts)
    generator = np.random.default_rng(0)
    surface = trimesh.sample.sample_surface(mesh, 2_000, seed=0)[0]
    assert depth(planes, surface).min() > -1e-3  # the parts cover all points of the surface
    low, high = mesh.bounds
    space = generator.uniform(low - 0.1, high + 0.1, (2_000, 3))
    dense = trimesh.sample.sample_surface(mesh, 100_000, seed=1)[0]
    away = cKDTree(dense).query(space)[0]
    touched = depth(planes, space) > 0
    within = np.zeros(len(space), dtype=bool)
    for solid in SOLIDS.get(shape, lambda: ())():
        within |= depth([ConvexHull(solid.vertices).equations], space) > 0
    assert not (touched & ~within & (away > 0.1)).any()
    assert parts.error_m <= hulls.TOLERANCE_M


@pytest.mark.slow
def test_convex_parts_of_a_bent_surface_are_within_the_reported_error():
    mesh = bowl()
    rough, fine = parts_of(mesh, limit=200), parts_of(mesh, limit=2000)
    assert len(rough.hulls) <= 200 < len(fine.hulls)
    assert 0.002 < rough.error_m < 0.1
    # a sphere of 0.5 m: the reported error is an upper bound of the measured one
    for parts in (rough, fine):
        radii = np.concatenate([np.linalg.norm(c, axis=1) for c in corners_of(parts)])
        inside = np.concatenate([c.mean(axis=0, keepdims=True) for c in corners_of(parts)])
        assert abs(radii - 0.5).max() < parts.error_m + hulls.THICKNESS_M + 1e-6
        assert 0.5 - np.linalg.norm(inside, axis=1).min() < parts.error_m + hulls.THICKNESS_M


def test_mesh_of_a_box_becomes_one_box():
    mesh = trimesh.creation.box((1, 2, 3))
    mesh.apply_transform(trimesh.transformations.rotation_matrix(0.4, (1, 2, 3), (1, 0, 0)))
    parts = parts_of(mesh)
    (box,) = parts.boxes
    assert not parts.hulls
    assert sorted(2 * box.half) == pytest.approx([1, 2, 3])
    assert np.linalg.det(box.axes) == pytest.approx(1)
    assert depth(planes_of(parts), np.array(mesh.vertices)) == pytest.approx(0, abs=1e-6)


@pytest.mark.slow
def test_decomposition_is_deterministic():
    first, second = parts_of(bowl(), 100), parts_of(bowl(), 100)
    assert len(first.hulls) == len(second.hulls)
    assert all(np.array_equal(a, b) for a, b in zip(first.hulls, second.hulls))


def test_surface_with_too_many_triangles_is_simplified_with_a_reported_error(monkeypatch):
    monkeypatch.setattr(hulls, "MAX_TRIANGLES", 1000)
    mesh = bowl()  # of 2,560 triangles
    parts = parts_of(mesh)
    assert 0.001 < parts.error_m < 0.1
    surface = trimesh.sample.sample_surface(mesh, 500, seed=0)[0]
    assert depth(planes_of(parts), surface).min() > -parts.error_m - 1e-3


@pytest.mark.parametrize("depth_m", [0.0, 0.02, 0.07, 0.3])
def test_a_deeper_point_is_one_that_is_deeper_below_all_planes(depth_m):
    bar = ConvexHull(trimesh.creation.box((10, 1, 1)).vertices)
    ball = ConvexHull(trimesh.creation.icosphere(2, 0.5).vertices)
    generator = np.random.default_rng(3)
    for _ in range(30):
        for hull, center in ((bar, (4.7, 0.3, 0.3)), (ball, (0.3, 0.0, 0.3))):
            points = center + generator.uniform(-0.15, 0.15, (40, 3))
            expected = hulls._depths(hull, points).max() > depth_m
            assert hulls._has_deeper_point(hull, points, depth_m) == expected


def test_a_deeper_point_is_found_after_many_points_with_greater_bounds():
    bar = ConvexHull(trimesh.creation.box((10, 1, 1)).vertices)
    # The nearest facet is the end of the bar, but its sides are nearer.
    shallow = np.column_stack([np.full(200, 4.7), np.full(200, 0.47), np.linspace(-0.4, 0.4, 200)])
    assert not hulls._has_deeper_point(bar, shallow, 0.07)
    assert hulls._has_deeper_point(bar, np.vstack([shallow, [[4.9, 0.0, 0.0]]]), 0.07)
