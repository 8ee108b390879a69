"""Solids on models and links: contacts, distances, points inside, and rays."""

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from trimesh.creation import box as box_mesh

from gz_testauto.base.errors import MissingDependencyError, SpecError, UnknownNameError
from gz_testauto.base.observation import ModelState, Snapshot
from gz_testauto.base.pose import Pose
from gz_testauto.extras.colliders.bodies import Bodies, Collider, Crossing, Crossings
from gz_testauto.extras.colliders.images import depth_image
from gz_testauto.extras.colliders.solids import Convex, Triangles
from gz_testauto.extras.colliders.views import Frustum
from gz_testauto.sdf.meshes.surfaces import Mesh
from gz_testauto.sdf.shapes import Box, Capsule, Cylinder, Ellipsoid, Plane, Sphere
from gz_testauto.simulators.mujoco_geoms import distances_are_exact

CUBE = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=float)
EXACT = pytest.mark.skipif(
    not distances_are_exact(), reason="distances need MuJoCo 3.3, so Python 3.9"
)
KINDS = {
    "box": Box((2, 2, 2)),
    "sphere": Sphere(1),
    "cylinder": Cylinder(1, 2),
    "capsule": Capsule(1, 2),
    "ellipsoid": Ellipsoid((1, 1, 1)),
    "convex": Convex(CUBE),
    "mesh": Triangles(box_mesh((2, 2, 2)).triangles),
}
"""All reach 1 m along x and y."""


def snapshot(links=(), **models):
    states = {name: ModelState(pose) for name, pose in models.items()}
    return Snapshot(0.0, states, {name: ModelState(pose) for name, pose in dict(links).items()})


def placed(one, other, pose):
    bodies = Bodies([Collider("one", one), Collider("other", other, on="other")])
    bodies.place(snapshot(other=pose))
    return bodies


def turned(x, y, z):
    return Pose((x, y, z), tuple(Rotation.from_euler("z", 90, degrees=True).as_quat()))


@EXACT
@pytest.mark.parametrize("other", KINDS)
@pytest.mark.parametrize("one", KINDS)
def test_distances_between_bodies_are_exact(one, other):
    apart = placed(KINDS[one], KINDS[other], turned(0, 5, 0))
    assert apart.distance_m("one", "other") == pytest.approx(3.0, abs=1e-4)
    assert not apart.intersects("one", "other") and apart.touching() == frozenset()
    near = placed(KINDS[one], KINDS[other], turned(0, 1.999, 0))
    assert near.intersects("one", "other") and near.touching() == {("one", "other")}
    assert near.distance_m("one", "other") == 0.0


@pytest.mark.slow
@EXACT
@pytest.mark.parametrize("kind", ["cylinder", "capsule", "ellipsoid", "convex"])
def test_distances_to_a_box_of_triangles_equal_those_to_the_box(kind):
    draw = np.random.default_rng(3)
    box = Box((1.0, 0.6, 0.4))
    surface = Triangles(box_mesh(box.size).triangles)
    for _ in range(60):
        shape = {
            "cylinder": Cylinder(*draw.uniform(0.1, 1.0, 2)),
            "capsule": Capsule(*draw.uniform(0.1, 1.0, 2)),
            "ellipsoid": Ellipsoid(tuple(draw.uniform(0.2, 1.0, 3))),
            "convex": Convex(draw.uniform(0.0, 1.5, (12, 3))),
        }[kind]
        bodies = Bodies(
            [Collider("round", shape, on="round"), Collider("box", box), Collider("mesh", surface)]
        )
        turn = Rotation.random(random_state=draw).as_quat()
        bodies.place(snapshot(round=Pose(tuple(draw.uniform(-1.5, 1.5, 3)), tuple(turn))))
        away_m = bodies.distance_m("round", "box")
        assert bodies.distance_m("round", "mesh") == pytest.approx(away_m, abs=1e-6)
        assert bodies.intersects("mesh", "round") == (away_m == 0.0)


@pytest.mark.skipif(distances_are_exact(), reason="an older MuJoCo is refused")
def test_unsupported_distances_are_rejected():
    bodies = placed(Box((1, 1, 1)), Cylinder(1, 1), turned(5, 0, 0))
    assert not bodies.intersects("one", "other")
    with pytest.raises(MissingDependencyError, match=r"needs MuJoCo 3\.3 or later"):
        bodies.distance_m("one", "other")


@pytest.mark.parametrize("kind", KINDS)
def test_a_closed_surface_contains_bodies_inside_it(kind):
    small = placed(Triangles(box_mesh((9, 9, 9)).triangles), KINDS[kind], Pose((1, 0, 0)))
    assert small.intersects("one", "other") and small.intersects("other", "one")
    assert small.distance_m("one", "other") == 0.0
    assert small.touching() == {("one", "other")}


def test_a_mesh_collider_has_the_scale_of_its_sdf(tmp_path):
    box_mesh((2, 2, 2)).export(tmp_path / "cube.stl")
    bodies = placed(Mesh(tmp_path / "cube.stl", (0.5, 1, 1)), Sphere(1), Pose((3, 0, 0)))
    assert bodies.distance_m("one", "other") == pytest.approx(1.5, abs=1e-4)
    assert bodies.raycast((-2, 0.1, 0.2), (1, 0, 0))[0] == pytest.approx(1.5, abs=1e-6)
    assert bodies.contains("one", [(0.4, 0.9, 0), (0.6, 0, 0)]).tolist() == [True, False]


def test_a_sheet_of_triangles_contains_no_points():
    open_box = Triangles(box_mesh((9, 9, 9)).triangles[2:])
    bodies = placed(open_box, Sphere(0.5), Pose())
    assert not bodies.intersects("one", "other")
    assert bodies.distance_m("one", "other") == pytest.approx(4.0, abs=1e-4)
    assert not bodies.contains("one", np.zeros((1, 3))).any()


@pytest.mark.parametrize("kind", KINDS)
def test_rays_intersect_a_body_in_front_of_their_origin_only(kind):
    bodies = placed(Sphere(0.1), KINDS[kind], Pose((5, 0, 0)))
    found, met = bodies.raycast([(0, 0, 0.05)] * 3, [(1, 0, 0), (-1, 0, 0), (0, 1, 0)])
    assert met.tolist() == [0, 0, 0]  # from inside the ball around the origin
    found, met = bodies.raycast([(0.2, 0, 0)] * 2, [(2, 0, 0), (0, 1, 0)])
    assert met.tolist() == [1, -1]
    assert found[0] == pytest.approx(3.8, abs=1e-9) and found[1] == math.inf
    found, met = bodies.raycast(
        [(9, 0, 0), (9, 0, 0), (5.5, 0, 0)], [(1, 0, 0), (-1, 0, 0)] * 1 + [(1, 0, 0)]
    )
    assert met.tolist() == [-1, 1, 1]
    assert found[1:] == pytest.approx([3.0, 0.5], abs=1e-9)


def test_an_oblique_ray_intersects_the_side_of_a_box():
    bodies = placed(Sphere(0.1), Box((2, 2, 2)), Pose((5, 5, 0)))
    found, met = bodies.raycast((0.2, 0.2, 0), (1, 1, 0))
    assert found[0] == pytest.approx(math.hypot(3.8, 3.8), abs=1e-9) and met[0] == 1


@pytest.mark.parametrize("kind", KINDS)
def test_points_are_classified_as_inside_or_outside_a_body(kind):
    bodies = placed(Sphere(0.1), KINDS[kind], turned(5, 1, 0))
    points = [(5, 1, 0), (5.99, 1, 0), (6.01, 1, 0), (5, 0.01, 0), (5, -0.01, 0), (0, 0, 0)]
    assert bodies.contains("other", np.array(points)).tolist() == [1, 1, 0, 1, 0, 0]


@EXACT
def test_colliders_follow_their_links_with_their_offset():
    wheel = Collider("wheel", Sphere(0.5), on="robot::wheel", offset=Pose((0, 1, 0)))
    bodies = Bodies([wheel, Collider("post", Sphere(0.5))])
    bodies.place(snapshot({"robot::wheel": turned(4, 0, 0)}))
    assert bodies.pose("wheel").position == pytest.approx((3, 0, 0))
    assert bodies.distance_m("wheel", "post") == pytest.approx(2.0)
    assert bodies.raycast((0, 0, 2), (3, 0, -2))[1].tolist() == [0]
    bodies.place(snapshot({"robot::wheel": turned(1.5, 0, 0)}))
    assert bodies.touching() == {("wheel", "post")}
    with pytest.raises(UnknownNameError, match=r"on 'robot::wheel', .*; known: a"):
        bodies.place(snapshot(a=Pose()))
    assert bodies.touching() == {("wheel", "post")}


def test_contact_events_name_bodies_that_start_and_stop_touching():
    crossings = Crossings()
    assert crossings.update(0.0, {("a", "b")}) == (Crossing(0.0, ("a", "b"), True),)
    assert crossings.update(0.1, {("a", "b")}) == ()
    changed = crossings.update(0.2, {("c", "d"), ("a", "c")})
    assert changed == (
        Crossing(0.2, ("a", "b"), False),
        Crossing(0.2, ("a", "c"), True),
        Crossing(0.2, ("c", "d"), True),
    )


@pytest.mark.parametrize(
    ("colliders", "complaint"),
    [
        ([Collider("a", Sphere(0))], "collider 'a': radius of a sphere is 0; it must be > 0"),
        ([Collider("a", Box((1, math.inf, 1)))], "size of a box is inf"),
        ([Collider("a", Sphere(1)), Collider("a", Sphere(1))], "'a' appears twice"),
        ([Collider("a", Plane())], "collider 'a'.*'plane'.*box, sphere"),
    ],
)
def test_an_invalid_collider_is_rejected(colliders, complaint):
    with pytest.raises(SpecError, match=complaint):
        Bodies(colliders)


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: Convex(CUBE[:3]), "at least 4"),
        (lambda: Convex(CUBE[:4]), "be in one plane"),
        (lambda: Convex(CUBE * math.nan), "at least 4 points"),
        (lambda: Triangles(CUBE), r"\(x, y, z\)"),
        (lambda: Triangles(np.full((1, 3, 3), math.inf)), "finite"),
        (lambda: Triangles(CUBE[None, :3]), "be in one plane"),
    ],
)
def test_an_invalid_body_is_rejected(make, complaint):
    with pytest.raises(SpecError, match=complaint):
        make()


def test_an_empty_scene_and_an_empty_ray_query_are_valid():
    empty = Bodies([])
    empty.place(snapshot(a=Pose()))
    assert empty.touching() == frozenset()
    found, met = empty.raycast((0, 0, 0), (1, 0, 0))
    assert found.tolist() == [math.inf] and met.tolist() == [-1]
    found, met = Bodies([Collider("a", Sphere(1))]).raycast(np.empty((0, 3)), np.empty((0, 3)))
    assert found.shape == met.shape == (0,)


def test_an_unknown_collider_is_rejected_with_the_known_names():
    with pytest.raises(UnknownNameError, match="unknown collider 'c'; known: one, other"):
        placed(Sphere(1), Sphere(1), Pose()).intersects("one", "c")


def test_image_contains_the_depth_and_the_index_of_each_visible_collider():
    bodies = placed(Box((0.2, 40, 40)), Sphere(1), Pose((5, 1, 0.5)))
    view = Frustum(Pose((-2, 0, 0)), math.radians(90), 64 / 48, near_m=0.1, far_m=50.0)
    image = depth_image(bodies, view, 64, 48)
    assert image.depth_m.shape == image.labels.shape == (48, 64)
    assert (image.labels == 0).all() and image.depth_m == pytest.approx(1.9, abs=1e-9)
    behind_the_wall = Frustum(Pose(), view.horizontal_fov_rad, view.aspect, 0.5, 50.0)
    image = depth_image(bodies, behind_the_wall, 64, 48)
    assert set(np.unique(image.labels)) == {-1, 1}
    rows, columns = np.nonzero(image.labels == 1)
    (middle,), _ = behind_the_wall.project(np.array([(5, 1, 0.5)]))
    assert columns.mean() / 64 == pytest.approx(middle[0], abs=0.02)
    assert rows.mean() / 48 == pytest.approx(middle[1], abs=0.02)
    assert image.depth_m.min() == pytest.approx(4.0, abs=0.02)
    assert (image.depth_m[image.labels < 0] == math.inf).all()
