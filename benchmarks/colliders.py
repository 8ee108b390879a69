"""Check the answers of the colliders against independent formulas, and time them.

Pairs of random sizes and poses are drawn for each two kinds of shape. If a collider reports a
distance, it is correct if the two closest points belong to the bodies, and if each body is
completely on its side of the plane across the connecting line; this is verified by inequalities and
support functions of the shapes. If a collider reports an intersection, MuJoCo must report no
distance. Along a ray, the gauge of a convex body is a convex function; bisection finds its minimum
and its first zero. The mesh is L-shaped; its answers must be those of the two boxes of the L.
Contacts of less than 1e-6 m are counted separately. Then the time of all pairs of 200 bodies is
measured, and for comparison one control period of the embedded simulator with the wheelchair in
the empty arena, and in the arena with the same 200 bodies.

    python3 benchmarks/colliders.py [--pairs 100000] [--rays 100000] [--seed 1]
"""

import argparse
import functools
import itertools
import sys
import time
from pathlib import Path
from typing import Any, Callable, Dict, List, NamedTuple, Tuple

import mujoco
import numpy as np
import shapely
import trimesh
from scipy.spatial.transform import Rotation

from gz_testauto.actors.bodies import body_sdf
from gz_testauto.base.observation import ModelState, Snapshot, Twist2D
from gz_testauto.base.pose import Pose, Pose2D
from gz_testauto.extras.colliders.bodies import Bodies, Collider
from gz_testauto.extras.colliders.solids import Convex, Shape, Triangles
from gz_testauto.sdf.robot import read_robot
from gz_testauto.sdf.shapes import Box, Capsule, Cylinder, Ellipsoid, Sphere
from gz_testauto.simulators.embedded import EmbeddedSimulator
from gz_testauto.simulators.interface import NamedModel, Scene

ROOT = Path(__file__).resolve().parents[1]
GRAZES_M = 1e-6
EXACT_M, MESH_M = 1e-5, 2e-3
"""Largest allowed errors (m) of a distance between convex bodies and of a distance to a mesh."""

L_SHAPE = (((0.0, 0.0, 0.0), (0.4, 0.4, 1.2)), ((0.4, 0.0, -0.4), (1.2, 0.4, 0.4)))
"""Center and size (m) of the two boxes that form an L."""


class Kind(NamedTuple):
    """A kind of convex body: random sizes, surface and largest extent."""

    draw: Callable[[np.random.Generator], Any]
    gauge: Callable[[Any, np.ndarray], np.ndarray]
    """Convex function of points (n, 3) in the frame of the body, at most 0 inside the body. Near
    the surface its value is approximately the distance in meters."""
    support: Callable[[Any, np.ndarray], np.ndarray]
    """Support function of the body (m) along unit vectors (n, 3)."""


def norm(points: np.ndarray) -> np.ndarray:
    return np.linalg.norm(points, axis=-1)


def beyond(points: np.ndarray, half: float) -> np.ndarray:
    return np.abs(points[..., 2]) - half


KINDS: Dict[str, Kind] = {
    "box": Kind(
        lambda draw: Box(tuple(draw.uniform(0.2, 2.0, 3))),
        lambda box, at: (np.abs(at) - np.array(box.size) / 2).max(axis=-1),
        lambda box, to: np.abs(to) @ (np.array(box.size) / 2),
    ),
    "sphere": Kind(
        lambda draw: Sphere(draw.uniform(0.1, 1.0)),
        lambda ball, at: norm(at) - ball.radius,
        lambda ball, to: np.full(len(to), ball.radius),
    ),
    "cylinder": Kind(
        lambda draw: Cylinder(*draw.uniform(0.1, 1.0, 2)),
        lambda tube, at: np.maximum(beyond(at, tube.length / 2), norm(at[..., :2]) - tube.radius),
        lambda tube, to: tube.radius * norm(to[:, :2]) + tube.length / 2 * np.abs(to[:, 2]),
    ),
    "capsule": Kind(
        lambda draw: Capsule(*draw.uniform(0.1, 1.0, 2)),
        lambda pill, at: (
            np.hypot(norm(at[..., :2]), np.maximum(beyond(at, pill.length / 2), 0.0)) - pill.radius
        ),
        lambda pill, to: pill.radius + pill.length / 2 * np.abs(to[:, 2]),
    ),
    "ellipsoid": Kind(
        lambda draw: Ellipsoid(tuple(draw.uniform(0.2, 1.0, 3))),
        lambda egg, at: norm(at / np.array(egg.radii)) - 1.0,
        lambda egg, to: norm(to * np.array(egg.radii)),
    ),
    "convex": Kind(
        lambda draw: Convex(draw.uniform(-1.0, 1.0, (12, 3))),
        lambda hull, at: (at @ hull.planes[:, :3].T + hull.planes[:, 3]).max(axis=-1),
        lambda hull, to: (to @ hull.corners.T).max(axis=-1),
    ),
}


def the_l() -> Triangles:
    """Return the surface of the union of both boxes of :data:`L_SHAPE`."""
    left, foot = (np.array(one) for one in L_SHAPE)
    x = [left[0, 0] - left[1, 0] / 2, left[0, 0] + left[1, 0] / 2, foot[0, 0] + foot[1, 0] / 2]
    z = [foot[0, 2] - foot[1, 2] / 2, foot[0, 2] + foot[1, 2] / 2, left[0, 2] + left[1, 2] / 2]
    flat = [(x[0], z[0]), (x[2], z[0]), (x[2], z[1]), (x[1], z[1]), (x[1], z[2]), (x[0], z[2])]
    prism = trimesh.creation.extrude_polygon(shapely.Polygon(flat), left[1, 1]).triangles
    upright = prism[..., [0, 2, 1]] - (0.0, left[1, 1] / 2, 0.0)
    return Triangles(upright[:, ::-1])


def frames(draw: np.random.Generator, count: int) -> List[Pose]:
    turns = Rotation.random(count, random_state=draw).as_quat()
    return [
        Pose(tuple(place), tuple(turn))
        for place, turn in zip(draw.uniform(-2.0, 2.0, (count, 3)), turns)
    ]


def seen(**poses: Pose) -> Snapshot:
    return Snapshot(0.0, {name: ModelState(pose) for name, pose in poses.items()}, {})


def shortest_line(bodies: Bodies) -> Tuple[float, np.ndarray]:
    """Return MuJoCo's distance of the first two bodies, and the closest points."""
    ends = np.zeros(6)
    model, data = bodies._scene
    return mujoco.mj_geomDistance(model, data, 0, 1, 1e4, ends), ends.reshape(2, 3)


def proven(kinds: Tuple[Kind, Kind], shapes: Any, poses: Any, ends: np.ndarray) -> float:
    """Return the largest possible difference (m) between the distance of the points ``ends`` and
    the distance of the bodies."""
    away_m = float(norm(ends[1] - ends[0]))
    across = (ends[1] - ends[0]) / away_m
    free_m, off_m = 0.0, 0.0
    for kind, shape, pose, end, towards in zip(kinds, shapes, poses, ends, (across, -across)):
        own = pose.inverse()
        off_m = max(off_m, float(kind.gauge(shape, own.apply(end)[None])[0]))
        reach = float(kind.support(shape, (towards @ pose.rotation)[None])[0])
        free_m -= reach + float(np.dot(towards, pose.position))
    return max(off_m, abs(free_m - away_m))


def check_pairs(names: Tuple[str, str], pairs: int, draw: np.random.Generator) -> Dict[str, Any]:
    """Compare distances of random pairs of two kinds of convex bodies with independent formulas."""
    kinds = KINDS[names[0]], KINDS[names[1]]
    wrong, grazing, worst_m, met = 0, 0, 0.0, 0
    for _ in range(0, pairs, 100):
        shapes = kinds[0].draw(draw), kinds[1].draw(draw)
        bodies = Bodies([Collider("a", shapes[0], on="a"), Collider("b", shapes[1], on="b")])
        for poses in zip(frames(draw, 100), frames(draw, 100)):
            bodies.place(seen(a=poses[0], b=poses[1]))
            away_m = bodies.distance_m("a", "b")
            theirs_m, ends = shortest_line(bodies)
            if abs(theirs_m) < GRAZES_M:
                grazing += 1
            elif away_m == 0.0:
                met += 1
                wrong += theirs_m > 0
            else:
                error_m = proven(kinds, shapes, poses, ends) + abs(away_m - norm(ends[1] - ends[0]))
                worst_m = max(worst_m, error_m)
                wrong += error_m > EXACT_M
    return {"cases": pairs, "meet": met, "grazing": grazing, "worst_m": worst_m, "wrong": wrong}


def check_mesh_pairs(name: str, pairs: int, draw: np.random.Generator) -> Dict[str, Any]:
    """Compare distances between random bodies and the L-shaped mesh with those to its two boxes."""
    wrong, grazing, worst_m, met, surface = 0, 0, 0.0, 0, the_l()
    for _ in range(0, pairs, 100):
        shape = surface if name == "mesh" else KINDS[name].draw(draw)
        colliders = [Collider("a", shape, on="a"), Collider("l", surface, on="l")]
        colliders += [
            Collider(f"{number}", Box(size), on="l", offset=Pose(center))
            for number, (center, size) in enumerate(L_SHAPE)
        ]
        parts = [("a", "0"), ("a", "1")]
        if name == "mesh":
            colliders += [
                Collider(f"a{number}", Box(size), on="a", offset=Pose(center))
                for number, (center, size) in enumerate(L_SHAPE)
            ]
            parts = list(itertools.product(("a0", "a1"), ("0", "1")))
        bodies = Bodies(colliders)
        for one, other in zip(frames(draw, 100), frames(draw, 100)):
            bodies.place(seen(a=one, l=other))
            away_m = bodies.distance_m("a", "l")
            true_m = min(bodies.distance_m(*part) for part in parts)
            met += away_m == 0.0
            if (away_m == 0.0) != (true_m == 0.0):
                grazing += max(away_m, true_m) < GRAZES_M
                wrong += max(away_m, true_m) >= GRAZES_M
                continue
            worst_m = max(worst_m, abs(away_m - true_m))
            wrong += abs(away_m - true_m) > MESH_M
    return {"cases": pairs, "meet": met, "grazing": grazing, "worst_m": worst_m, "wrong": wrong}


def first_zero(gauge: Callable[[np.ndarray], np.ndarray], start: Any, to: Any) -> Any:
    """Return the distance along each ray to the first zero of a convex gauge, infinite without a
    zero, and the minimum of the gauge."""
    low, high = np.zeros(len(start)), np.full(len(start), 20.0)
    for _ in range(120):
        third = (high - low) / 3
        falls = gauge(start + (low + third)[:, None] * to) > gauge(
            start + (high - third)[:, None] * to
        )
        low, high = np.where(falls, low + third, low), np.where(falls, high, high - third)
    deepest = (low + high) / 2
    least = np.minimum(gauge(start + deepest[:, None] * to), gauge(start))
    outside = gauge(start) > 0
    # From outside the zero is before the deepest point; from within it is the only one behind it.
    low, high = np.where(outside, 0.0, deepest), np.where(outside, deepest, 20.0)
    for _ in range(80):
        middle = (low + high) / 2
        before = (gauge(start + middle[:, None] * to) > 0) == outside
        low, high = np.where(before, middle, low), np.where(before, high, middle)
    return np.where(least <= 0, (low + high) / 2, np.inf), least


def check_rays(name: str, count: int, draw: np.random.Generator) -> Dict[str, Any]:
    """Compare the intersections of random rays and bodies of one kind with independent formulas."""
    wrong, grazing, worst_m, met = 0, 0, 0.0, 0
    for _ in range(0, count, 1000):
        (pose,) = frames(draw, 1)
        start = draw.uniform(-3.0, 3.0, (1000, 3))
        to = np.array(pose.position) + draw.uniform(-1.0, 1.0, (1000, 3)) - start
        to /= norm(to)[:, None]
        local, towards = pose.inverse().apply(start), to @ pose.rotation
        if name == "mesh":
            shape: Shape = the_l()
            parts = [
                first_zero(lambda at, s=size: (np.abs(at) - np.array(s) / 2).max(axis=-1),
                           local - np.array(center), towards)
                for center, size in L_SHAPE
            ]  # fmt: skip
            inside = np.any([in_box(local, one) for one in L_SHAPE], axis=0)
            expected = np.min([found for found, _ in parts], axis=0)
            least = np.min([value for _, value in parts], axis=0)
            sure = ~inside  # from within, a ray may pass from one box into the other
        else:
            kind = KINDS[name]
            shape = kind.draw(draw)
            expected, least = first_zero(functools.partial(kind.gauge, shape), local, towards)
            sure = np.ones(len(start), dtype=bool)
        bodies = Bodies([Collider("a", shape, on="a")])
        bodies.place(seen(a=pose))
        found, _ = bodies.raycast(start, to)
        clear = (np.abs(least) > GRAZES_M) & sure
        grazing += int((~clear).sum())
        hits = clear & np.isfinite(expected) & np.isfinite(found)
        error_m = np.abs(found[hits] - expected[hits])
        worst_m = max(worst_m, float(error_m.max(initial=0.0)))
        wrong += int((clear & (np.isfinite(expected) != np.isfinite(found))).sum())
        wrong += int((error_m > EXACT_M).sum())
        met += int(hits.sum())
    return {"cases": count, "meet": met, "grazing": grazing, "worst_m": worst_m, "wrong": wrong}


def in_box(points: np.ndarray, box: Any) -> np.ndarray:
    """Return whether points are inside one of the boxes that form the L."""
    center, size = (np.array(part) for part in box)
    return (np.abs(points - center) <= size / 2).all(axis=-1)


def time_of_all_pairs(draw: np.random.Generator, count: int = 200, periods: int = 50) -> float:
    """Return the processor time (ms) of placing ``count`` bodies and finding all contacts."""
    shapes = [Box((0.5, 0.5, 1)), Sphere(0.3), Cylinder(0.3, 1), Capsule(0.3, 0.5)]
    bodies = Bodies([Collider(f"{n}", shapes[n % 4], on=f"{n}") for n in range(count)])
    places = draw.uniform(-25.0, 25.0, (periods, count, 2))
    yaws = draw.uniform(-3.0, 3.0, (periods, count))
    snapshots = [
        seen(**{f"{n}": Pose.from_rpy(x, y, 0.5, 0, 0, yaw[n]) for n, (x, y) in enumerate(at)})
        for at, yaw in zip(places, yaws)
    ]
    bodies.place(snapshots[0])
    bodies.touching()
    began = time.process_time()
    for snapshot in snapshots:
        bodies.place(snapshot)
        bodies.touching()
    return 1000 * (time.process_time() - began) / periods


def time_of_a_period(bodies: int, periods: int = 50) -> float:
    """Return the processor time (ms) of a control period of 0.1 s in the embedded simulator, in
    which the wheelchair drives through the arena among ``bodies`` movable bodies."""
    robot = read_robot(ROOT / "models" / "wheelchair")
    shapes = [Box((0.5, 0.5, 1.0)), Cylinder(0.3, 1.0)]
    models = tuple(
        NamedModel(
            f"body_{number}",
            body_sdf(shapes[number % 2], 5.0, (0.0, 0.0, 0.5)),
            Pose((-9.5 + number % 20, -9.5 + 2.0 * (number // 20), 0.02)),
        )
        for number in range(bodies)
    )
    scene = Scene(ROOT / "worlds" / "arena.world", robot, Pose2D(-13, -13), models=models)
    with EmbeddedSimulator() as simulator:
        simulation = simulator.load(scene)
        simulation.drive(Twist2D(0.5, 0.1))
        simulation.step(1.0)
        began = time.process_time()
        for _ in range(periods):
            simulation.step(0.1)
        return 1000 * (time.process_time() - began) / periods


def main() -> int:
    """Check all kinds of bodies; return exit status 1 if a result is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=100_000, help="default: %(default)s")
    parser.add_argument("--rays", type=int, default=100_000, help="default: %(default)s")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    draw = np.random.default_rng(arguments.seed)
    wrong = 0
    print(f"{'':22} {'cases':>7} {'meet':>7} {'grazing':>7} {'worst m':>9} {'wrong':>6}")

    def show(title: str, found: Dict[str, Any]) -> int:
        print(
            f"{title:22} {found['cases']:7} {found['meet']:7} {found['grazing']:7} "
            f"{found['worst_m']:9.2g} {found['wrong']:6}",
            flush=True,
        )
        return int(found["wrong"])

    for names in itertools.combinations_with_replacement(KINDS, 2):
        wrong += show(" and ".join(names), check_pairs(names, arguments.pairs, draw))
    for name in (*KINDS, "mesh"):
        wrong += show(f"{name} and mesh", check_mesh_pairs(name, arguments.pairs, draw))
    for name in (*KINDS, "mesh"):
        wrong += show(f"rays at {name}", check_rays(name, arguments.rays, draw))
    print(f"all pairs of 200 bodies: {time_of_all_pairs(draw):.2f} ms of processor time a period")
    alone, among = time_of_a_period(0), time_of_a_period(200)
    print(f"a control period, embedded: {alone:.2f} ms alone, {among:.2f} ms among 200 bodies")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
