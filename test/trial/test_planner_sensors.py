"""Sensors that planners declare, from the model of the robot to the observations of a trial."""

import numpy as np
import pytest
from pydantic import ValidationError

from gz_testauto.base.errors import SdfError, SpecError
from gz_testauto.base.observation import Twist2D
from gz_testauto.base.resources import share_directory
from gz_testauto.campaign.runner import run_campaign
from gz_testauto.planners import PLANNERS
from gz_testauto.planners.interface import LocalPlanner, PlannerAborted
from gz_testauto.simulators.embedded import EmbeddedSimulator
from gz_testauto.simulators.kinematic import KinematicSimulator
from gz_testauto.spec.campaign import BuiltinPlannerSpec
from gz_testauto.trial.lockstep import LockstepExecutor
from gz_testauto.trial.plan import TrialSelection

SERVICE_ROBOT = share_directory() / "models" / "service_robot" / "model.sdf"


class ReadsSensors(LocalPlanner):
    """A planner that notes its observations for three cycles, and then aborts."""

    noted = ()

    def __init__(self, sensors: list = ()):
        self.sensors = tuple(sensors)

    def begin(self, task):
        ReadsSensors.noted = ()

    def plan(self, observation):
        ReadsSensors.noted += (observation,)
        if len(self.noted) == 3:
            raise PlannerAborted("noted")
        return Twist2D(0.2, 0.0)


PLANNERS.register("ReadsSensors", ReadsSensors)


@pytest.fixture
def drive(smoke, tmp_path):
    """Return a function that runs one trial of a planner, and returns its observations."""

    def start(sensors=(), simulator=EmbeddedSimulator, lidar="front_lidar", out="out", **robot):
        parameters = {"sensors": list(sensors)}
        planner = BuiltinPlannerSpec(name="reads", plugin="ReadsSensors", parameters=parameters)
        robot = {"model": SERVICE_ROBOT, "lidar": lidar, **robot}
        robot_spec = smoke.robot.model_copy(update=robot)
        spec = smoke.model_copy(update={"planners": (planner,), "robot": robot_spec})
        results = run_campaign(
            spec,
            tmp_path / out,
            lambda campaign: LockstepExecutor(campaign, lambda _: simulator()),
            selection=TrialSelection(worlds=1),
        )
        assert len(results.trials) == 1
        return ReadsSensors.noted, results.trials[0]

    return start


@pytest.mark.slow
def test_planner_receives_only_the_sensors_that_it_declares(drive):
    noted, _ = drive(["camera", "base::sonar_left"])
    assert len(noted) == 3
    for observation in noted:
        assert set(observation.sensors) == {"camera", "sonar_left"}
        assert observation.sensors["camera"].stamp_s == pytest.approx(observation.time_s)


@pytest.mark.slow
def test_declared_sensors_do_not_change_the_trial(drive):
    """Poses and scans are equal, bit by bit, with and without further sensors."""
    seen = [drive(sensors, out=str(len(sensors)))[0] for sensors in ((), ("camera", "bumper"))]
    for first, second in zip(*seen):
        assert first.sensors == {} and second.sensors
        assert first.pose == second.pose
        assert np.array_equal(first.scan.ranges_m, second.scan.ranges_m)


def test_unknown_sensor_of_a_planner_is_rejected_before_the_first_trial(drive):
    with pytest.raises(SpecError) as error:
        drive(["kamera"])
    for part in ("planner 'reads'", "'kamera'", "'camera'", "service_robot"):
        assert part in str(error.value)


@pytest.mark.slow
def test_planner_receives_a_reading_after_its_delay(drive):
    noted, _ = drive(["camera"], sensor_delays_s={"camera": 0.1})
    stamps = [one.sensors["camera"].stamp_s for one in noted]
    assert stamps == pytest.approx([0.0, 0.0, 0.1])


def test_delay_of_an_unknown_sensor_is_rejected(drive):
    with pytest.raises(SdfError, match=r"robot\.sensor_delays_s.*'kamera'"):
        drive(["camera"], sensor_delays_s={"kamera": 0.1})


def test_negative_delay_is_rejected(smoke):
    values = {**smoke.robot.model_dump(), "sensor_delays_s": {"camera": -0.1}}
    with pytest.raises(ValidationError, match=r"'camera' is -0\.1"):
        type(smoke.robot).model_validate(values)


@pytest.mark.slow
def test_merged_lidar_is_the_scan_of_planners(drive):
    noted, _ = drive(lidar="front_lidar,rear_lidar")
    scan = noted[0].scan
    assert len(scan.ranges_m) == 720 and np.isfinite(scan.ranges_m).mean() > 0.9
    assert not np.isinf(scan.ranges_m).any(), "the room has walls on all sides"
    assert noted[0].sensors == {}, "the planner declares no sensor"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sensors", "lidar"), [(["camera"], "front_lidar"), ([], "front_lidar,rear_lidar")]
)
def test_simulator_without_sensors_is_rejected_with_their_names(drive, sensors, lidar):
    name = sensors[0] if sensors else "front_lidar"
    with pytest.raises(SpecError, match=f"'kinematic'.*'{name}'"):
        drive(sensors, KinematicSimulator, lidar)
