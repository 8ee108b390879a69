"""A plug-in is constructed from YAML, or its name, parameter and problem are reported."""

import pytest

from gz_testauto.base.errors import MissingDependencyError, PluginError, SpecError
from gz_testauto.base.parameters import Count, check_parameters, construct, parameters_of
from gz_testauto.base.registry import Registry
from gz_testauto.planners import make_planner


def message(plugin, **parameters):
    with pytest.raises(SpecError) as caught:
        make_planner(plugin, **parameters)
    return str(caught.value)


def test_parameters_reach_the_planner():
    assert make_planner("fgm", alpha_m=2, margin_m=0.1).alpha_m == 2


def test_unknown_parameter_is_rejected_with_the_similar_and_all_known_names():
    text = message("fgm", alpa_m=2.0)
    assert "parameter of planner 'fgm'" in text
    assert "did you mean 'alpha_m'?" in text
    assert "horizon_m" in text


def test_wrong_type_is_rejected_with_planner_parameter_and_value():
    assert message("fgm", alpha_m="2") == (
        "planner 'fgm': alpha_m is '2'; it must be a valid number"
    )
    assert "must be a valid integer" in message("dwa", vx_samples=2.5)
    assert "must be a valid number" in message("fgm", alpha_m=True)


@pytest.mark.parametrize("value", [-1.0, 0.0, float("inf"), float("nan")])
def test_value_out_of_range_is_rejected(value):
    assert "horizon_m" in message("fgm", horizon_m=value)


def test_value_out_of_range_is_rejected_with_its_bound():
    assert message("fgm", horizon_m=-1.0) == (
        "planner 'fgm': horizon_m is -1.0; it must be greater than 0"
    )
    assert message("fgm", slowest=1.5).endswith("it must be less than or equal to 1")


class Plain:
    """A plug-in of another package, with plain types and a check in its constructor."""

    def __init__(self, gain: float = 1.0, name: str = "x", anything=None):
        if name == "forbidden":
            raise ValueError("name must not be forbidden")
        if name == "bug":
            {}["missing"]
        if name == "needs":
            raise MissingDependencyError("plain needs a library")
        self.gain = gain


def constructed(plugin, parameters, *arguments):
    registry = Registry("planner", {})
    registry.register("plain", plugin)
    return construct(registry, "plain", parameters, *arguments)


def raised(plugin, parameters, *arguments, error=SpecError):
    with pytest.raises(error) as caught:
        constructed(plugin, parameters, *arguments)
    return caught.value


def test_wrong_plain_type_and_value_error_of_a_constructor_are_rejected():
    assert list(parameters_of(Plain)) == ["gain", "name", "anything"]
    assert constructed(Plain, {"gain": 3, "anything": [1]}).gain == 3
    assert "planner 'plain': gain is nan" in str(raised(Plain, {"gain": float("nan")}))
    message = str(raised(Plain, {"name": "forbidden"}))
    assert message == "planner 'plain': name must not be forbidden"


def test_exception_of_a_plugin_constructor_is_reported_with_type_and_location():
    error = raised(Plain, {"name": "bug"}, error=PluginError)
    assert isinstance(error.__cause__, KeyError)
    assert "planner 'plain'" in str(error)
    assert "KeyError: 'missing'" in str(error)
    assert f"{__file__}:" in str(error)


def test_missing_dependency_of_a_plugin_constructor_propagates_unchanged():
    error = raised(Plain, {"name": "needs"}, error=MissingDependencyError)
    assert str(error) == "plain needs a library"


class Bare:
    """A plug-in without a constructor has no parameters."""


def test_plugin_without_constructor_has_no_parameters():
    assert isinstance(constructed(Bare, {}), Bare)
    assert "Known: none" in str(raised(Bare, {"gain": 1.0}))


class Named:
    """A plug-in whose first arguments are set by the caller, like those of behaviors."""

    def __init__(self, name, tags, count: Count):
        self.all = (name, tags, count)


def test_arguments_set_by_the_package_are_not_accepted_as_yaml_parameters():
    assert constructed(Named, {"count": 2}, "walker", ()).all == ("walker", (), 2)
    assert "parameter of planner 'plain': 'name'" in str(
        raised(Named, {"count": 2, "name": "x"}, "walker", ())
    )


def of_any_name(length_m: float = 1.0, **others):
    return length_m, others


def test_plugin_with_arbitrary_parameters_receives_them_unchecked():
    assert constructed(of_any_name, {"length_m": 2.0, "more": "x"}) == (2.0, {"more": "x"})


def with_unknown_annotation(length_m: "Meters" = 1.0):  # noqa: F821
    return length_m


def test_annotation_that_cannot_be_evaluated_is_not_checked():
    assert constructed(with_unknown_annotation, {"length_m": "x"}) == "x"


def test_missing_parameter_without_default_is_rejected():
    assert "parameter 'count' is missing" in str(raised(Named, {}, "walker", ()))


class Own:
    """A type that pydantic does not support."""


def of_own_type(own: Own = None, length_m: float = 1.0):
    return own, length_m


def test_function_is_accepted_as_a_plugin_and_unsupported_types_are_not_checked():
    assert constructed(of_own_type, {"own": 3}) == (3, 1.0)
    assert "length_m is 'x'" in str(raised(of_own_type, {"length_m": "x"}))


def test_parameters_can_be_checked_without_constructing_the_plugin():
    registry = Registry("planner", {})
    registry.register("plain", Plain)
    assert check_parameters(registry, "plain", {"name": "bug"}) == {"name": "bug"}
    with pytest.raises(SpecError, match="gain is 'x'"):
        check_parameters(registry, "plain", {"gain": "x"})
