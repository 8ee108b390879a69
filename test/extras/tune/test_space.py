"""The ranges of parameters are checked against the planner, and candidates come from the ranges."""

import pytest
from scripted import CONFIG

from gz_testauto.base.errors import SpecError
from gz_testauto.extras.tune.space import (
    Parameter,
    SpaceSpec,
    draw_candidates,
    parameters_to_tune,
)
from gz_testauto.spec.campaign import BuiltinPlannerSpec, CampaignSpec, StackPlannerSpec
from gz_testauto.spec.loader import load
from gz_testauto.spec.stack import LaunchSpec

FOX = BuiltinPlannerSpec(name="fox", plugin="dwa_fox", parameters={"margin_m": 0.2})
STACK = StackPlannerSpec(name="move_base", launch={"args": {"speed": 1.0}})


def tuned(tmp_path, text, entry=FOX, spec=None):
    path = tmp_path / "space.yaml"
    path.write_text("parameters:\n" + text)
    return {one.name: one for one in parameters_to_tune(load(path, SpaceSpec), entry, spec)}


@pytest.fixture
def stack(tmp_path):
    """The example of a stack, whose launch file of the navigation has three arguments."""
    launch = tmp_path / "navigation.launch"
    names = ("map", "speed", "steps", "params")
    launch.write_text(f"<launch>{''.join(f'<arg name={name!r}/>' for name in names)}</launch>")
    spec = load(CONFIG / "own_stack_campaign.yaml", CampaignSpec)
    navigation = LaunchSpec(file=launch, args={"map": "{map}"})
    return spec.model_copy(
        update={"stack": spec.stack.model_copy(update={"navigation": navigation})}
    )


def test_forms_of_a_range(tmp_path):
    found = tuned(
        tmp_path,
        "  reach_m: [1, 6]\n"
        "  heading_weight: {min: 0.1, max: 1.5, log: true}\n"
        "  linear_samples: {choice: [3, 9]}\n"
        "  angular_samples: [5, 15]\n",
    )
    assert found["reach_m"] == Parameter("reach_m", 1.0, 6.0)
    assert found["heading_weight"] == Parameter("heading_weight", 0.1, 1.5, log=True)
    assert found["linear_samples"].choices == (3, 9)
    assert found["angular_samples"] == Parameter("angular_samples", 5.0, 15.0, whole=True)


def test_empty_range_extends_around_the_default_of_the_campaign(tmp_path):
    found = tuned(tmp_path, "  margin_m:\n  reach_m:\n  angular_samples:\n")
    assert found["margin_m"] == Parameter("margin_m", 0.05, 0.8, log=True)
    assert found["reach_m"] == Parameter("reach_m", 0.75, 12.0, log=True)
    assert found["angular_samples"] == Parameter("angular_samples", 4, 60, log=True, whole=True)


def test_empty_range_has_both_declared_limits(tmp_path):
    entry = BuiltinPlannerSpec(name="fgm", plugin="fgm")
    assert tuned(tmp_path, "  slowest:\n", entry)["slowest"] == Parameter("slowest", 0.0, 1.0)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("  reach_m: [1, 6]\n  margin_m: [-0.1, 0.2]\n", ["space.yaml:3", "margin_m", "-0.1"]),
        ("  reach: [1, 6]\n", ["space.yaml:2", "'reach'", "reach_m"]),
        ("  reach:\n", ["space.yaml:2", "'reach'", "reach_m"]),
        ("  linear_samples: [1.5, 6]\n", ["space.yaml:2", "linear_samples", "1.5"]),
        ("  linear_samples: {choice: [3, 0]}\n", ["space.yaml:2", "linear_samples", "0"]),
        ("  reach_m: [6, 1]\n", ["space.yaml:2", "reach_m", "min 6", "max 1"]),
        ("  reach_m: [1, 2, 3]\n", ["space.yaml:2", "reach_m", "choice"]),
        ("  reach_m: {min: 0, max: 1, log: true}\n", ["space.yaml:2", "reach_m", "log"]),
        ("  reach_m: {min: 0}\n", ["space.yaml:2", "'min'", "'max'"]),
        ("  {}\n", ["space.yaml:", "parameters", "at least 1"]),
    ],
)
def test_invalid_range_is_an_error_of_one_line(tmp_path, text, parts):
    with pytest.raises(SpecError) as error:
        tuned(tmp_path, text)
    (line,) = str(error.value).splitlines()
    assert all(part in line for part in parts), line


def test_default_of_zero_without_limits_needs_a_range(tmp_path):
    entry = BuiltinPlannerSpec(name="dwa", plugin="dwa")
    with pytest.raises(SpecError, match=r"space\.yaml:2: .*min_vel_x.*\[lowest, highest\]"):
        tuned(tmp_path, "  min_vel_x:\n", entry)


def test_launch_argument_needs_a_range_and_a_declaration(tmp_path, stack):
    text = "  speed: [0.5, 2]\n  steps: [5, 20]\n"
    found = tuned(tmp_path, text, STACK, stack)
    assert found["speed"] == Parameter("speed", 0.5, 2.0) and found["steps"].whole
    with pytest.raises(SpecError, match=r"space\.yaml:2: .*speed.*\[lowest, highest\]"):
        tuned(tmp_path, "  speed:\n", STACK, stack)
    with pytest.raises(SpecError, match=r"space\.yaml:2: .*'sped'; did you mean 'speed'"):
        tuned(tmp_path, "  sped: [0.5, 2]\n", STACK, stack)


def test_choice_of_files_is_relative_to_the_space(tmp_path, stack):
    for name in ("a.yaml", "b.yaml"):
        (tmp_path / name).write_text("{}")
    text = "  params: {choice: [./a.yaml, ./b.yaml]}\n"
    choices = tuned(tmp_path, text, STACK, stack)["params"].choices
    assert choices == (str(tmp_path / "a.yaml"), str(tmp_path / "b.yaml"))


def test_values_replace_parameters_and_launch_arguments():
    entry = FOX.with_settings("fox_c01", {"reach_m": 2.0})
    assert entry.plugin == "dwa_fox"
    assert entry.parameters == {"margin_m": 0.2, "reach_m": 2.0}
    assert STACK.with_settings("c", {"speed": 2.0}).launch.args == {"speed": 2.0}
    assert STACK.launch.args == {"speed": 1.0}


def test_values_cover_the_range_and_never_leave_it():
    number = Parameter("a", 0.05, 1.5, log=True)
    assert number.value(0.0) == 0.05
    assert number.value(1.0 - 1e-12) == 1.5
    assert number.value(0.5) == pytest.approx((0.05 * 1.5) ** 0.5, rel=1e-3)
    whole = Parameter("n", 3, 5, whole=True)
    assert [whole.value(q) for q in (0.0, 0.33, 0.34, 0.66, 0.67, 0.999)] == [3, 3, 4, 4, 5, 5]
    logarithmic = Parameter("n", 1, 100, log=True, whole=True)
    assert logarithmic.value(0.0) == 1 and logarithmic.value(1 - 1e-12) == 100
    assert [Parameter("c", choices=(True, False)).value(q) for q in (0.4, 0.6)] == [True, False]


def test_candidates_depend_only_on_seed_and_number():
    space = (Parameter("reach_m", 1.0, 6.0), Parameter("margin_m", 0.02, 0.2, log=True))
    ten = draw_candidates(space, FOX, 7, 10)
    assert draw_candidates(space, FOX, 7, 4) == ten[:4]
    assert draw_candidates(space, FOX, 8, 4) != ten[:4]
    assert all(one["reach_m"] != other["reach_m"] for one, other in zip(ten, ten[1:]))


def test_too_few_combinations_are_an_error():
    space = (Parameter("linear_samples", choices=(3, 5)),)
    assert len(draw_candidates(space, FOX, 7, 2)) == 2
    with pytest.raises(SpecError, match=r"2 of 3 candidates.*--budget"):
        draw_candidates(space, FOX, 7, 3)


def test_rejected_combinations_are_drawn_again(monkeypatch):
    from gz_testauto.extras.tune import space as module

    def construct(registry, plugin, parameters):
        if parameters["reach_m"] < 5.0:
            raise SpecError("reach_m is too small for margin_m")

    monkeypatch.setattr(module, "construct", construct)
    drawn = draw_candidates((Parameter("reach_m", 1.0, 6.0),), FOX, 7, 5)
    assert all(one["reach_m"] >= 5.0 for one in drawn)
    with pytest.raises(SpecError, match="too small for margin_m"):
        draw_candidates((Parameter("reach_m", 1.0, 4.0),), FOX, 7, 1)


def test_shipped_planner_is_in_the_shipped_space():
    folder = CONFIG / "tune"
    entry = load(folder / "dwa_fox_arena.yaml", BuiltinPlannerSpec)
    space = parameters_to_tune(load(folder / "dwa_fox_space.yaml", SpaceSpec), entry, None)
    assert [one.name for one in space] == list(entry.parameters)
    assert all(one.low <= entry.parameters[one.name] <= one.high for one in space)
