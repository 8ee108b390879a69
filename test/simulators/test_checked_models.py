"""Models and states that no simulator accepts, whichever adaptor simulates them."""

import math

import pytest
from embedded_scenes import box, model, wheelchair, write_world

from gz_testauto.base.errors import SimulatorError
from gz_testauto.base.observation import ModelState, Twist2D
from gz_testauto.base.pose import Pose, Pose2D
from gz_testauto.simulators import SIMULATORS, Scene
from gz_testauto.simulators.changes import SetJoint
from gz_testauto.simulators.description import MOST_COLLISIONS, MOST_SDF_BYTES
from gz_testauto.simulators.interface import NamedModel

BALL = model("ball", "<sphere><radius>0.1</radius></sphere>", static=False)
COLLISION = BALL[BALL.index("<collision") : BALL.index("</link>")]
JOINT = '<joint name="j" type="gearbox"><parent>link</parent><child>nobody</child></joint>'
AXIS = """<joint name="j" type="gearbox"><parent>world</parent><child>link</child>
<axis><xyz>0 0 1</xyz></axis><axis2><xyz>nan 0 1</xyz></axis2></joint>"""
MESH = "<mesh><uri>file://{}</uri></mesh>"


@pytest.fixture(params=["embedded", "kinematic"])
def simulation(request, tmp_path):
    with SIMULATORS.get(request.param)() as simulator:
        world = write_world(tmp_path, box("crate", 3, 0, 0.5, static=False))
        yield simulator.load(Scene(world, wheelchair(), Pose2D(0.0, 0.0)))


@pytest.mark.parametrize(
    ("sdf", "match"),
    [
        (BALL.replace("<mass>5.0", "<mass>-1"), "has a mass of -1 kg; it must not be negative"),
        (BALL.replace("<mass>5.0", "<mass>nan"), "<mass> is 'nan'"),
        (BALL.replace("<mass>5.0", "<mass>1e30"), r"has a mass of 1e\+30 kg; it must be .* 1e\+09"),
        (BALL.replace("<radius>0.1", "<radius>1e30"), r"extends more than 1e\+06 m"),
        (model("m", MESH.format("/dev/zero")), "mesh /dev/zero"),
        (model("m", MESH.format("/etc/passwd")), "mesh /etc/passwd"),
        (BALL.replace("</model>", f"{JOINT}</model>"), "the child 'nobody', which is not a link"),
        (BALL.replace("</model>", f"{AXIS}</model>"), "<xyz> is 'nan 0 1'; it must be 3 numbers"),
        (BALL.replace("</link>", COLLISION * MOST_COLLISIONS + "</link>"), "1001 collisions"),
        (BALL.replace('"link"', f'"{"x" * MOST_SDF_BYTES}"'), "the limit is 1000000"),
        ("<sdf/>", "ball"),
    ],
)
def test_invalid_model_is_not_spawned(simulation, sdf, match):
    sound = NamedModel("sound", BALL, Pose((2.0, 2.0, 1.0)))
    with pytest.raises(SimulatorError, match=match):
        simulation.spawn([sound, NamedModel("ball", sdf)])
    assert set(simulation.step(0.1).models) == {"floor", "crate", "robot"}


def test_embedded_simulation_continues_if_another_scene_is_rejected(tmp_path):
    screw = '<joint name="j" type="screw"><parent>world</parent><child>link</child></joint>'
    (tmp_path / "other").mkdir()
    rejected = write_world(tmp_path / "other", BALL.replace("</model>", f"{screw}</model>"))
    scene = Scene(write_world(tmp_path, BALL), wheelchair(), Pose2D(0.0, 0.0))
    with SIMULATORS.get("embedded")() as simulator:
        simulation = simulator.load(scene)
        before = simulation.step(0.1)
        with pytest.raises(SimulatorError, match="screw"):
            simulator.load(Scene(rejected))
        assert simulation.step(0.1).time_s == pytest.approx(before.time_s + 0.1)
        simulator.load(scene)
        with pytest.raises(SimulatorError, match="another scene was loaded"):
            simulation.step(0.1)


@pytest.mark.parametrize("x_m", [math.nan, math.inf, -math.inf, 1e308, -1.1e6])
def test_model_is_not_spawned_at_an_invalid_pose(simulation, x_m):
    with pytest.raises(SimulatorError, match="'ball': pose is"):
        simulation.spawn([NamedModel("ball", BALL, Pose((x_m, 0.0, 0.0)))])
    with pytest.raises(SimulatorError, match="'ball': pose is"):
        simulation.spawn([NamedModel("ball", BALL, Pose((0.0, 0.0, 0.0), (x_m, 0.0, 0.0, 1.0)))])


@pytest.mark.parametrize(
    ("state", "match"),
    [
        (ModelState(Pose((math.nan, 0.0, 0.0))), "pose is"),
        (ModelState(Pose(), (math.nan, 0.0, 0.0), (0.0, 0.0, 0.0)), "linear_mps is"),
        (ModelState(Pose(), (0.0, 1e300, 0.0), (0.0, 0.0, 0.0)), "from -1000 to 1000"),
        (ModelState(Pose(), (0.0, 0.0, 0.0), (0.0, 0.0, 1e5)), "angular_radps is"),
    ],
)
def test_invalid_state_is_not_set(simulation, state, match):
    before = simulation.snapshot().models["robot"].pose
    with pytest.raises(SimulatorError, match=match):
        simulation.set_states({"robot": ModelState(Pose((1.0, 1.0, 0.1))), "crate": state})
    assert simulation.snapshot().models["robot"].pose == before


def test_joint_of_a_static_model_is_not_set(tmp_path):
    hinge = '<link name="wing"/><joint name="hinge" type="revolute"><parent>link</parent>'
    hinge += "<child>wing</child><axis><xyz>0 0 1</xyz></axis></joint>"
    gate = model("gate", "<box><size>1 1 1</size></box>", more=hinge)
    with SIMULATORS.get("embedded")() as simulator:
        simulation = simulator.load(Scene(write_world(tmp_path, gate)))
        with pytest.raises(SimulatorError, match="'gate::hinge' is a joint of a static link"):
            simulation.apply([SetJoint("gate::hinge", 0.5)])


def test_command_beyond_the_limits_is_rejected(simulation):
    with pytest.raises(ValueError, match="from -1000 to 1000"):
        simulation.drive(Twist2D(1e300, 0.0))
