"""Division of a world into the base of a server and the models of each trial."""

import re

import pytest

from gz_testauto.base.errors import SimulatorError
from gz_testauto.simulators.gazebo.split_world import MAX_SPAWNED, split_world

WORLD = """<?xml version="1.0"?><sdf version="1.6"><world name="hall">
<gravity>0 0 -3.7</gravity>
<physics type="ode"><max_step_size>0.002</max_step_size>
<real_time_update_rate>500</real_time_update_rate></physics>
<model name="floor"><static>true</static><link name="link"><collision name="c"><geometry><plane>
<normal>0 0 1</normal><size>9 9</size></plane></geometry></collision></link></model>
{models}</world></sdf>"""
BOX = """<model name="{name}"><static>{static}</static><pose>{x} 0 0.5 0 0 0</pose>
<link name="link"><collision name="c"><geometry><box><size>1 1 1</size></box></geometry>
</collision></link></model>"""


@pytest.fixture
def split_text(tmp_path):
    def split_text(models, name="hall.world", obstacles=None):
        path = tmp_path / name
        path.write_text(WORLD.format(models=models))
        return split_world(path, 50000.0, obstacles)

    return split_text


def box(name, static=True, x=2):
    return BOX.format(name=name, static=str(static).lower(), x=x)


def test_static_models_are_in_the_base_and_other_models_are_movable(split_text):
    split = split_text(box("wall") + box("cart", static=False))
    assert [model.name for model in split.movables] == ["cart"]
    assert set(split.poses) == {"floor", "wall"}
    assert 'name="wall"' in split.base
    assert 'name="cart"' not in split.base


@pytest.mark.parametrize(("kind", "comes_anew"), [("contact", True), ("camera", False)])
def test_static_model_with_a_sensor_is_movable(split_text, kind, comes_anew):
    sensor = f'<sensor name="s" type="{kind}"><update_rate>1000</update_rate></sensor></link>'
    split = split_text(box("scale").replace("</link>", sensor))
    assert [model.name for model in split.movables] == ["scale"] * comes_anew


def test_worlds_that_differ_in_their_obstacles_share_a_base(split_text):
    one = split_text(box("obstacle_box_0"))
    other = split_text(box("obstacle_box_0", x=5) + box("obstacle_box_1"))
    assert one.fingerprint == other.fingerprint
    assert other.movables[0].pose.position == (5, 0, 0.5)


def test_static_model_that_is_no_obstacle_belongs_to_the_base(split_text):
    assert [model.name for model in split_text(box("obstacle_b")).movables] == []


def test_obstacles_above_the_limit_belong_to_the_base(split_text):
    models = [box(f"obstacle_box_{n}", x=n) for n in range(MAX_SPAWNED + 1)]
    assert len(split_text("".join(models[1:])).movables) == MAX_SPAWNED
    split = split_text("".join(models) + box("cart", static=False))
    assert [model.name for model in split.movables] == ["cart"]
    assert "obstacle_box_3" in split.poses


def test_obstacle_pattern_matches_whole_names(split_text):
    models = box("unit_cylinder_3") + box("unit_cylinder_wall") + box("obstacle_box_0")
    split = split_text(models, obstacles=re.compile(r"unit_cylinder_\d+"))
    assert [model.name for model in split.movables] == ["unit_cylinder_3"]


def test_shape_on_which_gzserver_aborts_is_rejected(split_text):
    capsule = "<capsule><radius>0.2</radius><length>1</length></capsule>"
    pill = box("pill").replace("<box><size>1 1 1</size></box>", capsule)
    with pytest.raises(SimulatorError, match="pill::link::c is a capsule"):
        split_text(pill)


def test_unknown_physics_engine_is_rejected_with_its_line(split_text, monkeypatch):
    newer = WORLD.replace('type="ode"', 'type="ignored"')
    assert newer != WORLD
    monkeypatch.setitem(globals(), "WORLD", newer)
    with pytest.raises(
        SimulatorError, match=r"hall\.world:\d+: <physics> is of type 'ignored'.*ode"
    ):
        split_text("")


def test_worlds_that_differ_in_their_walls_have_different_bases(split_text):
    assert split_text(box("wall")).fingerprint != split_text(box("wall", x=5)).fingerprint


def test_base_has_the_physics_of_the_file_except_the_update_rate(split_text):
    split = split_text("")
    assert split.physics.step_size_s == 0.002
    assert split.physics.max_update_rate_hz == 500
    assert split.physics.gravity_mps2 == (0, 0, -3.7)
    assert "<real_time_update_rate>50000.0<" in split.base


def test_state_of_a_saved_world_is_applied(split_text):
    state = """<state world_name="hall"><model name="cart"><pose>7 0 0.5 0 0 0</pose>
    <link name="link"><pose>7 0 0.5 0 0 0</pose></link></model></state>"""
    split = split_text(box("cart", static=False) + state)
    assert split.movables[0].pose.position == pytest.approx((7, 0, 0.5))
    assert "<state" not in split.base


@pytest.mark.parametrize(
    "stateful",
    [
        '<plugin name="p" filename="libP.so"/>',
        box("wall").replace("</model>", '<plugin name="p" filename="libP.so"/></model>'),
        box("wall").replace("</link>", '<sensor name="s" type="camera"/></link>'),
    ],
)
def test_base_that_a_trial_can_change_is_not_reusable(split_text, stateful):
    assert split_text(box("wall")).reusable
    assert not split_text(stateful).reusable


@pytest.mark.parametrize(
    ("models", "named"),
    [
        ("<include><uri>model://nobody_has_this</uri></include>", "nobody_has_this"),
        (
            '<model name="m"><link name="l"><collision name="c"><geometry><mesh>'
            "<uri>file:///no/such.stl</uri></mesh></geometry></collision></link></model>",
            "such.stl",
        ),
        ("<model", "hall.world:"),
    ],
)
def test_error_names_the_invalid_or_missing_model(split_text, models, named):
    with pytest.raises(SimulatorError, match=named):
        split_text(models)


def test_file_without_a_world_is_rejected(tmp_path):
    path = tmp_path / "model.sdf"
    path.write_text('<sdf version="1.6">' + box("m") + "</sdf>")
    with pytest.raises(SimulatorError, match="no <world>"):
        split_world(path, 1000.0)
