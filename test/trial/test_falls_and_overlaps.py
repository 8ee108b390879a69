"""Robots that fall or tip over, and worlds with overlapping models, in several simulators."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

from gz_testauto.campaign.runner import run_campaign
from gz_testauto.campaign.simulator import start_simulator
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.store import ResultStore
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.spec.loader import parse
from gz_testauto.trial.lockstep import LockstepExecutor
from gz_testauto.trial.outcome import Outcome

SIMULATORS = ("embedded", pytest.param("gazebo", marks=pytest.mark.gazebo))

MASTED = """<sdf version="1.6"><model name="masted">
<link name="base">{heavy_5}
  <collision name="chassis"><pose>0 0 0.15 0 0 0</pose><geometry><box><size>0.4 0.3 0.1</size></box>
    </geometry></collision>
  <collision name="mast"><pose>0 0 1 0 0 0</pose><geometry><cylinder><radius>0.03</radius>
    <length>1.6</length></cylinder></geometry></collision>
  <collision name="front"><pose>0.15 0 0.04 0 0 0</pose><geometry><sphere><radius>0.04</radius>
    </sphere></geometry>{smooth}</collision>
  <collision name="rear"><pose>-0.15 0 0.04 0 0 0</pose><geometry><sphere><radius>0.04</radius>
    </sphere></geometry>{smooth}</collision>
  <sensor name="lidar" type="ray"><pose>0.1 0 0.3 0 0 0</pose><update_rate>10</update_rate><ray>
    <scan><horizontal><samples>61</samples><min_angle>-1.57</min_angle><max_angle>1.57</max_angle>
    </horizontal></scan><range><min>0.1</min><max>10</max></range></ray></sensor></link>
<link name="top"><pose>0 0 1.7 0 0 0</pose>{heavy_20}<collision name="c"><geometry><sphere>
  <radius>0.12</radius></sphere></geometry></collision></link>
<joint name="mount" type="fixed"><parent>base</parent><child>top</child></joint>
{wheels}
<plugin name="d" filename="libDiffDrivePlugin.so"><left_joint>left_j</left_joint>
  <right_joint>right_j</right_joint><torque>20</torque></plugin></model></sdf>"""
"""A robot that tips forward when it brakes, and backward when it accelerates."""

WHEEL = """<link name="{0}"><pose>0 {1} 0.1 -1.5708 0 0</pose>{heavy_1}<collision name="c">
  <geometry><cylinder><radius>0.1</radius><length>0.04</length></cylinder></geometry></collision>
  </link><joint name="{0}_j" type="revolute"><parent>base</parent><child>{0}</child>
  <axis><xyz>0 0 1</xyz></axis></joint>"""


def heavy(mass, moment):
    return (
        f"<inertial><mass>{mass}</mass><inertia><ixx>{moment}</ixx><iyy>{moment}</iyy>"
        f"<izz>{moment}</izz><ixy>0</ixy><ixz>0</ixz><iyz>0</iyz></inertia></inertial>"
    )


def masted():
    wheel = WHEEL.replace("{heavy_1}", heavy(1, 0.004))
    return MASTED.format(
        heavy_5=heavy(5, 0.1),
        heavy_20=heavy(20, 0.2),
        smooth="<surface><friction><ode><mu>0</mu><mu2>0</mu2></ode></friction></surface>",
        wheels=wheel.format("left", 0.19) + wheel.format("right", -0.19),
    )


def box(name, pose, size, static=0):
    return (
        f'<model name="{name}"><static>{static}</static><pose>{pose} 0 0 0</pose><link name="l">'
        f'{heavy(10, 1)}<collision name="c"><geometry><box><size>{size}</size></box></geometry>'
        "</collision></link></model>"
    )


FLYING = box("pillar", "0 2.5 1", "1 1 2", static=1) + box("shelf", "0.2 2.6 1", "1 0.6 2")
SETTLING = (
    box("falling", "0 2.5 1.5", "0.4 0.4 0.4")
    + box("resting", "1 2.5 0.205", "0.4 0.4 0.4")
    + box("below", "-1 -2.5 0.2", "0.4 0.4 0.4")
    + box("on_top", "-1 -2.5 0.595", "0.4 0.4 0.4")
)


@pytest.fixture
def drive(smoke, tmp_path):
    """Run ``straight`` in a room with further models; one trial per world."""

    def start(simulator, worlds, robot=None, **changes):
        directory = tmp_path / "ready"
        directory.mkdir()
        for name, models in worlds.items():
            room = smoke.worlds.base.read_text().replace("</world>", f"{models}</world>")
            (directory / f"{name}.world").write_text(room)
        body = smoke.robot.model_copy(update=changes)
        if robot is not None:
            model = tmp_path / "robot.sdf"
            model.write_text(robot)
            body = body.model_copy(update={"model": model})
        updates = {
            "worlds": type(smoke.worlds)(directory=directory),
            "robot": body,
            "planners": smoke.planners[:1],
            "simulator": simulator,
        }
        out = tmp_path / "out"
        results = run_campaign(
            smoke.model_copy(update=updates),
            out,
            lambda campaign: LockstepExecutor(campaign, start_simulator),
        )
        with ResultStore.read(CampaignDirectory(out)) as store:
            recordings = [store.trajectory(r) if r.trajectory else None for r in results.trials]
        return SimpleNamespace(trials=results.trials, recordings=recordings)

    return start


@pytest.mark.slow
@pytest.mark.parametrize("simulator", SIMULATORS)
def test_world_with_overlapping_models_is_rejected(simulator, drive):
    ran = drive(simulator, {"flying": FLYING, "settling": SETTLING})
    refused, settled = ran.trials
    assert (refused.outcome, refused.attempts) == (Outcome.INVALID, 1)
    assert re.match(r"shelf moved \d+\.\d\d m in 0\.\d0 s without being touched", refused.detail)
    assert settled.outcome is Outcome.REACHED


@pytest.mark.slow
@pytest.mark.parametrize("simulator", SIMULATORS)
def test_robot_that_falls_on_its_side_has_tipped_over(simulator, drive):
    fast = {"max_linear_mps": 2.0, "max_linear_accel_mps2": 20.0}
    ran = drive(simulator, {"room": ""}, masted(), **fast)
    assert ran.trials[0].outcome is Outcome.TIPPED_OVER, ran.trials[0].detail
    recording = ran.recordings[0]
    assert np.abs(recording.roll_pitch_rad).max() > 0.8
    assert np.abs(recording.z_m).max() < 1.0


def test_robot_without_collisions_falls_and_its_trial_is_invalid(drive):
    nothing = "<surface><contact><collide_bitmask>0</collide_bitmask></contact></surface>"
    solid = re.sub("<surface>.*?</surface>", "", masted())
    ghost = solid.replace("</collision>", f"{nothing}</collision>")
    record = drive("embedded", {"room": ""}, ghost).trials[0]
    assert (record.outcome, record.attempts) == (Outcome.INVALID, 1)
    assert re.search(r"sank by .* to z = -0\.\d+ m, .* has collision shapes", record.detail)


@pytest.mark.gazebo
def test_trial_is_invalid_if_the_robot_falls_through_a_hole_in_the_ground(smoke, drive, tmp_path):
    corners, faces = [], []
    for x_0, y_0, x_1, y_1 in ((-6, -6, 0.5, 6), (2.5, -6, 6, 6)):
        first = len(corners) + 1
        corners += [(x_0, y_0), (x_1, y_0), (x_1, y_1), (x_0, y_1)]
        faces += [(first, first + 1, first + 2), (first, first + 2, first + 3)]
    lines = [f"v {x} {y} 0" for x, y in corners] + ["f {} {} {}".format(*face) for face in faces]
    floor = tmp_path / "floor.obj"
    floor.write_text("\n".join(lines) + "\n")
    mesh = f"<mesh><uri>file://{floor}</uri></mesh>"
    world = tmp_path / "floor.world"
    text = re.sub(r"<plane>.*?</plane>", mesh, smoke.worlds.base.read_text(), flags=re.DOTALL)
    assert mesh in text
    world.write_text(text)
    spec = parse(
        f"{{name: hole, worlds: {{directory: {tmp_path}}}, robot: {{model: "
        f"{smoke.robot.model}, start: {{x_m: -3.0, y_m: 0.0}}}}, goal: {{x_m: 3.0, y_m: 0.0}}, "
        "planners: [straight], simulator: gazebo}",
        CampaignSpec,
        tmp_path / "hole.yaml",
    )
    results = run_campaign(
        spec, tmp_path / "out", lambda campaign: LockstepExecutor(campaign, start_simulator)
    )
    assert [record.outcome for record in results.trials] == [Outcome.INVALID]
    assert re.search(
        r"the robot fell: at 4\.\d+ s it is at z = -\d\.\d+ m", results.trials[0].detail
    )
