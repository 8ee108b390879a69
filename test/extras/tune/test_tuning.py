"""`gz_testauto tune` compares the winner of a race with the defaults in held-out worlds."""

import contextlib
import dataclasses
import io
import json
import os
import signal
import subprocess
import sys
import time

import pytest
import yaml
from scripted import CONFIG, ScriptedExecutor

from gz_testauto.base.errors import SpecError
from gz_testauto.cli import campaigns
from gz_testauto.cli.main import main
from gz_testauto.extras.tune.outcome import Figures, pareto_front
from gz_testauto.extras.tune.tuning import divided, require_separate_worlds
from gz_testauto.results.manifest import campaign_inputs
from gz_testauto.results.store import load_campaign
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.spec.loader import load
from gz_testauto.trial.outcome import Outcome

SPACE = "parameters:\n  alpha_m: [0.1, 1.0]\n  slowdown_m: [0.5, 2.0]\n"
BUDGET = 60
WORLDS = 8


def campaign_file(folder, worlds=6, **changes):
    data = yaml.safe_load((CONFIG / "smoke_campaign.yaml").read_text("utf-8"))
    data["worlds"].update(base=str(CONFIG.parent / "worlds" / "room.world"), count=worlds)
    data.update(simulator="kinematic", **changes)
    path = folder / "campaign.yaml"
    path.write_text(yaml.safe_dump(data))
    return path


def alpha_of(entry):
    settings = entry.launch.args if hasattr(entry, "launch") else entry.parameters
    return settings.get("alpha_m", 0.3)


class Tune:
    """Run the command with scripted trials: those with a large ``alpha_m`` reach the goal."""

    def __init__(self, folder, monkeypatch):
        self.folder = folder
        self.executed = []
        self.printed = ""
        monkeypatch.setattr(campaigns, "chosen_executor", self.chosen)
        (folder / "space.yaml").write_text(SPACE)

    def chosen(self, spec, out):
        def make(campaign):
            values = {one.name: alpha_of(one) for one in campaign.spec.planners}

            def script(trial):
                self.executed.append((out.name, trial.planner.name, trial.world.name))
                reached = values[trial.planner.name] > 0.1 * (1 + trial.world.world_index % 9)
                return Outcome.REACHED if reached else Outcome.COLLIDED

            return ScriptedExecutor(script)

        return make

    def __call__(self, *options, budget=BUDGET, campaign=None, planner="fgm"):
        self.executed.clear()
        arguments = [
            "tune",
            str(campaign or campaign_file(self.folder)),
            *("--planner", planner, "--parameters", str(self.folder / "space.yaml")),
            *("--budget", str(budget), "--training-worlds", str(WORLDS)),
            *("--out", str(self.folder / "out"), "--workers", "1", *options),
        ]
        with contextlib.redirect_stdout(io.StringIO()) as stream:
            status = main(arguments)
        self.printed = stream.getvalue()
        return status

    def read(self, name="result.json"):
        return (self.folder / "out" / name).read_text("utf-8")


@pytest.fixture
def tune(tmp_path, monkeypatch):
    return Tune(tmp_path, monkeypatch)


@pytest.fixture(scope="module")
def tuned(tmp_path_factory):
    """A finished tuning, which no test changes."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        tune = Tune(tmp_path_factory.mktemp("tuned"), monkeypatch)
        assert tune() == 0
    return tune


@pytest.mark.slow
def test_winner_of_the_race_is_compared_in_held_out_worlds(tuned):
    result = json.loads(tuned.read())
    values = [one["values"].get("alpha_m", 0.3) for one in result["training"]["candidates"]]
    assert result["best"]["alpha_m"] > 0.8  # in all training worlds
    assert result["held_out"]["worlds"] == 6
    assert result["held_out"]["difference"] == pytest.approx(4 / 6)
    assert len(result["held_out"]["only_tuned"]) == 4
    assert result["cost"] == {
        "training_trials": sum(part == "training" for part, _, _ in tuned.executed),
        "full_grid": len(values) * WORLDS,
        "held_out_trials": 12,
    }
    assert result["cost"]["training_trials"] <= BUDGET
    assert max(map(len, tuned.printed.splitlines())) <= 80
    assert "+67 points [" in tuned.printed
    assert "in 6 held-out worlds" in " ".join(tuned.printed.split())


@pytest.mark.slow
def test_candidates_run_in_the_same_training_worlds(tuned):
    ran = {}
    for part, planner, world in tuned.executed:
        if part == "training":
            ran.setdefault(planner, []).append(world)
    assert set(map(len, ran.values())) == {4, 8}
    assert len(ran["fgm"]) == 8
    assert len(set(map(tuple, (worlds[:4] for worlds in ran.values())))) == 1


@pytest.mark.slow
def test_files_contain_the_tuned_planner_and_the_held_out_campaign(tuned):
    text = tuned.read("planner.yaml")
    assert "# campaign smoke, seed 1" in text and "Held-out worlds: " in text
    best = json.loads(tuned.read())["best"]
    assert yaml.safe_load(text) == {"name": "fgm_tuned", "plugin": "fgm", "parameters": best}
    again = campaign_inputs(load(tuned.folder / "out" / "campaign.yaml", CampaignSpec))
    stored = load_campaign(tuned.folder / "out" / "held_out").manifest.inputs
    assert {name: stored[name] for name in again} == again


@pytest.mark.slow
def test_same_command_repeats_no_trial_and_other_inputs_are_rejected(tune, capsys):
    assert tune() == 0
    first = tune.read()
    assert tune() == 0
    assert tune.executed == []
    assert tune.read() == first
    assert tune(budget=BUDGET + 20) == 2
    assert "budget is 80, was 60" in capsys.readouterr().err
    marker = tune.folder / "out" / "tuning.json"
    stored = json.loads(marker.read_text())
    for content, complaint in (
        ({**stored, "inputs": 5}, "is damaged: inputs: Input should be a valid dictionary"),
        ({**stored, "candidates": [[1]]}, "is damaged: candidates.0: Input should be a valid"),
        ({**stored, "candidates": [{}]}, "is damaged: candidates has 1 entries instead of"),
        (5, "is damaged: it does not contain a JSON object"),
        ("", "cannot be read: "),
    ):
        marker.write_text(content if content == "" else json.dumps(content))
        assert tune() == 2
        message = capsys.readouterr().err
        assert f"tuning.json: the file {complaint}" in message
        assert message.rstrip().endswith("; specify a new directory with --out")
    marker.write_text(json.dumps(stored))
    (tune.folder / "space.yaml").write_text(SPACE.replace("1.0]", "1.1]"))
    assert tune() == 2
    assert "parameters.alpha_m" in capsys.readouterr().err


@pytest.mark.slow
def test_defaults_are_kept_if_no_candidate_is_better(tune):
    (tune.folder / "space.yaml").write_text("parameters:\n  slowdown_m: [0.5, 2.0]\n")
    assert tune() == 0
    assert "keep the defaults" in tune.printed
    assert json.loads(tune.read())["held_out"]["difference"] == 0.0


@pytest.mark.slow
def test_launch_arguments_of_a_stack_are_tuned(tune):
    names = ("map", "alpha_m", "slowdown_m")
    arguments = "".join(f'<arg name="{name}" default=""/>' for name in names)
    launch = tune.folder / "navigation.launch"
    launch.write_text(f"<launch>{arguments}</launch>")
    path = campaign_file(
        tune.folder,
        planners=[{"name": "stock", "launch": {"args": {"slowdown_m": 1.0}}}],
        stack={"simulator": {"file": str(launch)}, "navigation": {"file": str(launch)}},
    )
    data = yaml.safe_load(path.read_text("utf-8"))
    del data["simulator"]
    path.write_text(yaml.safe_dump(data))
    assert tune(campaign=path, planner="stock") == 0
    best = json.loads(tune.read())["best"]
    assert best["alpha_m"] > 0.8
    entry = yaml.safe_load(tune.read("planner.yaml"))
    assert entry == {"name": "stock_tuned", "launch": {"args": best}}
    load(tune.folder / "out" / "campaign.yaml", CampaignSpec)


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        (["--budget", "10"], ["--budget is 10", "at least 20"]),
        (["--planner", "fmg"], ["'fmg'", "fgm"]),
        (["--training-worlds", "3"], ["'3'", "at least 4"]),
    ],
)
def test_invalid_option_is_an_error_before_any_trial(tune, capsys, options, parts):
    try:
        assert tune(*options) == 2
    except SystemExit as error:  # argparse
        assert error.code == 2
    line = capsys.readouterr().err.splitlines()[-1]
    assert all(part in line for part in parts), line
    assert tune.executed == []


def test_campaign_with_several_planners_needs_the_option_planner(tmp_path, capsys):
    (tmp_path / "space.yaml").write_text(SPACE)
    arguments = [str(campaign_file(tmp_path)), "--parameters", str(tmp_path / "space.yaml")]
    assert main(["tune", *arguments, "--budget", "60"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "straight, fgm" in line and "--planner" in line


def with_files(smoke, folder, contents, **changes):
    folder.mkdir()
    text = (CONFIG.parent / "worlds" / "room.world").read_text("utf-8")
    for number, content in enumerate(contents):
        (folder / f"w{number}.world").write_text(
            text.replace("</sdf>", f"<!-- {content} --></sdf>")
        )
    data = smoke.model_dump(mode="json")
    data["worlds"] = {"directory": str(folder)}
    return CampaignSpec.kind_of({**data, **changes}).model_validate({**data, **changes})


def test_listed_worlds_are_divided(smoke, tmp_path):
    spec = with_files(smoke, tmp_path / "worlds", range(10))
    training, held_out = divided(spec, 4)
    names = [[one.file for one in part.worlds.files] for part in (training, held_out)]
    assert len(names[0]) == 4 and names[1] == sorted(names[1])
    assert sorted(names[0] + names[1]) == [f"w{number}.world" for number in range(10)]
    assert training.seed != held_out.seed == spec.seed
    require_separate_worlds(training, held_out)
    with pytest.raises(SpecError, match=r"10 worlds.*--training-worlds"):
        divided(spec, 9)


def test_generated_training_worlds_have_other_random_numbers(smoke):
    training, held_out = divided(smoke, 5)
    assert training.worlds.count == 5 and held_out == smoke
    assert training.seed != smoke.seed
    require_separate_worlds(training, held_out)


def test_held_out_world_that_equals_a_training_world_is_refused(smoke, tmp_path):
    spec = with_files(smoke, tmp_path / "worlds", [1, 1, 1, 1, 1, 1])
    with pytest.raises(SpecError, match=r"held-out world w\d equals the training world w\d"):
        require_separate_worlds(*divided(spec, 4))
    moved = [
        {"file": f"w{number}.world", "start": {"x_m": -3.0, "y_m": 0.1 * number}}
        for number in range(6)
    ]
    missions = spec.model_dump(mode="json")
    missions["worlds"] = {"directory": str(tmp_path / "worlds"), "files": moved}
    spec = CampaignSpec.kind_of(missions).model_validate(missions)
    require_separate_worlds(*divided(spec, 4))


def test_front_contains_the_planners_that_no_other_exceeds():
    best = Figures("a", 8, 1.0, 0.0, 6, 20.0, 0.3)
    slow = dataclasses.replace(best, name="slow", time_s=25.0)
    safe = dataclasses.replace(best, name="safe", success=0.9, clearance_m=0.4)
    equal = dataclasses.replace(best, name="equal")
    assert pareto_front([best, slow, safe, equal]) == ["a", "safe", "equal"]
    unknown = dataclasses.replace(best, name="unknown", time_s=None, clearance_m=None)
    assert pareto_front([best, unknown]) == ["a"]


@pytest.mark.slow
def test_killed_tuning_continues_with_the_same_result(tmp_path):
    campaign = campaign_file(tmp_path, worlds=3)
    (tmp_path / "space.yaml").write_text(SPACE)

    def command(out):
        options = ["--planner", "fgm", "--parameters", str(tmp_path / "space.yaml")]
        options += ["--budget", "20", "--training-worlds", str(WORLDS), "--out", str(out)]
        return ["tune", str(campaign), *options, "--workers", "1"]

    assert main(command(tmp_path / "whole")) == 0
    killed = 0
    for folder, trials in (("training", 3), ("training", 18), ("held_out", 2)):
        arguments = [sys.executable, "-m", "gz_testauto.cli.main", *command(tmp_path / "killed")]
        process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        deadline = time.monotonic() + 120
        stored = tmp_path / "killed" / folder / "trajectories"
        while process.poll() is None and time.monotonic() < deadline:
            if len(list(stored.glob("*.npz"))) >= trials:
                os.kill(process.pid, signal.SIGKILL)
                killed += 1
                break
            time.sleep(0.005)
        process.communicate(timeout=120)
    assert killed == 3
    assert main(command(tmp_path / "killed")) == 0
    for name in ("result.json", "planner.yaml", "campaign.yaml", "tuning.json"):
        whole, again = (tmp_path / part / name for part in ("whole", "killed"))
        assert again.read_bytes() == whole.read_bytes(), name
