"""Training by CMA-ES: the same file however it was interrupted, and what is refused."""

import hashlib
import json
import shutil
import subprocess
import sys

import pytest
import yaml
from room import written

pytest.importorskip("cma", reason="needs cma: pip install 'gz_testauto[learning]'")

from gz_testauto.cli.main import main
from gz_testauto.extras.learning.policies.files import read_policy
from gz_testauto.results.directory import CampaignDirectory

pytestmark = pytest.mark.slow

FEW = ("--population", "4", "--episodes", "2", "--steps", "4200", "--selection", "0.5",
       "--workers", "1")  # fmt: skip


def train(file, out, *options):
    return main(["train", str(file), "--out", str(out), *FEW, *options])


def entries(journal):
    return [json.loads(line) for line in journal.read_text().splitlines()]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained")
    file = written(folder)
    assert train(file, folder / "one") == 0
    return file, folder / "one"


def test_training_with_two_workers_gives_an_identical_policy_file(trained, tmp_path):
    file, one = trained
    assert train(file, tmp_path / "two", "--workers", "2") == 0
    for name in ("policy.npz", "generations.jsonl", "selection.jsonl"):
        assert (tmp_path / "two" / name).read_bytes() == (one / name).read_bytes()


def test_an_interrupted_training_continues_to_an_identical_policy_file(trained, tmp_path, capsys):
    file, one = trained
    shutil.copytree(one, tmp_path / "cut")
    (tmp_path / "cut" / "policy.npz").unlink()
    journal = tmp_path / "cut" / "generations.jsonl"
    lines = journal.read_text().splitlines(keepends=True)
    assert len(lines) >= 3
    journal.write_text("".join(lines[:1]) + lines[1][: len(lines[1]) // 2])  # killed while writing
    capsys.readouterr()
    assert train(file, tmp_path / "cut") == 0
    assert "after generation 0" in capsys.readouterr().err
    assert (tmp_path / "cut" / "policy.npz").read_bytes() == (one / "policy.npz").read_bytes()


def test_the_card_of_a_policy_describes_its_training(trained):
    _, card = read_policy(trained[1] / "policy.npz")
    assert (card.kind, card.training.environment, card.training.seed) == ("mirrored", "small", 0)
    assert 2100 < card.training.steps <= 4200
    assert len(card.training.worlds) == 4
    assert card.terms == (("lidar", {"beams": 8}), ("plan", {}))


def test_the_better_half_of_a_generation_runs_in_more_worlds(trained):
    generations = entries(trained[1] / "generations.jsonl")
    for generation in generations:
        assert sorted(generation["ranking"]) == [0, 1, 2, 3]
        better = [generation["rewards"][one] for one in generation["ranking"][:2]]
        assert better == sorted(better, reverse=True)
    for generation in generations:  # 2 worlds for 4 candidates, and 2 for 2 of them
        assert generation["reached"] * 12 == pytest.approx(round(generation["reached"] * 12))
    assert any(
        round(generation["reached"] * 8) != generation["reached"] * 8 for generation in generations
    )


def test_given_fraction_of_the_steps_is_used_to_select_the_mean_of_a_generation(trained):
    searched = entries(trained[1] / "generations.jsonl")[-1]["steps"]
    batches = entries(trained[1] / "selection.jsonl")
    steps = [batch["steps"] for batch in batches]
    assert 0.3 * 4200 < searched < 0.6 * 4200
    assert searched < steps[0] and steps == sorted(steps)
    in_at_last = [len(batch["means"]) for batch in batches]
    assert in_at_last == sorted(in_at_last, reverse=True)
    assert in_at_last[0] > in_at_last[-1]


@pytest.mark.parametrize("share", [0.05, 0.5, 0.95, 1.0])
def test_a_training_killed_during_the_selection_gives_an_identical_policy(trained, tmp_path, share):
    file, one = trained
    out = tmp_path / "cut"
    shutil.copytree(one, out)
    (out / "policy.npz").unlink()
    journal = out / "selection.jsonl"
    whole = journal.read_text()
    journal.write_text(whole[: int(share * len(whole))])  # killed while writing
    assert train(file, out) == 0
    assert (out / "policy.npz").read_bytes() == (one / "policy.npz").read_bytes()
    assert journal.read_bytes() == (one / "selection.jsonl").read_bytes()


def test_the_last_mean_is_the_policy_without_a_selection(trained, tmp_path):
    file, _ = trained
    out = tmp_path / "out"
    assert train(file, out, "--selection", "0", "--steps", "1300") == 0
    assert not (out / "selection.jsonl").exists()
    last = entries(out / "generations.jsonl")[-1]
    policy, card = read_policy(out / "policy.npz")
    assert card.training.steps == last["steps"]
    assert hashlib.sha256(policy.weights.tobytes()).hexdigest().startswith(last["mean"])


def test_a_second_training_in_one_directory_is_rejected(trained, capsys):
    file, one = trained
    with CampaignDirectory(one).locked():
        assert train(file, one) == 2
    assert "another process" in capsys.readouterr().err


def test_a_damaged_journal_is_reported(trained, tmp_path, capsys):
    file, one = trained
    out = tmp_path / "damaged"
    shutil.copytree(one, out)
    journal = out / "generations.jsonl"
    lines = journal.read_text().splitlines(keepends=True)
    first = json.loads(lines[0])
    for damaged, says in (
        ('{"number": 0}\n', "generations.jsonl:1: the entry is damaged: rewards: Field required"),
        ("{}}\n", "generations.jsonl:1: the entry is damaged: Extra data"),
        ("[" * 100_000 + "\n", "generations.jsonl:1: the entry is damaged: it is nested too deep"),
        (
            lines[0] * 2,
            "generations.jsonl:2: the entry is not generation 1; remove this line and all",
        ),
        (json.dumps({**first, "ranking": [0, 0, 1, 1]}) + "\n", "1: the entry is not generation 0"),
        (
            json.dumps({**first, "ranking": [3, 2, 1, 0]}) + "\n",
            "1: the search does not reproduce the stored numbers",
        ),
    ):
        journal.write_text(damaged)
        assert train(file, out) == 2
        assert says in capsys.readouterr().err


def test_a_training_with_another_seed_in_the_same_directory_is_rejected(trained, capsys):
    file, one = trained
    assert train(file, one, "--seed", "1") == 2
    assert "options.seed is 1, was 0" in capsys.readouterr().err


def test_files_of_a_killed_training_in_the_output_directory_are_accepted(trained, tmp_path, capsys):
    file, one = trained
    (tmp_path / "thesis.tex").touch()
    assert train(file, tmp_path) == 2
    assert "thesis.tex" in capsys.readouterr().err
    out = tmp_path / "out"
    shutil.copytree(one / "worlds", out / "worlds")  # killed before training.json
    shutil.copy(one / "worlds.environment.json", out)
    (out / ".worlds.k1l2ed").mkdir()
    assert train(file, out, "--seed", "-1") != 2 or "no training" not in capsys.readouterr().err
    assert not (out / ".worlds.k1l2ed").exists()


def test_a_policy_in_its_training_worlds_is_rejected_unless_allowed(trained, tmp_path, capsys):
    file, one = trained
    data = yaml.safe_load(file.read_text())
    del data["environment"]
    parameters = {"file": str(one / "policy.npz")}
    data["planners"] = [{"name": "learned", "plugin": "policy", "parameters": parameters}]
    data["simulator"] = "embedded"
    judged = tmp_path / "judged.yaml"
    judged.write_text(yaml.safe_dump(data))
    assert main(["run", str(judged), "--out", str(tmp_path / "out")]) == 2
    assert "planner 'learned' was trained in" in capsys.readouterr().err
    parameters["allow_training_worlds"] = True
    judged.write_text(yaml.safe_dump(data))
    assert main(["run", str(judged), "--out", str(tmp_path / "out2"), "--workers", "1"]) == 0
    manifest = json.loads((tmp_path / "out2" / "manifest.json").read_text())
    assert "planner learned/file.npz" in manifest["inputs"]
    told = manifest["inputs"]["planner learned"]
    assert told.startswith("trained in small, 4 worlds (SHA-256 of their hashes ")
    assert "seed 0, " in told


def test_a_held_out_world_among_the_training_worlds_is_rejected(tmp_path, capsys):
    file = written(tmp_path)
    data = yaml.safe_load(file.read_text())
    held_out = {key: value for key, value in data.items() if key != "environment"}
    (tmp_path / "held_out.yaml").write_text(yaml.safe_dump({**held_out, "planners": ["fgm"]}))
    data["environment"]["held_out"] = "./held_out.yaml"
    file.write_text(yaml.safe_dump(data))
    assert train(file, tmp_path / "out", "--eval-worlds", "2") == 2
    assert "is also the training world world_0000" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--kind", "deep"), "--kind is 'deep'; it must be one of linear, mirrored, perceptron"),
        (("--population", "3"), "--population is 3; it must be at least 4"),
        (("--steps", "0"), "--steps is 0; it must be above 0"),
        (("--eval-worlds", "-1"), "--eval-worlds"),
        (("--selection", "1"), "--selection is 1; it must be at least 0 and below 1"),
        (("--eval-worlds", "3"), "--eval-worlds needs the key environment.held_out"),
    ],
)
def test_invalid_options_of_train_are_rejected(trained, tmp_path, capsys, options, says):
    assert train(trained[0], tmp_path / "out", *options) == 2
    assert says in capsys.readouterr().err


@pytest.mark.parametrize(
    ("environment", "says"),
    [
        ({"observations": ["sonar"]}, "environment.observations"),
        ({"observations": [{"term": "lidar", "beams": 0}]}, "observation 'lidar': beams is 0"),
        ({"observations": ["goal"]}, "needs the observation terms lidar and plan"),
        ({"observations": [{"term": "lidar", "beams": 7}, "plan"]}, "needs an even number"),
        ({"observations": ["lidar", "plan", "twist", "goal"]}, "remove twist and goal, or "),
        ({"observations": ["lidar", "plan", "lidar"]}, "remove lidar 2, or "),
        ({"observations": ["lidar", "plan", "objects"]}, "objects needs the key 'tracking'"),
        (
            {"observations": [{"term": "lidar", "ahead_s": 0.8}, "plan"]},
            "observation 'lidar': ahead_s is 0.8",
        ),
        (
            {"observations": [{"term": "lidar", "ahead_s": [-0.8]}, "plan"]},
            r"observation 'lidar': ahead_s is [-0.8]",
        ),
        ({"rewards": [{"term": "speed"}]}, "unknown reward 'speed'"),
        (
            {"terminations": [{"term": "off_plan", "limit": 2}]},
            "parameter of termination 'off_plan'",
        ),
        ({"reward": []}, "yaml:3: environment: unknown key 'reward'; did you mean 'rewards'?"),
    ],
)
def test_unknown_reward_and_observation_terms_are_rejected(tmp_path, capsys, environment, says):
    assert train(written(tmp_path, environment=environment), tmp_path / "out") == 2
    assert says in capsys.readouterr().err


def test_training_without_matplotlib_shows_no_warning_of_cma():
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import numpy as np\n"
        "from gz_testauto.extras.learning.policies.policy import WEIGHTED\n"
        "from gz_testauto.extras.learning.search import WeightSearch\n"
        "parts = {'lidar': slice(0, 8), 'plan': slice(8, 12)}\n"
        "search = WeightSearch(WEIGHTED['mirrored'], parts, 4, 0.3, np.random.default_rng(0))\n"
        "print(len(search.ask()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.stderr) == ("4\n", "")


def test_two_robots_learn_one_policy(tmp_path):
    other = {
        "name": "other",
        "start": {"x_m": 3.0, "y_m": 0.0, "yaw_rad": 3.14159},
        "goal": {"x_m": -3.0, "y_m": 0.0},
    }
    file, out = written(tmp_path, robots=[other]), tmp_path / "out"
    assert train(file, out, "--kind", "linear") == 0
    (first, *_) = (out / "generations.jsonl").read_text().splitlines()
    alone = tmp_path / "alone"
    with_planner = written(tmp_path, robots=[{**other, "planner": "fgm"}])
    assert train(with_planner, alone, "--kind", "linear") == 0
    (first_alone, *_) = (alone / "generations.jsonl").read_text().splitlines()
    assert json.loads(first)["steps"] > 1.5 * json.loads(first_alone)["steps"]
