"""A failed trial shrinks to a smallest world, which repeats bit by bit and survives kills."""

import dataclasses
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest
import yaml
from trial_values import trial_value

from gz_testauto.analysis.repeatability import compare_recordings
from gz_testauto.base.errors import ResultsError
from gz_testauto.base.pose import Pose2D
from gz_testauto.base.resources import share_directory
from gz_testauto.campaign.campaign_files import read_campaign_spec
from gz_testauto.campaign.runner import run_campaign
from gz_testauto.campaign.simulator import chosen_executor
from gz_testauto.campaign.trial_runner import TrialRunner
from gz_testauto.cli.main import main
from gz_testauto.extras.search import one_trial, repeats
from gz_testauto.extras.search import shrink as shrink_module
from gz_testauto.extras.search.journal import Journal, StoredTrial
from gz_testauto.extras.search.shrink import Candidate, FailedTrial, RepeatableFailureTest
from gz_testauto.extras.search.stored_robustness import ANSWERS, read_outcomes
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.store import ResultStore
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.spec.loader import load
from gz_testauto.spec.worlds import RandomNumbers
from gz_testauto.trial.outcome import Outcome


@pytest.fixture(scope="module")
def failed(smoke, tmp_path_factory):
    """The results of a campaign in which the planner ``straight`` collides in world 0."""
    obstacles = {
        "obstacles": [
            {"type": "box", "count": 1, "size_z_m": 1.2, "x_m": 0.03, "y_m": 0.07},
            {"type": "cylinder", "count": 5, "radius_m": 0.2, "length_m": 1.2, "name": "post"},
        ],
        "region": {"rectangle": {"x_m": [-2.0, 2.0], "y_m": [-2.6, 2.6]}},
        "keep_out": [{"rectangle": {"x_m": [-4, -1], "y_m": [-0.7, 0.7]}}],
        "min_gap_m": 0.1,
    }
    data = smoke.model_dump(mode="json")
    data["worlds"] = {**data["worlds"], "obstacles": obstacles, "count": 1}
    data["simulator"] = "kinematic"
    data["planners"] = ["straight", "fgm"]
    spec = CampaignSpec.kind_of(data).model_validate(data)
    out = tmp_path_factory.mktemp("failed") / "results"
    run_campaign(spec, out, chosen_executor(spec, out))
    return out


def stored(out, planner="straight"):
    with ResultStore.read(CampaignDirectory(out)) as store:
        (record,) = (one for one in store.results().trials if one.planner == planner)
        return record, store.trajectory(record)


def shrink(failed, out, *options):
    arguments = [str(failed), "0", "straight", "--out", str(out), "--perturb", "0", *options]
    return main(["shrink", *arguments])


@pytest.fixture(scope="module")
def shrunk(failed, tmp_path_factory):
    out = tmp_path_factory.mktemp("shrunk") / "out"
    assert shrink(failed, out) == 0
    return out


@pytest.mark.slow
def test_shrunk_world_has_fewer_obstacles_and_the_same_failure(failed, shrunk):
    result = json.loads((shrunk / "shrunk.json").read_text())
    record, _ = stored(failed)
    assert result["outcome"] == record.outcome.value == "collided"
    assert result["original_repeated_bit_by_bit"]
    assert len(result["obstacles"]) < result["obstacles_before"] == 6


@pytest.mark.slow
def test_each_obstacle_of_the_shrunk_world_is_necessary(shrunk):
    answers = [json.loads(line) for line in (shrunk / "journal.jsonl").read_text().splitlines()[1:]]
    same = sum(one["answer"]["same"] for one in answers)
    assert 0 < same < len(answers)
    result = json.loads((shrunk / "shrunk.json").read_text())
    assert result["obstacles"] == ["obstacle_box_0"]


@pytest.mark.slow
def test_campaign_of_the_shrunk_trial_repeats_it_bit_by_bit(shrunk, tmp_path):
    spec = load(shrunk / "campaign.yaml", CampaignSpec)
    recordings = []
    for name in ("one", "two"):
        run_campaign(spec, tmp_path / name, chosen_executor(spec, tmp_path / name))
        record, recording = stored(tmp_path / name)
        assert record.outcome.value == "collided"
        recordings.append(recording)
    assert compare_recordings(*recordings).identical
    places = [
        json.loads(line)["answer"].get("place_m")
        for line in (shrunk / "journal.jsonl").read_text().splitlines()[1:]
    ]
    assert recordings[0].pose[-1, :2].tolist() in places


@pytest.mark.slow
def test_another_outcome_in_the_other_simulator_is_not_confirmed(
    failed, tmp_path, monkeypatch, capsys
):
    out = tmp_path / "out"
    assert shrink(failed, out, "--simulator-confirm", "embedded") == 0
    assert capsys.readouterr().err.endswith("\nthe trial runs in embedded\n")
    state = json.loads((out / "shrunk.json").read_text())["confirmed_in"]
    assert state.startswith("confirmed: collided")

    class Stuck(TrialRunner):
        def execute(self, trial):
            return dataclasses.replace(super().execute(trial), outcome=Outcome.STUCK)

    monkeypatch.setattr(repeats, "TrialRunner", Stuck)
    other = tmp_path / "other"
    assert shrink(failed, other, "--simulator-confirm", "embedded") == 0
    state = json.loads((other / "shrunk.json").read_text())["confirmed_in"]
    assert state.startswith("not confirmed: stuck")


@pytest.mark.slow
def test_killed_command_continues_and_has_the_same_result(failed, shrunk, tmp_path):
    out = tmp_path / "out"
    command = [sys.executable, "-m", "gz_testauto.cli.main", "shrink", str(failed), "0", "straight"]
    command += ["--out", str(out), "--perturb", "0"]
    for lines in (1, 3):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        deadline = time.monotonic() + 120
        while process.poll() is None and time.monotonic() < deadline:
            journal = out / "journal.jsonl"
            if journal.exists() and journal.read_text().count("\n") > lines:
                os.kill(process.pid, signal.SIGKILL)
                break
            time.sleep(0.01)
        process.communicate(timeout=120)
    assert shrink(failed, out) == 0
    for name in ("shrunk.world", "campaign.yaml", "shrunk.json", "journal.jsonl"):
        assert (out / name).read_bytes() == (shrunk / name).read_bytes().replace(
            str(shrunk).encode(), str(out).encode()
        ), name


class Needed:
    """A failure that needs all of these obstacles, and none of ``fixed`` at another pose."""

    def __init__(self, *names, fixed=()):
        self.names, self.fixed, self.asked = set(names), set(fixed), set()

    @property
    def simulations(self):
        return len(self.asked)

    def __call__(self, candidate):
        self.asked.add(candidate)
        moved = {name for name, _ in candidate.moved}
        return self.names <= set(candidate.kept) and not moved & self.fixed


NAMES = [f"obstacle_box_{index}" for index in range(16)]
COMPLETE = Candidate(tuple(NAMES), (), Pose2D(0.0, 0.0, 0.0), (Pose2D(9.0, 0.0, 0.0),))


class TurnsAndCloser:
    """Simplifications that turn each obstacle and move the goal closer."""

    def all_of(self, found):
        return self._closer(self._turned(found))

    def parts_of(self, found):
        yield self._closer(found)
        yield self._turned(found)

    @staticmethod
    def _closer(found):
        return dataclasses.replace(found, goals=(Pose2D(3.0, 0.0, 0.0),))

    @staticmethod
    def _turned(found):
        for name in found.kept:
            found = found.move(name, Pose2D(1.0, 1.0, 0.0))
        return found


def minimal(fails):
    reduced = COMPLETE.keep(NAMES[:14])
    found = shrink_module._nearest(fails, COMPLETE, reduced, NAMES, TurnsAndCloser())
    return shrink_module._minimal(fails, found, NAMES)


@pytest.mark.parametrize(
    ("needed", "simulations"),
    [
        ((0, 1), 1 + 2 + 2),  # the nearest four, two are left out, two are necessary
        ((0, 1, 2, 3), 1 + 4),
        ((2, 6), 2 + 1 + 8 + 2),  # both are tested again after the last one was left out
        ((2, 13), 6 + 1 + 14 + 2),
        ((2, 15), 8 + 1 + 16 + 2),
    ],
)
def test_near_obstacles_need_few_simulations(needed, simulations):
    fails = Needed(*(NAMES[index] for index in needed))
    found = minimal(fails)
    assert found.kept == tuple(NAMES[index] for index in needed)
    assert found.goals[0].x_m == 3.0
    assert len(found.moved) == len(found.kept)
    assert fails.simulations == simulations


def test_one_kind_of_simplification_is_made_if_not_all_can():
    fails = Needed(NAMES[0], fixed=[NAMES[0]])
    found = minimal(fails)
    assert found.kept == (NAMES[0],)
    assert (found.goals[0].x_m, found.moved) == (3.0, ())


def test_candidate_without_a_path_is_not_simulated(tmp_path):
    paths = {16: 12.0, 3: None}
    runner = SimpleNamespace(
        shortest_path_m=lambda content, start, goals: paths[len(content)],
        run=lambda *inputs, **options: pytest.fail("it was simulated"),
    )
    world = SimpleNamespace(content=lambda kept, moved: bytes(len(kept)))
    journal = Journal(tmp_path / "journal.jsonl", {})
    fails = RepeatableFailureTest(runner, world, trial_value(), journal, lambda line: None)
    recording = SimpleNamespace(pose=np.zeros((2, 3)), time_s=np.array([0.0, 1.0]))
    fails.compare_with(FailedTrial(Outcome.STUCK, recording), COMPLETE)
    assert not fails(COMPLETE.keep(NAMES[:3]))
    assert fails.simulations == 0


def test_paths_of_this_package_are_portable(smoke):
    share = share_directory()
    data = {"robot": {"model": str(share / "models/wheelchair/model.sdf")}, "planners": ["/a/b"]}
    assert one_trial._portable(data) == {
        "robot": {"model": "package://gz_testauto/models/wheelchair/model.sdf"},
        "planners": ["/a/b"],
    }


def test_written_campaign_contains_its_recordings(tmp_path):
    pytest.importorskip("gz_testauto.extras.localization")
    pytest.importorskip("gz_testauto.extras.people")
    sources = [tmp_path / name / "tracks.csv" for name in ("a", "b")]
    for number, tracks in enumerate(sources):
        tracks.parent.mkdir()
        tracks.write_text(f"time,id,x,y\n0,{number},1,2\n1,{number},1,2\n")
    errors = tmp_path / "errors.csv"
    errors.write_text("time,x,y,yaw\n0,0,0,0\n")
    spec = read_campaign_spec(share_directory() / "config" / "people" / "recorded_campaign.yaml")
    data = spec.model_dump(mode="json", exclude_defaults=True)
    data["localization"] = {"estimate": "recorded", "errors": str(errors)}
    data["actors"] = [
        {"name": name, "behavior": "recorded", "tracks": str(tracks)}
        for name, tracks in zip(("walker", "visitor"), sources)
    ]
    spec = CampaignSpec.kind_of(data).model_validate(data)
    out = tmp_path / "out"
    out.mkdir()
    (out / "shrunk.world").write_bytes((share_directory() / "worlds" / "room.world").read_bytes())
    texts = [path.read_text() for path in (*sources, errors)]
    one_trial.write_campaign(spec, COMPLETE, RandomNumbers(seed=1), out)
    for path in (*sources, errors):
        path.unlink()
    again = read_campaign_spec(out / "campaign.yaml")
    copies = [*(actor.tracks for actor in again.actors), again.localization.errors]
    assert [path.parent for path in copies] == [out] * 3
    assert [path.read_text() for path in copies] == texts


def test_campaign_without_obstacles_names_none(smoke, tmp_path):
    data = smoke.model_dump(mode="json")
    data["worlds"]["obstacle_names"] = "obstacle_.*"
    spec = CampaignSpec.kind_of(data).model_validate(data)
    for candidate, names in ((COMPLETE, "obstacle_.*"), (COMPLETE.keep([]), None)):
        one_trial.write_campaign(spec, candidate, RandomNumbers(seed=1), tmp_path)
        text = (tmp_path / "campaign.yaml").read_text()
        assert yaml.safe_load(text)["worlds"].get("obstacle_names") == names


def test_campaign_of_one_trial_has_the_drawn_mission(smoke, tmp_path):
    data = smoke.model_dump(mode="json")
    del data["robot"]["start"]
    data["worlds"]["missions"] = {"path_m": [2, 6]}
    data["worlds"]["obstacles"] = {**data["worlds"]["obstacles"], "keep_out": [], "solvable": None}
    data["goal"] = {"tolerance_m": 0.3}
    spec = CampaignSpec.kind_of(data).model_validate(data)
    trial = trial_value(planner="straight")
    start, goal = trial.mission.start, trial.mission.goals[-1]
    changed = one_trial.one_trial_spec(spec, trial, (-5.0, -5.0, 5.0, 5.0), tmp_path)
    assert changed.robot.start.pose == start
    assert (changed.goal.pose, changed.goal.tolerance_m) == (goal, 0.3)


def test_journal_ignores_an_incomplete_line_and_rejects_other_inputs(tmp_path):
    path = tmp_path / "journal.jsonl"
    journal = Journal(path, {"seed": 1})
    journal.add("a", {"outcome": "stuck"})
    with open(path, "a") as file:
        file.write('{"key": "b", "ans')
    again = Journal(path, {"seed": 1})
    assert again.get("a", StoredTrial) == StoredTrial(outcome="stuck")
    assert again.get("b", StoredTrial) is None
    again.add("b", {"outcome": None, "spl": 0.5})
    stored = Journal(path, {"seed": 1}).get("b", StoredTrial)
    assert stored == StoredTrial(outcome=None, spl=0.5)
    with pytest.raises(ResultsError, match=r"journal\.jsonl: .*other options.*; remove it, or"):
        Journal(path, {"seed": 2})


@pytest.mark.parametrize(
    "line",
    [
        "5",
        "[1]",
        "null",
        "{}",
        "\xff",
        "[" * 100_000,
        '{"inputs": {"a": 1}}',
        '{"key": "w fgm perturbed 1"}',
        '{"answer": {"outcome": "stuck"}}',
        '{"key": ["w fgm perturbed 1"], "answer": {"outcome": "stuck"}}',
        '{"key": "w fgm perturbed 1", "answer": 5}',
        '{"key": "w fgm perturbed 1", "answer": {}}',
        '{"key": "w fgm perturbed 1", "answer": {"outcome": "stck"}}',
        '{"key": "w fgm perturbed 1", "answer": {"outcome": "stuck", "spl": [1]}}',
    ],
)
def test_a_damaged_journal_is_reported_with_its_line(tmp_path, line):
    path = tmp_path / ANSWERS
    Journal(path, {"a": 1}).add("w fgm perturbed 0", {"outcome": "stuck"})
    good = path.read_bytes()
    path.write_bytes(good + line.encode("latin-1") + b"\n")
    with pytest.raises(ResultsError, match=rf"{ANSWERS}:3: .*; remove this line"):
        read_outcomes(tmp_path)
    with pytest.raises(ResultsError, match=rf"{ANSWERS}:3: .*; remove this line"):
        Journal(path, {"a": 1}).get("w fgm perturbed 1", StoredTrial)
    path.write_bytes(line.encode("latin-1") + b"\n")
    if "inputs" not in line:
        with pytest.raises(ResultsError, match=rf"{ANSWERS}:1: .*; remove this line"):
            read_outcomes(tmp_path)


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_a_journal_that_is_no_file_is_an_error_with_a_remedy(tmp_path, make):
    path = tmp_path / ANSWERS
    make(path)
    with pytest.raises(ResultsError, match=rf"{ANSWERS}: .* not a regular file; remove it"):
        Journal(path, {})


def test_messages_about_journals_contain_no_class_names(tmp_path):
    path = tmp_path / ANSWERS
    path.write_text("5\n")
    with pytest.raises(ResultsError, match="the entry is damaged: Input should be a JSON object;"):
        Journal(path, {})


@pytest.mark.parametrize(
    ("world", "planner", "message"),
    [
        ("0", "fgm", "succeeded"),
        ("7", "straight", "unknown world '7'"),
        ("0", "strait", "'straight'"),
    ],
)
@pytest.mark.slow
def test_trial_without_a_failure_is_an_error_of_one_line(
    failed, tmp_path, capsys, world, planner, message
):
    options = ["--out", str(tmp_path / "out")]
    assert main(["shrink", str(failed), world, planner, *options]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line


@pytest.mark.slow
def test_unknown_simulator_to_confirm_is_rejected_before_simulations(failed, tmp_path, capsys):
    out = tmp_path / "out"
    assert shrink(failed, out, "--simulator-confirm", "gazeboo") == 2
    assert "'gazeboo'" in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.slow
def test_failure_that_does_not_repeat_is_an_error(failed, tmp_path, capsys):
    copy = tmp_path / "results"
    subprocess.run(["cp", "-r", str(failed), str(copy)], check=True)
    with sqlite3.connect(copy / "results.sqlite") as table:
        table.execute("update trials set outcome = 'stuck' where planner = 'straight'")
    assert shrink(copy, tmp_path / "out") == 2
    assert "does not repeat" in capsys.readouterr().err
