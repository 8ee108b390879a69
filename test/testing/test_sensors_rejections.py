"""Rejection of simulators that break one rule of the sensors, by the suite for sensors."""

import types
from dataclasses import replace

import numpy as np
from faults import Fault, rejections

from gz_testauto.base.observation import SensorReadings
from gz_testauto.base.pose import Pose
from gz_testauto.simulators.embedded import EmbeddedSimulator
from gz_testauto.testing.sensors_conformance import SensorsConformance

SELECTED = "test_only_selected_sensors_are_measured_and_have_a_reading_at_time_0"
SURFACES = "test_points_of_the_rays_are_on_the_surfaces_of_the_world"
CONE = "test_a_sonar_measures_the_nearest_surface_in_its_cone"
DUE = "test_a_sensor_measures_at_the_end_of_the_step_that_is_due"
NOISE = "test_noise_depends_only_on_the_seed"
DELAY = "test_a_delayed_reading_has_the_stamp_of_its_measurement"
BUMPER = "test_a_bumper_reports_each_contact_of_its_shapes_once"
MERGED = "test_a_merged_lidar_detects_obstacles_on_all_sides"
ROBOTS = "test_each_of_several_robots_has_its_own_readings"


def simulator(of_scene=None, of_reading=None, of_sensed=None, senses=True):
    """Return a function that makes an embedded simulator with changed scenes, readings or sensor
    data. ``of_reading`` accepts the reading and the time of the snapshot (s)."""

    class Changed(EmbeddedSimulator):
        def _load(self, scene):
            simulation = super()._load(of_scene(scene) if of_scene else scene)
            inner = simulation._snapshot

            def _snapshot(self):
                shown = inner()
                changed = {}
                for name, reading in shown.sensors.items():
                    changed[name] = of_reading(reading, shown.time_s) if of_reading else reading
                shown = replace(shown, sensors=changed)
                return of_sensed(shown) if of_sensed else shown

            simulation._snapshot = types.MethodType(_snapshot, simulation)
            return simulation

    Changed.senses = senses
    return {"make_simulator": lambda suite: Changed()}


def all_sensors(scene):
    return replace(
        scene, sensors=(*scene.sensors, *scene.robot.sensors[-1:], scene.robot.sensors[0])
    )


def with_ranges(change):
    """Return a function that changes the ranges of a reading."""
    return lambda reading, time_s: replace(reading, ranges_m=change(reading.ranges_m))


def only(name, change):
    """Return a function that changes the ranges of the readings of one sensor."""

    def changed(reading, time_s):
        if reading.sensor.name != name:
            return reading
        return replace(reading, ranges_m=change(reading.ranges_m))

    return changed


def with_sensors(change):
    """Return a function that changes each selected sensor of a scene."""

    def changed(scene):
        others = tuple(
            replace(one, sensors=tuple(change(s) for s in one.sensors)) for one in scene.others
        )
        return replace(scene, sensors=tuple(change(one) for one in scene.sensors), others=others)

    return changed


def of_kind(kind, change):
    return lambda sensor: change(sensor) if sensor.kind == kind else sensor


def mounted(change):
    return with_sensors(lambda sensor: replace(sensor, mount=change(sensor.mount)))


class Forgets:
    """A change of readings that omits contacts of every second reading."""

    def __init__(self):
        self.count = 0

    def __call__(self, reading, time_s):
        self.count += 1
        return reading if self.count % 2 else replace(reading, contacts=())


class Repeats:
    """A change of readings that returns contacts a second time."""

    def __init__(self):
        self.before = ()

    def __call__(self, reading, time_s):
        before, self.before = self.before, reading.contacts
        return replace(reading, contacts=(*before, *reading.contacts))


def exchanged(reading, time_s):
    contacts = [replace(one, first=one.second, second=one.first) for one in reading.contacts]
    return replace(reading, contacts=tuple(contacts))


def reversed_normals(reading, time_s):
    contacts = [
        replace(one, normals=tuple(tuple(-v for v in n) for n in one.normals))
        for one in reading.contacts
    ]
    return replace(reading, contacts=tuple(contacts))


def first_lidar_only(shown):
    part = shown.sensors.get("front_lidar")
    return shown if part is None else replace(shown, scan=part.scan)


def noise_of(generator):
    def changed(reading, time_s):
        return replace(reading, ranges_m=reading.ranges_m + generator.normal(0, 0.001))

    return changed


def shared_readings(shown):
    own = SensorReadings(sensors=shown.sensors)
    return replace(shown, others=dict.fromkeys(shown.others, own))


FAULTS = [
    Fault("measures all sensors", SELECTED, "other sensors", simulator(all_sensors)),
    Fault(
        "no readings at time 0",
        SELECTED,
        "other sensors",
        simulator(of_sensed=lambda s: s if s.time_s else replace(s, sensors={})),
    ),
    Fault(
        "ignores the selection",
        SELECTED,
        "other sensors",
        simulator(lambda scene: replace(scene, sensors=())),
    ),
    Fault(
        "does not reject sensors",
        SELECTED,
        "DID NOT RAISE",
        {"make_simulator": lambda suite: _accepting()},
    ),
    Fault(
        "ranges from the base",
        SURFACES,
        "surface|points",
        simulator(mounted(lambda pose: Pose())),
    ),
    Fault(
        "mirrored ranges",
        SURFACES,
        "surface|points",
        simulator(of_reading=with_ranges(lambda r: np.ascontiguousarray(r[:, ::-1]))),
    ),
    Fault(
        "long ranges",
        SURFACES,
        "surface|points",
        simulator(of_reading=with_ranges(lambda r: 1.02 * r)),
    ),
    *(
        Fault(
            f"long ranges of {name}",
            SURFACES,
            name,
            simulator(of_reading=only(name, lambda r: 1.02 * r)),
        )
        for name in ("lidar_3d", "rear_lidar")
    ),
    Fault(
        "upside down",
        SURFACES,
        "surface|points",
        simulator(of_reading=with_ranges(lambda r: np.ascontiguousarray(r[::-1]))),
    ),
    Fault(
        "depth instead of range",
        SURFACES,
        "surface|points",
        simulator(
            of_reading=lambda r, t: replace(
                r, ranges_m=r.ranges_m * r.sensor.directions[:, 0].reshape(r.ranges_m.shape)
            )
        ),
    ),
    Fault(
        "only the axis of a cone",
        CONE,
        "pole",
        simulator(
            with_sensors(
                of_kind(
                    "range",
                    lambda s: replace(
                        s, columns=s.columns._replace(samples=1, first=0.0, last=0.0)
                    ),
                )
            )
        ),
    ),
    Fault(
        "the maximum range without a return",
        CONE,
        "without a return",
        simulator(of_reading=with_ranges(lambda r: np.minimum(r, 4.0))),
    ),
    Fault(
        "measures after each step",
        DUE,
        "measured at",
        simulator(with_sensors(lambda s: replace(s, update_rate_hz=0.0))),
    ),
    Fault(
        "stamps of the snapshot",
        DUE,
        "measured at",
        simulator(of_reading=lambda reading, time_s: replace(reading, stamp_s=time_s)),
    ),
    Fault(
        "half of the rate",
        DUE,
        "measured at",
        simulator(with_sensors(lambda s: replace(s, update_rate_hz=s.update_rate_hz / 2))),
    ),
    Fault(
        "noise of another generator",
        NOISE,
        "other noise",
        simulator(of_reading=noise_of(np.random.default_rng(1))),
    ),
    Fault(
        "noise without the seed",
        NOISE,
        "another seed",
        simulator(lambda scene: replace(scene, seed=0)),
    ),
    Fault(
        "without noise",
        NOISE,
        "the same noise",
        simulator(with_sensors(lambda s: replace(s, noise_m=(0.0, 0.0)))),
    ),
    Fault(
        "too much noise",
        NOISE,
        "the noise is",
        simulator(with_sensors(lambda s: replace(s, noise_m=(s.noise_m[0], 2 * s.noise_m[1])))),
    ),
    Fault(
        "without delay",
        DELAY,
        "wrong delay",
        simulator(with_sensors(lambda s: replace(s, delay_s=0.0))),
    ),
    Fault(
        "delayed stamps",
        DELAY,
        "wrong delay",
        simulator(
            with_sensors(lambda s: replace(s, delay_s=0.0)),
            lambda r, t: replace(r, stamp_s=r.stamp_s - 0.25),
        ),
    ),
    Fault("loses contacts", BUMPER, "no contact|lost", simulator(of_reading=Forgets())),
    Fault("repeats contacts", BUMPER, "reported twice", simulator(of_reading=Repeats())),
    Fault("the wall first", BUMPER, "first shape", simulator(of_reading=exchanged)),
    Fault("normals away", BUMPER, "normal", simulator(of_reading=reversed_normals)),
    Fault(
        "the first lidar instead of all",
        MERGED,
        "wrong origin",
        simulator(of_sensed=first_lidar_only),
    ),
    Fault(
        "no readings of parts",
        MERGED,
        "no reading",
        simulator(of_sensed=lambda s: replace(s, sensors={})),
    ),
    Fault(
        "no merged scan", MERGED, "no scan", simulator(of_sensed=lambda s: replace(s, scan=None))
    ),
    Fault(
        "readings of the first robot",
        ROBOTS,
        "rear_lidar",
        simulator(of_sensed=shared_readings),
    ),
    Fault(
        "no readings of others",
        ROBOTS,
        "rear_lidar",
        simulator(
            lambda scene: replace(
                scene, others=tuple(replace(one, sensors=()) for one in scene.others)
            )
        ),
    ),
]


def _accepting():
    class Accepting(EmbeddedSimulator):
        def require_senses(self, robot, sensors):
            pass

    Accepting.senses = False
    return Accepting()


globals().update(
    rejections(SensorsConformance, {"make_simulator": lambda suite: EmbeddedSimulator()}, FAULTS)
)
