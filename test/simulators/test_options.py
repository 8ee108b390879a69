import pytest

from gz_testauto.base.errors import SpecError
from gz_testauto.simulators import check_options, open_simulator


def test_known_options_are_accepted():
    check_options("gazebo", {"trials_per_server": 3, "stall_timeout_s": 30, "gui": False})
    check_options("gazebo_ros", {"contacts": ["/bumper", "/bumper2"], "world": "a.world"})


@pytest.mark.parametrize(
    "simulator,options,match",
    [
        ("gazebo", {"trials_per_sever": 3}, "did you mean 'trials_per_server'"),
        ("embedded", {"obstacles": "x"}, "unknown parameter of simulator 'embedded': 'obstacles'"),
        (
            "gazebo",
            {"trials_per_server": "many"},
            "is 'many'; it must be a valid integer",
        ),
        ("embedded", {"step_s": None}, "step_s is None; it must be a valid number"),
        ("embedded", {"skid": "tracks"}, "skid is 'tracks'; it must be 'servo' or 'wheels'"),
        ("embedded", {"lidar": "visual"}, "it must be 'collisions' or 'visuals'"),
        ("gazeebo", {}, "unknown simulator 'gazeebo'; did you mean 'gazebo'"),
    ],
)
def test_unknown_option_or_value_is_rejected_with_its_name(simulator, options, match):
    with pytest.raises(SpecError, match=match):
        check_options(simulator, options)


def test_value_out_of_range_raises_spec_error():
    with pytest.raises(SpecError, match="'embedded': step_s must be above 0"):
        open_simulator("embedded", step_s=5.0)
