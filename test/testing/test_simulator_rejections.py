"""Rejection of simulators that break one rule of the interface, by the suite for simulators."""

import contextlib
import time
from dataclasses import replace

import numpy as np
from faults import Fault, rejections

from gz_testauto.base.errors import SdfError, SimulatorError
from gz_testauto.base.observation import ModelState, Twist2D
from gz_testauto.base.pose import Pose, Pose2D
from gz_testauto.sdf.document import SdfDocument
from gz_testauto.sdf.edit import add_model
from gz_testauto.simulators.kinematic import KinematicSimulation, KinematicSimulator
from gz_testauto.simulators.kinematic.motion import arc
from gz_testauto.testing.simulator_conformance import SimulatorConformance

STEP_S = 0.01


class Shown(KinematicSimulation):
    """A simulation that returns modified snapshots."""

    def _snapshot(self):
        return self.other(super()._snapshot())

    def other(self, snapshot):
        raise NotImplementedError

    def with_robot(self, snapshot, **changed):
        robot = replace(snapshot.models["robot"], **changed)
        return replace(snapshot, models={**snapshot.models, "robot": robot})


class Scanned(Shown):
    """A simulation that returns modified scans."""

    def other(self, snapshot):
        scan = snapshot.scan
        return snapshot if scan is None else replace(snapshot, scan=self.of(scan, snapshot))

    def of(self, scan, snapshot):
        raise NotImplementedError


# loading


class BeginsAfterAStep(KinematicSimulation):
    def __init__(self, scene, step_s):
        super().__init__(scene, step_s)
        self._step(1)


class StartsAtTheOrigin(KinematicSimulation):
    def __init__(self, scene, step_s):
        super().__init__(replace(scene, start=Pose2D(0.0, 0.0, 0.0)), step_s)


class LeavesYawsOut(Shown):
    def other(self, snapshot):
        models = {
            name: ModelState(Pose(one.pose.position)) for name, one in snapshot.models.items()
        }
        return replace(snapshot, models={**models, "robot": snapshot.models["robot"]})


class IgnoresTheModelsOfTheScene(KinematicSimulation):
    def __init__(self, scene, step_s):
        super().__init__(replace(scene, models=()), step_s)


class DrivesWithoutARobot(KinematicSimulation):
    def drive(self, command, robot=None):
        if self.robot is not None:
            super().drive(command, robot)


class NeverOver(KinematicSimulation):
    def end(self, why): ...


class ErrorsOfTheParser(KinematicSimulator):
    def _load(self, scene):
        return KinematicSimulation(scene, STEP_S)


# time


class TimePassesWhenLookedAt(KinematicSimulation):
    def snapshot(self):
        self._step(1)
        return super().snapshot()


class OneStepTooMany(KinematicSimulation):
    def _step(self, count):
        super()._step(count + 1)


class RoundsDurations(KinematicSimulation):
    def step(self, duration_s):
        count = max(1, round(duration_s / self.step_size_s))
        return super().step(count * self.step_size_s)


class AlwaysAPeriod(KinematicSimulation):
    def _step(self, count):
        super()._step(10)


# driving


class Creeps(KinematicSimulation):
    def _drive(self, command):
        super()._drive(command._replace(linear_mps=command.linear_mps + 0.01))


class TurnsClockwise(KinematicSimulation):
    def _drive(self, command):
        super()._drive(command._replace(angular_radps=-command.angular_radps))


class NeverBackwards(KinematicSimulation):
    def _drive(self, command):
        super()._drive(command._replace(linear_mps=max(0.0, command.linear_mps)))


class SlowerInBends(KinematicSimulation):
    def _drive(self, command):
        share = 0.8 if command.angular_radps else 1.0
        super()._drive(command._replace(linear_mps=share * command.linear_mps))


class PullsToOneSide(KinematicSimulation):
    def _drive(self, command):
        rate = command.angular_radps + 0.02 * command.linear_mps
        super()._drive(command._replace(angular_radps=rate))


class ForgetsTheCommand(KinematicSimulation):
    def _step(self, count):
        super()._step(count)
        self._command = Twist2D()


class TakesWhatIsNotFinite(KinematicSimulation):
    def drive(self, command, robot=None):
        if self.robot is not None and not np.isfinite(command).all():
            return
        super().drive(command, robot)


class TwistOfTheRobotsFrame(Shown):
    def other(self, snapshot):
        if self.robot is None:
            return snapshot
        speed_mps = float(np.hypot(*snapshot.models["robot"].linear_mps[:2]))
        return self.with_robot(snapshot, linear_mps=(speed_mps, 0.0, 0.0))


class NoYawRate(Shown):
    def other(self, snapshot):
        if self.robot is None:
            return snapshot
        return self.with_robot(snapshot, angular_radps=(0.0, 0.0, 0.0))


# seeing


class MirroredScan(Scanned):
    def of(self, scan, snapshot):
        return replace(scan, ranges_m=scan.ranges_m[::-1])


class RangesFromTheBase(Scanned):
    def of(self, scan, snapshot):
        return replace(scan, ranges_m=scan.ranges_m + scan.mount.position[0])


class NothingAtTheLargestRange(Scanned):
    def of(self, scan, snapshot):
        return replace(scan, ranges_m=np.minimum(scan.ranges_m, scan.range_max_m))


class StartsRaysAtTheSensor(Scanned):
    """A simulation in which a return nearer than the minimum range is minus infinite."""

    def __init__(self, scene, step_s):
        lidar = scene.robot.lidar
        self._least_m = lidar.range_min_m
        robot = replace(scene.robot, lidar=replace(lidar, range_min_m=0.0))
        super().__init__(replace(scene, robot=robot), step_s)

    def of(self, scan, snapshot):
        ranges_m = np.where(scan.ranges_m < self._least_m, -np.inf, scan.ranges_m)
        return replace(scan, range_min_m=self._least_m, ranges_m=ranges_m)


class TooNearIsTheLeastRange(StartsRaysAtTheSensor):
    def of(self, scan, snapshot):
        scan = super().of(scan, snapshot)
        return replace(scan, ranges_m=np.maximum(scan.ranges_m, scan.range_min_m))


class DetectsItsHousing(Scanned):
    def of(self, scan, snapshot):
        return replace(scan, ranges_m=np.full_like(scan.ranges_m, -np.inf))


class StampOfTheSnapshot(Scanned):
    def of(self, scan, snapshot):
        return replace(scan, stamp_s=snapshot.time_s)


class ScansAtAnotherRate(KinematicSimulation):
    def __init__(self, scene, step_s):
        robot = scene.robot
        if robot is not None:
            lidar = replace(robot.lidar, update_rate_hz=self.rate_hz(robot.lidar))
            robot = replace(robot, lidar=lidar)
        super().__init__(replace(scene, robot=robot), step_s)


class ScansInEveryStep(ScansAtAnotherRate):
    def rate_hz(self, lidar):
        return 0.0


class ScansAtHalfTheRate(ScansAtAnotherRate):
    def rate_hz(self, lidar):
        return lidar.update_rate_hz / 2


class NoScanAtTimeZero(Scanned):
    def other(self, snapshot):
        return snapshot if snapshot.time_s else replace(snapshot, scan=None)


class FirstScanBeforeTimeZero(Scanned):
    def of(self, scan, snapshot):
        return replace(scan, stamp_s=min(scan.stamp_s, snapshot.time_s - 0.01))


class FirstScanOfTheSceneBefore(Scanned):
    """A simulation whose scan at time 0 has the last ranges of the previous scene."""

    last_m = None

    def of(self, scan, snapshot):
        before_m, type(self).last_m = self.last_m, scan.ranges_m
        if snapshot.time_s or before_m is None:
            return scan
        return replace(scan, ranges_m=before_m)


class SampleOfTimeZero(Shown):
    def other(self, snapshot):
        if snapshot.time_s > 0.15:
            return snapshot
        imu = tuple(replace(sample, stamp_s=0.0) for sample in snapshot.imu[:1])
        return replace(snapshot, imu=(*imu, *snapshot.imu[1:]))


class FirstScanForEver(KinematicSimulation):
    def _measure_ranges(self, base, tick):
        if self._scan is None:
            super()._measure_ranges(base, tick)


class FirstRanges(Scanned):
    ranges_m = None

    def of(self, scan, snapshot):
        self.ranges_m = scan.ranges_m if self.ranges_m is None else self.ranges_m
        return replace(scan, ranges_m=self.ranges_m)


class OneBufferForAllScans(KinematicSimulation):
    def _measure_ranges(self, base, tick):
        before = self._scan
        super()._measure_ranges(base, tick)
        if before is not None and self._scan is not before:
            ranges_m = before.ranges_m
            ranges_m.setflags(write=True)
            ranges_m[:] = self._scan.ranges_m
            self._scan = replace(self._scan, ranges_m=ranges_m)


class NoGravity(Shown):
    def other(self, snapshot):
        imu = tuple(replace(s, linear_mps2=(*s.linear_mps2[:2], 0.0)) for s in snapshot.imu)
        return replace(snapshot, imu=imu)


class SamplesAgain(Shown):
    kept = ()

    def other(self, snapshot):
        self.kept, kept = snapshot.imu, self.kept
        return replace(snapshot, imu=(*kept, *snapshot.imu))


class NoInertialSamples(Shown):
    def other(self, snapshot):
        return replace(snapshot, imu=())


class SaysThatItsSamplesAreMeans(KinematicSimulator):
    """A simulator whose IMU samples have the acceleration at an instant."""

    inertial = "period"


class DriftsWhenLookedAt(KinematicSimulation):
    """A simulation in which each snapshot without a step moves the robot."""

    looks = 0

    def snapshot(self):
        shown = super().snapshot()
        self.looks += 1
        robot = replace(shown.models["robot"], pose=Pose((1e-6 * self.looks, 0.0, 0.0)))
        return replace(shown, models={**shown.models, "robot": robot})


# touching


class NoContacts(Shown):
    def other(self, snapshot):
        return replace(snapshot, contacts=())


class ContactsAgain(Shown):
    kept = ()

    def other(self, snapshot):
        self.kept = (*self.kept, *snapshot.contacts)
        return replace(snapshot, contacts=self.kept)


class NormalsToTheSecond(Shown):
    def other(self, snapshot):
        return replace(snapshot, contacts=tuple(map(self.turned, snapshot.contacts)))

    def turned(self, contact):
        normals = tuple(tuple(-x for x in normal) for normal in contact.normals)
        return replace(contact, normals=normals)


class ContactsInTheRobotsFrame(Shown):
    def other(self, snapshot):
        return replace(snapshot, contacts=tuple(map(self.local, snapshot.contacts)))

    def local(self, contact):
        x_m = self._planar.x_m
        moved = tuple((x - x_m, y, z) for x, y, z in contact.positions_m)
        return replace(contact, positions_m=moved)


class WallsAreGhosts(KinematicSimulation):
    """A simulation in which the robot drives through obstacles."""

    def _next_poses(self, count):
        return arc(self._planar, self._command, np.arange(1, count + 1) * STEP_S)


class FloorIsAnObstacle(Shown):
    def other(self, snapshot):
        touched = tuple(replace(c, second="wall::link::c") for c in self._contacts_now())
        return replace(snapshot, contacts=(*snapshot.contacts, *touched))

    def _contacts_now(self):
        if self.robot is None:
            return []
        return [self._obstacles.contact(self._planar, 0, self._time_s(self._steps))]


# changing the world


class ComposesPoses(KinematicSimulation):
    def _spawn(self, models):
        super()._spawn([replace(m, pose=m.pose * Pose((1.0, 0.0, 0.0))) for m in models])


class SpawnedIsNotSeen(KinematicSimulation):
    def _spawn(self, models):
        seen = self._obstacles.seen
        super()._spawn(models)
        self._obstacles.seen = seen


class SpawnsWhatIsTaken(KinematicSimulation):
    def spawn(self, models):
        self._spawn([model for model in models if model.name not in self._models])


class SkipsWhatIsNoModel(KinematicSimulation):
    def spawn(self, models):
        with contextlib.suppress(SimulatorError):
            super().spawn(models)


class KeepsTheFirstOfSeveral(KinematicSimulation):
    """A simulation that spawns models one by one, and keeps those before a rejected model."""

    def spawn(self, models):
        for model in models:
            super().spawn([model])


class DeletedIsSeen(KinematicSimulation):
    def _delete(self, names):
        seen = self._obstacles.seen
        super()._delete(names)
        self._obstacles.seen = seen


class DeletesOneByOne(KinematicSimulation):
    def delete(self, names):
        for name in names:
            super().delete([name])


class PlacesOneByOne(KinematicSimulation):
    def set_states(self, states):
        for name, state in states.items():
            super().set_states({name: state})


class PlacesPositionsOnly(KinematicSimulation):
    def _set_states(self, states):
        super()._set_states({n: ModelState(Pose(s.pose.position)) for n, s in states.items()})


class PlacedIsSeenWhereItWas(KinematicSimulation):
    def _set_states(self, states):
        seen = self._obstacles.seen
        super()._set_states(states)
        self._obstacles.seen = seen


class PlacesOnlyTheFirst(KinematicSimulation):
    def _set_states(self, states):
        super()._set_states(dict(list(states.items())[:1]))


class RobotDrivesOnWhenDeleted(KinematicSimulation):
    def delete(self, names):
        robot = self.robot
        super().delete(names)
        self.robot = robot


class SavesTheFileAgain(KinematicSimulation):
    def _save_world(self, path):
        path.write_bytes(self._scene.world.read_bytes())


class SavesDeletedModels(KinematicSimulation):
    def __init__(self, scene, step_s):
        super().__init__(scene, step_s)
        self.deleted = []

    def _delete(self, names):
        self.deleted += [(name, self._added_sdf.get(name)) for name in names]
        super()._delete(names)

    def _save_world(self, path):
        super()._save_world(path)
        document = SdfDocument.read(path).copy()
        for name, sdf in self.deleted:
            add_model(document, sdf, Pose((9.0, 9.0, 0.5)), name)
        document.write(path)


# repeating


class NoiseOfTheClock(Scanned):
    def of(self, scan, snapshot):
        return replace(scan, ranges_m=scan.ranges_m + 1e-9 * (time.monotonic_ns() % 1000))


class ServedBefore(KinematicSimulation):
    """A simulator whose results depend on the number of scenes that it has loaded."""

    loaded = 0

    def __init__(self, scene, step_s):
        super().__init__(scene, step_s)
        type(self).loaded += 1

    def _drive(self, command):
        share = 1.0 - 1e-6 * type(self).loaded
        super()._drive(command._replace(linear_mps=share * command.linear_mps))


class FailsWhenClosedTwice(KinematicSimulator):
    def close(self):
        assert not self._closed, "already closed"
        super().close()


class LoadsWhenClosed(KinematicSimulator):
    def close(self):
        super().close()
        self._closed = False


def simulator_of(simulation):
    """A simulator whose simulations have a fault."""
    if not issubclass(simulation, KinematicSimulation):
        return simulation

    class Simulator(KinematicSimulator):
        def _load(self, scene):
            try:
                return simulation(scene, STEP_S)
            except SdfError as error:
                raise SimulatorError(f"cannot load {scene.world}: {error}") from error

    return Simulator


def fault(name, simulation, test, message, cases=None, raises=()):
    of = {"make_simulator": lambda suite: simulator_of(simulation)(), "tolerance": 1e-3}
    return Fault(name, test, message, of, cases or {}, raises)


T0 = "test_a_loaded_scene_has_time_zero_and_all_models"
STARTS = "test_the_robot_has_the_start_pose_of_the_scene"
STEPS = "test_only_steps_advance_time"
DURATIONS = "test_short_and_long_steps_have_at_least_their_duration"
DIVIDES = "test_a_step_that_is_not_a_multiple_of_the_physics_step_is_rejected"
ZERO = "test_the_first_snapshot_has_a_scan_of_the_loaded_world"
LEFT = "test_scan_angles_increase_counter_clockwise"
NEAR = "test_rays_start_at_the_minimum_range"
HOUSING = "test_a_housing_within_the_minimum_range_does_not_block_the_lidar"
RATE = "test_scans_have_the_update_rate_of_the_lidar"
ONCE = "test_imu_samples_and_contacts_are_reported_once_in_order_of_time"
TOUCH = "test_a_contact_has_its_position_and_a_normal_toward_the_first_shape"
WALL = "test_a_collision_with_the_wall_is_reported_as_a_contact"
IMU = "test_the_imu_measures_gravity_and_yaw_rate"
TWIST = "test_the_reported_twist_matches_the_motion_in_the_world_frame"
SPAWNED = "test_spawned_models_have_the_requested_poses_and_are_in_the_scan"
TAKEN = "test_if_one_name_exists_no_model_is_spawned"
DELETED = "test_deleted_models_are_absent_and_their_names_can_be_used_again"
PLACED = "test_poses_of_several_models_are_set_in_one_call"
SAVED = "test_a_saved_world_contains_the_present_models_and_can_be_loaded"
CLOSED = "test_closing_the_simulator_ends_its_simulation_and_rejects_loading"

FAULTS = [
    fault("begins after a step", BeginsAfterAStep, T0, "0.01 == 0.0"),
    fault("starts at the origin", StartsAtTheOrigin, STARTS, "-2.0"),
    fault("leaves yaws out", LeavesYawsOut, "test_models_have_the_poses_of_the_world_file", "0.3"),
    fault(
        "ignores the models of the scene",
        IgnoresTheModelsOfTheScene,
        "test_additional_models_of_the_scene_have_the_requested_poses",
        "extra",
        raises=(KeyError,),
    ),
    fault(
        "drives where there is no robot",
        DrivesWithoutARobot,
        "test_a_world_without_a_robot_can_be_loaded",
        "DID NOT RAISE",
    ),
    fault(
        "never over",
        NeverOver,
        "test_loading_a_scene_ends_the_previous_simulation",
        "DID NOT RAISE",
    ),
    fault(
        "errors of the parser",
        ErrorsOfTheParser,
        "test_after_an_invalid_world_is_rejected_the_next_world_loads",
        "missing_model",
        raises=(SdfError,),
    ),
    fault("time passes when looked at", TimePassesWhenLookedAt, STEPS, "time_s"),
    fault("one step too many", OneStepTooMany, STEPS, "0.11"),
    fault("always a period", AlwaysAPeriod, DURATIONS, "0.1"),
    fault("rounds durations", RoundsDurations, DIVIDES, "DID NOT RAISE"),
    fault("creeps", Creeps, "test_a_robot_with_a_zero_command_does_not_move", r"0\.0(200|199)"),
    fault(
        "turns clockwise",
        TurnsClockwise,
        "test_a_yaw_rate_without_speed_turns_the_robot_in_place",
        "-2.4",
        {"rate_radps": 0.8},
    ),
    fault(
        "never backwards", NeverBackwards, "test_a_negative_speed_moves_the_robot_backward", "-1.0"
    ),
    fault(
        "slower in bends",
        SlowerInBends,
        "test_the_radius_of_an_arc_is_speed_over_yaw_rate",
        "0.799",
    ),
    fault(
        "pulls to one side",
        PullsToOneSide,
        "test_a_forward_command_moves_the_robot_straight_ahead",
        "0.0",
    ),
    fault(
        "forgets the command",
        ForgetsTheCommand,
        "test_a_velocity_command_applies_until_the_next_command",
        "0.0",
    ),
    fault(
        "takes what is not finite",
        TakesWhatIsNotFinite,
        "test_a_velocity_command_that_is_not_finite_is_rejected",
        "DID NOT RAISE",
        {"speed_mps": float("nan")},
    ),
    fault("twist in the robot's frame", TwistOfTheRobotsFrame, TWIST, "0.5"),
    fault("no yaw rate", NoYawRate, TWIST, "0.0 == 0.5"),
    fault("mirrored scan", MirroredScan, LEFT, "no box to the left"),
    fault(
        "ranges from the base",
        RangesFromTheBase,
        "test_the_scan_measures_the_distance_to_the_wall",
        "4.9",
    ),
    fault(
        "nothing is at the largest range",
        NothingAtTheLargestRange,
        "test_rays_without_a_hit_are_infinite",
        "isposinf",
    ),
    fault("rays at the sensor", StartsRaysAtTheSensor, NEAR, "-inf m", {"depth_m": 0.27}),
    fault("too near is the least range", TooNearIsTheLeastRange, NEAR, "0.1 m", {"depth_m": 0.02}),
    fault("detects its housing", DetectsItsHousing, HOUSING, "its housing"),
    fault(
        "stamp of the snapshot",
        StampOfTheSnapshot,
        "test_the_stamp_of_a_scan_is_its_time_of_measurement",
        "not the time of measurement",
    ),
    fault("no scan at time zero", NoScanAtTimeZero, ZERO, "no scan at time 0"),
    fault("first scan before time zero", FirstScanBeforeTimeZero, ZERO, "-0.01 == 0.0"),
    fault("first scan of the scene before", FirstScanOfTheSceneBefore, ZERO, "2.4"),
    fault(
        "an inertial sample of time zero",
        SampleOfTimeZero,
        "test_imu_samples_and_contacts_start_after_time_zero",
        "0.0 > 0.0",
    ),
    fault("scans at half the rate", ScansAtHalfTheRate, RATE, "10 =="),
    fault("scans in every step", ScansInEveryStep, RATE, "99 == 1"),
    fault("first scan for ever", FirstScanForEver, RATE, "the last scan is old"),
    fault(
        "first ranges with new stamps",
        FirstRanges,
        "test_scans_are_measured_from_the_moving_robot",
        "0.0 ==",
    ),
    fault(
        "one buffer for all scans",
        OneBufferForAllScans,
        "test_a_snapshot_does_not_change_in_later_steps",
        "a returned snapshot changed",
    ),
    fault("no gravity", NoGravity, IMU, "9.8"),
    fault("no inertial samples", NoInertialSamples, IMU, "assert \\[\\]"),
    fault(
        "says that its samples are means",
        SaysThatItsSamplesAreMeans,
        "test_imu_samples_declared_as_means_match_the_change_of_speed",
        "0.6",
    ),
    fault(
        "drifts when looked at",
        DriftsWhenLookedAt,
        "test_snapshots_without_a_step_between_them_are_equal",
        "two consecutive snapshots differ",
    ),
    fault("inertial samples twice", SamplesAgain, ONCE, "sample is reported twice"),
    fault("contacts again", ContactsAgain, ONCE, "a contact of .* is reported after"),
    fault("no contacts", NoContacts, WALL, "wall"),
    fault("walls are ghosts", WallsAreGhosts, WALL, "wall"),
    fault("normals to the second", NormalsToTheSecond, TOUCH, "the normal is"),
    fault("contacts in the robot's frame", ContactsInTheRobotsFrame, TOUCH, "wrong position"),
    fault(
        "the floor is an obstacle",
        FloorIsAnObstacle,
        "test_driving_on_the_floor_reports_no_contact_with_obstacles",
        "wall",
    ),
    fault("composes poses", ComposesPoses, SPAWNED, "2.5"),
    fault(
        "skips what is no model",
        SkipsWhatIsNoModel,
        "test_spawning_text_without_a_model_is_rejected",
        "DID NOT RAISE",
    ),
    fault("spawned is not seen", SpawnedIsNotSeen, SPAWNED, "2.5"),
    fault("spawns what is taken", SpawnsWhatIsTaken, TAKEN, "DID NOT RAISE"),
    fault("keeps the first of several", KeepsTheFirstOfSeveral, TAKEN, "fresh"),
    fault("deleted is seen", DeletedIsSeen, DELETED, "sees a deleted model"),
    fault(
        "deletes one by one", DeletesOneByOne, "test_deleting_an_unknown_model_is_rejected", "wall"
    ),
    fault(
        "places one by one",
        PlacesOneByOne,
        "test_setting_the_pose_of_an_unknown_model_is_rejected",
        "5",
    ),
    fault("places positions only", PlacesPositionsOnly, PLACED, "1.0"),
    fault("places only the first", PlacesOnlyTheFirst, PLACED, "-1.0"),
    fault(
        "placed is seen where it was",
        PlacedIsSeenWhereItWas,
        "test_scan_and_contacts_use_the_new_pose_of_a_model",
        "1.9",
    ),
    fault(
        "the robot drives on when deleted",
        RobotDrivesOnWhenDeleted,
        "test_driving_a_deleted_robot_is_rejected",
        "DID NOT RAISE",
    ),
    fault("saves the file again", SavesTheFileAgain, SAVED, "a", raises=(KeyError,)),
    fault("saves deleted models", SavesDeletedModels, SAVED, "deleted model was saved"),
    fault(
        "noise of the clock",
        NoiseOfTheClock,
        "test_equal_calls_give_bit_identical_snapshots",
        "differ",
    ),
    fault(
        "has served before",
        ServedBefore,
        "test_a_new_and_a_used_simulator_give_bit_identical_results",
        "differ from control period 1 on",
    ),
    fault("fails when closed twice", FailsWhenClosedTwice, CLOSED, "already closed"),
    fault("loads when closed", LoadsWhenClosed, CLOSED, "DID NOT RAISE"),
]
globals().update(
    rejections(
        SimulatorConformance,
        {"make_simulator": lambda suite: KinematicSimulator(), "tolerance": 1e-3},
        FAULTS,
    )
)
