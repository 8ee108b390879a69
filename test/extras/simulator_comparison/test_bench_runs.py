"""Execution of a comparison of simulators: order of the runs, continuation, and errors."""

import time
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from gz_testauto.base.errors import MissingDependencyError, ResultsError, SimulatorError
from gz_testauto.extras.simulator_comparison.bench import simulator_process
from gz_testauto.extras.simulator_comparison.bench.runner import run_bench
from gz_testauto.extras.simulator_comparison.bench.simulator_process import SimulatorRunner
from gz_testauto.extras.simulator_comparison.bench.store import BenchDirectory
from gz_testauto.extras.simulator_comparison.findings import evaluate_bench
from gz_testauto.extras.simulator_comparison.probe import GroundProbe
from gz_testauto.extras.simulator_comparison.recordings.recording import SimulatorCost
from gz_testauto.extras.simulator_comparison.spec import BenchSpec
from gz_testauto.simulators.kinematic import KinematicSimulator
from gz_testauto.spec.loader import parse

pytestmark = pytest.mark.slow

BENCH = """name: small
robot: {{model: package://gz_testauto/models/wheelchair}}
terrains:
  - {{name: flat, kind: flat, pixels: 17}}
  - {{name: ice, kind: flat, pixels: 17, friction: 0.1}}
maneuvers: [{{name: straight, duration_s: {duration}}}, {{name: circle, duration_s: 1}}]
repetitions: {repetitions}
measure_load: {load}
seed: {seed}
entries:
  - {{name: one, simulator: embedded}}
  - {{name: two, simulator: embedded}}
reference: one
weights: {{pose_drift: 1}}
"""


def bench(duration=1.0, repetitions=2, load="false", seed=3):
    text = BENCH.format(duration=duration, repetitions=repetitions, load=load, seed=seed)
    return parse(text, BenchSpec, Path("small.yaml"))


class Counted(SimulatorRunner):
    """A runner in this process with a fast simulator, which records its runs."""

    driven: ClassVar[list] = []

    def run_maneuver(self, order):
        self.driven.append(order.source)
        return super().run_maneuver(order)

    def probe(self, terrain, folder, entry):
        return probe_that_finds(terrain, entry, None)


def probe_that_finds(terrain, entry, refusal):
    return GroundProbe(entry, terrain.name, 0.0, terrain.friction, terrain.friction, refusal)


@pytest.fixture(autouse=True)
def kinematic(monkeypatch):
    monkeypatch.setattr(
        simulator_process, "open_simulator", lambda name, **options: KinematicSimulator()
    )
    monkeypatch.setattr(Counted, "driven", [])


def run(spec, out, server=Counted, stop=lambda: False, told=None, workers=1):
    report_progress = (lambda text: None) if told is None else told.append
    return run_bench(spec, out, report_progress, stop, server, workers)


def stored(out):
    """Return the arrays of all stored runs, by file."""
    return {
        path.relative_to(out).as_posix(): {
            name: array.tobytes() for name, array in np.load(path).items()
        }
        for path in sorted(out.rglob("*.npz"))
    }


def test_simulators_alternate_after_each_repetition(tmp_path):
    run(bench(), tmp_path)
    turns = [tuple(source.split(": ")) for source in Counted.driven]
    assert [entry for entry, _ in turns[:8]] == ["one", "one", "two", "two"] * 2
    assert [case.split(", ")[1] for _, case in turns] == ["repetition 1"] * 8 + ["repetition 2"] * 8


def test_all_simulators_start_a_repetition_at_the_same_pose(tmp_path):
    recordings = run(bench(), tmp_path).recordings
    first, second = (
        [one.odometry.values[0].tolist() for one in recordings[name]["flat/circle"]]
        for name in ("one", "two")
    )
    assert first == second
    assert first[0] != first[1]


def test_parallel_runs_have_equal_recordings_and_cost_is_measured_sequentially(tmp_path):
    at_once, most = set(), []

    class Watched(Counted):
        def measure_load(self, order):
            at_once.add(id(self))
            most.append(len(at_once))
            time.sleep(0.01)
            at_once.remove(id(self))
            return SimulatorCost(10.0, 1.0, 0.5, 1e6)

    one, two = tmp_path / "one", tmp_path / "two"
    spec = bench(repetitions=1, load="true")
    run(spec, one, Watched, workers=1)
    run(spec, two, Watched, workers=2)
    assert stored(one) == stored(two)
    assert max(most) == 1


def test_load_with_more_robots_than_supported_is_not_missing(tmp_path):
    spec = bench(repetitions=1, load="true")
    kinematic = [one.model_copy(update={"simulator": "kinematic"}) for one in spec.entries]

    class Cheap(Counted):
        def measure_load(self, order):
            return SimulatorCost(10.0, 1.0, 0.5, 1e6)

    found = run(spec.model_copy(update={"entries": tuple(kinematic)}), tmp_path, Cheap)
    assert found.complete
    notes = [note for note in found.conditions.notes if "load/five" in note]
    assert len(notes) == 2
    assert all("5 robots" in note and "kinematic" in note for note in notes)


def test_stopped_comparison_continues_with_the_same_result(tmp_path):
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    run(bench(), whole)
    for count in (1, 4, 5):
        Counted.driven.clear()
        result = run(bench(), parts, stop=lambda count=count: len(Counted.driven) >= count)
        assert not result.complete
    Counted.driven.clear()
    assert run(bench(), parts).complete
    assert 0 < len(Counted.driven) < 16
    assert stored(parts) == stored(whole)
    Counted.driven.clear()
    assert run(bench(), parts).complete
    assert Counted.driven == []


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"duration": 2.0}, "maneuver straight: duration_s is 2.0, was 1.0"),
        ({"seed": 4}, "bench: seed is 4, was 3"),
    ],
)
def test_changed_comparison_in_the_same_directory_is_rejected_with_the_changes(
    tmp_path, changed, said
):
    run(bench(), tmp_path)
    with pytest.raises(ResultsError, match=r"new directory with --out") as raised:
        run(bench(**changed), tmp_path)
    assert said in str(raised.value)


def test_directory_of_a_campaign_is_rejected_without_changes(tmp_path):
    files = {"manifest.json": '{"format": 1, "inputs": {}, "campaign": "c"}', "campaign.json": "{}"}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(ResultsError, match=r"campaign\.json but no comparison"):
        run(bench(), tmp_path)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == files


def test_partial_files_of_a_killed_comparison_are_removed(tmp_path):
    run(bench(), tmp_path)
    remains = [tmp_path / "runs/one/flat/circle/9.npz.partial", tmp_path / "bench.json.partial"]
    for path in remains:
        path.write_text("cut off")
    run(bench(), tmp_path)
    assert [path for path in remains if path.exists()] == []


def test_changed_simulator_version_is_rejected(tmp_path, monkeypatch):
    run(bench(repetitions=1), tmp_path)
    monkeypatch.setattr(KinematicSimulator, "version", "2")
    with pytest.raises(ResultsError, match="entry one: version is 2, was 1"):
        run(bench(), tmp_path)


def test_additional_repetitions_are_added_to_stored_repetitions(tmp_path):
    run(bench(repetitions=1), tmp_path)
    before = stored(tmp_path)
    Counted.driven.clear()
    assert run(bench(repetitions=3), tmp_path).complete
    assert len(Counted.driven) == 16
    assert before.items() <= stored(tmp_path).items()


class Dying(Counted):
    """A runner whose simulator fails ``deaths`` times in the case ``flat/circle``."""

    deaths = 0

    def open(self, name, options):
        self.fresh = self._simulator is None
        return super().open(name, options)

    def run_maneuver(self, order):
        if "two: flat/circle, repetition 1" in order.source and Dying.deaths > 0:
            Dying.deaths -= 1
            raise SimulatorError("its process died")
        return super().run_maneuver(order)


def test_run_is_repeated_with_a_new_simulator_after_one_crash(tmp_path, monkeypatch):
    monkeypatch.setattr(Dying, "deaths", 1)
    told = []
    assert run(bench(), tmp_path, Dying, told=told).complete
    assert any("trying again after an error: its process died" in text for text in told)


def test_run_is_invalid_after_two_crashes_of_the_simulator(tmp_path, monkeypatch):
    monkeypatch.setattr(Dying, "deaths", 9)
    spec = bench(repetitions=1)
    result = run(spec, tmp_path, Dying)
    (invalid,) = result.conditions.invalid
    assert (invalid.entry, invalid.case, invalid.reason) == (
        "two",
        "flat/circle",
        "its process died",
    )
    assert Dying.deaths == 7 and not result.complete
    drift = evaluate_bench(spec, *result[:2]).measured["two"]["pose_drift"]
    assert drift.missing == "flat/circle is missing"
    assert np.isnan(drift.estimate.value)
    again = run(spec, tmp_path, Dying)  # an invalid run is stored and is not repeated
    assert again.conditions.invalid == result.conditions.invalid


def test_simulator_with_wrong_ground_does_not_run_and_is_reported(tmp_path):
    class OffGround(Counted):
        def probe(self, terrain, folder, entry):
            off = "its surface is 13 mm too low" if terrain.name == "ice" else None
            return probe_that_finds(terrain, entry, off)

    result = run(bench(), tmp_path, OffGround)
    assert not any("ice" in source for source in Counted.driven)
    assert set(result.recordings["two"]) == {"flat/straight", "flat/circle"}
    refused = [(one.entry, one.refusal) for one in result.conditions.grounds if one.refusal]
    assert refused == [(name, "its surface is 13 mm too low") for name in ("one", "two")]


def test_missing_simulator_is_omitted_unless_it_is_the_reference(tmp_path):
    class NotInstalled(Counted):
        lacking = 1

        def open(self, name, options):
            NotInstalled.lacking -= 1
            if NotInstalled.lacking == 0:
                raise MissingDependencyError("the simulator needs PyBullet")
            return super().open(name, options)

    with pytest.raises(MissingDependencyError):
        run(bench(), tmp_path, NotInstalled)
    NotInstalled.lacking = 4  # the first turn of the other
    result = run(bench(), tmp_path, NotInstalled)
    assert not result.complete
    assert "two: not simulated: the simulator needs PyBullet" in result.conditions.notes


def test_cost_measurement_is_repeated_and_reported_on_a_busy_machine(tmp_path):
    class Busy(Counted):
        shares: ClassVar[list] = [0.5, 0.4, 0.02, 0.6, 0.5, 0.7, *[0.0] * 20]

        def measure_load(self, order):
            return SimulatorCost(10.0, 1.0, 0.5, 1e6, others=Busy.shares.pop(0))

    result = run(bench(repetitions=1, load="true"), tmp_path, Busy)
    loads = {case: one.load.others for case, (one,) in result.recordings["one"].items() if one.load}
    assert loads == {"load/idle": 0.02, "load/one": 0.5, "load/five": 0.0}
    (said,) = result.conditions.notes
    assert said.startswith("one: load/one: other programs used the machine in 1 of 1")
    assert result.complete


def test_second_runner_in_one_directory_is_rejected(tmp_path):
    with BenchDirectory(tmp_path).locked(), pytest.raises(ResultsError, match="another process"):
        run(bench(), tmp_path)


def test_damaged_stored_run_is_reported_with_a_remedy(tmp_path):
    run(bench(repetitions=1), tmp_path)
    path = BenchDirectory(tmp_path).run_path("one", "flat/circle", 0)
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(ResultsError, match=r"0.npz: .* not a valid stored run .*remove it"):
        run(bench(repetitions=1), tmp_path)
