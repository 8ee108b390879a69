"""The actors of a world file as bodies that follow their paths."""

import numpy as np
import pytest

from gz_testauto.actors.script import Timetable
from gz_testauto.actors.world_actors import notice_of, world_actors
from gz_testauto.base.errors import SdfError
from gz_testauto.sdf.document import SdfDocument
from gz_testauto.sdf.scene import read_scene

WALKER = """<actor name="walker 1"><pose>1 -2 1 0 0 0</pose>
<script><loop>{loop}</loop><delay_start>1.5</delay_start>
<trajectory id="0" type="walking">{waypoints}</trajectory></script></actor>"""


def world_with(*actors):
    text = f'<sdf version="1.6"><world name="w">{"".join(actors)}</world></sdf>'
    return read_scene(SdfDocument.parse(text, "w.world"))


def walker(*stops, loop="true"):
    points = "".join(
        f"<waypoint><time>{time}</time><pose>{x} {y} 0 0 0 0</pose></waypoint>"
        for time, x, y in stops
    )
    return WALKER.format(loop=loop, waypoints=points)


def test_actor_passes_its_waypoints_at_their_times_and_returns():
    scene = world_with(walker((0, 0, -2), (4, 0, 2), (5, 0, 2), (7, 2, 2)))
    (actor,) = world_actors(scene)
    assert actor.name == "walker_1_body"
    assert (actor.repeat, actor.start_s.value) == ("back_and_forth", 1.5)
    table = Timetable.of_times(actor.waypoints_m, np.array(actor.times_s), actor.repeat)
    up, right = np.pi / 2, 0.0
    expected = [(0, 0, -2, up), (1, 0, -1, up), (4.5, 0, 2, up), (6, 1, 2, right), (7, 2, 2, None)]
    expected += [(8, 1, 2, np.pi), (9.5, 0, 2, np.pi), (12, 0, 0, -up), (14.5, 0, -1.5, up)]
    for time_s, x_m, y_m, yaw_rad in expected:
        found = table.at(np.array([time_s]))[0]
        assert found[:2] == pytest.approx((x_m, y_m), abs=1e-12)
        if yaw_rad is not None:
            assert found[2] == pytest.approx(yaw_rad, abs=1e-12)
    assert "1 <actor> in w.world" in notice_of(scene)
    assert scene.unmeasured == ()


def test_closed_path_repeats_in_a_loop_and_path_without_loop_runs_once():
    square = [(1, 0, 0), (2, 2, 0), (3, 2, 2), (5, 0, 0)]
    around, once = (world_actors(world_with(walker(*square, loop=loop)))[0] for loop in "10")
    assert (around.repeat, around.times_s) == ("loop", [0, 1, 2, 3, 5])
    assert around.waypoints_m == [(0, 0), (0, 0), (2, 0), (2, 2)]  # a pause in the first second
    assert (once.repeat, once.times_s) == ("once", [0, 1, 2, 3, 5])


@pytest.mark.parametrize(
    "actor",
    [
        '<actor name="a"><pose>3 1 0 0 0 0.5</pose></actor>',
        '<actor name="a"><pose>3 1 0 0 0 0.5</pose><script><auto_start>false</auto_start>'
        "<trajectory id='0' type='walk'><waypoint><time>0</time><pose>9 9 0 0 0 0</pose>"
        "</waypoint></trajectory></script></actor>",
    ],
)
def test_actor_without_a_path_does_not_move(actor):
    (actor,) = world_actors(world_with(actor))
    assert (actor.waypoints_m, actor.yaw_rad) == ([(3.0, 1.0)], 0.5)
    assert actor.times_s is None


def test_world_without_actor_elements_has_no_actors():
    assert world_actors(world_with()) == ()
    assert notice_of(world_with()) == ""


def test_negative_time_is_rejected_with_its_line():
    with pytest.raises(SdfError, match=r"w\.world:3: <time> must be at least 0"):
        world_actors(world_with(walker((-1, 0, 0), (2, 1, 0))))
