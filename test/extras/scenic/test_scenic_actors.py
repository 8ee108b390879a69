"""Dynamic Scenic scenarios in the embedded simulator: agents, rejected trials, errors."""

import math
import random
import shutil

import numpy as np
import pytest

pytest.importorskip("scenic.core", reason="needs Scenic 3: pip install 'gz_testauto[scenic]'")

from gz_testauto.actors.simulation import ActorSimulation
from gz_testauto.base.errors import SceneError, SpecError
from gz_testauto.extras.scenic.dynamic import scenario
from gz_testauto.extras.scenic.dynamic.scenario import ScenarioHook, scenario_hook
from gz_testauto.extras.scenic.output import write_scenes
from gz_testauto.extras.scenic.program import recorded_numbers
from gz_testauto.extras.scenic.source import ScenicSource
from gz_testauto.extras.scenic.spec import ScenicSpec
from gz_testauto.simulators import open_simulator
from gz_testauto.simulators.interface import Scene

pytestmark = pytest.mark.slow

PERIOD_S = 0.1
DESCRIPTOR = """\
models_dir: parts
models:
  - {name: robot, type: MISSION_ONLY, width: 0.4, length: 0.4, height: 0.5, heading: 0}
  - {name: waypoint, type: MISSION_ONLY}
  - {name: cart, type: CUSTOM_MODEL, front: x}
  - {name: train, type: CUSTOM_MODEL}
"""
LINK = """<link name="{name}"><pose>{x} 0 0.25 0 0 0</pose>
<inertial><mass>5</mass><inertia><ixx>0.1</ixx><iyy>0.1</iyy><izz>0.1</izz></inertia></inertial>
<collision name="c"><geometry><box><size>0.6 0.4 0.5</size></box></geometry></collision></link>"""
HEAD = """\
workspace = Workspace(RectangularRegion(0 @ 0, 0, 20, 20))
ego = new Robot at 0 @ -8, facing 0 deg
class Person:
    shape: CylinderShape()
    width: 0.5
    length: 0.5
    height: 1.7
"""
LINES_OF_HEAD = HEAD.count("\n")


@pytest.fixture(scope="module")
def simulator():
    with open_simulator("embedded") as opened:
        yield opened


@pytest.fixture
def scenarios(tmp_path, simulator):
    """Return a factory of simulations of a scenario's text, after ``HEAD``."""
    return Scenarios(tmp_path, simulator)


class Scenarios:
    def __init__(self, folder, simulator):
        self.folder, self._simulator = folder, simulator
        self.world = folder / "worlds" / "world_0000.world"
        (folder / "models.yaml").write_text(DESCRIPTOR)
        for name, xs in (("cart", (0.3,)), ("train", (0.0, 1.0))):
            links = "".join(LINK.format(name=f"l{i}", x=x) for i, x in enumerate(xs))
            (folder / "parts" / name).mkdir(parents=True)
            (folder / "parts" / name / "model.sdf").write_text(
                f'<sdf version="1.6"><model name="{name}">{links}</model></sdf>'
            )

    def spec(self, text, head=HEAD):
        (self.folder / "play.scenic").write_text(head + text)
        return ScenicSpec.model_validate(
            {
                "file": str(self.folder / "play.scenic"),
                "models": str(self.folder / "models.yaml"),
                "dynamic": True,
                "mission": {"start": "robot"},
            }
        )

    def driver(self, text, seed=1, repetition=0, head=HEAD):
        scenario._cached_source.cache_clear()
        shutil.rmtree(self.folder / "worlds", ignore_errors=True)
        spec = self.spec(text, head)
        source = ScenicSource(spec.file, spec.models, seed, dynamic=True)
        write_scenes(source, 1, self.folder / "worlds", plots=False)
        return scenario_hook(spec, seed, self.world, 0, repetition, "robot")

    def simulation(self, text, seed=1, repetition=0):
        driver = self.driver(text, seed, repetition)
        scene = Scene(self.world, models=driver.models)
        return ActorSimulation(self._simulator.load(scene), [driver]), driver


def poses(simulation, name, periods):
    """Return the positions of a model at the start and after each period, (periods + 1, 3)."""
    found = [simulation.snapshot().models[name].pose.position]
    found += [simulation.step(PERIOD_S).models[name].pose.position for _ in range(periods)]
    return np.array(found)


def test_an_agent_walks_to_a_point_at_its_speed_and_faces_it(scenarios):
    simulation, _ = scenarios.simulation(
        "walker = new Person at -3 @ 0, facing 0 deg, with behavior WalkTo(1 @ 3, 1.25)\n"
    )
    way = poses(simulation, "person_0", 60)
    assert np.allclose(way[20, :2] - way[0, :2], np.array([4, 3]) / 5 * 1.25 * 2.0, atol=2e-3)
    assert np.allclose(way[40:, :2], [1, 3], atol=2e-3), "5 m at 1.25 m/s take 4 s"
    assert np.ptp(way[:, 2]) < 1e-3, "it glides"
    yaw = simulation.snapshot().models["person_0"].pose.yaw_rad
    assert yaw == pytest.approx(math.atan2(-4, 3), abs=0.02), "its front is +y"


def test_a_door_slides_along_its_own_axes_without_turning(scenarios):
    simulation, _ = scenarios.simulation(
        "class Door:\n    width: 1\n    length: 0.1\n    height: 2\n"
        "new Door at 0 @ 0, facing 90 deg, with behavior SlideBy(-1.5 @ 0, 3)\n"
    )
    before = simulation.snapshot().models["door_0"].pose
    way = poses(simulation, "door_0", 40)
    assert np.allclose(way[15, :2], [0, -0.75], atol=5e-3)
    assert np.allclose(way[-1, :2], [0, -1.5], atol=3e-3)
    after = simulation.snapshot().models["door_0"].pose
    assert after.yaw_rad == pytest.approx(before.yaw_rad, abs=1e-3)


def test_an_agent_with_an_offset_origin_reaches_the_point_with_its_center(scenarios):
    simulation, _ = scenarios.simulation(
        "new Cart at 0 @ 0, facing 0 deg, with behavior WalkTo(-3 @ 0, 1.0)\n"
    )
    poses(simulation, "cart_0", 45)
    pose = simulation.snapshot().models["cart_0"].pose
    middle = pose.apply(np.array([[0.3, 0.0, 0.25]]))[0]
    assert np.allclose(middle[:2], [-3, 0], atol=5e-3)
    assert abs(pose.yaw_rad) == pytest.approx(math.pi, abs=0.02), (
        "its front is +x, and it went west"
    )


def test_a_velocity_action_remains_active_until_the_next_action(scenarios):
    simulation, _ = scenarios.simulation(
        "behavior Go():\n"
        "    take SetWalkingDirectionAction(-90 deg), SetWalkingSpeedAction(1)\n"
        "    do Hold() for 1 seconds\n"
        "    take SetVelocityAction(0, 2)\n"
        "    do Hold() for 1 seconds\n"
        "    take SetVelocityAction(0, 0), SetTurnRateAction(0.5)\n"
        "behavior Hold():\n    while True:\n        wait\n"
        "new Person at 0 @ 0, facing -90 deg, with behavior Go()\n"
    )
    way = poses(simulation, "person_0", 40)
    east, north = way[11, :2]
    assert east == pytest.approx(1.1, abs=0.11) and abs(north) < 0.01
    assert way[30, 1] == pytest.approx(2.2, abs=0.25) and way[30, 0] == pytest.approx(1.1, abs=0.2)
    first = simulation.snapshot().models["person_0"].pose.yaw_rad
    later = simulation.step(1.0).models["person_0"].pose.yaw_rad
    assert later - first == pytest.approx(0.5, abs=0.01)


def test_actions_move_an_agent_to_a_position_and_by_an_offset(scenarios):
    simulation, _ = scenarios.simulation(
        "behavior Jump():\n    take SetPositionAction(2 @ 3)\n    take OffsetAction(0 @ 1)\n"
        "new Person at 0 @ 0, facing 90 deg, with behavior Jump()\n"
    )
    way = poses(simulation, "person_0", 3)
    assert np.allclose(way[1, :2], [2, 3], atol=1e-6)
    assert np.allclose(way[2, :2], [1, 3], atol=1e-6), "ahead is west"
    assert np.ptp(way[:, 2]) < 1e-6, "at its height"


def test_a_behavior_is_interrupted_when_another_agent_is_near(scenarios):
    simulation, _ = scenarios.simulation(
        "other = new Person at 0 @ 4, facing 0 deg, with behavior WalkTo(0 @ 0, 1)\n"
        "behavior Careful():\n"
        "    try:\n"
        "        do WalkTo(0 @ -6, 1)\n"
        "    interrupt when (distance from self to other) < 3:\n"
        "        take SetVelocityAction(0, 0)\n"
        "new Person at 0 @ -3, facing 0 deg, with behavior Careful()\n"
        "new Person at 3 @ 0, facing 0 deg\n"
    )
    way = poses(simulation, "person_1", 80)
    assert way[-1, 1] > -6.01
    assert way[20, 1] == pytest.approx(-5.0, abs=0.01), "they are 7 m apart at first"
    stood = [step for step in np.diff(way[:, 1]) if abs(step) < 1e-4]
    assert stood, "it stood when the other was near"


def test_agents_stop_when_the_scenario_terminates(scenarios):
    simulation, driver = scenarios.simulation(
        "new Person at 0 @ 0, facing 0 deg, with behavior WalkTo(0 @ 5, 1)\n"
        "terminate after 2 seconds\n"
    )
    way = poses(simulation, "person_0", 40)
    assert way[-1, 1] == pytest.approx(2.0, abs=0.11)
    assert np.allclose(way[25:], way[-1], atol=1e-4)
    driver.close()


@pytest.mark.parametrize(
    "line, said",
    [
        ("require always walker.position.y < 1\n", "rejects this trial at 1."),
        ("require walker.position.y < 1 until walker.position.y > 2\n", "rejects this trial"),
        (
            "monitor Near():\n    while walker.position.y < 1:\n        wait\n"
            "    require False\nrequire monitor Near()\n",
            "rejects this trial at 1.",
        ),
    ],
)
def test_a_violated_requirement_makes_the_trial_invalid(scenarios, line, said):
    simulation, _ = scenarios.simulation(
        "walker = new Person at 0 @ 0, facing 0 deg, with behavior WalkTo(0 @ 5, 1)\n" + line
    )
    with pytest.raises(SceneError, match=said):
        poses(simulation, "person_0", 40)


@pytest.mark.parametrize(
    ("statement", "message"),
    [("x = 1 / 0", "ZeroDivisionError"), ("exit(0)", r"the program calls sys.exit\(0\)")],
)
def test_an_exception_in_a_behavior_is_reported_with_its_line(scenarios, statement, message):
    simulation, _ = scenarios.simulation(
        f"behavior Bad():\n    take SetVelocityAction(0, 1)\n    {statement}\n"
        "new Person at 0 @ 0, facing 0 deg, with behavior Bad()\n"
    )
    place = rf"failed at 0\.10 s: .*play\.scenic:{LINES_OF_HEAD + 3}: {message}"
    with pytest.raises(SceneError, match=place):
        poses(simulation, "person_0", 3)


def test_draws_of_a_behavior_depend_only_on_seed_and_repetition(scenarios):
    text = (
        "behavior Stagger():\n    while True:\n"
        "        take SetVelocityAction(Range(-1, 1), Range(-1, 1))\n"
        "new Person at 0 @ 0, facing 0 deg, with behavior Stagger()\n"
    )
    ways = {}
    for seed, repetition in ((1, 0), (1, 0), (1, 1), (2, 0)):
        random.seed(len(ways))  # another user of the generator
        before = random.getstate()
        simulation, _ = scenarios.simulation(text, seed, repetition)
        assert random.getstate() == before
        ways.setdefault((seed, repetition), []).append(poses(simulation, "person_0", 10))
        assert random.getstate() == before
    first, again = ways[1, 0]
    assert np.array_equal(first, again)
    assert not np.allclose(first, ways[1, 1][0]) and not np.allclose(first, ways[2, 0][0])


@pytest.mark.parametrize(
    "text, said",
    [
        ("new Waypoint at 0 @ 0, with behavior Stand()\n", "waypoint.* has a behavior"),
        ("new Train at 0 @ 0, with behavior Stand()\n", "has 2 links"),
        ("require eventually ego.position.y > 1\n", r":8: `eventually` is known only"),
        ("scenario Main():\n    compose:\n        wait\n", "`compose` is for sequences"),
    ],
)
def test_an_unsupported_agent_or_statement_is_rejected(scenarios, text, said):
    with pytest.raises(SpecError, match=said):
        scenarios.driver(text)


@pytest.mark.parametrize(
    "head, said",
    [
        ("new Robot at 0 @ 0\n", "has no ego"),
        ("ego = new Robot at 0 @ 0, with behavior Stand()\n", "the ego has a behavior"),
        (
            "ego = new Waypoint at 0 @ 0\n",
            "is waypoint, but worlds.scenic.mission.start is robot",
        ),
        (
            "ego = new Cart at 0 @ 0\n",
            "is cart, but worlds.scenic.mission.start is robot",
        ),
    ],
)
def test_an_ego_that_cannot_represent_the_robot_is_rejected(scenarios, head, said):
    workspace = "workspace = Workspace(RectangularRegion(0 @ 0, 0, 20, 20))\n"
    with pytest.raises(SpecError, match=said):
        scenarios.driver("", head=workspace + head)


def test_a_world_that_differs_from_the_generated_one_is_rejected(scenarios):
    text = "new Person at 0 @ 0, with behavior Stand()\n"
    driver = scenarios.driver(text)
    assert isinstance(driver, ScenarioHook)
    path = scenarios.world
    path.write_bytes(path.read_bytes().replace(b"default", b"another"))
    with pytest.raises(SpecError, match="stored world_0000"):
        scenario_hook(scenarios.spec(text), 1, path, 0, 0, "robot")


def test_a_scenario_that_creates_objects_during_a_trial_is_rejected(scenarios):
    simulation, _ = scenarios.simulation(
        "behavior Breed():\n    take SetVelocityAction(0, 0)\n    new Person at 5 @ 5\n"
        "new Person at 0 @ 0, with behavior Breed()\n"
    )
    with pytest.raises((SceneError, SpecError), match=r"play\.scenic|must not create objects"):
        poses(simulation, "person_0", 3)


@pytest.mark.parametrize(
    "line, said",
    [
        ("take 5", r"`take 5` in behavior Bad: the value is not an action"),
        ("self.position = 3 @ 3", r":9: .* `position` of a Person during a trial"),
        ("override self with width 2", r":9: `override` of `width` has no effect"),
        ("override other with behavior Stand()", r":9: .* create it as `new Person with behavior"),
    ],
)
def test_a_statement_without_effect_in_a_behavior_is_rejected(scenarios, line, said):
    assert LINES_OF_HEAD == 7
    simulation, _ = scenarios.simulation(
        f"behavior Bad():\n    {line}\n    wait\n"
        "other = new Person at 4 @ 4, facing 0 deg\n"
        "new Person at 0 @ 0, facing 0 deg, with behavior Bad()\n"
    )
    with pytest.raises(SceneError, match=said):
        poses(simulation, "person_1", 3)


def test_an_override_of_a_behavior_does_not_affect_the_next_trial(scenarios):
    text = (
        "class Guard(Person):\n    alarms: 0\n"
        "behavior First():\n    for i in range(10):\n        take SetVelocityAction(1, 0)\n"
        "    self.alarms = self.alarms + 1\n"
        "    override self with behavior Second()\n    wait\n"
        "behavior Second():\n    while True:\n        take SetVelocityAction(0, self.alarms)\n"
        "new Guard at 0 @ 0, facing 0 deg, with behavior First()\n"
    )
    ways = []
    for _ in range(2):
        simulation, driver = scenarios.simulation(text)
        ways.append(poses(simulation, "guard_0", 40))
        driver.close()
    assert ways[0][-1, 0] == pytest.approx(1.1, abs=0.15), "1 m/s for ten periods"
    assert ways[0][-1, 1] == pytest.approx(2.8, abs=0.3), "then 1 m/s the other way"
    assert np.array_equal(*ways)


RECORDS = (
    "walker = new Person at 0 @ 0, facing 0 deg, with behavior WalkTo(0 @ 5, 1)\n"
    "record initial walker.position.y as start\nrecord final walker.position.y as end\n"
    "record walker.position.y > 0.55 as far\nrecord walker as place\n"
)


def test_a_scenario_records_numbers_truth_values_and_positions(scenarios):
    simulation, driver = scenarios.simulation(RECORDS)
    way = poses(simulation, "person_0", 10)
    recorded = driver.results()
    assert recorded.numbers["recorded_start"] == pytest.approx(0, abs=1e-6)
    assert recorded.numbers["recorded_end"] == pytest.approx(way[-1, 1], abs=1e-6)
    assert np.allclose(recorded.series["recorded_place"][:, 0], np.arange(11) * PERIOD_S)
    assert np.allclose(recorded.series["recorded_place"][:, 1:3], way[:, :2], atol=1e-6)
    assert recorded.series["recorded_far"][:, 1].tolist() == [0.0] * 6 + [1.0] * 5
    assert (recorded.numbers["recorded_far_max"], recorded.numbers["recorded_far_min"]) == (1, 0)
    assert set(recorded.numbers) <= set(recorded_numbers(scenarios.folder / "play.scenic"))
    driver.close()


def test_a_scenario_records_no_values_after_it_has_terminated(scenarios):
    simulation, driver = scenarios.simulation(RECORDS + "terminate after 0.5 seconds\n")
    poses(simulation, "person_0", 10)
    recorded = driver.results()
    assert len(recorded.series["recorded_far"]) == 6
    assert recorded.numbers["recorded_end"] == pytest.approx(0.5, abs=0.01)
    assert "recorded_far_max" in recorded.numbers


def test_a_trial_without_a_control_period_has_no_records(scenarios):
    _, driver = scenarios.simulation(RECORDS)
    assert (driver.results().numbers, driver.results().series) == ({}, {})


def test_an_unsupported_recorded_value_is_reported(scenarios):
    simulation, driver = scenarios.simulation(RECORDS + "record 'red' as color\n")
    poses(simulation, "person_0", 2)
    with pytest.raises(SceneError, match=r"`record ... as color` has the value 'red'"):
        driver.results()


@pytest.mark.parametrize(
    "text, said",
    [
        ("record ego.position.x\n", r":8: `record` needs a name"),
        ("record final ego.position.x as 'a b'\n", r":8: `record final` needs a name"),
        (
            "for i in range(2):\n    record ego.position.x as x\n",
            r":9: `record` must not be in a loop",
        ),
        (
            "record ego.position.x as x\nrecord final ego.position.x as x_max\n",
            r":9: `recorded_x_max` is recorded on line 8 already; rename one",
        ),
    ],
)
def test_an_unsupported_record_statement_is_rejected_with_its_line(scenarios, text, said):
    with pytest.raises(SpecError, match=said):
        scenarios.driver(text)


def test_a_record_statement_in_an_imported_module_is_rejected(scenarios):
    (scenarios.folder / "parts.scenic").write_text("x = 1\nrecord x as y\n")
    with pytest.raises(SpecError, match=r"parts\.scenic:2: `record` in a module that is imported"):
        scenarios.driver("from parts import x\n")
