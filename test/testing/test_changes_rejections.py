"""Rejection of simulators that break one rule, by the suites for property changes and for several
robots."""

import math
import time
from dataclasses import replace

from faults import Fault, rejections

from gz_testauto.base.errors import SimulatorError
from gz_testauto.base.observation import SensorReadings, Twist2D
from gz_testauto.base.pose import Pose, Pose2D
from gz_testauto.simulators.changes import (
    Push,
    SetFriction,
    SetGravity,
    SetJoint,
    SetLink,
    SetMass,
    SetModel,
)
from gz_testauto.simulators.embedded import EmbeddedSimulator
from gz_testauto.simulators.embedded.simulator import EmbeddedSimulation
from gz_testauto.testing.changes_conformance import ChangesConformance
from gz_testauto.testing.several_robots_conformance import SeveralRobotsConformance


class Mutated(EmbeddedSimulator):
    """An embedded simulator whose simulations have the class ``simulation``."""

    simulation = EmbeddedSimulation

    def __init__(self, simulation, **changed):
        super().__init__()
        self.simulation = simulation
        vars(self).update(changed)

    def _load(self, scene):
        loaded = super()._load(scene)
        loaded.__class__ = self.simulation
        return loaded


class Changed(EmbeddedSimulation):
    """A simulation that applies other changes than the requested changes."""

    def _apply(self, changes):
        others = [other for other in map(self.other, changes) if other is not None]
        super()._apply(others)

    def other(self, change):
        raise NotImplementedError


def ignoring(*kinds):
    """Return a class of simulations that accept these kinds of changes but do not apply them."""

    class Ignoring(Changed):
        def other(self, change):
            return None if type(change) in kinds else change

    return Ignoring


def changing(kind, **fields):
    """Return a class of simulations that modify one kind of changes: each of ``fields`` is a
    function that replaces the value of the field."""

    class Changing(Changed):
        def other(self, change):
            if type(change) is not kind:
                return change
            values = {name: make(getattr(change, name)) for name, make in fields.items()}
            return replace(change, **values)

    return Changing


class PushesInTheFrameOfTheLink(Changed):
    def other(self, change):
        if not isinstance(change, Push):
            return change
        rotation = self._snapshot().models[change.name.split("::")[0]].pose.rotation
        return replace(change, force_n=tuple((rotation @ change.force_n).tolist()))


class TwistsInTheFrameOfTheModel(Changed):
    def other(self, change):
        if type(change) is not SetModel or change.linear_mps is None:
            return change
        rotation = self._snapshot().models[change.name].pose.rotation
        return replace(change, linear_mps=tuple((rotation @ change.linear_mps).tolist()))


class Friction(EmbeddedSimulation):
    """A simulation that sets another friction coefficient than the requested coefficient."""

    def apply(self, changes):
        super().apply(
            [
                replace(one, mu=self.of(one.mu)) if isinstance(one, SetFriction) else one
                for one in changes
            ]
        )

    def of(self, mu):
        raise NotImplementedError


class FrictionCountsTwice(Friction):
    def of(self, mu):
        return 2 * mu


class FrictionOnlyFalls(Friction):
    least = math.inf

    def of(self, mu):
        self.least = min(self.least, mu)
        return self.least


class TimePassesInAChange(EmbeddedSimulation):
    def _apply(self, changes):
        super()._apply(changes)
        self._step(1)


class DescribesTheFile(EmbeddedSimulation):
    def describe(self):
        changed, self._described = self._described, None
        described = super().describe()
        self._described = changed
        return described


class SavesWithoutChanges(EmbeddedSimulation):
    def save_world(self, path):
        self._save_world(path)


class ForgetsChangesWhenOneArrives(EmbeddedSimulation):
    def _spawn(self, models):
        super()._spawn(models)
        self.apply([SetMass("puck::link", 2.0)])


class AppliesOneByOne(EmbeddedSimulation):
    def apply(self, changes):
        for change in changes:
            super().apply([change])


class PushesWhatIsStatic(EmbeddedSimulation):
    def apply(self, changes):
        super().apply([one for one in changes if one.name != "wall::link"])


class TakesAnyKind(EmbeddedSimulation):
    changes = frozenset({SetModel})

    def apply(self, changes):
        super().apply([change for change in changes if type(change) in self.changes])


class PushesByTheClock(Changed):
    def other(self, change):
        if not isinstance(change, SetModel) or change.linear_mps is None:
            return change
        x, y, z = change.linear_mps
        return replace(change, linear_mps=(x + 1e-9 * (time.monotonic_ns() % 1000), y, z))


def change_fault(name, simulation, test, message, raises=(), cases=None, **declared):
    of = {"make_simulator": lambda suite: Mutated(simulation, **declared)}
    return Fault(name, test, message, of, cases or {}, raises)


PUSH = "test_a_push_changes_the_velocity_by_impulse_over_mass"
WORLD = "test_a_push_is_in_the_world_frame_and_does_not_advance_time"
SAVED = "test_a_saved_world_contains_the_changes"
LOOKS = "test_changed_visuals_and_lights_are_described"
STATIC, SLIDES = (
    "test_a_push_of_a_static_model_is_rejected",
    "test_a_sliding_model_without_friction_keeps_its_speed",
)
LIGHT, HEAVY = {"mass_kg": 2.0}, {"mass_kg": 20.0}

CHANGES = [
    change_fault("no push", ignoring(Push), PUSH, "0.0", cases=LIGHT),
    change_fault("the mass stays", ignoring(SetMass), PUSH, "1.0", cases=HEAVY),
    change_fault(
        "a push lasts one step",
        changing(Push, duration_s=lambda s: 0.001),
        "test_a_push_moves_a_model_by_force_over_mass",
        "0.1875",
    ),
    change_fault(
        "a push lasts twice as long",
        changing(Push, duration_s=lambda s: 2 * s),
        "test_a_push_moves_a_model_by_force_over_mass",
        "0.1875",
    ),
    change_fault("a push in the frame of the link", PushesInTheFrameOfTheLink, WORLD, "1.0"),
    change_fault(
        "time passes in a change", TimePassesInAChange, WORLD, "advanced the simulated time"
    ),
    change_fault(
        "no torque",
        changing(Push, torque_nm=lambda t: (0.0, 0.0, 0.0)),
        "test_a_torque_changes_the_yaw_rate_by_angular_impulse_over_inertia",
        "0.5",
    ),
    change_fault("friction stays", ignoring(SetFriction), SLIDES, "1.0"),
    change_fault(
        "friction counts twice",
        FrictionCountsTwice,
        "test_a_sliding_model_stops_after_the_distance_v2_over_2_mu_g",
        "0.20",
    ),
    change_fault(
        "friction only falls",
        FrictionOnlyFalls,
        "test_friction_can_be_set_to_zero_and_then_restored",
        "0.05",
    ),
    change_fault(
        "gravity stays",
        ignoring(SetGravity),
        "test_models_accelerate_with_the_gravity_that_was_set",
        "0.25",
    ),
    change_fault(
        "gravity points down",
        changing(SetGravity, mps2=lambda g: (0, 0, -abs(g[2]))),
        "test_models_accelerate_with_the_gravity_that_was_set",
        "0.25",
    ),
    change_fault(
        "twists are ignored",
        changing(SetModel, linear_mps=lambda v: None),
        "test_a_model_keeps_its_twist_without_forces",
        "0.5",
    ),
    change_fault(
        "yaw rates are ignored",
        changing(SetModel, angular_radps=lambda w: (0, 0, 0)),
        "test_a_model_keeps_its_twist_without_forces",
        "0.4",
    ),
    change_fault(
        "twists in the frame of the model",
        TwistsInTheFrameOfTheModel,
        "test_a_model_follows_a_circle_if_its_twist_is_set_in_each_period",
        "Mismatched",
    ),
    change_fault(
        "poses without yaw",
        changing(SetModel, pose=lambda p: None if p is None else Pose(p.position)),
        "test_a_model_has_the_pose_that_was_set",
        "0.5",
    ),
    change_fault(
        "links stay",
        ignoring(SetLink),
        "test_a_link_has_the_pose_and_velocity_that_were_set",
        "-2.9",
    ),
    change_fault(
        "links do not move",
        changing(SetLink, linear_mps=lambda v: (0.0, 0.0, 0.0)),
        "test_a_link_has_the_pose_and_velocity_that_were_set",
        "-2.9",
    ),
    change_fault(
        "joints stay", ignoring(SetJoint), "test_a_joint_has_the_position_that_was_set", "0.7"
    ),
    change_fault("describes the file", DescribesTheFile, LOOKS, "0.25"),
    change_fault("saves without changes", SavesWithoutChanges, SAVED, "-3.7"),
    change_fault(
        "forgets changes when a model arrives",
        ForgetsChangesWhenOneArrives,
        "test_properties_of_a_spawned_model_change_until_it_is_deleted",
        "0.5",
    ),
    change_fault(
        "applies one by one",
        AppliesOneByOne,
        "test_if_one_name_is_unknown_no_change_is_applied",
        "9.0|1.0",
    ),
    change_fault("pushes what is static", PushesWhatIsStatic, STATIC, "DID NOT RAISE"),
    change_fault(
        "takes kinds that it does not declare",
        TakesAnyKind,
        "test_error_for_an_unsupported_change_names_its_kind",
        "DID NOT RAISE",
        changes=frozenset({SetModel}),
    ),
    change_fault(
        "moves by the clock",
        PushesByTheClock,
        "test_equal_changes_give_bit_identical_poses",
        "differ",
    ),
]
globals().update(
    rejections(ChangesConformance, {"make_simulator": lambda suite: EmbeddedSimulator()}, CHANGES)
)


# several robots


class DrivesTheFirst(EmbeddedSimulation):
    def _drive_other(self, command, robot):
        self._drive(command)


class DrivesAll(EmbeddedSimulation):
    def _drive(self, command):
        for robot in self._onboard.values():
            robot.drive(command)

    def _drive_other(self, command, robot):
        self._drive(command)


class NeverDrivesOthers(EmbeddedSimulation):
    def _drive_other(self, command, robot): ...


class DrivesAnyName(EmbeddedSimulation):
    def drive(self, command, robot=None):
        super().drive(command, robot if robot in self._onboard else None)


class Sensing(EmbeddedSimulation):
    """A simulation whose snapshots have wrong sensor readings of the second robot."""

    def _snapshot(self):
        shown = super()._snapshot()
        others = {name: self.other(sensed, shown) for name, sensed in shown.others.items()}
        return replace(shown, others=others)

    def other(self, sensed, shown):
        raise NotImplementedError


class ScanOfTheFirst(Sensing):
    def other(self, sensed, shown):
        return replace(sensed, scan=shown.scan)


class NoScanOfOthers(Sensing):
    def other(self, sensed, shown):
        return replace(sensed, scan=None)


class NoContactsOfOthers(Sensing):
    def other(self, sensed, shown):
        return replace(sensed, contacts=())


class NoSamplesOfOthers(Sensing):
    def other(self, sensed, shown):
        return replace(sensed, imu=())


class MountOfTheBase(Sensing):
    def other(self, sensed, shown):
        scan = sensed.scan
        ranges_m = None if scan is None else scan.ranges_m + 0.3
        return sensed if scan is None else replace(sensed, scan=replace(scan, ranges_m=ranges_m))


class ContactsOfAll(EmbeddedSimulation):
    def _snapshot(self):
        shown = super()._snapshot()
        everyone = [shown.contacts, *(sensed.contacts for sensed in shown.others.values())]
        return replace(shown, contacts=tuple(contact for some in everyone for contact in some))


class KeepsTheDeleted(EmbeddedSimulation):
    deleted = ()

    def _delete(self, names):
        super()._delete(names)
        self.deleted = (*self.deleted, *names)

    def _snapshot(self):
        shown = super()._snapshot()
        return replace(
            shown, others={**shown.others, **{name: SensorReadings() for name in self.deleted}}
        )


class DrivesTheDeleted(EmbeddedSimulation):
    def drive(self, command, robot=None):
        if robot is None or robot in self._onboard:
            super().drive(command, robot)


class DeletingStopsTheFirst(EmbeddedSimulation):
    def _delete(self, names):
        super()._delete(names)
        self._drive(Twist2D())


class StartsBesideTheFirst(Mutated):
    """A simulator in which further robots start at the pose of the first robot."""

    def _load(self, scene):
        others = tuple(replace(one, start=Pose2D(-2.0, -2.0, 0.0)) for one in scene.others)
        return super()._load(replace(scene, others=others))


class DropsOthers(Mutated):
    """A simulator that loads only the first robot and raises no error."""

    several_robots = True

    def _load(self, scene):
        return super()._load(replace(scene, others=()))


class RefusesWithoutAReason(EmbeddedSimulator):
    several_robots = False

    def load(self, scene):
        if scene.others:
            raise SimulatorError("not supported")
        return super().load(scene)


class IgnoresOthersThatItDoesNotTake(EmbeddedSimulator):
    several_robots = False

    def load(self, scene):
        return super().load(replace(scene, others=()))


def robots_fault(name, made, test, message, raises=()):
    if issubclass(made, EmbeddedSimulation):
        return Fault(name, test, message, {"make_simulator": lambda s: Mutated(made)}, {}, raises)
    if issubclass(made, Mutated):
        of = {"make_simulator": lambda suite: made(EmbeddedSimulation)}
        return Fault(name, test, message, of, {}, raises)
    return Fault(name, test, message, {"make_simulator": lambda suite: made()}, {}, raises)


EACH = "test_each_of_several_robots_has_its_own_command_scan_and_contacts"
ABSENT = "test_a_command_for_an_unknown_robot_is_rejected"
GONE = "test_the_first_robot_keeps_driving_after_the_second_is_deleted"

ROBOTS = [
    robots_fault("drives the first for another", DrivesTheFirst, EACH, "0.0"),
    robots_fault("drives all alike", DrivesAll, EACH, "0.0"),
    robots_fault("never drives others", NeverDrivesOthers, EACH, "3.0"),
    robots_fault("starts others elsewhere", StartsBesideTheFirst, EACH, "3.0"),
    robots_fault("drops others", DropsOthers, EACH, "second"),
    robots_fault("the scan of the first", ScanOfTheFirst, EACH, "Expected"),
    robots_fault("no scan of others", NoScanOfOthers, EACH, "None"),
    robots_fault("ranges from another mount", MountOfTheBase, EACH, "Expected"),
    robots_fault("no contacts of others", NoContactsOfOthers, EACH, "wall"),
    robots_fault(
        "contacts of all are the first's", ContactsOfAll, EACH, "the first robot has a contact"
    ),
    robots_fault("no samples of others", NoSamplesOfOthers, EACH, "len"),
    robots_fault("drives any name", DrivesAnyName, ABSENT, "DID NOT RAISE"),
    robots_fault("drives the deleted", DrivesTheDeleted, GONE, "DID NOT RAISE"),
    robots_fault("keeps the deleted", KeepsTheDeleted, GONE, "second"),
    robots_fault("deleting one stops the first", DeletingStopsTheFirst, GONE, "1.0"),
    robots_fault("refuses without a reason", RefusesWithoutAReason, EACH, "not supported"),
    robots_fault(
        "ignores others that it does not take",
        IgnoresOthersThatItDoesNotTake,
        EACH,
        "DID NOT RAISE",
    ),
]
globals().update(
    rejections(
        SeveralRobotsConformance, {"make_simulator": lambda suite: EmbeddedSimulator()}, ROBOTS
    )
)
