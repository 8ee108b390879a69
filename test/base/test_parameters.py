"""A plug-in is constructed from YAML, or its name, its parameter and the fault are reported."""

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


class Plain:
    """A plug-in of another package, with bare annotations and a check of its own."""

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


def refusal(plugin, parameters, *arguments, error=SpecError):
    with pytest.raises(error) as caught:
        constructed(plugin, parameters, *arguments)
    return caught.value


def test_bare_annotations_are_checked_and_the_constructors_own_refusal_is_passed_on():
    assert list(parameters_of(Plain)) == ["gain", "name", "anything"]
    assert constructed(Plain, {"gain": 3, "anything": [1]}).gain == 3
    assert "planner 'plain': gain is nan" in str(refusal(Plain, {"gain": float("nan")}))
    said = str(refusal(Plain, {"name": "forbidden"}))
    assert said == "planner 'plain': name must not be forbidden"


def test_a_bug_of_a_constructor_is_shown_as_its_exception_with_its_place():
    error = refusal(Plain, {"name": "bug"}, error=PluginError)
    assert isinstance(error.__cause__, KeyError)
    assert "planner 'plain'" in str(error)
    assert "KeyError: 'missing'" in str(error)
    assert f"{__file__}:" in str(error)


def test_a_missing_dependency_of_a_constructor_stays_one():
    error = refusal(Plain, {"name": "needs"}, error=MissingDependencyError)
    assert str(error) == "plain needs a library"


class Bare:
    """A plug-in without a constructor has no parameters."""


def test_a_plugin_without_constructor_has_no_parameters():
    assert isinstance(constructed(Bare, {}), Bare)
    assert "Known: none" in str(refusal(Bare, {"gain": 1.0}))


class Named:
    """A plug-in whose first arguments come from the caller, as those of behaviours do."""

    def __init__(self, name, tags, count: Count):
        self.all = (name, tags, count)


def test_arguments_of_the_caller_come_first_and_are_not_the_users():
    assert constructed(Named, {"count": 2}, "walker", ()).all == ("walker", (), 2)
    assert "parameter of planner 'plain': 'name'" in str(
        refusal(Named, {"count": 2, "name": "x"}, "walker", ())
    )


def of_any_name(length_m: float = 1.0, **others):
    return length_m, others


def test_a_plugin_that_takes_any_parameter_gets_it_unchecked():
    assert constructed(of_any_name, {"length_m": 2.0, "more": "x"}) == (2.0, {"more": "x"})


def with_unknown_annotation(length_m: "Metres" = 1.0):  # noqa: F821
    return length_m


def test_an_annotation_that_cannot_be_evaluated_is_not_checked():
    assert constructed(with_unknown_annotation, {"length_m": "x"}) == "x"


def test_a_parameter_without_default_must_be_given():
    assert "parameter 'count' is missing" in str(refusal(Named, {}, "walker", ()))


class Own:
    """A type that pydantic does not know."""


def of_own_type(thing: Own = None, length_m: float = 1.0):
    return thing, length_m


def test_a_function_is_a_plugin_and_types_of_its_own_are_not_checked():
    assert constructed(of_own_type, {"thing": 3}) == (3, 1.0)
    assert "length_m is 'x'" in str(refusal(of_own_type, {"length_m": "x"}))


def test_parameters_are_checked_without_constructing():
    registry = Registry("planner", {})
    registry.register("plain", Plain)
    assert check_parameters(registry, "plain", {"name": "bug"}) == {"name": "bug"}
    with pytest.raises(SpecError, match="gain is 'x'"):
        check_parameters(registry, "plain", {"gain": "x"})
