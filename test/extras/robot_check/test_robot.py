"""The verb ``robot``, which shows what is read from a robot's model."""

import json

import pytest
from PIL import Image

from gz_testauto.base.resources import share_directory
from gz_testauto.cli.main import main

WHEELCHAIR = share_directory() / "models" / "wheelchair" / "model.sdf"
SENSOR = '<sensor name="lidar" type="ray">'
HOUSING = (
    '<collision name="housing"><pose>{x} 0 0.35 0 0 0</pose><geometry><cylinder><radius>{radius}'
    "</radius><length>0.06</length></cylinder></geometry></collision>"
)
RED = (192, 0, 0)


@pytest.fixture
def changed(tmp_path):
    """Write the wheelchair with a replaced text, and return the path."""

    def write(old, new):
        text = WHEELCHAIR.read_text(encoding="utf-8")
        assert text.count(old) == 1
        path = tmp_path / "changed.sdf"
        path.write_text(text.replace(old, new), encoding="utf-8")
        return path

    return write


def shown(capsys, *arguments):
    """Return the exit status, the lines and the errors of the verb."""
    status = main(["robot", *map(str, arguments)])
    out, err = capsys.readouterr()
    return status, out.splitlines(), err


def test_drive_lidar_footprint_and_mass_are_shown(capsys):
    status, lines, err = shown(capsys, WHEELCHAIR.parent)
    assert (status, err) == (0, "")
    text = "\n".join(lines)
    for part in (
        "libDiffDrivePlugin.so",
        "left     left_wheel_joint",
        "separation 0.54 m, diameter 0.3 m",
        "361 from -135° to 135°, 0.1 to 10 m",
        "x 0.5, y 0, z 0.35 m",
        "0 of 361 rays",
        "x -0.5 to 0.6 m, y -0.325 to 0.325 m",
        "100 kg in 3 links",
    ):
        assert part in text
    assert max(map(len, lines[1:])) <= 80  # the first line is a path


def test_robot_can_be_named_by_a_uri(capsys):
    assert main(["robot", "package://gz_testauto/models/wheelchair", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["model"].endswith("wheelchair/model.sdf")
    assert main(["robot", "package://no_such_package/models/rover"]) == 2
    assert "no_such_package" in capsys.readouterr().err


def test_json_has_the_same_values_with_units(capsys):
    _, lines, _ = shown(capsys, WHEELCHAIR, "--json")
    facts = json.loads("\n".join(lines))
    assert facts["drive"]["wheel_separation_m"] == pytest.approx(0.54)
    assert (facts["lidar"]["rays"], facts["lidar"]["rays_on_the_robot"]) == (361, 0)
    assert facts["mass_kg"] == pytest.approx(100.0)
    assert (facts["sensors"], facts["problems"]) == ([], [])


def test_a_gpu_ray_is_named_with_the_shapes_that_it_sees(capsys, changed):
    line = "  gpu_ray  sees visuals in Gazebo, and collision shapes here"
    assert line not in shown(capsys, WHEELCHAIR)[1]
    model = changed(SENSOR, SENSOR.replace("ray", "gpu_ray"))
    assert line in shown(capsys, model)[1]
    facts = json.loads("\n".join(shown(capsys, model, "--json")[1]))
    assert facts["lidar"]["is_gpu_ray"]


def test_robot_without_a_lidar_or_a_drive_has_status_1(capsys, changed):
    status, _, err = shown(capsys, changed(SENSOR, '<sensor name="lidar" type="camera">'))
    assert status == 1 and "no lidar" in err
    status, lines, err = shown(capsys, changed("libDiffDrivePlugin.so", "libother.so"))
    assert (
        status == 1
        and "no supported drive controller" in err
        and any("none" in line for line in lines)
    )


def test_lidar_in_a_large_housing_has_status_1_with_the_shape(capsys, changed, tmp_path):
    model = changed(SENSOR, HOUSING.format(x=0.5, radius=0.2) + SENSOR)
    status, lines, err = shown(capsys, model, "--image", tmp_path / "robot.png")
    assert status == 1 and "361 of 361 rays" in err
    assert any("361 on base::housing" in line for line in lines)
    picture = Image.open(tmp_path / "robot.png")
    assert RED in {color for _, color in picture.getcolors(maxcolors=100_000)}


def test_some_rays_on_the_robot_are_shown_with_status_0(capsys, changed):
    status, lines, _ = shown(capsys, changed(SENSOR, HOUSING.format(x=0.8, radius=0.05) + SENSOR))
    assert status == 0
    assert any("on base::housing" in line for line in lines)


def test_picture_of_a_free_lidar_has_no_red_ray(capsys, tmp_path):
    shown(capsys, WHEELCHAIR, "--image", tmp_path / "robot.png")
    picture = Image.open(tmp_path / "robot.png")
    colors = {color for _, color in picture.getcolors(maxcolors=100_000)}
    assert picture.size == (900, 900) and RED not in colors and len(colors) > 3


def test_several_ray_sensors_need_the_option_lidar(capsys, changed):
    text = WHEELCHAIR.read_text(encoding="utf-8")
    sensor = text[text.index(SENSOR) : text.index("</sensor>", text.index(SENSOR)) + 9]
    model = changed(sensor, sensor.replace('"lidar"', '"cliff"') + sensor)
    status, _, err = shown(capsys, model)
    assert status == 2 and "'cliff'" in err and "--lidar" in err
    status, lines, _ = shown(capsys, model, "--lidar", "lidar")
    assert status == 0 and any(line.startswith("scan       base::cliff") for line in lines)
    merged = [shown(capsys, model, "--lidar", "lidar", "--lidar", "cliff")]
    merged.append(shown(capsys, model, "--lidar", "lidar,cliff"))
    assert merged[0] == merged[1] != (status, lines, "")


def test_picture_that_cannot_be_written_is_reported_with_its_path(capsys, tmp_path):
    status, _, err = shown(capsys, WHEELCHAIR, "--image", tmp_path / "no" / "robot.png")
    assert status == 2 and "robot.png" in err


def test_motion_in_a_simulator_is_compared_with_the_commands(capsys):
    status, lines, err = shown(capsys, WHEELCHAIR, "--simulator", "kinematic")
    assert (status, err) == (0, "")
    assert lines[-4].split()[:3] == ["motion", "in", "kinematic,"]
    assert max(map(len, lines[1:])) <= 80


def test_robot_of_a_campaign_is_read_with_its_keys(capsys, tmp_path):
    campaign = tmp_path / "campaign.yaml"
    campaign.write_text(
        f"""name: sized
worlds: {{directory: {share_directory() / "worlds"}}}
robot:
  model: {WHEELCHAIR}
  drive: {{left_joints: [left_wheel_joint], right_joints: [right_wheel_joint],
           wheel_separation_m: 0.9}}
  start: {{x_m: 0.0, y_m: 0.0, yaw_rad: 0.0}}
  max_linear_mps: 0.5
  max_angular_radps: 0.5
  max_linear_accel_mps2: 1.0
  max_angular_accel_radps2: 1.0
goal: {{x_m: 1.0, y_m: 0.0, tolerance_m: 0.3}}
planners: [straight]
limits: {{timeout_s: 10.0}}
""",
        encoding="utf-8",
    )
    status, lines, err = shown(capsys, campaign, "--simulator", "embedded")
    assert "separation 0.9 m" in "\n".join(lines)
    # the wheels turn for a separation of 0.9 m, and that of the model is 0.54 m
    assert status == 1 and "yaw rate" in err and "wheel_separation_m: 0.5" in err


@pytest.mark.slow  # starts gzserver
@pytest.mark.gazebo
def test_missing_plugins_of_a_campaign_are_allowed_as_in_its_trials(capsys, tmp_path):
    model, campaign = tmp_path / "bot.sdf", tmp_path / "campaign.yaml"
    plugin = '<plugin name="suspension" filename="libmy_suspension.so"/>'
    text = WHEELCHAIR.read_text()
    model.write_text(text.replace("</model>", f"{plugin}</model>"))
    campaign.write_text(
        f"""name: suspended
worlds: {{directory: {share_directory() / "worlds"}, allow_missing: [libmy_suspension.so]}}
robot: {{model: {model}, start: {{x_m: 0.0, y_m: 0.0, yaw_rad: 0.0}}}}
goal: {{x_m: 1.0, y_m: 0.0, tolerance_m: 0.3}}
planners: [straight]
limits: {{timeout_s: 10.0}}
"""
    )
    status, _, err = shown(capsys, model, "--simulator", "gazebo")
    assert status == 2 and "worlds.allow_missing)" in err and "--no-plugins" not in err
    status, _, _ = shown(capsys, campaign, "--simulator", "gazebo")
    assert status == 0
