"""What is said when a campaign gives a planner parameters that it does not take."""

import pytest

from gz_testauto.base.errors import SpecError
from gz_testauto.planners import make_planner
from gz_testauto.planners.interface import LocalPlanner
from gz_testauto.planners.parameters import construct, describe


def message(plugin, **parameters):
    with pytest.raises(SpecError) as caught:
        make_planner(plugin, **parameters)
    return str(caught.value)


def test_parameters_reach_the_planner():
    assert make_planner("fgm", alpha_m=2, margin_m=0.1).alpha_m == 2


def test_unknown_parameter_names_the_near_miss_and_the_known_ones():
    said = message("fgm", alpa_m=2.0)
    assert "parameter of planner 'fgm'" in said
    assert "did you mean 'alpha_m'?" in said
    assert "horizon_m" in said


def test_wrong_type_names_planner_parameter_and_value():
    assert message("fgm", alpha_m="2") == (
        "planner 'fgm': alpha_m is '2'; it must be a valid number"
    )
    assert "must be a valid integer" in message("dwa", linear_samples=2.5)
    assert "must be a valid number" in message("fgm", alpha_m=True)


@pytest.mark.parametrize("value", [-1.0, 0.0, float("inf"), float("nan")])
def test_out_of_range_names_the_bound(value):
    assert "horizon_m" in message("fgm", horizon_m=value)


def test_out_of_range_says_which_bound():
    assert message("fgm", horizon_m=-1.0) == (
        "planner 'fgm': horizon_m is -1.0; it must be greater than 0"
    )
    assert message("fgm", slowest=1.5).endswith("it must be less than or equal to 1")


class Plain(LocalPlanner):
    """Somebody else's planner, with bare annotations and a check of its own."""

    def __init__(self, gain: float = 1.0, name: str = "x", anything=None):
        if name == "forbidden":
            raise ValueError("name must not be forbidden")
        self.gain = gain

    def begin(self, task):
        pass

    def plan(self, observation):
        raise NotImplementedError


def test_bare_annotations_are_checked_and_the_constructors_own_refusal_is_passed_on():
    assert set(describe(Plain)) == {"gain", "name", "anything"}
    assert construct("plain", Plain, {"gain": 3, "anything": [1]}).gain == 3
    with pytest.raises(SpecError, match="planner 'plain': gain is nan"):
        construct("plain", Plain, {"gain": float("nan")})
    with pytest.raises(SpecError, match="planner 'plain': name must not be forbidden"):
        construct("plain", Plain, {"name": "forbidden"})


class Bare(LocalPlanner):
    """A planner without a constructor takes no parameters."""

    def begin(self, task):
        pass

    def plan(self, observation):
        raise NotImplementedError


def test_planner_without_constructor_takes_no_parameters():
    assert isinstance(construct("bare", Bare, {}), Bare)
    with pytest.raises(SpecError, match="Known: none"):
        construct("bare", Bare, {"gain": 1.0})
