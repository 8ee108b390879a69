from pathlib import Path

import pytest

from gz_testauto.base.errors import SpecError
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.spec.loader import load, parse
from gz_testauto.spec.obstacles import OBSTACLE_KINDS, ObstacleSpec

CONFIG = Path(__file__).resolve().parents[2] / "config"
REGION = "region: {rectangle: {x_m: [-5, 5], y_m: [-5, 5]}}\n"
BOX = "obstacles:\n  - {type: box, count: 3}\n"


def errors_of(text, tmp_path, spec_class=ObstacleSpec):
    path = tmp_path / "forest.yaml"
    path.write_text(text)
    with pytest.raises(SpecError) as caught:
        load(path, spec_class)
    return [line.replace(f"{tmp_path}/", "") for line in str(caught.value).splitlines()]


@pytest.mark.parametrize(
    ("field", "complaint"),
    [
        ("radius_m: -0.4", "obstacles[2].radius_m is -0.4; it must be > 0"),
        ("radius_m: [-0.4, 1]", "obstacles[2].radius_m can be -0.4; it must be > 0"),
        ("radius_m: 0", "obstacles[2].radius_m is 0; it must be > 0"),
        ("radius_m: {min: 2, max: 1}", "obstacles[2].radius_m: min 2.0 is greater than max 1.0"),
        ('radius_m: "0.4"', 'obstacles[2].radius_m is "0.4"; it must be a number, [min, max], '
         "{min, max}, {mean, stddev, min, max} or {choice, weights}"),
        ("radius_m: .nan", "obstacles[2].radius_m is NaN; it must be finite"),
        ("radius_m: {min: 1, max: big}", 'obstacles[2].radius_m.max is "big"; it must be a number'),
        ("radius_m: {min: 1}", "obstacles[2].radius_m.max is missing"),
        ("radius_m: {choice: []}", "obstacles[2].radius_m.choice has 0 entries, too few; "
         "at least 1"),
        ("radius_m: {choice: [1, 2], weights: [1]}",
         "obstacles[2].radius_m: 'choice' has 2 values"),
        ("radius_m: {mean: 9, stddev: 0.1, min: 1, max: 2}",
         "obstacles[2].radius_m: a normal distribution of mean 9.0 and "
         "stddev 0.1 has practically no values between min 1.0 and max 2.0"),
        ("lenght_m: 1", "obstacles[2]: unknown key 'lenght_m'; did you mean 'length_m'? Known: "
         "count, density_kgpm3, distance_m, length_m, model, name, radius_m, region, static, step, "
         "type, x_m, y_m, yaw_rad"),
        ("static: 1", "obstacles[2].static is 1; it must be true or false"),
        ("x_m: 3", "obstacles[2]: 'x_m' and 'y_m' must both be set"),
        ("model: no/such.sdf", 'obstacles[2].model is "no/such.sdf"; file not found '
         "(searched no/such.sdf)"),
        ("model: package://no_such_pkg/x.sdf", "obstacles[2].model: package://no_such_pkg/x.sdf"),
    ],
)  # fmt: skip
def test_invalid_field_is_reported_with_its_line_and_the_valid_values(field, complaint, tmp_path):
    text = (
        f"{REGION}obstacles:\n"
        "  - {type: box, count: 3}\n"
        "  - {type: sphere, count: 3}\n"
        "  - type: cylinder\n"
        "    count: 3\n"
        f"    {field}\n"
    )
    (line,) = errors_of(text, tmp_path)
    # the line of an error of a whole mapping is its first line
    number = 5 if "both be set" in complaint else 7
    assert line.startswith(f"forest.yaml:{number}: {complaint}")


@pytest.mark.parametrize(
    ("field", "complaint"),
    [
        ("count: -1", "obstacles[0].count is -1; it must be >= 0"),
        ("count: 2.5", "obstacles[0].count is 2.5; it must be a whole number, [min, max], "
         "{min, max} or {per_100_m2}"),
        ("count: 1000000", "obstacles[0].count is 1000000; it must be <= 10000"),
        ("count: [0, 1000000000]", "obstacles[0].count is 1000000000; it must be <= 10000"),
        ("count: [5, 2]", "obstacles[0].count: min 5 is greater than max 2"),
        ("region: {rectangle: {x_m: [1, 1], y_m: [0, 1]}, count: 1}",
         "obstacles[0].region: unknown key 'count'. Known: circle, polygon"),
        ("region: {polygon: [[0, 0], [1, 1], [1, 0], [0, 1]]}",
         "obstacles[0].region: the polygon's outline crosses itself or has no area"),
        ("region: {polygon: [[0, 0], [1, 1]]}",
         "obstacles[0].region.polygon has 2 entries, too few; at least 3"),
        ("region: {rectangle: {x_m: [0, 1.0e+308], y_m: [0, 1]}}",
         "obstacles[0].region.rectangle.x_m[1] is 1e+308; it must be <= 1e+06"),
    ],
)  # fmt: skip
def test_invalid_count_or_region_is_reported(field, complaint, tmp_path):
    count = "" if field.startswith("count") else "    count: 1\n"
    lines = errors_of(f"{REGION}obstacles:\n  - type: box\n{count}    {field}\n", tmp_path)
    assert any(complaint in line for line in lines), lines


def test_all_errors_are_reported_together_in_the_order_of_the_file(tmp_path):
    lines = errors_of(
        "min_gap_m: -1\n"
        "obstacles:\n"
        "  - {type: boxx, count: 1}\n"
        "  - {type: sphere}\n"
        "sampling: lsh\n"
        "samplin: lhs\n",
        tmp_path,
    )
    assert lines == [
        "forest.yaml:1: min_gap_m is -1; it must be >= 0",
        "forest.yaml:3: obstacles[0].type: unknown type 'boxx'; did you mean 'box'? "
        f"Known: {', '.join(OBSTACLE_KINDS.names())}",
        "forest.yaml:4: obstacles[1].count is missing",
        "forest.yaml:5: sampling is \"lsh\"; it must be 'uniform', 'lhs' or 'sobol'",
        "forest.yaml:6: unknown key 'samplin'; did you mean 'sampling'? Known: "
        "coverage, ground_z_m, keep_out, max_tries, min_gap_m, mission, obstacles, region, "
        "sampling, solvable, wall_gap_m",
    ]


def test_key_that_appears_twice_is_an_error(tmp_path):
    lines = errors_of(f"{REGION}{BOX}min_gap_m: 1\nmin_gap_m: 2\n", tmp_path)
    assert lines == ["forest.yaml:5: key 'min_gap_m' appears twice; it is already on line 4"]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("a: [1", "forest.yaml:1: is not YAML: "),
        ("a: 1\n\tb: 2", "forest.yaml:2: is not YAML: "),
        ("", "forest.yaml:1: has no keys"),
        ("- 1", "forest.yaml:1: has no keys"),
        ("a: !!python/object:os.system {}", "forest.yaml:1: is not YAML: could not determine"),
    ],
)
def test_document_that_is_not_a_mapping_is_rejected(text, complaint, tmp_path):
    (line,) = errors_of(text, tmp_path)
    assert line.startswith(complaint)


@pytest.mark.parametrize("field", ["timeout_s: 1.0e-9", "stuck_window_s: 1.0e-300"])
def test_a_limit_shorter_than_a_control_period_is_rejected(field, tmp_path):
    text = (CONFIG / "smoke_campaign.yaml").read_text().replace("../worlds", f"{CONFIG}/../worlds")
    lines = text.splitlines()
    (number,) = (at for at, line in enumerate(lines, 1) if line.startswith("limits:"))
    lines[number - 1] = f"limits: {{{field}}}"
    (line,) = errors_of("\n".join(lines), tmp_path, CampaignSpec)
    assert line.startswith(f"forest.yaml:{number}: limits: {field.split(':')[0]} is ")
    assert line.endswith("it must be at least control_period_s, 0.1")


def test_a_window_in_which_no_robot_leaves_the_stuck_distance_is_rejected(tmp_path):
    text = (CONFIG / "smoke_campaign.yaml").read_text().replace("../worlds", f"{CONFIG}/../worlds")
    text = text.replace("stuck_window_s: 10.0", "stuck_window_s: 0.25")
    (line,) = errors_of(text, tmp_path, CampaignSpec)
    assert "limits: stuck_distance_m is 0.25, but robot.max_linear_mps allows only 0.25 m" in line


def test_a_limit_off_the_road_without_a_road_is_rejected(tmp_path):
    text = (CONFIG / "smoke_campaign.yaml").read_text().replace("../worlds", f"{CONFIG}/../worlds")
    text = text.replace("stuck_window_s: 10.0", "max_off_road_m: 1.0")
    (line,) = errors_of(text, tmp_path, CampaignSpec)
    assert "limits: 'max_off_road_m' needs lanes; add the key 'road'" in line


def test_missing_file_is_reported_with_its_name(tmp_path):
    with pytest.raises(SpecError, match=r"none\.yaml: cannot be read: No such file"):
        load(tmp_path / "none.yaml", ObstacleSpec)


def test_group_without_a_region_is_rejected(tmp_path):
    (line,) = errors_of(BOX, tmp_path)
    assert line.startswith("forest.yaml:1: obstacles[0] has no position")


def test_two_groups_with_the_same_name_are_rejected(tmp_path):
    text = f"{REGION}obstacles:\n  - {{type: box, count: 1}}\n  - {{type: box, count: 2}}\n"
    (line,) = errors_of(text, tmp_path)
    assert "twice: box" in line


def test_exponent_without_point_is_a_number(tmp_path):
    spec = parse(f"{REGION}{BOX}min_gap_m: 1e-3\n", ObstacleSpec, tmp_path / "x.yaml")
    assert spec.min_gap_m == 0.001


def test_loaded_specification_cannot_be_changed(tmp_path):
    spec = parse(f"{REGION}{BOX}", ObstacleSpec, tmp_path / "x.yaml")
    with pytest.raises(ValueError, match="frozen"):
        spec.min_gap_m = 2.0


CAMPAIGN = """\
name: demo
worlds: {base: base.world, obstacles: forest.yaml, count: 3}
robot: {model: robot.sdf, start: {x_m: 0, y_m: 0}}
goal: {x_m: 1, y_m: 1}
planners: [fgm]
"""


def test_paths_are_relative_to_the_file_that_names_them(tmp_path):
    (tmp_path / "sub").mkdir()
    for name in ("base.world", "robot.sdf"):
        (tmp_path / "sub" / name).touch()
    (tmp_path / "sub" / "forest.yaml").write_text(REGION + BOX)
    (tmp_path / "sub" / "campaign.yaml").write_text(CAMPAIGN)
    spec = load(tmp_path / "sub" / "campaign.yaml", CampaignSpec)
    assert spec.worlds.base == tmp_path / "sub" / "base.world"
    assert spec.robot.model == tmp_path / "sub" / "robot.sdf"
    assert spec.worlds.obstacles.obstacles[0].count.max == 3


def test_error_in_an_obstacle_file_is_reported_with_that_file(tmp_path):
    for name in ("base.world", "robot.sdf"):
        (tmp_path / name).touch()
    (tmp_path / "forest.yaml").write_text(f"{REGION}{BOX}min_gap_m: -2\n")
    (tmp_path / "campaign.yaml").write_text(CAMPAIGN)
    with pytest.raises(SpecError) as caught:
        load(tmp_path / "campaign.yaml", CampaignSpec)
    assert str(caught.value) == f"{tmp_path}/forest.yaml:4: min_gap_m is -2; it must be >= 0"


def test_error_in_an_inline_specification_is_reported_with_its_line(tmp_path):
    (tmp_path / "base.world").touch()
    (tmp_path / "robot.sdf").touch()
    text = CAMPAIGN.replace(
        "obstacles: forest.yaml",
        "obstacles: {region: {circle: {x_m: 0, y_m: 0, radius_m: 1}},\n"
        "  obstacles: [{type: sphere, count: 1,\n    radus_m: 2}]}",
    )
    (line,) = errors_of(text, tmp_path, CampaignSpec)
    assert line.startswith(
        "forest.yaml:4: worlds.obstacles.obstacles[0]: unknown key 'radus_m'; "
        "did you mean 'radius_m'?"
    )


def test_worlds_need_exactly_one_source(tmp_path):
    (tmp_path / "base.world").touch()
    (tmp_path / "robot.sdf").touch()
    text = CAMPAIGN.replace(", obstacles: forest.yaml, count: 3", "")
    (line,) = errors_of(text, tmp_path, CampaignSpec)
    assert (
        line == "forest.yaml:2: worlds: 'base' needs 'obstacles' and 'count'; add the missing key"
    )


def test_planner_names_must_differ(tmp_path):
    (tmp_path / "base.world").touch()
    (tmp_path / "robot.sdf").touch()
    (tmp_path / "forest.yaml").write_text("")
    text = CAMPAIGN.replace("[fgm]", "[fgm, fgm]").replace(
        "{base: base.world, obstacles: forest.yaml, count: 3}", "{directory: .}"
    )
    (line,) = errors_of(text, tmp_path, CampaignSpec)
    assert line == "forest.yaml:5: planners: planner names must differ; these appear twice: fgm"


BENCHMARK = """
name: c
worlds: {worlds}
robot: {{start: {{x_m: 0, y_m: 0}}, model: robot.sdf}}
goal: {{x_m: 4, y_m: 0}}
planners: [fgm]
"""


def benchmark_of(worlds, tmp_path):
    (tmp_path / "robot.sdf").write_text("")
    return parse(BENCHMARK.format(worlds=worlds), CampaignSpec, tmp_path / "c.yaml")


def test_path_can_start_with_an_environment_variable(tmp_path, monkeypatch):
    (tmp_path / "checkout" / "worlds").mkdir(parents=True)
    monkeypatch.setenv("CHECKOUT", str(tmp_path / "checkout"))
    spec = benchmark_of("{directory: $(env CHECKOUT)/worlds}", tmp_path)
    assert spec.worlds.directory == tmp_path / "checkout" / "worlds"
    monkeypatch.delenv("CHECKOUT")
    with pytest.raises(
        SpecError,
        match=r"c.yaml:3: worlds.directory needs the environment variable "
        "CHECKOUT, which is not set; export CHECKOUT=",
    ):
        benchmark_of("{directory: $(env CHECKOUT)/worlds}", tmp_path)  # fmt: skip


def test_count_of_a_file_adds_worlds_with_its_keys_and_separate_names(tmp_path):
    files = "[{file: a.world, count: 11, start: {x_m: 2.0, y_m: 0.0}}, {file: b.world, count: 1}]"
    entries = benchmark_of(f"{{directory: ., files: {files}}}", tmp_path).worlds.files
    assert [entry.world for entry in entries] == [*(f"a_{n:02d}" for n in range(11)), "b"]
    assert {entry.file for entry in entries} == {"a.world", "b.world"}
    assert all(entry.start.x_m == 2.0 for entry in entries[:11])


@pytest.mark.parametrize(
    ("worlds", "complaint"),
    [
        ("{directory: ., files: [a.world, a.world]}", "twice: a; set name"),
        ("{directory: ., files: [{file: a.world, count: 2}, {file: a.world, name: a_0}]}",
         "twice: a_0; set name"),
        ("{directory: ., files: [{file: a.world, count: 0}]}", "count"),
        ("{directory: ., files: [a.dae]}", "must match"),
        ("{directory: ., obstacle_names: '('}", "is not a regular expression"),
        ("{directory: ., published: {d: {}}}", "exactly one of 'points', 'match' and 'table'"),
        ("{directory: ., published: {d: {match: easy}}}", "'match' contains no group"),
        ("{directory: ., published: {d: {table: robot.sdf}}}", "'table' and 'column' must both be"),
        ("{base: robot.sdf, count: 1, obstacles: {obstacles: [{type: box, count: 1}], region: "
         "{circle: {x_m: 0, y_m: 0, radius_m: 1}}}, files: [a.world]}", "'files' .* 'base'"),
    ],
)  # fmt: skip
def test_invalid_worlds_of_a_benchmark_are_rejected(worlds, complaint, tmp_path):
    with pytest.raises(SpecError, match=complaint):
        benchmark_of(worlds, tmp_path)
