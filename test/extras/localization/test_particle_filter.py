"""An independent particle filter localizes a robot by the odometry and the scans of this package.

The filter is Monte Carlo localization with the likelihood field of Thrun, Burgard and Fox,
*Probabilistic Robotics* (2005), table 6.3. It uses the text's form of the motion model, once per
update. Its covariance predicts its error only if odometry and scans have the specified errors.
"""

import math

import numpy as np
import pytest
import shapely

pytest.importorskip("mujoco", reason="the embedded simulator")

from gz_testauto.actors.localization import EstimatorInputs
from gz_testauto.base.observation import Twist2D
from gz_testauto.base.pose import Pose2D
from gz_testauto.base.resources import share_directory
from gz_testauto.extras.localization.spec import DriftSpec, OdometryErrorSpec
from gz_testauto.randomization.faults import ScanNoise
from gz_testauto.sdf.robot import read_robot
from gz_testauto.simulators import SIMULATORS
from gz_testauto.simulators.interface import Scene
from gz_testauto.spec.worlds import RandomNumbers

ALPHA = (0.002, 0.02, 0.02, 0.002)
SIGMA_M, CELL_M, PARTICLES, BEAMS, RUNS = 0.1, 0.025, 1000, 16, 6
BOXES = (  # x, y, length, width (m) of walls and obstacles
    (0, 5, 14, 0.2), (0, -5, 14, 0.2), (7, 0, 0.2, 10), (-7, 0, 0.2, 10),
    (-3, 2, 1, 1.6), (2, -2, 1.2, 0.8), (3, 2.6, 0.6, 0.6), (-1, -3, 0.8, 0.5),
)  # fmt: skip
COMMANDS = ((0.8, 0.0, 5.0), (0.5, 0.6, 4.0), (0.8, 0.0, 3.0), (0.0, -0.8, 2.0), (0.8, 0.3, 6.0))


def box(number, x_m, y_m, length_m, width_m):
    return (
        f'<model name="box_{number}"><static>1</static><pose>{x_m} {y_m} 0.75 0 0 0</pose>'
        f'<link name="l"><collision name="c"><geometry><box><size>{length_m} {width_m} 1.5</size>'
        "</box></geometry></collision></link></model>"
    )


@pytest.fixture(scope="module")
def drive(tmp_path_factory):
    """Drive in the embedded simulator; return times, true poses, twists and scans."""
    world = tmp_path_factory.mktemp("room") / "room.world"
    plane = (
        '<model name="floor"><static>1</static><link name="l"><collision name="c"><geometry>'
        "<plane><normal>0 0 1</normal></plane></geometry></collision></link></model>"
    )
    models = "".join(box(number, *one) for number, one in enumerate(BOXES))
    world.write_text(f'<sdf version="1.6"><world name="w">{plane}{models}</world></sdf>')
    robot = read_robot(share_directory() / "models" / "wheelchair")
    with SIMULATORS.get("embedded")() as simulator:
        simulation = simulator.load(Scene(world, robot, Pose2D(-5.0, -1.0, 0.2), 0))
        found = [simulation.snapshot()]
        for linear, angular, duration_s in COMMANDS:
            simulation.drive(Twist2D(linear, angular))
            found += [simulation.step(0.1) for _ in range(round(duration_s / 0.1))]
    states = [snapshot.models[robot.name] for snapshot in found]
    return found, [state.pose.planar for state in states], robot


@pytest.fixture(scope="module")
def field_m():
    """Return the distance (m) of each cell's center to the nearest wall, and the map's origin."""
    shapes = [
        shapely.box(x - length / 2, y - width / 2, x + length / 2, y + width / 2)
        for x, y, length, width in BOXES
    ]
    rows, columns = np.mgrid[0 : round(10.4 / CELL_M), 0 : round(14.4 / CELL_M)]
    centers = np.stack([columns, rows], axis=-1) * CELL_M + CELL_M / 2 - (7.2, 5.2)
    edges = shapely.unary_union(shapes).boundary
    return shapely.distance(shapely.points(centers), edges)


class ParticleFilter:
    """Monte Carlo localization from a known start. ``particles`` has shape (n, 3)."""

    def __init__(self, start, field_m, mount, random):
        self._field_m, self._mount, self._random = field_m, mount, random
        self.particles = np.tile(np.array(start), (PARTICLES, 1))

    def move(self, before, after):
        """Move the particles by the motion model (table 5.6), for the odometry of one update."""
        dx_m, dy_m = after.x_m - before.x_m, after.y_m - before.y_m
        moved_m = math.hypot(dx_m, dy_m)
        first = math.remainder(math.atan2(dy_m, dx_m) - before.yaw_rad, 2 * math.pi)
        first = first if moved_m > 0.01 else 0.0
        second = math.remainder(after.yaw_rad - before.yaw_rad - first, 2 * math.pi)
        turns = first**2 + second**2
        normal = self._random.standard_normal((3, PARTICLES))
        rot1 = first + normal[0] * math.sqrt(ALPHA[0] * first**2 + ALPHA[1] * moved_m**2)
        rot2 = second + normal[1] * math.sqrt(ALPHA[0] * second**2 + ALPHA[1] * moved_m**2)
        trans = moved_m + normal[2] * math.sqrt(ALPHA[2] * moved_m**2 + ALPHA[3] * turns)
        direction = self.particles[:, 2] + rot1
        self.particles[:, 0] += trans * np.cos(direction)
        self.particles[:, 1] += trans * np.sin(direction)
        self.particles[:, 2] += rot1 + rot2

    def weigh(self, scan):
        """Weigh the particles by the scan. Return their mean (3,) and covariance (3, 3), and
        resample them with low variance."""
        chosen = np.linspace(0, len(scan.ranges_m) - 1, BEAMS).astype(int)
        ranges_m, angles = scan.ranges_m[chosen], scan.angles_rad[chosen]
        met = np.isfinite(ranges_m)
        x_m = self._mount.position[0] + ranges_m[met] * np.cos(angles[met])
        y_m = self._mount.position[1] + ranges_m[met] * np.sin(angles[met])
        cos, sin = np.cos(self.particles[:, 2:]), np.sin(self.particles[:, 2:])
        ends_x = self.particles[:, :1] + cos * x_m - sin * y_m
        ends_y = self.particles[:, 1:2] + sin * x_m + cos * y_m
        column = np.clip((ends_x + 7.2) / CELL_M, 0, self._field_m.shape[1] - 1).astype(int)
        row = np.clip((ends_y + 5.2) / CELL_M, 0, self._field_m.shape[0] - 1).astype(int)
        distance_m = self._field_m[row, column]
        hit = np.exp(-0.5 * (distance_m / SIGMA_M) ** 2)
        logs = np.log(hit + 0.01).sum(axis=1)
        weights = np.exp(logs - logs.max())
        weights /= weights.sum()
        mean = weights @ self.particles
        covariance = np.cov(self.particles.T, aweights=weights, ddof=0)
        sums = np.cumsum(weights)
        picks = np.searchsorted(sums, (self._random.random() + np.arange(PARTICLES)) / PARTICLES)
        self.particles = self.particles[np.minimum(picks, PARTICLES - 1)]
        return mean, covariance


def localize(drive, field_m, run):
    """Run the filter once; return its errors (n, 3), its covariances and the final drift (m)."""
    snapshots, truth, robot = drive
    random = np.random.default_rng(100 + run)
    inputs = EstimatorInputs(
        RandomNumbers(seed=1, world=run, repetition=0), "robot", 1.0, robot.drive.wheel_separation_m
    )
    odometry = DriftSpec(estimate="drift", odometry=OdometryErrorSpec(alpha=ALPHA)).estimator(
        inputs
    )
    noise = ScanNoise(SIGMA_M, 0.0, lambda stamp_s: random)
    localizer = ParticleFilter(truth[0], field_m, robot.lidar.mount, random)
    errors, covariances, updated = [], [], truth[0]
    for snapshot, pose in zip(snapshots, truth):
        odometry.advance(snapshot.time_s, pose, Twist2D())
        now = odometry.pose
        turned = abs(math.remainder(now.yaw_rad - updated.yaw_rad, 2 * math.pi))
        if now.distance_to(*updated[:2]) < 0.2 and turned < math.pi / 6:
            continue
        localizer.move(updated, now)
        mean, covariance = localizer.weigh(noise.scanned(snapshot.scan))
        updated = now
        error = mean - np.array(pose)
        error[2] = math.remainder(error[2], 2 * math.pi)
        errors.append(error)
        covariances.append(covariance)
    return np.array(errors), np.array(covariances), odometry.pose.distance_to(*truth[-1][:2])


@pytest.mark.slow
def test_particle_filter_localizes_with_the_error_that_it_predicts(drive, field_m):
    runs = [localize(drive, field_m, run) for run in range(RUNS)]
    errors = np.concatenate([one[0] for one in runs])
    covariances = np.concatenate([one[1] for one in runs])
    drifts_m = np.array([one[2] for one in runs])
    rms_m = math.sqrt((errors[:, :2] ** 2).sum(axis=1).mean())
    predicted_m = math.sqrt(np.trace(covariances[:, :2, :2], axis1=1, axis2=2).mean())
    squared = np.einsum("ni,nij,nj->n", errors, np.linalg.inv(covariances), errors)
    print(len(errors), rms_m, predicted_m, squared.mean(), drifts_m)
    assert rms_m < 0.15 * math.sqrt((drifts_m**2).mean())
    assert rms_m == pytest.approx(predicted_m, rel=0.4)
    # The mean of the normalized squared error of three values is 3 if the filter is consistent.
    assert 1.5 < squared.mean() < 6.0
