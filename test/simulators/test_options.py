import pytest

from gz_testauto.base.errors import SpecError
from gz_testauto.simulators import open_simulator
from gz_testauto.simulators.options import check_options


def test_what_a_simulator_takes_passes():
    check_options("gazebo", {"trials_per_server": 3, "stall_timeout_s": 30, "gui": False})
    check_options("gazebo_ros", {"contacts": ["/bumper", "/bumper2"], "world": "a.world"})


@pytest.mark.parametrize(
    "simulator,options,said",
    [
        ("gazebo", {"trials_per_sever": 3}, "did you mean 'trials_per_server'"),
        ("gazebo", {"obstacles": "^box_"}, "obstacles: is called obstacle_names now, and matches"),
        ("gazebo_ros", {"obstacles": "^box_"}, "in a campaign give it as worlds.obstacle_names"),
        ("embedded", {"obstacles": "x"}, "unknown option of simulator 'embedded': 'obstacles'"),
        ("gazebo", {"trials_per_server": "many"}, "trials_per_server is 'many': Input should be"),
        ("embedded", {"step_s": None}, "step_s is None: Input should be a valid number"),
        ("embedded", {"skid": "tracks"}, "skid is 'tracks': Input should be 'servo' or 'wheels'"),
        ("gazeebo", {}, "unknown simulator 'gazeebo'; did you mean 'gazebo'"),
    ],
)
def test_what_it_does_not_take_is_refused_by_name(simulator, options, said):
    with pytest.raises(SpecError, match=said):
        check_options(simulator, options)


def test_a_value_that_the_simulator_refuses_is_no_bug():
    with pytest.raises(SpecError, match="'embedded': simulator_options: step_s must be above 0"):
        open_simulator("embedded", step_s=5.0)
