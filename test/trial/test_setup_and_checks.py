"""The data of a campaign for one trial, and worlds that are rejected before a simulator starts."""

import math
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image
from trial_values import trial_value

from gz_testauto.base.errors import SpecError
from gz_testauto.sampling import seeds
from gz_testauto.sdf.robot import read_robot
from gz_testauto.spec.model import PoseSpec
from gz_testauto.spec.robot import CompanionSpec, SteeringSpec
from gz_testauto.trial.checks import check_trials, require_drivable
from gz_testauto.trial.plan import PreparedCampaign, TrialSelection
from gz_testauto.trial.testbed import (
    bed_of,
    read_body,
    require_builtin,
    require_stack,
    robot_limits,
)
from gz_testauto.worlds.record import GPU_LIDAR, WorldRecord

FLOOR = '<model name="floor"><static>1</static><link name="l"><collision name="c"><geometry><plane/></geometry></collision></link></model>'  # fmt: skip  # noqa: E501
BOX = (
    '<model name="{}"><static>1</static><pose>{} {} 0.5 0 0 0</pose><link name="l"><collision '
    'name="c"><geometry><box><size>1 1 1</size></box></geometry></collision></link>{}</model>'
)
PLUGIN = '<plugin name="p" filename="libmove.so"/>'


@pytest.fixture
def prepared(smoke, tmp_path):
    """The small campaign in worlds of these models, from (-3, 0) to (3, 0)."""

    def make(*worlds, before="", **changes):
        spec, records = smoke.model_copy(update=changes), []
        for index, models in enumerate(worlds or ("",)):
            path = tmp_path / f"w{index}.world"
            path.write_text(
                f'<sdf version="1.6"><world name="w">{before}{FLOOR}{models}</world></sdf>'
            )
            records.append(WorldRecord(index, f"w{index}", path, f"sha{index}"))
        return PreparedCampaign(bed_of(spec, read_body(spec)), records)

    return make


def check(campaign):
    return check_trials(campaign.bed, campaign.trials)


DOOR = (
    '<model name="door"><pose>0 3 0.5 0 0 0</pose><link name="frame"/><link name="leaf"/>'
    '<joint name="hinge" type="revolute"><parent>frame</parent><child>leaf</child><axis>'
    "<xyz>0 0 1</xyz><limit><lower>{}</lower><upper>1.6</upper></limit></axis></joint></model>"
)


def test_a_joint_that_starts_outside_of_its_limits_gives_one_notice(prepared):
    assert check(prepared(DOOR.format(0.0))) == ()
    (notice,) = check(prepared(DOOR.format(0.5), DOOR.format(0.5)))
    assert "'door::hinge' starts at 0, outside of its limits 0.5 to 1.6" in notice


def test_world_without_obstacles_on_the_path_is_accepted_without_a_notice(prepared):
    assert check(prepared("", BOX.format("crate", 0, 3, ""))) == ()


@pytest.mark.parametrize(
    ("place", "what"),
    [((-3, 0.2), "would start inside crate"), ((3.2, 0.3), r"the goal of .* \(3, 0\) is inside")],
)
def test_start_or_goal_inside_an_obstacle_is_rejected_with_the_world(prepared, place, what):
    with pytest.raises(SpecError, match=rf"world w1 .*: .*{what}"):
        check(prepared("", BOX.format("crate", *place, "")))


def test_goal_inside_an_obstacle_is_rejected_with_its_number(prepared, smoke):
    goal = smoke.goal.model_copy(update={"via": [PoseSpec(x_m=0, y_m=3), PoseSpec(x_m=0, y_m=-3)]})
    with pytest.raises(SpecError, match=r"goal 2 of 3 of .* \(0, -3\) is inside crate"):
        check(prepared(BOX.format("crate", 0, -3, ""), goal=goal))


@pytest.mark.parametrize(("gray", "is_rejected"), [(0, False), (255, True)])
def test_start_below_terrain_is_rejected(prepared, tmp_path, gray, is_rejected):
    Image.fromarray(np.full((17, 17), gray, dtype=np.uint8)).save(tmp_path / "hill.png")
    terrain = f"<heightmap><uri>file://{tmp_path}/hill.png</uri><size>20 20 2</size></heightmap>"
    campaign = prepared(FLOOR.replace("floor", "hill").replace("<plane/>", terrain))
    if is_rejected:
        with pytest.raises(SpecError, match="start below the terrain of hill"):
            check(campaign)
    else:
        check(campaign)


@pytest.mark.parametrize("changes", [{"x_m": -3.2, "y_m": 0.1}, {"tolerance_m": 1e6}])
def test_a_start_within_the_tolerance_of_the_goal_is_rejected(prepared, smoke, changes):
    goal = smoke.goal.model_copy(update=changes)
    with pytest.raises(SpecError, match=r"world w0 .* \(-3, 0\) is within goal\.tolerance_m"):
        check(prepared(goal=goal))
    around = goal.model_copy(update={"via": [PoseSpec(x_m=0, y_m=3)], "tolerance_m": 0.5})
    check(prepared(goal=around))


def test_model_with_the_name_of_the_robot_is_rejected(prepared, smoke):
    with pytest.raises(SpecError, match=f"already named '{smoke.robot.name}'"):
        check(prepared(BOX.format(smoke.robot.name, 0, 3, "")))


@pytest.mark.parametrize(
    ("step_s", "period_s", "fits"),
    [(0.001, 0.1, True), (0.05, 0.1, True), (0.1, 0.1, True), (0.03, 0.1, False), (0.3, 0.1, False),
     (0.0, 0.1, True), (1e-320, 0.1, False)],
)  # fmt: skip
def test_control_period_must_be_a_multiple_of_the_physics_step(prepared, step_s, period_s, fits):
    physics = f'<physics type="ode"><max_step_size>{step_s}</max_step_size></physics>'
    campaign = prepared("", before=physics, control_period_s=period_s)
    if fits:
        check(campaign)
    else:
        with pytest.raises(SpecError, match=f"max_step_size, {step_s:g}"):
            check(campaign)


def test_physics_step_that_is_too_small_for_gazebo_is_rejected(prepared):
    physics = '<physics type="ode"><max_step_size>1e-12</max_step_size></physics>'
    with pytest.raises(SpecError, match="max_step_size is 1e-12 s; it must be at least 1e-06 s"):
        check(prepared("", before=physics))


def test_static_models_at_one_pose_with_plugins_are_rejected(prepared):
    two = BOX.format("a", 0, 3, PLUGIN) + BOX.format("b", 0, 3, PLUGIN)
    with pytest.raises(SpecError, match=r"\(libmove\.so\) .*2 static models.* \(a, b\)"):
        check(prepared(two))
    three = two + BOX.format("c", 0, 3, PLUGIN.replace("libmove", "libturn"))
    with pytest.raises(SpecError, match=r"\(libmove\.so, \.\.\.\) .*3 .*\(a, b, \.\.\.\)"):
        check(prepared(three))
    for models in (
        BOX.format("a", 0, 3, PLUGIN) + BOX.format("b", 0, 3, ""),
        BOX.format("a", 0, 3, PLUGIN) + BOX.format("b", 0, -3, PLUGIN),
    ):
        check(prepared(models))


def companion(name, y_m, **fields):
    start, goal = {"x_m": -3.0, "y_m": y_m}, {"x_m": 3.0, "y_m": y_m}
    return CompanionSpec.model_validate({"name": name, "start": start, "goal": goal, **fields})


def test_robots_that_overlap_at_their_starts_are_rejected(prepared):
    check(prepared("", robots=(companion("guest", 2.0),), simulator="embedded"))
    with pytest.raises(SpecError, match=r"robots .* and 'guest' overlap"):
        check(prepared("", robots=(companion("guest", 0.3),), simulator="embedded"))
    pair = (companion("guest", 2.0), companion("other", 2.3))
    with pytest.raises(SpecError, match="'guest' and 'other' overlap"):
        check(prepared("", robots=pair, simulator="embedded"))


def test_companion_robot_has_a_separate_start_goal_planner_and_seed(prepared, smoke):
    campaign = prepared("", "", robots=(companion("guest", 2.0, planner="straight"),))
    mine, guest = campaign.bed.robots
    trial = campaign.trials[-1]
    assert (mine.robot.name, guest.robot.name) == (smoke.robot.name, "guest")
    assert guest.task(trial).goal.y_m == 2.0
    assert guest.planner(trial).plugin == "straight"
    assert mine.planner(trial).plugin == "fgm"
    assert guest.planner_seed(trial) != mine.planner_seed(trial)
    scene = campaign.bed.scene(trial)
    assert (scene.start.y_m, scene.seed) == (0.0, trial.seed)
    assert [(one.robot.name, one.start.y_m) for one in scene.others] == [("guest", 2.0)]
    (robot,) = campaign.bed.robots_as_models(trial, "guest")
    assert robot.name == smoke.robot.name


def test_rules_and_tasks_have_the_values_of_the_campaign(prepared, smoke):
    goal = smoke.goal.model_copy(update={"via": [PoseSpec(x_m=0, y_m=1)]})
    limits = smoke.limits.model_copy(update={"max_tilt_rad": None, "max_off_road_m": 0.5})
    campaign = prepared("", goal=goal, limits=limits)
    trial = campaign.trials[0]
    rules = campaign.bed.rules(trial)
    assert (rules.goal.y_m, [pose.x_m for pose in rules.further]) == (1.0, [3.0])
    assert (rules.timeout_s, rules.stuck_window_s, rules.tolerance_m) == (30.0, 10.0, 0.5)
    assert (math.isinf(rules.max_tilt_rad), rules.max_off_road_m) == (True, 0.5)
    assert math.isinf(prepared("").bed.rules(trial).max_off_road_m)
    assert prepared("").bed.rules(trial).max_tilt_rad == smoke.limits.max_tilt_rad
    first, second = campaign.bed.task(trial), campaign.bed.task(trial, 1)
    assert (first.goal.y_m, second.goal.x_m) == (1.0, 3.0)
    assert tuple(first.waypoints_m[0]) == (-3.0, 0.0)
    assert tuple(second.waypoints_m[0]) == (0.0, 1.0)
    assert first.seed == seeds.child_seed(trial.seed, seeds.PLANNER, smoke.robot.name, 0)
    assert second.seed == seeds.child_seed(trial.seed, seeds.PLANNER, smoke.robot.name, 1)


def test_limits_come_from_the_campaign_and_the_footprint_from_the_model(smoke):
    body = read_body(smoke)
    limits = robot_limits(smoke, body)
    assert limits.footprint_m == body.footprint_m
    assert (limits.wheelbase_m, limits.max_steer_rad) == (0.0, 0.0)
    steering = SteeringSpec(wheelbase_m=1.5, max_rad=0.6)
    outline = [(0.5, 0.5), (-0.5, 0.5), (-0.5, -0.5), (0.5, -0.5)]
    robot = smoke.robot.model_copy(update={"steering": steering, "footprint_m": outline})
    own = robot_limits(smoke.model_copy(update={"robot": robot}), body)
    assert (own.wheelbase_m, own.max_steer_rad) == (1.5, 0.6)
    assert own.footprint_m == tuple(outline)


def test_height_in_the_campaign_replaces_that_of_the_model(smoke):
    robot = smoke.robot.model_copy(update={"height_m": (0.1, 0.7)})
    assert read_body(smoke.model_copy(update={"robot": robot})).height_m == (0.1, 0.7)
    nothing = robot.model_copy(update={"model": None})
    with pytest.raises(SpecError, match="campaign smoke: robot"):
        read_body(smoke.model_copy(update={"robot": nothing}))


def test_plugin_for_ackermann_steering_is_named_with_a_robot_that_works(smoke):
    body = read_body(smoke)
    plugin = "libgazebo_ros_ackermann_drive.so"
    robot = replace(body, drive=None, sdf=body.sdf.replace("libDiffDrivePlugin.so", plugin))
    with pytest.raises(SpecError, match=rf"steering \(plugin {plugin}\).*set robot\.steering, as "):
        require_drivable(robot)


HINGE = (
    '<link name="knuckle"><pose>0.5 0 0.1 0 0 0</pose></link><link name="front_wheel">'
    '<pose>0.5 0 0.1 0 0 0</pose></link><joint name="{name}" type="revolute"><parent>base</parent>'
    "<child>knuckle</child><axis><xyz>{axis}</xyz>{limit}</axis></joint>"
    '<joint name="axle" type="{wheel}"><parent>knuckle</parent><child>front_wheel</child>'
    "<axis><xyz>0 1 0</xyz></axis></joint></model>"
)
LIMIT = "<limit><lower>-0.5</lower><upper>0.5</upper></limit>"


@pytest.mark.parametrize(
    ("parts", "is_steering"),
    [
        ({}, True),
        ({"axis": "0 0 -1"}, True),
        ({"limit": ""}, False),  # a caster
        ({"name": "front_Steering", "limit": ""}, True),
        ({"name": "caster_steering", "limit": ""}, False),
        ({"axis": "0 1 0"}, False),  # a suspension
        ({"limit": "<limit><lower>0</lower><upper>0</upper></limit>"}, False),  # fixed
        ({"wheel": "fixed"}, False),  # for example, a sensor that pans
    ],
)
def test_steering_is_a_hinge_with_limits_that_carries_a_wheel(prepared, smoke, parts, is_steering):
    parts = {"name": "hinge", "axis": "0 0 1", "limit": LIMIT, "wheel": "revolute", **parts}
    body = read_body(smoke)
    sdf = body.sdf.replace("</model>", HINGE.format(**parts))
    pattern = rf"steering \(joint {parts['name']}\)" if is_steering else r"no supported drive"
    with pytest.raises(SpecError, match=pattern):
        require_drivable(replace(body, drive=None, sdf=sdf))
    campaign = prepared()
    campaign.bed.robot = replace(body, sdf=sdf)
    notices = [notice for notice in check(campaign) if "Ackermann" in notice]
    assert len(notices) == is_steering
    assert all("which its drive does not turn; remove its steering" in text for text in notices)


def test_robot_without_a_drive_or_a_lidar_is_rejected(smoke):
    body = read_body(smoke)
    require_drivable(body)
    with pytest.raises(
        SpecError, match=r"plugins: libDiffDrivePlugin\.so.*robot\.drive.*joints: .*left"
    ):
        require_drivable(replace(body, drive=None))
    with pytest.raises(SpecError, match="has no lidar"):
        require_drivable(replace(body, lidar=None))


def test_campaign_without_launch_files_is_rejected_by_a_stack_executor(prepared):
    campaign = prepared("")
    assert require_builtin(campaign.bed) is campaign.bed
    with pytest.raises(SpecError, match="stack"):
        require_stack(campaign.bed)


def test_selection_covers_worlds_planners_and_trials():
    trial = trial_value(5, "w1", 1)
    assert TrialSelection().covers(trial)
    for covers, selection in [
        (True, TrialSelection(worlds=2)),
        (False, TrialSelection(worlds=1)),
        (True, TrialSelection(planners=("fgm",))),
        (False, TrialSelection(planners=("dwa",))),
        (True, TrialSelection(trials=frozenset({5}))),
        (False, TrialSelection(trials=frozenset({4}))),
        (False, TrialSelection(worlds=2, planners=("dwa",))),
    ]:
        assert selection.covers(trial) == covers, selection


HOUSING = (
    '<collision name="housing"><pose>{x} 0 {z} 0 0 0</pose><geometry><cylinder><radius>{radius}'
    "</radius><length>0.06</length></cylinder></geometry></collision>"
)
CLIFF = (
    '<sensor name="cliff" type="ray"><ray><scan><horizontal><samples>3</samples><min_angle>0'
    "</min_angle><max_angle>0.1</max_angle></horizontal></scan><range><min>0.01</min><max>0.2</max>"
    "</range></ray></sensor>"
)


@pytest.fixture
def changed_robot(smoke, tmp_path):
    """Return the robot section of the small campaign with further elements in the link of its
    lidar."""

    def make(more, **fields):
        robot = read_body(smoke)
        link = f'<link name="{robot.lidar.link}">'
        path = tmp_path / "changed.sdf"
        path.write_text(robot.path.read_text().replace(link, link + more))
        return smoke.robot.model_copy(update={"model": path, **fields})

    return make


def around_lidar(smoke, radius, ahead_m=0.0):
    x, _, z = read_body(smoke).lidar.mount.position
    return HOUSING.format(x=x + ahead_m, z=z, radius=radius)


def test_lidar_whose_rays_end_mostly_on_the_robot_is_rejected(prepared, smoke, changed_robot):
    robot = changed_robot(around_lidar(smoke, 0.2))
    with pytest.raises(SpecError) as caught:
        check(prepared(robot=robot))
    samples = read_body(smoke).lidar.samples
    parts = (str(robot.model), f"{samples} of {samples} rays", f"housing ({samples})", "<min>")
    assert all(part in caught.value.full for part in parts)


def test_lidar_with_some_rays_on_the_robot_gives_a_notice(prepared, smoke, changed_robot):
    (notice,) = check(prepared(robot=changed_robot(around_lidar(smoke, 0.05, ahead_m=0.3))))
    assert "end on the robot itself" in notice and "housing (" in notice


def test_lidar_of_a_further_robot_is_checked_too(prepared, smoke, changed_robot):
    model = changed_robot(around_lidar(smoke, 0.2)).model
    with pytest.raises(SpecError, match="of robot 'porter' end on the robot itself"):
        check(prepared(simulator="embedded", robots=(companion("porter", 3.0, model=str(model)),)))


def test_selected_lidar_is_reported_with_the_unused_ray_sensors(prepared, changed_robot):
    (notice,) = check(prepared(robot=changed_robot(CLIFF, lidar="lidar")))
    assert "uses the lidar 'lidar'" in notice and notice.endswith("not used: 'cliff'")


def test_further_robot_uses_the_lidar_of_its_own_entry(prepared, changed_robot):
    robot = changed_robot(CLIFF, lidar="lidar")
    entry = companion("porter", 3.0, lidar="cliff")
    first, second = prepared(robot=robot, robots=(entry,)).bed.robots
    assert (first.robot.lidar.sensor, second.robot.lidar.sensor) == ("lidar", "cliff")
    own = companion("porter", 3.0, model=str(robot.model), lidar="base::lidar")
    assert prepared(robot=robot, robots=(own,)).bed.robots[1].robot.lidar.sensor == "lidar"


def test_joint_outside_of_its_limits_and_a_gpu_ray_of_a_further_robot_give_notices(
    prepared, smoke, tmp_path
):
    robot = read_body(smoke)
    mast = DOOR[DOOR.index('<link name="leaf"') :].replace("frame", robot.lidar.link).format(0.5)
    path = tmp_path / "second.sdf"
    text = robot.path.read_text().replace('type="ray"', 'type="gpu_ray"')
    path.write_text(text.replace("</model>", mast))
    robots = (companion("porter", 3.0, model=str(path)),)
    notices = check(prepared(robots=robots, simulator="embedded"))
    assert notices[0].startswith("the joint 'porter::hinge' starts at 0, outside of its limits")
    assert notices[1:] == (f"robot 'porter': {GPU_LIDAR}",)


def test_drive_of_a_nested_model_is_named_in_the_message(tmp_path, smoke):
    """Gazebo 11 merges models of an <include>, but not a <model> in the file of the robot."""
    wheelchair = read_body(smoke).path.read_text(encoding="utf-8")
    model = wheelchair[wheelchair.index("<model") : wheelchair.index("</sdf>")]
    path = tmp_path / "mine.sdf"
    path.write_text(f'<sdf version="1.6"><model name="mine">{model}</model></sdf>')
    robot = read_robot(path)
    assert (robot.drive, robot.lidar.link) == (None, "wheelchair::base")
    with pytest.raises(SpecError, match=r"libDiffDrivePlugin\.so is in the nested model 'wheelcha"):
        require_drivable(robot)
