"""The commands run, report and replay, as a user calls them."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from table_results import store_table

from gz_testauto.base.errors import SimulatorError
from gz_testauto.cli.main import main
from gz_testauto.report import plots
from gz_testauto.report.sources import Source
from gz_testauto.results import inputs
from gz_testauto.results.opened import OpenedResults
from gz_testauto.results.store import load_campaign
from gz_testauto.simulators import SIMULATORS
from gz_testauto.simulators.kinematic import KinematicSimulator

SMOKE = str(Path(__file__).resolve().parents[2] / "config" / "smoke_campaign.yaml")
IN_KINEMATIC = ("--simulator", "kinematic", "--workers", "1")


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    out = tmp_path_factory.mktemp("campaign") / "out"
    assert main(["run", SMOKE, "--out", str(out), *IN_KINEMATIC]) == 0
    return out


@pytest.mark.slow
def test_run_prints_the_table_on_standard_output_and_progress_on_standard_error(
    finished, tmp_path, capsys
):
    assert main(["run", SMOKE, "--out", str(tmp_path / "o"), *IN_KINEMATIC]) == 0
    printed = capsys.readouterr()
    assert "4 trials of 4, 2 worlds, 2 planners" in printed.out
    assert "[4/4, 0 s left] world_0001 fgm: reached" in printed.err
    assert "trials to run" not in printed.out


@pytest.mark.slow
def test_second_run_of_a_campaign_prints_the_same_table_without_new_trials(finished, capsys):
    assert main(["run", SMOKE, "--out", str(finished), *IN_KINEMATIC]) == 0
    again = capsys.readouterr()
    assert "4 trials of 4" in again.out
    page = finished / "report.html"
    assert again.err.splitlines() == [
        f"page: {page}",
        f"results: {finished}",
        f"open {page} in a browser",
        f"run a failed trial again: gz_testauto replay {finished} 0 straight",
    ]


@pytest.mark.slow
def test_run_without_out_uses_a_directory_with_the_name_of_the_campaign(
    tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    assert main(["run", "smoke", "--worlds", "1", *IN_KINEMATIC]) == 0
    assert len(load_campaign(tmp_path / "results" / "smoke").results.trials) == 2
    assert main(["run", "smoke", "--seed", "7", *IN_KINEMATIC]) == 2
    assert "another campaign (smoke); specify a new directory with --out" in capsys.readouterr().err


@pytest.mark.slow
def test_resume_rejects_a_missing_directory(tmp_path, capsys):
    assert main(["run", SMOKE, "--out", str(tmp_path / "none"), "--resume"]) == 2
    assert "the directory does not exist" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()


@pytest.mark.slow
def test_unknown_simulator_or_planner_is_an_error_of_one_line(tmp_path, capsys):
    out = ["--out", str(tmp_path / "out")]
    assert main(["run", SMOKE, *out, "--simulator", "gazeebo"]) == 2
    assert "did you mean 'gazebo'" in capsys.readouterr().err
    assert main(["run", SMOKE, *out, "--planners", "fmg"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


class Failing(KinematicSimulator):
    """Loads the first world only."""

    def load(self, scene):
        if scene.world.stem != "world_0000":
            raise SimulatorError("the world does not load")
        return super().load(scene)


SIMULATORS.register("kinematic_that_fails", Failing)


@pytest.mark.slow
def test_run_with_an_invalid_trial_exits_with_1_and_prints_the_remedy(tmp_path, capsys):
    command = ["run", SMOKE, "--out", str(tmp_path / "o"), "--workers", "1"]
    command += ["--simulator", "kinematic_that_fails"]
    assert main(command) == 1
    printed = capsys.readouterr()
    assert "2 invalid trials; --retry-invalid" in printed.err
    assert "2 trials lost" in printed.out
    assert main([*command, "--retry-invalid"]) == 1
    assert "2 of 4 trials to run, 2 were done before" in capsys.readouterr().err


@pytest.mark.slow
def test_run_exits_with_2_if_all_trials_would_be_invalid(tmp_path, capsys, monkeypatch):
    def fails(self, scene):
        raise SimulatorError("the world does not load")

    monkeypatch.setattr(Failing, "load", fails)
    command = ["run", SMOKE, "--out", str(tmp_path / "o"), "--workers", "1"]
    assert main([*command, "--simulator", "kinematic_that_fails"]) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert "each of 3 attempts at world_0000 straight was invalid: the world does not load" in last


@pytest.mark.slow
def test_run_with_json_option_prints_only_json(finished, capsys):
    assert main(["run", SMOKE, "--out", str(finished), *IN_KINEMATIC, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["campaign"] == "smoke"


@pytest.mark.slow
def test_report_writes_csv_and_plots(finished, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    csv, pictures = tmp_path / "trials.csv", tmp_path / "plots"
    assert main(["report", str(finished), "--csv", str(csv), "--plots", str(pictures)]) == 0
    assert len(csv.read_text().splitlines()) == 5
    assert sorted(path.name for path in pictures.iterdir()) == ["world_0000.png", "world_0001.png"]
    assert "success" in capsys.readouterr().out
    assert main(["report", str(finished), "--csv", "-"]) == 0
    assert capsys.readouterr().out == csv.read_text()


@pytest.mark.slow
def test_plots_do_not_depend_on_the_number_of_worker_processes(finished, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    image = pytest.importorskip("PIL.Image")
    monkeypatch.setattr(plots, "WORLDS_OF_A_WORKER", 1)
    progress = []
    results = load_campaign(finished).results
    drawn = {
        workers: plots.plot_worlds(
            [Source.of(OpenedResults(finished), results.planners)],
            results,
            tmp_path / str(workers),
            workers=workers,
            progress=lambda *done: progress.append(done),
        )
        for workers in (1, 2)
    }
    assert progress == [(1, 2), (2, 2)] * 2
    for one, other in zip(*drawn.values()):
        assert one.name == other.name
        assert image.open(one).tobytes() == image.open(other).tobytes()


@pytest.mark.slow
def test_report_with_complete_option_exits_with_1_if_trials_are_missing(finished, tmp_path, capsys):
    assert main(["report", str(finished), "--complete"]) == 0
    part = str(tmp_path / "part")
    assert main(["run", SMOKE, "--out", part, *IN_KINEMATIC, "--worlds", "1"]) == 0
    assert main(["report", part]) == 0
    assert main(["report", part, "--complete"]) == 1


@pytest.mark.slow
def test_report_imports_neither_a_compiler_nor_all_distributions(finished):
    code = (
        "import sys; from gz_testauto.cli.main import main; main(sys.argv[1:]); "
        "print({'numba', 'scipy.stats'} & {*sys.modules})"
    )
    command = [sys.executable, "-c", code, "report", str(finished)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.splitlines()[-1] == "set()"


def test_report_of_a_directory_without_campaign_is_an_error_of_one_line(tmp_path, capsys):
    assert main(["report", str(tmp_path)]) == 2
    assert "no campaign" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("world", ["world_0001", "1"])
def test_replay_of_an_unchanged_trial_reports_an_identical_trajectory(finished, world, capsys):
    assert main(["replay", str(finished), world, "fgm"]) == 0
    printed = capsys.readouterr().out
    assert "world_0001 fgm: reached" in printed
    assert "identical to the stored trial" in printed


class Drifting(KinematicSimulator):
    """Starts every trial with an offset of one millimeter."""

    def load(self, scene):
        import dataclasses

        start = scene.start._replace(y_m=scene.start.y_m + 1e-3)
        return super().load(dataclasses.replace(scene, start=start))


def test_replay_reports_the_difference_to_the_stored_trajectory(finished, capsys, monkeypatch):
    monkeypatch.setattr(
        "gz_testauto.campaign.simulator.open_simulator", lambda name, **options: Drifting(**options)
    )
    assert main(["replay", str(finished), "1", "fgm"]) == 1
    assert "the trajectory differs from 0.00 s on, by 0.00" in capsys.readouterr().out


@pytest.mark.slow
def test_replay_in_a_window_names_the_page_if_there_is_none(finished, capsys):
    assert main(["replay", str(finished), "1", "fgm", "--gui"]) == 2
    message = capsys.readouterr().err
    assert "'kinematic' has no window" in message
    assert f"{finished / 'report.html'}#w1" in message


def test_replay_rejects_a_changed_world(finished, capsys):
    world = finished / "worlds" / "world_0001.world"
    before = world.read_bytes()
    try:
        world.write_bytes(before + b"<!-- -->")
        assert main(["replay", str(finished), "1", "fgm"]) == 2
        assert "world_0001.world: the world" in capsys.readouterr().err
    finally:
        world.write_bytes(before)


def test_replay_of_an_unknown_world_or_repetition_lists_the_known_ones(finished, capsys):
    assert main(["replay", str(finished), "7", "fgm"]) == 2
    assert "Known: world_0000, world_0001" in capsys.readouterr().err
    assert main(["replay", str(finished), "1", "fgm", "--repetition", "3"]) == 2
    assert "--repetition is 3" in capsys.readouterr().err


def test_an_imported_trial_cannot_be_replayed(tmp_path, capsys):
    out = store_table("world,planner,outcome\nw,p,reached\n", tmp_path / "theirs")
    assert main(["replay", str(out), "w", "p"]) == 2
    assert "results were imported" in capsys.readouterr().err


def test_replay_accepts_a_moved_results_directory(finished, tmp_path, capsys):
    moved = tmp_path / "moved"
    moved.symlink_to(finished)
    assert main(["replay", str(moved), "0", "fgm"]) == 0


SLOW = """
import sys, time
from gz_testauto.simulators import SIMULATORS
from gz_testauto.simulators.kinematic import KinematicSimulator
class Slow(KinematicSimulator):
    def load(self, scene):
        simulation = super().load(scene)
        step = simulation.step
        def slow(duration_s):
            time.sleep(float(sys.argv[1]))
            return step(duration_s)
        simulation.step = slow
        return simulation
    def close(self):
        print("closed", file=sys.stderr, flush=True)
        super().close()
SIMULATORS.register("slow", Slow)
from gz_testauto.campaign import world_source
from gz_testauto.cli.main import main
if __name__ == "__main__":  # worker processes register it as well
    sys.exit(main(sys.argv[2:]))
"""


def slow_command(directory, step_s, workers=1):
    script = directory / "slow.py"
    script.write_text(SLOW)
    out = ["--out", str(directory / "out")]
    more = ["--simulator", "slow", "--workers", str(workers)]
    return [sys.executable, str(script), str(step_s), "run", SMOKE, *out, *more]


class NoLongerSlow(KinematicSimulator):
    """The simulator ``slow`` of the script, without its delay."""


SIMULATORS.register("slow", NoLongerSlow)


def continue_campaign(directory, capsys):
    """Continue the campaign of the script in this process; return what it printed."""
    out = ["--out", str(directory / "out")]
    assert main(["run", SMOKE, *out, "--simulator", "slow", "--workers", "1"]) == 0
    return capsys.readouterr()


@pytest.fixture
def running(tmp_path):
    """Starts the command and returns once its first trial has ended."""
    started = []

    def start(step_s, workers=1):
        process = subprocess.Popen(
            slow_command(tmp_path, step_s, workers),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        started.append(process)
        while "[1/4" not in process.stderr.readline():
            assert process.poll() is None
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=60)


@pytest.mark.slow
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_run_continues_with_the_same_command_after_one_signal(
    running, number, status, tmp_path, capsys
):
    process = running(0.02)
    process.send_signal(number)
    printed, errors = process.communicate(timeout=60)
    assert process.returncode == status
    assert "Ctrl-C again" in errors
    assert "closed" in errors
    assert "stopped after 1 of 4 trials of the campaign; the same command continues" in errors
    assert "1 trial of 4" in printed or "1 of 4" in printed
    again = continue_campaign(tmp_path, capsys)
    assert "3 of 4 trials to run, 1 were done before" in again.err


@pytest.mark.slow
def test_a_terminated_command_removes_its_temporary_directory(tmp_path):
    root = Path(__file__).resolve().parents[2]
    base, spec = root / "worlds" / "arena.world", root / "config" / "obstacles.yaml"
    command = [sys.executable, "-m", "gz_testauto.cli.main", "multiply", str(base), "--spec"]
    command += [str(spec), "--count", "100000", "--out", str(tmp_path / "worlds")]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        assert " of 100000 worlds generated" in process.stderr.readline()
        assert len(list(tmp_path.iterdir())) == 1
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
        process.communicate(timeout=60)
    assert (process.returncode, errors.splitlines()[-1]) == (143, "gz_testauto: terminated")
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_ctrl_c_stops_all_workers_cleanly(running, tmp_path, capsys):
    process = running(0.02, workers=2)
    group = os.getpgid(process.pid)
    assert group == process.pid, "a terminal sends it to the whole group"
    os.killpg(group, signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors.count("closed") == 2
    assert "Traceback" not in errors
    stopped = int(re.search(r"stopped after (\d) of 4 trials", errors).group(1))
    again = continue_campaign(tmp_path, capsys)
    assert f"{4 - stopped} of 4 trials to run, {stopped} were done before" in again.err


@pytest.mark.slow
def test_second_signal_stops_run_immediately(running):
    process = running(0.02)
    os.kill(process.pid, signal.SIGSTOP)  # both signals then arrive within one step
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGTERM)
    os.kill(process.pid, signal.SIGCONT)
    start_s = time.monotonic()
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted" in errors
    assert "closed" in errors
    assert time.monotonic() - start_s < 30


@pytest.mark.slow
def test_results_of_a_killed_run_can_be_continued(running, tmp_path, capsys):
    process = running(0.02)
    process.kill()
    process.wait(60)
    again = continue_campaign(tmp_path, capsys)
    assert "3 of 4 trials to run, 1 were done before" in again.err
    assert "4 trials of 4" in again.out


def test_replay_reports_a_changed_planner_and_runs_the_trial(finished, capsys, monkeypatch):
    monkeypatch.setattr(inputs.inspect, "getsourcefile", lambda plugin: __file__)
    assert main(["replay", str(finished), "1", "fgm"]) == 0
    assert "the code of planner fgm has changed" in capsys.readouterr().err


@pytest.mark.slow
def test_an_unknown_simulator_option_is_rejected_before_worlds_are_generated(tmp_path, capsys):
    campaign = tmp_path / "campaign.yaml"
    text = Path(SMOKE).read_text().replace("../worlds", str(Path(SMOKE).parents[1] / "worlds"))
    campaign.write_text(text + "\nsimulator_options: {trials_per_sever: 3}\n")
    assert main(["run", str(campaign), "--out", str(tmp_path / "out")]) == 2
    assert "'trials_per_sever'; did you mean 'trials_per_server'" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
