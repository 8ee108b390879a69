"""Errors in the specification of a comparison of simulators, with file and line."""

import pytest

from gz_testauto.base.errors import SpecError
from gz_testauto.extras.simulator_comparison.spec import BenchSpec
from gz_testauto.extras.simulator_comparison.steps import REMEDIES_S, step_fault
from gz_testauto.spec.loader import load

BENCH = """name: small
robot: {model: package://gz_testauto/models/wheelchair}
terrains:
  - {name: flat, kind: flat, pixels: 17}
maneuvers:
  - straight
  - {name: slow, kind: straight, linear_mps: 0.2}
entries:
  - {name: one, simulator: embedded}
  - {name: two, simulator: embedded, options: {step_s: 0.002}}
reference: one
"""


def read(tmp_path, *changes):
    text = BENCH
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    file = tmp_path / "bench.yaml"
    file.write_text(text)
    return load(file, BenchSpec)


def test_each_maneuver_on_each_terrain_is_a_case(tmp_path):
    assert read(tmp_path).cases == ["flat/straight", "flat/slow"]


def test_specification_without_default_values_is_the_same(tmp_path):
    spec = read(tmp_path)
    data = spec.model_dump(mode="json", exclude_defaults=True)  # as on the page
    assert BenchSpec.model_validate(data) == spec


def test_default_maneuvers_are_all_kinds_with_a_suitable_terrain(tmp_path):
    drives = ("maneuvers:\n  - straight\n  - {name: slow, kind: straight, linear_mps: 0.2}\n", "")
    flat = read(tmp_path, drives)
    assert [drive.name for drive in flat.maneuvers] == [
        "rest",
        "straight",
        "circle",
        "stop",
        "s_curve",
    ]
    step = ("pixels: 17}", "pixels: 17}\n  - {name: edge, kind: step}")
    cases = read(tmp_path, drives, step).cases
    assert "edge/step" in cases and "flat/step" not in cases


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ("  - straight\n", "  - strait\n", 6, "did you mean 'straight'"),
        ("kind: straight, lin", "kind: strait, lin", 7, "did you mean 'straight'"),
        ("  - straight\n", "  - {name: step}\n", 1, "maneuvers: step needs a terrain of kind step"),
        ("  - straight\n", "  - slow\n", 6, "unknown kind of maneuver 'slow'"),
        ("linear_mps: 0.2", "linear_mph: 0.2", 7, "did you mean 'linear_mps'"),
        ("simulator: embedded}", "simulator: embeded}", 9, "did you mean 'embedded'"),
        ("{step_s: 0.002}", "{stepp_s: 0.002}", 10, "did you mean 'step_s'"),
        ("{step_s: 0.002}", "{step_s: fast}", 10, "step_s is 'fast'"),
        (
            "{step_s: 0.002}",
            "{step_s: 0.004}",
            10,
            "entries[1].options.step_s is 0.004 s, which does not divide 0.01 s, "
            "the period of the averaged IMU samples; use 0.0025 or 0.005",
        ),
        ("one, simulator: embedded", "one, options: {step_s: 0.002}", 9, "specify 'simulator'"),
        ("name: flat, kind", "name: load, kind", 1, "use another name"),
        ("reference: one", "reference: one\nreference_is_robot: true", 1, "one is simulated"),
        ("reference: one", "reference: onne", 1, "did you mean 'one'"),
        ("reference: one", "reference: one\nbaseline: tow", 1, "did you mean 'two'"),
        ("reference: one", "reference: one\nbaseline: one", 1, "specify another entry"),
        ("reference: one", "repetitions: 0", 11, "repetitions is 0; it must be >= 1"),
        (
            "  - straight\n",
            "  - {name: real_run, command: {entry: one, case: flat/straight}}\n",
            1,
            "maneuvers: real_run.command.entry: unknown name 'one'",
        ),
        ("robot: {model: package://gz_testauto/models/wheelchair}\n", "", 1, "robot is missing"),
    ],
)
def test_invalid_physics_step_is_reported_with_its_line(tmp_path, old, new, line, said):
    with pytest.raises(SpecError) as raised:
        read(tmp_path, (old, new))
    assert said in str(raised.value)
    assert f"bench.yaml:{line}: " in str(raised.value)


def test_simulator_without_exact_steps_is_rejected(tmp_path):
    with pytest.raises(SpecError) as raised:
        read(tmp_path, ("one, simulator: embedded", "one, simulator: gazebo_ros"))
    said = str(raised.value)
    assert said.splitlines() == [said]
    assert "bench.yaml:9: entries[0].simulator is gazebo_ros, which cannot be stepped by" in said
    assert "gazebo for the same Gazebo" in said and "as recording" in said


def test_physics_step_of_the_worlds_is_validated(tmp_path):
    step = ("reference: one", "reference: one\nstep_s: 0.003")
    assert read(tmp_path, step).step_s == 0.003
    with pytest.raises(SpecError, match=r"bench.yaml:12: step_s is 0.003 s, .* 0.0025 or 0.005"):
        read(
            tmp_path,
            step,
            ("two, simulator: embedded, options: {step_s: 0.002}", "two, simulator: gazebo"),
        )


def test_suggested_physics_steps_and_their_halves_are_valid():
    for step_s in REMEDIES_S:
        assert step_fault(step_s) is None and step_fault(step_s / 2) is None
    assert step_fault(0.02).endswith("use 0.01")
    assert step_fault(0.00003).endswith("use 0.0001")


def test_an_entry_with_simulator_and_recording_is_rejected(tmp_path):
    (tmp_path / "drive.csv").write_text("")
    recording = "recording: {cases: {flat/straight: [drive.csv]}}, simulator: embedded}"
    with pytest.raises(SpecError, match=r"bench.yaml:9: .*specify two entries"):
        read(tmp_path, ("simulator: embedded}", recording))


def test_recorded_commands_of_a_missing_repetition_are_rejected(tmp_path):
    (tmp_path / "drive.csv").write_text("")
    given = ("reference: one", "reference: real")
    real = (
        "  - {name: one,",
        "  - {name: real, recording: {command: {}, cases: {flat/straight: [drive.csv]}}}\n"
        "  - {name: one,",
    )
    run = "  - {name: run, command: {entry: real, case: flat/straight, repetition: %d}}\n"
    spec = read(tmp_path, given, real, ("  - straight\n", run % 0))
    assert spec.maneuvers[0].kind == "recorded"
    with pytest.raises(
        SpecError,
        match=r"run.command.repetition is 1, but the case has 1 repetitions",
    ):
        read(tmp_path, given, real, ("  - straight\n", run % 1))


def test_all_invalid_entries_are_reported(tmp_path):
    wrong = [
        (f"name: {name}, simulator: embedded", f"name: {name}, simulator: nobody")
        for name in ("one", "two")
    ]
    with pytest.raises(SpecError) as raised:
        read(tmp_path, *wrong)
    lines = str(raised.value).splitlines()
    assert [line.split(": ")[1] for line in lines] == ["entries[0]", "entries[1]"]


def test_comparison_without_entries_is_rejected(tmp_path):
    begin = BENCH.index("entries:")
    with pytest.raises(SpecError, match="entries: the list is empty"):
        read(tmp_path, (BENCH[begin:], "entries: []\n"))
