"""What of a world stays on a server, and what comes anew with every trial."""

import re

import pytest

from gz_testauto.base.errors import SimulatorError
from gz_testauto.simulators.gazebo.split_world import MOST_SPAWNED, split_world

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


def test_static_models_stay_and_what_moves_comes_anew(split_text):
    split = split_text(box("wall") + box("cart", static=False))
    assert [model.name for model in split.movables] == ["cart"]
    assert set(split.poses) == {"floor", "wall"}
    assert 'name="wall"' in split.base
    assert 'name="cart"' not in split.base


@pytest.mark.parametrize(("kind", "comes_anew"), [("contact", True), ("camera", False)])
def test_what_measures_beside_the_robots_sensors_comes_anew_at_their_rate(
    split_text, kind, comes_anew
):
    sensor = f'<sensor name="s" type="{kind}"><update_rate>1000</update_rate></sensor></link>'
    split = split_text(box("scale").replace("</link>", sensor))
    assert [model.name for model in split.movables] == ["scale"] * comes_anew


def test_worlds_that_differ_in_their_obstacles_share_a_base(split_text):
    one = split_text(box("obstacle_box_0"))
    other = split_text(box("obstacle_box_0", x=5) + box("obstacle_box_1"))
    assert one.fingerprint == other.fingerprint
    assert other.movables[0].pose.position == (5, 0, 0.5)


def test_what_is_no_random_obstacle_on_the_known_map_is_none_for_the_server_either(split_text):
    assert [model.name for model in split_text(box("obstacle_b")).movables] == []


def test_more_obstacles_than_a_server_takes_quickly_stay_in_the_base(split_text):
    models = [box(f"obstacle_box_{n}", x=n) for n in range(MOST_SPAWNED + 1)]
    assert len(split_text("".join(models[1:])).movables) == MOST_SPAWNED
    split = split_text("".join(models) + box("cart", static=False))
    assert [model.name for model in split.movables] == ["cart"]
    assert "obstacle_box_3" in split.poses


def test_random_obstacles_are_those_that_the_given_pattern_matches_in_full(split_text):
    models = box("unit_cylinder_3") + box("unit_cylinder_wall") + box("obstacle_box_0")
    split = split_text(models, obstacles=re.compile(r"unit_cylinder_\d+"))
    assert [model.name for model in split.movables] == ["unit_cylinder_3"]


def test_a_shape_on_which_gzserver_aborts_is_refused_by_name(split_text):
    capsule = "<capsule><radius>0.2</radius><length>1</length></capsule>"
    pill = box("pill").replace("<box><size>1 1 1</size></box>", capsule)
    with pytest.raises(SimulatorError, match="pill::link::c is a capsule, on which Gazebo"):
        split_text(pill)


def test_a_physics_engine_that_gazebo_has_not_is_refused_with_its_line(split_text, monkeypatch):
    newer = WORLD.replace('type="ode"', 'type="ignored"')
    assert newer != WORLD
    monkeypatch.setitem(globals(), "WORLD", newer)
    with pytest.raises(
        SimulatorError, match=r"hall\.world:\d+: <physics> is of type 'ignored'.*ode"
    ):
        split_text("")


def test_worlds_that_differ_in_their_walls_do_not(split_text):
    assert split_text(box("wall")).fingerprint != split_text(box("wall", x=5)).fingerprint


def test_physics_is_what_the_file_says_and_the_rate_is_ours(split_text):
    split = split_text("")
    assert split.physics.step_size_s == 0.002
    assert split.physics.max_update_rate_hz == 500
    assert split.physics.gravity_mps2 == (0, 0, -3.7)
    assert "<real_time_update_rate>50000.0<" in split.base


def test_a_state_has_been_applied(split_text):
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
def test_what_keeps_a_state_of_its_own_needs_a_fresh_server(split_text, stateful):
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
def test_what_is_missing_or_broken_is_named_before_any_server_starts(split_text, models, named):
    with pytest.raises(SimulatorError, match=named):
        split_text(models)


def test_a_file_without_a_world_is_refused(tmp_path):
    path = tmp_path / "model.sdf"
    path.write_text('<sdf version="1.6">' + box("m") + "</sdf>")
    with pytest.raises(SimulatorError, match="no <world>"):
        split_world(path, 1000.0)
